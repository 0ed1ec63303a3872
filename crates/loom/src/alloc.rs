//! Memory that a model keeps account of: [`alloc`], [`dealloc`], [`Track`].

pub use selvedge::alloc::{Layout, Track, alloc, alloc_zeroed, dealloc};

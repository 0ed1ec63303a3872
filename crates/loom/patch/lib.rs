//! `selvedge-loom` under the name that `[patch.crates-io]` asks for.

#![forbid(unsafe_code)]

pub use front::*;

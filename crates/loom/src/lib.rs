//! The interface of [loom](https://docs.rs/loom/0.7) 0.7 on top of Selvedge: tests that were written for loom run as they
//! are, with Selvedge's search, its counterexamples, and its guarantee of what was ruled out.
//!
//! ```
//! use loom::sync::Arc;
//! use loom::sync::atomic::{AtomicUsize, Ordering};
//! use loom::thread;
//!
//! loom::model(|| {
//!     let count = Arc::new(AtomicUsize::new(0));
//!     let other = count.clone();
//!     let thread = thread::spawn(move || other.fetch_add(1, Ordering::SeqCst));
//!     count.fetch_add(1, Ordering::SeqCst);
//!     thread.join().unwrap();
//!     assert_eq!(count.load(Ordering::SeqCst), 2);
//! });
//! ```
//!
//! Where signatures agree the types are Selvedge's own, which can do more. The chapter "Coming from loom" of the book says
//! how to use it, and what differs.

pub mod alloc;
pub mod cell;
#[cfg(feature = "futures")]
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

#[doc(inline)]
pub use model::model;
pub use selvedge::thread_local;

/// How many threads loom's models may have. Here there is no such limit.
pub const MAX_THREADS: usize = 5;

/// In loom, explores from here on after [`stop_exploring`]. Here everything is explored already.
pub fn explore() {}

/// In loom, explores nothing from here on until [`explore`]. Here it is explored all the same: an answer that left it
/// out would say less than it seems to.
pub fn stop_exploring() {}

/// In loom, explores nothing from here to the end of the execution. Here it is explored all the same.
pub fn skip_branch() {}

#[doc(hidden)]
pub mod __private {
    pub use selvedge::sync::LazyLock;
}

/// The examples of the book's chapter, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/loom.md")]
mod book {}

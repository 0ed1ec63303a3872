//! Selvedge checks multithreaded Rust code: it runs a test again and again, each time under another schedule
//! of its threads, and either shows the simplest execution that fails or says what has been ruled out.
//!
//! ```should_panic
//! use selvedge::sync::Arc;
//! use selvedge::sync::atomic::{AtomicU32, Ordering};
//! use selvedge::thread;
//!
//! selvedge::check(|| {
//!     let counter = Arc::new(AtomicU32::new(0));
//!     let threads: Vec<_> = (0..2)
//!         .map(|_| {
//!             let counter = counter.clone();
//!             thread::spawn(move || {
//!                 let seen = counter.load(Ordering::SeqCst);
//!                 counter.store(seen + 1, Ordering::SeqCst); // another thread may have come between
//!             })
//!         })
//!         .collect();
//!     for thread in threads {
//!         thread.join().unwrap();
//!     }
//!     assert_eq!(counter.load(Ordering::SeqCst), 2);
//! });
//! ```
//!
//! The types of [`sync`], [`thread`], [`cell`], [`time`] and [`hint`] have the names, signatures and meaning of
//! std's. In a check they are controlled; anywhere else they behave as std's, so that one `use` serves test
//! and production builds.
//!
//! | module | what for |
//! | --- | --- |
//! | [`Checker`] | how to check: bounds, strategy, limits; everything can be set from the environment too |
//! | [`sync`], [`thread`] | locks, channels, atomics, threads |
//! | [`cell`] | memory whose accesses are checked for data races |
//! | [`alloc`] | raw memory that must be freed, and once |
//! | [`future`] | running futures under a check |
//! | [`time`], [`hint`] | virtual time, spin loops |
//! | [`choose()`], [`rand`] | choices that are explored |

#![warn(missing_docs)]

pub mod alloc;
pub mod cell;
mod checker;
mod choose;
mod environment;
pub mod future;
pub mod hint;
mod progress;
mod pulse;
pub mod rand;
mod rt;
pub mod sync;
pub mod thread;
pub mod time;

pub use checker::{Checker, check};
pub use choose::choose;
pub use rt::in_check;
pub use selvedge_core::{
    Assumption, AssumptionKind, Assumptions, Bounds, CoverageRow, Gap, Guarantee, Location, Outcome,
    Schedule, Statistics, Step, Trace, Verdict, Violation, ViolationKind,
};
pub use selvedge_macros::test;
pub use selvedge_stateless::strategy::Named as Strategy;
pub use selvedge_stateless::{Coverage, Error};

/// The examples of the book and of the README, as tests.
#[cfg(doctest)]
mod book {
    macro_rules! pages {
        ($($name:ident: $path:literal;)*) => {
            $(
                #[doc = include_str!($path)]
                mod $name {}
            )*
        };
    }
    pages! {
        readme: "../../../README.md";
        first_test: "../../../docs/src/first-test.md";
        counterexample: "../../../docs/src/counterexample.md";
        settings: "../../../docs/src/settings.md";
        types: "../../../docs/src/types.md";
        races: "../../../docs/src/races.md";
        loops: "../../../docs/src/loops.md";
        states: "../../../docs/src/states.md";
        assumptions: "../../../docs/src/assumptions.md";
    }
}

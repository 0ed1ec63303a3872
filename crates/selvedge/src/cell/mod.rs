//! Memory whose accesses are checked for data races: [`UnsafeCell`] for code that synchronises by other means
//! than locks, and [`Cell`].
//!
//! Two accesses by different threads, one of them a write, race unless a lock, a join, an atomic with
//! release and acquire ordering, or the like is between them. A check reports the race with both places, in
//! every execution it runs, whether or not anything went wrong. With
//! [`race_mode`](crate::Checker::race_mode) every access is a scheduling point too.

mod plain;
mod raw;

pub use plain::Cell;
pub use raw::{ConstPtr, MutPtr, UnsafeCell};

//! Running futures, in a check or outside of one.
//!
//! [`block_on`] polls a future on the current thread, and [`spawn`] makes a task of one: in a check, a
//! controlled thread that polls it, so that tasks are interleaved at their synchronisation operations like
//! any threads, and not only where they await. A wake is a scheduling point. A future that is pending when
//! nobody is left to wake it is reported as a deadlock, which is how a lost wake-up shows.
//!
//! Every task must end before the execution does, as every thread must. There is no runtime to shut down.
//!
//! ```
//! use selvedge::future;
//! use selvedge::sync::Arc;
//! use selvedge::sync::atomic::{AtomicU32, Ordering};
//!
//! selvedge::check(|| {
//!     let total = Arc::new(AtomicU32::new(0));
//!     future::block_on(async {
//!         let tasks: Vec<_> = (1..=2)
//!             .map(|n| {
//!                 let total = total.clone();
//!                 future::spawn(async move { total.fetch_add(n, Ordering::SeqCst) })
//!             })
//!             .collect();
//!         for task in tasks {
//!             task.await.unwrap();
//!         }
//!     });
//!     assert_eq!(total.load(Ordering::SeqCst), 3);
//! });
//! ```

mod signal;
mod task;
mod yielding;

use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use signal::Signal;
pub use task::{JoinError, JoinHandle, spawn};
pub use yielding::{YieldNow, yield_now};

/// Polls a future on the current thread until it is ready.
///
/// In a check a poll that left the future pending is followed by a step that waits for its waker. A future
/// that woke itself meanwhile lets other threads run, and that switch is no preemption.
///
/// ```
/// selvedge::check(|| {
///     assert_eq!(selvedge::future::block_on(async { 42 }), 42);
/// });
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let signal = Arc::new(Signal::new(Location::caller(), false));
    match drive(future, &signal, || false) {
        Some(output) => output,
        None => unreachable!("nobody cancels it"),
    }
}

/// Polls a future until it is ready, or until it has been woken and is found cancelled.
/// A poll that asks where it is called from is told where this is.
#[track_caller]
fn drive<F: Future>(future: F, signal: &Arc<Signal>, cancelled: impl Fn() -> bool) -> Option<F::Output> {
    signal.owned_by_this_thread();
    let waker = Waker::from(signal.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        signal.wait();
        if cancelled() {
            return None;
        }
    }
}

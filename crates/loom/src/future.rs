//! Running futures in a model.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Waker;

use selvedge::sync::Mutex;
use selvedge::thread;

/// Polls a future until it is ready. One poll may come without a wake, as in loom, and whether it does is explored.
///
/// ```
/// loom::model(|| assert_eq!(loom::future::block_on(async { 42 }), 42));
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut polled_spuriously = false;
    let mut future = pin!(future);
    selvedge::future::block_on(poll_fn(|context| {
        loop {
            let polled = future.as_mut().poll(context);
            if polled.is_ready() || polled_spuriously || !crate::model::spurious() {
                return polled;
            }
            polled_spuriously = true;
            thread::yield_now();
        }
    }))
}

/// A place for the waker of one task, which others wake.
#[derive(Debug)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// One without a waker.
    #[must_use]
    pub fn new() -> Self {
        AtomicWaker { waker: Mutex::new(None) }
    }

    /// Keeps a waker, in place of the one before. If others just take that, wakes at once.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let Ok(mut place) = self.waker.try_lock() else {
            waker.wake();
            thread::yield_now();
            return;
        };
        let before = place.replace(waker);
        drop(place);
        // It may run code of the program.
        drop(before);
    }

    /// Keeps a copy of a waker.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes the task.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker out, to wake the task later.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().expect("no thread panics with it").take()
    }
}

impl Default for AtomicWaker {
    fn default() -> Self {
        AtomicWaker::new()
    }
}

//! Programs of any length: what one step more costs.

use super::super::sync::Arc;
use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::thread;

fn count(counter: &AtomicUsize, steps: usize) {
    for _ in 0..steps {
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

/// So many steps in one thread.
pub(crate) fn alone(steps: usize) {
    count(&AtomicUsize::new(0), steps);
}

/// So many steps in each of two threads, which take turns as the scheduler likes.
pub(crate) fn together(steps: usize) {
    let counter = Arc::new(AtomicUsize::new(0));
    let other = counter.clone();
    let thread = thread::spawn(move || count(&other, steps));
    count(&counter, steps);
    thread.join().unwrap();
}

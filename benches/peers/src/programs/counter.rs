//! Three threads count up one atomic.

use super::super::sync::Arc;
use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::thread;

pub(crate) fn run() {
    let counter = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                for _ in 0..4 {
                    counter.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(counter.load(Ordering::SeqCst), 12);
}

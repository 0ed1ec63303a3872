//! A ticket lock, taken twice by each of three threads.

use super::super::sync::Arc;
use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::thread;

struct TicketLock {
    next: AtomicUsize,
    serving: AtomicUsize,
    protected: AtomicUsize,
}

impl TicketLock {
    fn with(&self, work: impl FnOnce(&AtomicUsize)) {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        while self.serving.load(Ordering::Acquire) != ticket {
            thread::yield_now();
        }
        work(&self.protected);
        self.serving.store(ticket + 1, Ordering::Release);
    }
}

pub(crate) fn run() {
    let lock = Arc::new(TicketLock {
        next: AtomicUsize::new(0),
        serving: AtomicUsize::new(0),
        protected: AtomicUsize::new(0),
    });
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let lock = lock.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    lock.with(|protected| {
                        let value = protected.load(Ordering::Relaxed);
                        protected.store(value + 1, Ordering::Relaxed);
                    });
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(lock.protected.load(Ordering::Relaxed), 6);
}

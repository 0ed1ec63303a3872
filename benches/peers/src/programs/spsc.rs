//! A ring of two places between one producer and one consumer.

use super::super::sync::Arc;
use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::thread;

struct Ring {
    head: AtomicUsize,
    tail: AtomicUsize,
    places: [AtomicUsize; 2],
}

impl Ring {
    fn push(&self, value: usize) {
        let tail = self.tail.load(Ordering::Relaxed);
        while tail - self.head.load(Ordering::Acquire) == self.places.len() {
            thread::yield_now();
        }
        self.places[tail % self.places.len()].store(value, Ordering::Relaxed);
        self.tail.store(tail + 1, Ordering::Release);
    }

    fn pop(&self) -> usize {
        let head = self.head.load(Ordering::Relaxed);
        while self.tail.load(Ordering::Acquire) == head {
            thread::yield_now();
        }
        let value = self.places[head % self.places.len()].load(Ordering::Relaxed);
        self.head.store(head + 1, Ordering::Release);
        value
    }
}

pub(crate) fn run() {
    let ring = Arc::new(Ring {
        head: AtomicUsize::new(0),
        tail: AtomicUsize::new(0),
        places: [AtomicUsize::new(0), AtomicUsize::new(0)],
    });
    let producer = {
        let ring = ring.clone();
        thread::spawn(move || (1..=5).for_each(|value| ring.push(value)))
    };
    for value in 1..=5 {
        assert_eq!(ring.pop(), value);
    }
    producer.join().unwrap();
}

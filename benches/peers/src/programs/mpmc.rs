//! A bounded queue of two places, each with a sequence number, between two producers and two consumers (the
//! design is Dmitry Vyukov's).

use super::super::sync::Arc;
use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::thread;

struct Place {
    sequence: AtomicUsize,
    value: AtomicUsize,
}

struct Queue {
    head: AtomicUsize,
    tail: AtomicUsize,
    places: [Place; 2],
}

impl Queue {
    fn new() -> Self {
        let place = |index| Place { sequence: AtomicUsize::new(index), value: AtomicUsize::new(0) };
        Queue { head: AtomicUsize::new(0), tail: AtomicUsize::new(0), places: [place(0), place(1)] }
    }

    /// Claims the next position of `end` whose place has come round to it, `ahead` of the position.
    fn claim(&self, end: &AtomicUsize, ahead: usize) -> usize {
        loop {
            let position = end.load(Ordering::Relaxed);
            let sequence = self.places[position % 2].sequence.load(Ordering::Acquire);
            if sequence == position + ahead
                && end.compare_exchange(position, position + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                return position;
            }
            thread::yield_now();
        }
    }

    fn push(&self, value: usize) {
        let position = self.claim(&self.tail, 0);
        let place = &self.places[position % 2];
        place.value.store(value, Ordering::Relaxed);
        place.sequence.store(position + 1, Ordering::Release);
    }

    fn pop(&self) -> usize {
        let position = self.claim(&self.head, 1);
        let place = &self.places[position % 2];
        let value = place.value.load(Ordering::Relaxed);
        place.sequence.store(position + 2, Ordering::Release);
        value
    }
}

pub(crate) fn run() {
    let queue = Arc::new(Queue::new());
    let producers: Vec<_> = (0..2)
        .map(|index| {
            let queue = queue.clone();
            thread::spawn(move || {
                queue.push(1 + index);
                queue.push(10 + index);
            })
        })
        .collect();
    let consumer = {
        let queue = queue.clone();
        thread::spawn(move || queue.pop() + queue.pop())
    };
    let mine = queue.pop() + queue.pop();
    producers.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(mine + consumer.join().unwrap(), 1 + 2 + 10 + 11);
}

//! A buffer of one place with a mutex and two condition variables, between two producers and a consumer.

use super::super::sync::{Arc, Condvar, Mutex};
use super::super::thread;

struct Buffer {
    place: Mutex<Option<u32>>,
    not_full: Condvar,
    not_empty: Condvar,
}

impl Buffer {
    fn put(&self, value: u32) {
        let mut place = self.place.lock().unwrap();
        while place.is_some() {
            place = self.not_full.wait(place).unwrap();
        }
        *place = Some(value);
        drop(place);
        self.not_empty.notify_one();
    }

    fn take(&self) -> u32 {
        let mut place = self.place.lock().unwrap();
        loop {
            if let Some(value) = place.take() {
                drop(place);
                self.not_full.notify_one();
                return value;
            }
            place = self.not_empty.wait(place).unwrap();
        }
    }
}

pub(crate) fn run() {
    let buffer =
        Arc::new(Buffer { place: Mutex::new(None), not_full: Condvar::new(), not_empty: Condvar::new() });
    let producers: Vec<_> = (0..2)
        .map(|index| {
            let buffer = buffer.clone();
            thread::spawn(move || {
                buffer.put(1 + index);
                buffer.put(10 + index);
            })
        })
        .collect();
    let taken: u32 = (0..4).map(|_| buffer.take()).sum();
    producers.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(taken, 1 + 2 + 10 + 11);
}

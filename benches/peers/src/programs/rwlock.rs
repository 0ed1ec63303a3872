//! A cache behind a readers-writer lock: whoever misses fills it.

use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::sync::{Arc, RwLock};
use super::super::thread;

struct Cache {
    squares: RwLock<[Option<usize>; 2]>,
    misses: AtomicUsize,
}

impl Cache {
    fn square(&self, number: usize) -> usize {
        if let Some(square) = self.squares.read().unwrap()[number] {
            return square;
        }
        let mut squares = self.squares.write().unwrap();
        *squares[number].get_or_insert_with(|| {
            self.misses.fetch_add(1, Ordering::Relaxed);
            number * number
        })
    }
}

pub(crate) fn run() {
    let cache = Arc::new(Cache { squares: RwLock::new([None; 2]), misses: AtomicUsize::new(0) });
    let threads: Vec<_> = (0..3)
        .map(|index| {
            let cache = cache.clone();
            thread::spawn(move || {
                for turn in 0..3 {
                    let number = (index + turn) % 2;
                    assert_eq!(cache.square(number), number * number);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(cache.misses.load(Ordering::Relaxed), 2);
}

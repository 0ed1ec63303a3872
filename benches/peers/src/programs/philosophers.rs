//! Four dining philosophers who eat once each, the last of them left-handed.

use super::super::sync::{Arc, Mutex};
use super::super::thread;

pub(crate) fn dine(philosophers: usize) {
    let forks: Arc<Vec<Mutex<u32>>> = Arc::new((0..philosophers).map(|_| Mutex::new(0)).collect());
    let threads: Vec<_> = (0..philosophers)
        .map(|index| {
            let forks = forks.clone();
            let other = (index + 1) % philosophers;
            let (first, second) = (index.min(other), index.max(other));
            thread::spawn(move || {
                let mut first = forks[first].lock().unwrap();
                let mut second = forks[second].lock().unwrap();
                *first += 1;
                *second += 1;
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(forks.iter().all(|fork| *fork.lock().unwrap() == 2));
}

pub(crate) fn run() {
    dine(4);
}

//! Three threads move money between two accounts, each behind a mutex.

use super::super::sync::{Arc, Mutex};
use super::super::thread;

pub(crate) fn run() {
    let accounts = Arc::new([Mutex::new(10_u32), Mutex::new(10)]);
    let threads: Vec<_> = (0..3)
        .map(|index| {
            let accounts = accounts.clone();
            thread::spawn(move || {
                for turn in 0..2 {
                    let mut first = accounts[0].lock().unwrap();
                    let mut second = accounts[1].lock().unwrap();
                    let amount = 1 + (index + turn) % 2;
                    *first -= amount;
                    *second += amount;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let total = *accounts[0].lock().unwrap() + *accounts[1].lock().unwrap();
    assert_eq!(total, 20);
}

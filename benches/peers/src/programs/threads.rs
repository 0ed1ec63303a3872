//! Four threads that do next to nothing: what a thread costs.

use super::super::sync::Arc;
use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::thread;

pub(crate) fn run() {
    let flags: Arc<[AtomicUsize; 4]> = Arc::new(std::array::from_fn(|_| AtomicUsize::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|index| {
            let flags = flags.clone();
            thread::spawn(move || flags[index].store(1, Ordering::Relaxed))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

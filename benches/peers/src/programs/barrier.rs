//! Three threads that go through three phases together: each adds up what its neighbour wrote in the phase
//! before.

use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::sync::{Arc, Barrier};
use super::super::thread;

const THREADS: usize = 3;

struct Pipeline {
    barrier: Barrier,
    values: [[AtomicUsize; THREADS]; 3],
}

pub(crate) fn run() {
    let pipeline = Arc::new(Pipeline {
        barrier: Barrier::new(THREADS),
        values: std::array::from_fn(|_| std::array::from_fn(|_| AtomicUsize::new(0))),
    });
    let threads: Vec<_> = (0..THREADS)
        .map(|index| {
            let pipeline = pipeline.clone();
            thread::spawn(move || {
                let mut sum = index;
                for values in &pipeline.values {
                    values[index].store(sum, Ordering::Release);
                    pipeline.barrier.wait();
                    sum += values[(index + 1) % THREADS].load(Ordering::Acquire);
                }
                sum
            })
        })
        .collect();
    let total: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(total, 8 * (1 + 2));
}

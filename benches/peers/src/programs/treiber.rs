//! Treiber's stack, over numbered nodes, with a tag against reuse.

use super::super::sync::Arc;
use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::thread;

const NODES: usize = 6;
const NOTHING: usize = 0;

struct Stack {
    /// The tag times 16, plus the number of the top node, from 1.
    top: AtomicUsize,
    next: [AtomicUsize; NODES],
}

impl Stack {
    fn push(&self, node: usize) {
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            self.next[node - 1].store(top % 16, Ordering::Relaxed);
            let new = (top / 16 + 1) * 16 + node;
            match self.top.compare_exchange(top, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(seen) => top = seen,
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        let mut top = self.top.load(Ordering::Acquire);
        loop {
            let node = top % 16;
            if node == NOTHING {
                return None;
            }
            let next = self.next[node - 1].load(Ordering::Relaxed);
            let new = (top / 16 + 1) * 16 + next;
            match self.top.compare_exchange(top, new, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(node),
                Err(seen) => top = seen,
            }
        }
    }
}

pub(crate) fn run() {
    let stack = Arc::new(Stack {
        top: AtomicUsize::new(NOTHING),
        next: std::array::from_fn(|_| AtomicUsize::new(NOTHING)),
    });
    let threads: Vec<_> = (0..3)
        .map(|index| {
            let stack = stack.clone();
            thread::spawn(move || {
                stack.push(2 * index + 1);
                stack.push(2 * index + 2);
                stack.pop().expect("each thread pops no more often than it has pushed")
            })
        })
        .collect();
    let popped: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let left: usize = std::iter::from_fn(|| stack.pop()).sum();
    assert_eq!(popped + left, (1..=NODES).sum::<usize>());
}

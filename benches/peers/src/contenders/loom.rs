//! loom 0.7.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::model::Builder;

use super::{Contender, Explored, Ran};

pub(crate) mod sync {
    pub(crate) use loom::sync::{Arc, Barrier, Condvar, Mutex, RwLock, atomic, mpsc};
}
pub(crate) use loom::thread;

#[path = "../programs/mod.rs"]
pub(crate) mod programs;

pub(crate) struct Loom;

/// Runs at most so many permutations, and says how many there were.
fn permutations<F: Fn() + Send + Sync + 'static>(program: F, bound: Option<u32>, most: u64) -> u64 {
    let executions = Arc::new(AtomicU64::new(0));
    let counter = executions.clone();
    let mut builder = Builder::new();
    builder.max_branches = 50_000;
    builder.preemption_bound = bound.map(|bound| bound as usize);
    // The limit is looked at once an interval, before the permutation of that number is run.
    builder.checkpoint_interval = 1;
    builder.max_permutations = Some(most as usize + 1);
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        program();
    });
    executions.load(Ordering::Relaxed)
}

impl Contender for Loom {
    const NAME: &'static str = "loom";
    const PROGRAMS: &'static [fn()] = programs::ALL;
    const ALONE: fn(usize) = programs::long::alone;
    const TOGETHER: fn(usize) = programs::long::together;

    /// It does not sample: these are the first executions of its exploration, again and again if there are
    /// too few.
    fn sample<F: Fn() + Send + Sync + 'static>(program: F, executions: u64, _: u64) -> Ran {
        let program = Arc::new(program);
        let mut ran = 0;
        while ran < executions {
            let program = program.clone();
            ran += permutations(move || program(), None, executions - ran);
        }
        Ran { executions: ran, steps: None }
    }

    fn explore<F: Fn() + Send + Sync + 'static>(program: F, bound: Option<u32>, most: u64) -> Explored {
        let executions = permutations(program, bound, most + 1);
        Explored { executions: executions.min(most), orders: None, finished: executions <= most }
    }
}

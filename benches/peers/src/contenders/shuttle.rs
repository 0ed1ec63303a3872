//! shuttle 0.9.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shuttle::scheduler::{DfsScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::{Contender, Explored, Ran};

pub(crate) mod sync {
    pub(crate) use shuttle::sync::{Arc, Barrier, Condvar, Mutex, RwLock, atomic, mpsc};
}
pub(crate) use shuttle::thread;

#[path = "../programs/mod.rs"]
pub(crate) mod programs;

pub(crate) struct Shuttle;

fn config() -> Config {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::None;
    config
}

impl Contender for Shuttle {
    const NAME: &'static str = "shuttle";
    const PROGRAMS: &'static [fn()] = programs::ALL;
    const ALONE: fn(usize) = programs::long::alone;
    const TOGETHER: fn(usize) = programs::long::together;

    fn sample<F: Fn() + Send + Sync + 'static>(program: F, executions: u64, seed: u64) -> Ran {
        let scheduler = RandomScheduler::new_from_seed(seed, executions as usize);
        let executions = Runner::new(scheduler, config()).run(program) as u64;
        Ran { executions, steps: None }
    }

    fn count_steps<F: Fn() + Send + Sync + 'static>(program: F, executions: u64, seed: u64) -> Option<u64> {
        let steps = Arc::new(AtomicU64::new(0));
        let scheduler = RandomScheduler::new_from_seed(seed, executions as usize);
        Runner::new(Counting { scheduler, steps: steps.clone() }, config()).run(program);
        Some(steps.load(Ordering::Relaxed))
    }

    /// It has no bound; its search is depth first, over everything.
    fn explore<F: Fn() + Send + Sync + 'static>(program: F, bound: Option<u32>, most: u64) -> Explored {
        assert_eq!(bound, None, "shuttle has no bound on preemptions");
        let scheduler = DfsScheduler::new(Some(most as usize + 1), false);
        let mut config = config();
        // Depth first, a spin loop never ends: such an execution is given up and counted.
        config.max_steps = MaxSteps::ContinueAfter(2_000);
        let executions = Runner::new(scheduler, config).run(program) as u64;
        Explored { executions: executions.min(most), orders: None, finished: executions <= most }
    }
}

/// Counts decisions.
struct Counting {
    scheduler: RandomScheduler,
    steps: Arc<AtomicU64>,
}

impl Scheduler for Counting {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.scheduler.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.scheduler.next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.scheduler.next_u64()
    }
}

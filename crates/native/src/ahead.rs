//! Executions that are run ahead of time, on other cores.
//!
//! The search stays one: it asks for an execution, learns from it, and asks for the next. What an execution does is
//! decided by its plan alone, so one that will be asked for can be run before it is: its log is kept until then. Which
//! these are the strategy foresees. So verdicts, counts and counterexamples are the same however many cores there are,
//! and a wrong guess costs time alone.
//!
//! Each worker is a thread with a process of its own that executions are forked from. An execution that cannot go to its
//! end by itself, because it asks for a decision, is ended there; one that does not come back is given up, and is dealt
//! with when it is asked for, by the process that the search itself has.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use selvedge_stateless::Onward;

use crate::launch::{NativeProgram, Zygote};
use crate::protocol::{Answer, Record, tag};

/// All that decides what an execution does by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Course {
    /// The decisions that it begins with, as the shared area has them.
    pub(crate) decisions: Vec<u32>,
    pub(crate) onward: Onward,
    /// The fair bound.
    pub(crate) yields: Option<u32>,
}

/// So many bytes of logs are kept; then the oldest are forgotten.
const MOST_KEPT: usize = 64 << 20;
/// The log of an execution that is longer is not kept.
const LONGEST: usize = 1 << 18;
/// So many executions may wait to be run, for each core; and so many are looked at to find them.
const WANTED: usize = 4;
const TOLD: usize = 32;
/// The first executions take longer than those after them. Then it pays to have one run by another core if it takes so
/// long, since to hand it over takes time too.
const FIRST: u32 = 16;
const WORTH_IT: Duration = Duration::from_micros(100);
/// How often a worker looks whether it is to end.
const SLICE: Duration = Duration::from_millis(20);

/// How many executions were run ahead of time, and to what avail.
///
/// ```
/// use selvedge_native::Ahead;
/// assert_eq!(Ahead { asked: 10, used: 5, run: 8 }.hit_rate(), 0.5);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Executions that were asked for.
    pub asked: u64,
    /// Those among them that had been run ahead of time.
    pub used: u64,
    /// Executions that were run ahead of time.
    pub run: u64,
}

impl Ahead {
    /// The part of the executions that were asked for which had been run.
    ///
    /// ```
    /// assert_eq!(selvedge_native::Ahead::default().hit_rate(), 0.0);
    /// ```
    pub fn hit_rate(&self) -> f64 {
        self.used as f64 / self.asked.max(1) as f64
    }
}

/// What is counted of a program's executions.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    asked: AtomicU64,
    used: AtomicU64,
    run: AtomicU64,
}

impl Counts {
    pub(crate) fn get(&self) -> Ahead {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Ahead { asked: of(&self.asked), used: of(&self.used), run: of(&self.run) }
    }
}

/// An execution that has been run.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) log: Vec<Record>,
    /// How its process ended; `None` if it had asked for a decision.
    pub(crate) status: Option<i32>,
    /// The message that it left.
    pub(crate) text: String,
    /// The last that it printed.
    pub(crate) output: Vec<u8>,
}

impl Kept {
    fn size(&self) -> usize {
        size_of_val(&self.log[..]) + self.output.len() + size_of::<Kept>()
    }
}

#[derive(Default)]
struct State {
    /// What to run, soonest first.
    queue: VecDeque<Arc<Course>>,
    running: Vec<Arc<Course>>,
    kept: HashMap<Arc<Course>, Kept>,
    /// The keys of `kept`, and some that are no longer, oldest first.
    order: VecDeque<Arc<Course>>,
    /// The size of what is kept.
    bytes: usize,
    /// Whether the search runs an execution of its own, which takes one of the cores.
    occupied: bool,
    /// How many workers wait for something to do; and whether the search waits for one of them.
    idle: usize,
    awaited: bool,
    ends: bool,
}

impl State {
    /// Whether an execution has been run or is being run.
    fn has(&self, plan: &Arc<Course>) -> bool {
        self.kept.contains_key(plan) || self.running.contains(plan)
    }

    fn keep(&mut self, plan: Arc<Course>, run: Kept) {
        self.bytes += run.size();
        self.order.push_back(plan.clone());
        self.kept.insert(plan, run);
        while self.bytes > MOST_KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.take(&oldest);
        }
        // What was taken is forgotten in time.
        if self.order.len() > 2 * self.kept.len() + 64 {
            self.order.retain(|plan| self.kept.contains_key(plan));
        }
    }

    fn take(&mut self, plan: &Course) -> Option<Kept> {
        let run = self.kept.remove(plan)?;
        self.bytes -= run.size();
        Some(run)
    }
}

struct Shared {
    state: Mutex<State>,
    /// There is something to do.
    work: Condvar,
    /// Something was done.
    done: Condvar,
    /// One process is started after the other, so that none inherits what is meant for another.
    starting: Mutex<()>,
    counts: Arc<Counts>,
    jobs: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a worker is to run next; `None` when there will be nothing any more.
    fn next(&self) -> Option<Arc<Course>> {
        let mut state = self.lock();
        loop {
            if state.ends {
                return None;
            }
            let free = state.running.len() + usize::from(state.occupied) < self.jobs;
            if free && let Some(plan) = state.queue.pop_front() {
                state.running.push(plan.clone());
                return Some(plan);
            }
            state.idle += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn finished(&self, plan: Arc<Course>, run: Option<Kept>) {
        let mut state = self.lock();
        state.running.retain(|other| *other != plan);
        if let Some(run) = run {
            self.counts.run.fetch_add(1, Ordering::Relaxed);
            state.keep(plan, run);
        }
        if state.awaited {
            self.done.notify_all();
        }
    }

    /// What a worker does.
    fn serve(&self, program: &NativeProgram) {
        let mut zygote = None;
        while let Some(plan) = self.next() {
            if zygote.is_none() {
                let _one_by_one = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
                zygote = program.start(false).ok();
            }
            let run = zygote.as_mut().and_then(|zygote| self.run(zygote, program, &plan));
            let failed = run.is_none();
            self.finished(plan, run);
            if failed && !zygote.as_mut().is_some_and(Zygote::is_alive) {
                // The search finds out why, if it comes to that. Another worker may have waited for this core.
                self.work.notify_all();
                return;
            }
        }
    }

    /// Runs an execution as far as it goes by itself.
    fn run(&self, zygote: &mut Zygote, program: &NativeProgram, plan: &Course) -> Option<Kept> {
        program.clear_output();
        zygote.request(plan, true);
        let mut run = Kept::default();
        let mut asks = false;
        loop {
            self.wait(zygote, program.how_patient())?;
            let area = &zygote.area;
            run.status = area.status();
            if !asks {
                run.log.extend((0..area.log_length()).map(|index| area.record(index)));
            }
            if run.status.is_some() {
                break;
            }
            if !asks && run.log.last().is_some_and(|record| record[0] as u8 == tag::FULL) {
                run.log.pop();
                if run.log.len() < LONGEST {
                    area.answer(Answer::GoOn);
                    continue;
                }
            }
            asks = true;
            area.answer(Answer::End);
        }
        if run.log.iter().rev().take(2).any(|record| record[0] as u8 == tag::STOP) {
            run.text = zygote.area.text();
        }
        if asks {
            run.status = None;
        }
        run.output = program.printed();
        (run.log.len() < LONGEST).then_some(run)
    }

    /// Waits until a program has come to its end or asks something. One that does not is ended.
    fn wait(&self, zygote: &mut Zygote, patience: Duration) -> Option<()> {
        let began = Instant::now();
        while !zygote.area.wait(SLICE) {
            if !zygote.is_alive() || self.lock().ends {
                return None;
            }
            if began.elapsed() >= patience {
                zygote.kill_execution();
                while !zygote.area.wait(SLICE) && zygote.is_alive() {}
                return None;
            }
        }
        Some(())
    }
}

/// The workers of a search.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// What was foreseen for after the next execution and is still to be run, and how much was foreseen in all.
    foreseen: Vec<Arc<Course>>,
    told: usize,
    /// How long the search's own executions take, on average, and how many have been looked at.
    usual: Duration,
    looked_at: u32,
    /// However short they are.
    eager: bool,
}

impl Pool {
    pub(crate) fn new(jobs: usize, eager: bool, counts: Arc<Counts>) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
            starting: Mutex::new(()),
            counts,
            jobs,
        };
        Pool {
            shared: Arc::new(shared),
            workers: Vec::new(),
            foreseen: Vec::new(),
            told: 0,
            usual: Duration::ZERO,
            looked_at: 0,
            eager,
        }
    }

    /// An execution of the search's own has taken so long.
    pub(crate) fn took(&mut self, time: Duration) {
        self.looked_at = self.looked_at.saturating_add(1);
        self.usual = (self.usual * 7 + time) / 8;
    }

    /// Whether it pays to run executions ahead, and there is soon nothing to do for the workers.
    pub(crate) fn wants_more(&self) -> bool {
        let pays = self.eager || self.looked_at >= FIRST && self.usual >= WORTH_IT;
        pays && self.shared.lock().queue.len() < WANTED * self.shared.jobs / 2
    }

    /// A later execution will begin like this. Says whether more of them are of use.
    pub(crate) fn foresee(&mut self, plan: Course) -> bool {
        let plan = Arc::new(plan);
        self.told += 1;
        if !self.shared.lock().has(&plan) {
            self.foreseen.push(plan);
        }
        let jobs = self.shared.jobs;
        self.foreseen.len() < WANTED * jobs && self.told < TOLD * jobs
    }

    /// The execution with this plan, if it has been run or is being run.
    pub(crate) fn take(&mut self, plan: &Course, program: &NativeProgram) -> Option<Kept> {
        let shared = &self.shared;
        shared.counts.asked.fetch_add(1, Ordering::Relaxed);
        let mut state = shared.lock();
        if self.told > 0 {
            self.told = 0;
            state.queue.clear();
            for foreseen in self.foreseen.drain(..) {
                // A worker may have run it since.
                if !state.has(&foreseen) {
                    state.queue.push_back(foreseen);
                }
            }
        }
        // What waits to be run is run next; but the first of all has nobody to run it.
        let queued = state.queue.iter().position(|queued| **queued == *plan);
        if let Some(plan) = queued.and_then(|at| state.queue.remove(at))
            && !self.workers.is_empty()
        {
            state.queue.push_front(plan);
            state.occupied = false;
            shared.work.notify_one();
        }
        let began = Instant::now();
        let limit = program.how_patient() / 8;
        let is_coming =
            |state: &State| state.running.iter().chain(&state.queue).any(|other| **other == *plan);
        while is_coming(&state) {
            if state.occupied {
                state.occupied = false;
                shared.work.notify_one();
            }
            let Some(left) = limit.checked_sub(began.elapsed()) else { break };
            state.awaited = true;
            let waited = shared.done.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.awaited = false;
        }
        state.queue.retain(|queued| **queued != *plan);
        let run = state.take(plan);
        state.occupied = run.is_none();
        let is_work = !state.queue.is_empty();
        if is_work && state.idle > 0 {
            shared.work.notify_all();
        }
        drop(state);
        shared.counts.used.fetch_add(u64::from(run.is_some()), Ordering::Relaxed);
        if is_work && self.workers.is_empty() {
            self.begin(program);
        }
        run
    }

    /// The search runs an execution of its own after all.
    pub(crate) fn occupy(&self) {
        self.shared.lock().occupied = true;
    }

    /// Starts the workers: there is something for them to do.
    fn begin(&mut self, program: &NativeProgram) {
        for _ in 0..self.shared.jobs {
            // Without memory for another there are fewer workers, or none.
            let Ok(program) = program.twin() else { return };
            let shared = self.shared.clone();
            let worker = std::thread::Builder::new().name("selvedge worker".into());
            self.workers.extend(worker.spawn(move || shared.serve(&program)));
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.work.notify_all();
        for worker in self.workers.drain(..) {
            // Its processes have ended with it, whatever became of it.
            let _ = worker.join();
        }
    }
}

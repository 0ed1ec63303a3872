//! Executions that are run ahead of time, on other cores.
//!
//! The search stays one: it asks for an execution, learns from it, and asks for the next. What an execution does is
//! decided by its decisions alone, so one that will be asked for can be run before it is: what was seen of it is kept until then.
//! Which these are copies of the search find out, that go on as if some of what it is about to do were done. So
//! verdicts, counts and counterexamples are the same however many cores there are, and a wrong guess costs time alone.
//!
//! Each copy is with a *scout*: a thread with a process of its own that executions are forked from. A scout that
//! comes to what another is running, or that the search catches up with, leaves, and is sent elsewhere.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use selvedge_core::Decision;
use selvedge_stateless::{Ahead as Copies, Explorer, Onward, Plan, Ran, Settings, Strategy};

use crate::cores::Core;
use crate::execution::{NativeExecution, course};
use crate::launch::NativeProgram;

/// All that decides what an execution does by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Course {
    /// The decisions that it begins with, as the shared area has them.
    pub(crate) decisions: Vec<u32>,
    pub(crate) onward: Onward,
    /// The fair bound.
    pub(crate) yields: Option<u32>,
}

/// So many bytes of executions are kept; then the oldest are forgotten.
const MOST_KEPT: usize = 256 << 20;
/// One that takes more is not kept.
const LARGEST: usize = 16 << 20;
/// So many that were used are kept for their memory.
const SPARE: usize = 64;
/// So much of what comes next a scout leaves to the search, to begin with and at most. The nearer it is, the sooner the
/// search catches up with it; the farther, the later its executions are asked for, and the more has been learnt until then
/// that may change them.
const DISTANCE: u32 = 4;
const FARTHEST: u32 = 32;
/// A scout that has run less when it leaves was too near; one that has run so many times as much, and was not caught up
/// with, is too far. It is more where to copy the search takes long.
const LEAST_RUN: u32 = 8;
const MUCH: u32 = 8;
/// So often a scout goes on from where the search has caught up with it before the search sends it somewhere again.
const HOPS: u32 = 2;
/// After so many executions of its own the search has scouts: many a search is over by then.
const FIRST: u32 = 16;
/// The part of the time that may be spent on copies of the search.
const COPYING: u32 = 20;

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

/// Where a scout is.
#[derive(Default)]
struct Post {
    /// The search that it is to run next.
    search: Option<Box<dyn Strategy + Send>>,
    /// What it runs just now.
    running: Option<Arc<Course>>,
    /// How much it has run since it was sent here, and is to run at most.
    run: u32,
    most: u32,
    /// So often it may still go elsewhere by itself.
    hops: u32,
    /// It waits to be sent somewhere; and it has been before.
    idle: bool,
    sent: bool,
    /// It is to leave.
    leaves: bool,
    /// Its process could not be started, or has ended.
    gone: bool,
}

#[derive(Default)]
struct State {
    posts: Vec<Post>,
    /// What the search runs itself.
    own: Option<Course>,
    kept: HashMap<Arc<Course>, Arc<Ran>>,
    /// The keys of `kept`, and some that are no longer, oldest first.
    order: VecDeque<Arc<Course>>,
    /// The size of what is kept.
    bytes: usize,
    /// Executions that were used, for their memory.
    spare: Vec<Ran>,
    /// So much of what comes next is left to the search.
    distance: u32,
    /// Whether the search waits for a scout.
    awaited: bool,
    ends: bool,
}

impl State {
    /// Whether an execution has been run or is being run.
    fn has(&self, course: &Course) -> bool {
        self.kept.contains_key(course) || self.runner(course).is_some() || self.own.as_ref() == Some(course)
    }

    /// The scout that runs an execution.
    fn runner(&self, course: &Course) -> Option<usize> {
        self.posts.iter().position(|post| post.running.as_deref() == Some(course))
    }

    fn keep(&mut self, course: Arc<Course>, run: Ran) {
        if run.size() > LARGEST {
            return;
        }
        self.bytes += run.size();
        self.order.push_back(course.clone());
        if let Some(before) = self.kept.insert(course, Arc::new(run)) {
            self.bytes -= before.size();
        }
        while self.bytes > MOST_KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.take(&oldest);
        }
        // What was taken is forgotten in time.
        if self.order.len() > 2 * self.kept.len() + 64 {
            self.order.retain(|course| self.kept.contains_key(course));
        }
    }

    fn take(&mut self, course: &Course) -> Option<Arc<Ran>> {
        let run = self.kept.remove(course)?;
        self.bytes -= run.size();
        Some(run)
    }
}

/// What the search and its scouts share.
struct Shared {
    state: Mutex<State>,
    /// A scout is sent somewhere.
    work: Condvar,
    /// Something was done.
    done: Condvar,
    /// One process is started after the other, so that none inherits what is meant for another.
    starting: Mutex<()>,
    counts: Arc<Counts>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of a search that leaves so much of what comes next and was not run to others.
    fn copy(
        &self,
        distance: u32,
        yields: Option<u32>,
        copies: Copies<'_>,
    ) -> Option<Box<dyn Strategy + Send>> {
        let is_new = |decisions: &[Decision], onward| {
            let plan = Plan { decisions, onward, yields, ..Plan::default() };
            !self.lock().has(&course(&plan, Vec::new()))
        };
        let mut left = distance;
        let mut new = 0;
        let copy = copies(&mut |decisions, onward| {
            if is_new(decisions, onward) {
                new += 1;
                left = left.saturating_sub(1);
            }
            left == 0
        });
        if copy.is_some() {
            return copy;
        }
        if new == 0 {
            // All of it was run, but not what lies behind it.
            return copies(&mut |_, _| true);
        }
        // There is less than that: the last of it.
        copies(&mut |decisions, onward| {
            new -= u32::from(is_new(decisions, onward));
            new == 0
        })
    }
}

/// What an execution that is asked for is to do.
pub(crate) enum Go {
    /// What one did that was run.
    Read(Arc<Ran>),
    /// Run.
    Run,
    /// Nothing: somebody else runs it, or it is of no interest any more.
    Leave,
}

/// A scout's side.
pub(crate) struct Scout {
    shared: Arc<Shared>,
    number: usize,
}

impl Scout {
    /// An execution is asked for by the copy of the search.
    pub(crate) fn asks(&self, course: &Course) -> Go {
        let mut state = self.shared.lock();
        let runner = state.runner(course);
        let post = &state.posts[self.number];
        if state.ends
            || post.leaves
            || post.run >= post.most
            || state.own.as_ref() == Some(course)
            || runner.is_some()
        {
            return Go::Leave;
        }
        if let Some(run) = state.kept.get(course) {
            return Go::Read(run.clone());
        }
        let post = &mut state.posts[self.number];
        post.run += 1;
        post.running = Some(Arc::new(course.clone()));
        Go::Run
    }

    /// The execution that was run has ended; it is kept unless there is something about it that the search had better
    /// see for itself.
    fn has_run(&self, run: Option<&Explorer<'_, NativeExecution<'_>>>) {
        let mut run = run.map(|run| (run, self.shared.lock().spare.pop().unwrap_or_default()));
        if let Some((explorer, run)) = &mut run {
            explorer.copy_last(run);
        }
        let mut state = self.shared.lock();
        let course = state.posts[self.number].running.take();
        if let (Some(course), Some((_, run))) = (course, run) {
            self.shared.counts.run.fetch_add(1, Ordering::Relaxed);
            state.keep(course, run);
        }
        if state.awaited {
            self.shared.done.notify_all();
        }
    }

    /// Its process is not there: the search finds out why itself, if it comes to that.
    pub(crate) fn is_gone(&self) {
        self.shared.lock().posts[self.number].gone = true;
        self.shared.done.notify_all();
    }

    /// Whether it is over.
    pub(crate) fn ends(&self) -> bool {
        self.shared.lock().ends
    }

    /// The next search to run; `None` when there will be none any more.
    fn next(&self) -> Option<Box<dyn Strategy + Send>> {
        let mut state = self.shared.lock();
        let post = &mut state.posts[self.number];
        post.idle = !post.gone;
        if state.awaited {
            self.shared.done.notify_all();
        }
        loop {
            if state.ends || state.posts[self.number].gone {
                return None;
            }
            if let Some(search) = state.posts[self.number].search.take() {
                return Some(search);
            }
            state = self.shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What a scout does.
    fn serve(
        shared: &Arc<Shared>,
        number: usize,
        program: &NativeProgram,
        settings: Settings<'static>,
        core: Option<Core>,
    ) {
        let scout = || Scout { shared: shared.clone(), number };
        if let Some(core) = &core {
            // What a program sees of the cores does not depend on who starts it.
            core.leave();
        }
        let started = {
            let _one_by_one = shared.starting.lock().unwrap_or_else(PoisonError::into_inner);
            program.start()
        };
        let Ok(zygote) = started else { return scout().is_gone() };
        let execution = NativeExecution::new(program, zygote, Company::Scout(scout()), core);
        let mut explorer = Explorer::with_execution(Box::new(execution), settings);
        while let Some(mut search) = scout().next() {
            loop {
                explorer.run_through(search.as_mut(), &mut |run| scout().has_run(run));
                let Some(next) = scout().hops(search.as_ref(), settings.yields) else { break };
                search = next;
            }
        }
    }

    /// A search of its own that goes on ahead of its own one, when the search has caught up with that: to wait to be sent
    /// somewhere takes longer. But such a copy knows nothing of what the search has learnt since it sent the scout.
    fn hops(&self, search: &dyn Strategy, yields: Option<u32>) -> Option<Box<dyn Strategy + Send>> {
        let mut state = self.shared.lock();
        let post = &mut state.posts[self.number];
        if !post.leaves || post.hops == 0 || post.gone {
            return None;
        }
        post.hops -= 1;
        let too_near = post.run < post.most / MUCH;
        state.distance = (state.distance + u32::from(too_near)).min(FARTHEST);
        let distance = state.distance;
        drop(state);
        let copy = self.shared.copy(distance, yields, &mut |wanted| search.ahead(wanted))?;
        let post = &mut self.shared.lock().posts[self.number];
        post.run = 0;
        post.leaves = false;
        Some(copy)
    }
}

/// Whom an execution has to do with.
pub(crate) enum Company {
    /// Nobody: there is one core.
    Nobody,
    /// Scouts, that run executions ahead of it.
    Scouts(Pool),
    /// The search that it runs executions ahead of.
    Scout(Scout),
}

/// The scouts of a search.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    scouts: Vec<JoinHandle<()>>,
    jobs: usize,
    /// How long the search's own executions take, on average, and how many have been looked at.
    usual: Duration,
    looked_at: u32,
    /// From the first execution on.
    eager: bool,
    /// The one that was used last.
    used: Option<Arc<Ran>>,
    /// When the first copy of the search was made, and how long making copies has taken since.
    began: Option<Instant>,
    copying: Duration,
}

impl Pool {
    pub(crate) fn new(jobs: usize, eager: bool, counts: Arc<Counts>) -> Self {
        let shared = Shared {
            state: Mutex::new(State { distance: DISTANCE, ..State::default() }),
            work: Condvar::new(),
            done: Condvar::new(),
            starting: Mutex::new(()),
            counts,
        };
        Pool {
            shared: Arc::new(shared),
            scouts: Vec::new(),
            jobs,
            usual: Duration::ZERO,
            looked_at: 0,
            eager,
            used: None,
            began: None,
            copying: Duration::ZERO,
        }
    }

    /// The search has run an execution itself; they take so long on average.
    pub(crate) fn took(&mut self, usual: Duration) {
        self.looked_at = self.looked_at.saturating_add(1);
        self.usual = usual;
    }

    /// Whether executions are to be run ahead, and there is a scout that waits to be sent somewhere.
    pub(crate) fn wants_more(&self) -> bool {
        let copies = self.began.is_none_or(|began| self.copying * COPYING <= began.elapsed());
        (self.looked_at >= FIRST && copies || self.eager)
            && (self.scouts.is_empty() || self.shared.lock().posts.iter().any(|post| post.idle))
    }

    /// Sends scouts that wait to where the search will come to.
    pub(crate) fn send(
        &mut self,
        program: &NativeProgram,
        core: Option<&Core>,
        settings: Settings<'static>,
        copies: Copies<'_>,
    ) {
        let began = Instant::now();
        self.began.get_or_insert(began);
        if self.scouts.is_empty() {
            self.begin(program, core, settings);
        }
        let posts = self.shared.lock().posts.len();
        for number in 0..posts {
            let Post { idle: true, run, most, sent, .. } = self.shared.lock().posts[number] else { continue };
            let mut state = self.shared.lock();
            match run {
                _ if !sent => {}
                _ if run < most / MUCH => state.distance = (state.distance + 1).min(FARTHEST),
                _ if run >= most => state.distance = (state.distance / 2).max(1),
                _ => {}
            }
            let distance = state.distance;
            drop(state);
            let copying = Instant::now();
            let Some(copy) = self.shared.copy(distance, settings.yields, copies) else { break };
            let copying = copying.elapsed().as_micros() as u32;
            let worth = copying.saturating_mul(COPYING) / (self.usual.as_micros() as u32).max(1);
            let most = MUCH * worth.clamp(LEAST_RUN, 1 << 12);
            let mut state = self.shared.lock();
            state.posts[number] =
                Post { search: Some(copy), most, hops: HOPS, sent: true, ..Post::default() };
            self.shared.work.notify_all();
        }
        self.copying += began.elapsed();
    }

    /// The execution with this plan, if it has been run or is being run.
    pub(crate) fn take(&mut self, course: &Course, program: &NativeProgram) -> Option<Arc<Ran>> {
        let shared = &self.shared;
        shared.counts.asked.fetch_add(1, Ordering::Relaxed);
        let mut state = shared.lock();
        let began = Instant::now();
        let limit = program.how_patient() / 8;
        while let Some(runner) = state.runner(course) {
            state.posts[runner].leaves = true;
            let Some(left) = limit.checked_sub(began.elapsed()) else { break };
            state.awaited = true;
            let waited = shared.done.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.awaited = false;
        }
        let run = state.take(course);
        state.own = run.is_none().then(|| course.clone());
        if let Some(used) = std::mem::replace(&mut self.used, run.clone()).and_then(Arc::into_inner)
            && state.spare.len() < SPARE
        {
            state.spare.push(used);
        }
        drop(state);
        shared.counts.used.fetch_add(u64::from(run.is_some()), Ordering::Relaxed);
        run
    }

    /// Starts the scouts.
    fn begin(&mut self, program: &NativeProgram, core: Option<&Core>, settings: Settings<'static>) {
        keep_freed_memory();
        for number in 0..self.jobs - 1 {
            // Without memory for another there are fewer scouts, or none.
            let Ok(program) = program.twin() else { return };
            self.shared.lock().posts.push(Post::default());
            let shared = self.shared.clone();
            let core = core.map(|core| core.of_job(number + 1));
            let scout = std::thread::Builder::new().name("selvedge scout".into());
            self.scouts.extend(scout.spawn(move || Scout::serve(&shared, number, &program, settings, core)));
        }
        let mut state = self.shared.lock();
        while self.eager && !state.posts[..self.scouts.len()].iter().all(|post| post.idle || post.gone) {
            state.awaited = true;
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.awaited = false;
        }
    }
}

/// Has memory that is freed kept for what is allocated next. A copy of a search can be some megabytes, and to have them
/// from the system, page by page, takes several times as long as to copy them.
fn keep_freed_memory() {
    const LARGEST: i32 = 32 << 20;
    #[cfg(target_env = "gnu")]
    // SAFETY: sets two numbers of the C library's allocator, which takes a lock for that.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 8 * LARGEST);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.work.notify_all();
        for scout in self.scouts.drain(..) {
            // Its processes have ended with it, whatever became of it.
            let _ = scout.join();
        }
    }
}

//! Executions that are run ahead of time, on other cores.
//!
//! The search stays one: it asks for an execution, learns from it, and asks for the next. What an execution does is
//! decided by its decisions alone, so one that will be asked for can be run before it is: what was seen of it is kept until then.
//! Which these are copies of the search find out, that go on as if some of what it is about to do were done. So
//! verdicts, counts and counterexamples are the same however many cores there are, and a wrong guess costs time alone.
//!
//! Each copy is with a *scout*: a thread with a process of its own that executions are forked from. A scout that
//! comes to what another is running, or that the search catches up with, leaves, and is sent elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use selvedge_core::Decision;
use selvedge_stateless::strategy::Wanted;
use selvedge_stateless::{Ahead as Copies, Deadline, Explorer, Plan, Ran, Settings, Strategy};

use crate::cores::Core;
use crate::execution::NativeExecution;
use crate::kept::{Course, Kept, Key, Stash, key, packed};
use crate::launch::NativeProgram;

/// So many bytes of those that were used are kept for their memory.
const MOST_SPARE: usize = 32 << 20;
/// So much of what comes next a scout leaves to the search, to begin with and at most. The nearer it is, the sooner the
/// search catches up with it; the farther, the later its executions are asked for, and the more has been learnt until then
/// that may change them.
const DISTANCE: u32 = 4;
const FARTHEST: u32 = 64;
/// A scout that has run less when it leaves was too near; one that has run so many times as much, and was not caught up
/// with, is too far. It is more where to copy the search takes long, and where next to nothing is run in vain: each time that
/// the search catches up with a scout, it waits for half an execution.
const LEAST_RUN: u32 = 8;
const MORE_RUN: u32 = 32;
const MUCH: u32 = 8;
/// More than one in so many that are run in vain are too many; and after so many it can be told.
const IN_VAIN: u64 = 32;
const ENOUGH: u64 = 64;
/// So often a scout goes on from where the search has caught up with it before the search sends it somewhere again.
const HOPS: u32 = 2;
/// Who waits for another looks for so long whether it is time before it sleeps, where each has a core of its own: to be woken
/// takes longer than many an execution.
const LOOKS: Duration = Duration::from_micros(100);
/// So often the search, while it waits for a scout, looks whether it is to stop.
const PAUSE: Duration = Duration::from_millis(20);
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
    run: Apart<AtomicU64>,
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
    running: Option<Key>,
    /// How much it has run since it was sent here, is to run at least because the copy took long, and at most.
    run: u32,
    least: u32,
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
    own: Option<Key>,
    /// What was run since the search was last here, and all that was and has not been taken.
    news: Vec<(Key, Kept)>,
    known: HashSet<Key>,
    /// Executions that were used, for their memory, and the size of that.
    spare: Vec<Kept>,
    spare_bytes: usize,
    /// So much of what comes next is left to the search.
    distance: u32,
    ends: bool,
}

impl State {
    /// Whether an execution has been run or is being run.
    fn has(&self, key: Key) -> bool {
        self.known.contains(&key) || self.runner(key).is_some() || self.own == Some(key)
    }

    /// How much a scout is to run at least, so that it was worth to send it.
    fn least(&self, number: usize, counts: &Counts) -> u32 {
        // What it has run itself was asked for by now, or will not be.
        let others = self.posts.iter().enumerate().filter(|(other, _)| *other != number);
        let awaited: u64 = others.map(|(_, post)| u64::from(post.run)).sum();
        let Ahead { used, run, .. } = counts.get();
        let in_vain = run.saturating_sub(used + awaited);
        let usual = if run >= ENOUGH && in_vain * IN_VAIN <= run { MORE_RUN } else { LEAST_RUN };
        self.posts[number].least.max(usual)
    }

    /// The scout that runs an execution.
    fn runner(&self, key: Key) -> Option<usize> {
        self.posts.iter().position(|post| post.running == Some(key))
    }

    /// Keeps the memory of one that was used, unless somebody still reads it.
    fn spare(&mut self, mut run: Kept) {
        if self.spare_bytes + run.bytes <= MOST_SPARE && Arc::get_mut(&mut run.run).is_some() {
            self.spare_bytes += run.bytes;
            self.spare.push(run);
        }
    }

    /// Memory for another one.
    fn memory(&mut self) -> Kept {
        let memory = self.spare.pop().unwrap_or_default();
        self.spare_bytes = self.spare_bytes.saturating_sub(memory.bytes);
        memory
    }
}

/// Something that one core writes while another reads what would be beside it.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

impl<T> std::ops::Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// What the search and its scouts share.
struct Shared {
    state: Apart<Mutex<State>>,
    /// What was run, as far as the search has seen to it: most often what it asks for is here, and nobody else looks.
    stash: Apart<Mutex<Stash>>,
    /// A scout is sent somewhere.
    work: Condvar,
    /// Something was done.
    done: Condvar,
    /// How often one of these was said.
    said: AtomicU64,
    /// Whether a scout waits to be sent somewhere, and whether the search waits for one. Both change under the lock, and
    /// those that see it late see it the next time.
    idle: Apart<AtomicBool>,
    awaited: Apart<AtomicBool>,
    /// Whether each job has a core of its own.
    alone: bool,
    /// One process is started after the other, so that none inherits what is meant for another.
    starting: Mutex<()>,
    counts: Arc<Counts>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stash(&self) -> MutexGuard<'_, Stash> {
        self.stash.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says to those who wait for it that something has changed.
    fn say(&self, what: &Condvar, _: &mut MutexGuard<'_, State>) {
        self.said.fetch_add(1, Ordering::Release);
        what.notify_all();
    }

    /// Waits until something is said, and at most for so long.
    fn wait<'a>(
        &'a self,
        what: &Condvar,
        mut state: MutexGuard<'a, State>,
        limit: Duration,
    ) -> MutexGuard<'a, State> {
        let said = self.said.load(Ordering::Acquire);
        let is_said = || self.said.load(Ordering::Acquire) != said;
        if self.alone {
            drop(state);
            let began = Instant::now();
            while !is_said() && began.elapsed() < LOOKS {
                (0..32).for_each(|_| std::hint::spin_loop());
            }
            state = self.lock();
        }
        if is_said() {
            return state;
        }
        what.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    /// The search waits until something is done.
    fn await_scout<'a>(&'a self, state: MutexGuard<'a, State>, limit: Duration) -> MutexGuard<'a, State> {
        self.awaited.store(true, Ordering::Relaxed);
        let state = self.wait(&self.done, state, limit);
        self.awaited.store(false, Ordering::Relaxed);
        state
    }

    /// Waits for the scout that runs an execution, if there is one, and has it leave then. Not longer than the limit, and not
    /// when the search is to stop.
    fn await_run<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        key: Key,
        limit: Duration,
        deadline: &Deadline,
    ) -> MutexGuard<'a, State> {
        let began = Instant::now();
        while let Some(runner) = state.runner(key) {
            state.posts[runner].leaves = true;
            let Some(left) = limit.checked_sub(began.elapsed()) else { break };
            state = self.await_scout(state, left.min(PAUSE));
            if began.elapsed() >= PAUSE && deadline.reached().is_some() {
                break;
            }
        }
        state
    }

    /// Has a search go ahead, or a copy of it, so that it leaves so much of what comes next and was not run to others.
    fn ahead<T>(
        &self,
        distance: u32,
        yields: Option<u32>,
        go: &mut dyn FnMut(Wanted<'_>) -> Option<T>,
    ) -> Option<T> {
        let is_new = |decisions: &[Decision], onward| {
            let plan = Plan { decisions, onward, yields, ..Plan::default() };
            let key = key(packed(&plan), onward, yields);
            !self.lock().has(key)
        };
        let mut left = distance;
        let mut new = 0;
        let gone = go(&mut |decisions, onward| {
            if is_new(decisions, onward) {
                new += 1;
                left = left.saturating_sub(1);
            }
            left == 0
        });
        if gone.is_some() {
            return gone;
        }
        if new == 0 {
            // All of it was run, but not what lies behind it.
            return go(&mut |_, _| true);
        }
        // There is less than that: the last of it.
        go(&mut |decisions, onward| {
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
    /// What it runs just now, with memory for what is seen of it.
    running: RefCell<Option<Kept>>,
    /// That has been seen, and the search does not know of it yet.
    has_news: Cell<bool>,
}

impl Scout {
    /// An execution is asked for by the copy of the search.
    pub(crate) fn asks(&self, course: &Course) -> Go {
        let key = course.key();
        let mut state = self.shared.lock();
        self.tell(&mut state);
        let runner = state.runner(key);
        let post = &state.posts[self.number];
        if state.ends || post.leaves || post.run >= post.most || state.own == Some(key) || runner.is_some() {
            return Go::Leave;
        }
        if state.known.contains(&key) {
            let news = state.news.iter().find(|(other, run)| *other == key && run.course == *course);
            let run = news.map(|(_, run)| run.run.clone());
            if let Some(run) = run.or_else(|| self.shared.stash().get(key, course)) {
                return Go::Read(run);
            }
        }
        let post = &mut state.posts[self.number];
        post.run += 1;
        post.running = Some(key);
        let mut memory = state.memory();
        drop(state);
        memory.course.copy_from(course);
        self.running.replace(Some(memory));
        Go::Run
    }

    /// The execution that was run has ended; it is kept unless there is something about it that the search had better
    /// see for itself. If the search does not wait for it, it is told when there is something to ask: each time that one
    /// takes the lock after the other, memory goes from core to core.
    fn has_run(&self, explorer: Option<&mut Explorer<NativeExecution<'_>>>) {
        if let (Some(explorer), Some(running)) = (explorer, self.running.borrow_mut().as_mut())
            && let Some(run) = Arc::get_mut(&mut running.run)
        {
            explorer.note_last(run);
            self.has_news.set(true);
            if !self.shared.awaited.load(Ordering::Relaxed) {
                return;
            }
        }
        self.tell(&mut self.shared.lock());
    }

    /// Tells the search what became of the execution that was run.
    fn tell(&self, state: &mut MutexGuard<'_, State>) {
        let has_news = self.has_news.take();
        let Some(key) = state.posts[self.number].running.take() else { return };
        if let (true, Some(mut run)) = (has_news, self.running.take()) {
            self.shared.counts.run.fetch_add(1, Ordering::Relaxed);
            run.weigh();
            if run.bytes <= Stash::LARGEST {
                state.known.insert(key);
                state.news.push((key, run));
            }
        }
        if self.shared.awaited.load(Ordering::Relaxed) {
            self.shared.say(&self.shared.done, state);
        }
    }

    /// Its process is not there: the search finds out why itself, if it comes to that.
    pub(crate) fn is_gone(&self) {
        let mut state = self.shared.lock();
        state.posts[self.number].gone = true;
        self.shared.say(&self.shared.done, &mut state);
    }

    /// Whether it is over.
    pub(crate) fn ends(&self) -> bool {
        self.shared.lock().ends
    }

    /// The next search to run; `None` when there will be none any more.
    fn next(&self) -> Option<Box<dyn Strategy + Send>> {
        let mut state = self.shared.lock();
        self.tell(&mut state);
        let post = &mut state.posts[self.number];
        post.idle = !post.gone;
        if post.idle {
            self.shared.idle.store(true, Ordering::Relaxed);
        }
        if self.shared.awaited.load(Ordering::Relaxed) {
            self.shared.say(&self.shared.done, &mut state);
        }
        loop {
            if state.ends || state.posts[self.number].gone {
                return None;
            }
            if let Some(search) = state.posts[self.number].search.take() {
                return Some(search);
            }
            state = self.shared.wait(&self.shared.work, state, Duration::MAX);
        }
    }

    /// What a scout does.
    fn serve(
        shared: &Arc<Shared>,
        number: usize,
        program: &NativeProgram,
        settings: Settings,
        core: Option<Core>,
    ) {
        let (running, has_news) = (RefCell::default(), Cell::new(false));
        let scout = Rc::new(Scout { shared: shared.clone(), number, running, has_news });
        if let Some(core) = &core {
            // It is started by one that stays on another core, where it would wait for its turn.
            core.enter();
            // What a program sees of the cores does not depend on who starts it.
            core.leave();
        }
        let started = {
            let _one_by_one = shared.starting.lock().unwrap_or_else(PoisonError::into_inner);
            program.start(&Deadline::default())
        };
        let Ok(zygote) = started else { return scout.is_gone() };
        let company = Company::Scout(scout.clone());
        let execution = NativeExecution::new(program, zygote, company, core, Deadline::default());
        let mut explorer = Explorer::with_execution(Box::new(execution), settings);
        while let Some(mut search) = scout.next() {
            loop {
                explorer.run_through(search.as_mut(), &mut |run| scout.has_run(run));
                if !scout.hops(&mut search, settings.yields) {
                    break;
                }
            }
        }
    }

    /// Has its search go on ahead of where it is, when the other one has caught up with it: to wait to be sent somewhere takes
    /// longer. But most searches know nothing then of what the other one has learnt since it sent the scout.
    fn hops(&self, search: &mut Box<dyn Strategy + Send>, yields: Option<u32>) -> bool {
        let mut state = self.shared.lock();
        self.tell(&mut state);
        let post = &state.posts[self.number];
        if !post.leaves || post.hops == 0 || post.gone {
            return false;
        }
        let least = state.least(self.number, &self.shared.counts);
        let too_near = state.posts[self.number].run < least;
        state.distance = (state.distance + u32::from(too_near)).min(FARTHEST);
        state.posts[self.number].most = MUCH * least;
        let distance = state.distance;
        drop(state);
        let mut go = |wanted: Wanted<'_>| match search.go_ahead(wanted) {
            Some(goes) => goes.then_some(None),
            None => search.ahead(wanted).map(Some),
        };
        let Some(copy) = self.shared.ahead(distance, yields, &mut go) else { return false };
        let post = &mut self.shared.lock().posts[self.number];
        if let Some(copy) = copy {
            *search = copy;
            post.hops -= 1;
        }
        post.run = 0;
        post.leaves = false;
        true
    }
}

/// Whom an execution has to do with.
pub(crate) enum Company {
    /// Nobody: there is one core.
    Nobody,
    /// Scouts, that run executions ahead of it.
    Scouts(Box<Pool>),
    /// The search that it runs executions ahead of.
    Scout(Rc<Scout>),
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
    /// The execution that was used last; and its plan and size.
    used: Option<Arc<Ran>>,
    used_course: Course,
    used_bytes: usize,
    /// What scouts have not been told yet: the memory of executions that were used before it, and the keys of those that were
    /// taken or forgotten.
    spare: Vec<Kept>,
    taken: Vec<Key>,
    /// What scouts have run, for its memory.
    news: Vec<(Key, Kept)>,
    /// When the first copy of the search was made, and how long making copies has taken since.
    began: Option<Instant>,
    copying: Duration,
}

impl Pool {
    pub(crate) fn new(jobs: usize, eager: bool, counts: Arc<Counts>) -> Self {
        let shared = Shared {
            state: Apart(Mutex::new(State { distance: DISTANCE, ..State::default() })),
            stash: Apart::default(),
            work: Condvar::new(),
            done: Condvar::new(),
            said: AtomicU64::new(0),
            idle: Apart::default(),
            awaited: Apart::default(),
            alone: std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= jobs),
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
            used_course: Course::default(),
            used_bytes: 0,
            spare: Vec::new(),
            taken: Vec::new(),
            news: Vec::new(),
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
        if !self.scouts.is_empty() && !self.shared.idle.load(Ordering::Relaxed) {
            return false;
        }
        let copies = || self.began.is_none_or(|began| self.copying * COPYING <= began.elapsed());
        self.eager || self.looked_at >= FIRST && copies()
    }

    /// Sends scouts that wait to where the search will come to.
    pub(crate) fn send(
        &mut self,
        program: &NativeProgram,
        core: Option<&Core>,
        settings: Settings,
        copies: Copies<'_>,
    ) {
        self.began.get_or_insert_with(Instant::now);
        if self.scouts.is_empty() {
            self.begin(program, core, settings);
        }
        let before = busy();
        // Those that come to wait from now on are seen the next time.
        self.shared.idle.store(false, Ordering::Relaxed);
        let posts = self.shared.lock().posts.len();
        for number in 0..posts {
            let Post { idle: true, run, most, sent, .. } = self.shared.lock().posts[number] else { continue };
            let mut state = self.shared.lock();
            let least = state.least(number, &self.shared.counts);
            match run {
                _ if !sent => {}
                _ if run < least => state.distance = (state.distance + 1).min(FARTHEST),
                _ if run >= most => state.distance = (state.distance / 2).max(1),
                _ => {}
            }
            let distance = state.distance;
            drop(state);
            let copying = busy();
            let Some(copy) = self.shared.ahead(distance, settings.yields, copies) else {
                // There may be something the next time.
                self.shared.idle.store(true, Ordering::Relaxed);
                break;
            };
            let copying = busy().saturating_sub(copying).as_micros() as u32;
            let worth = copying.saturating_mul(COPYING) / (self.usual.as_micros() as u32).max(1);
            let (worth, mut state) = (worth.min(1 << 12), self.shared.lock());
            let most = MUCH * least.max(worth);
            state.posts[number] =
                Post { search: Some(copy), least: worth, most, hops: HOPS, sent: true, ..Post::default() };
            self.shared.say(&self.shared.work, &mut state);
        }
        self.copying += busy().saturating_sub(before);
    }

    /// The execution with this plan, if it has been run or is being run.
    pub(crate) fn take(
        &mut self,
        course: &Course,
        program: &NativeProgram,
        deadline: &Deadline,
    ) -> Option<Arc<Ran>> {
        self.shared.counts.asked.fetch_add(1, Ordering::Relaxed);
        let key = course.key();
        if let Some(run) = self.used.take() {
            self.spare.push(Kept {
                course: std::mem::take(&mut self.used_course),
                run,
                bytes: self.used_bytes,
            });
        }
        let stashed = self.shared.stash().take(key, course);
        let run = stashed.or_else(|| self.take_news(key, course, program.how_patient() / 8, deadline))?;
        self.taken.push(key);
        (self.used_course, self.used_bytes) = (run.course, run.bytes);
        self.shared.counts.used.fetch_add(1, Ordering::Relaxed);
        Some(run.run)
    }

    /// Sees to what was run meanwhile. If the execution is not among it, and nobody runs it, the search does.
    fn take_news(&mut self, key: Key, course: &Course, limit: Duration, deadline: &Deadline) -> Option<Kept> {
        let mut state = self.shared.await_run(self.shared.lock(), key, limit, deadline);
        std::mem::swap(&mut state.news, &mut self.news);
        self.spare.drain(..).for_each(|used| state.spare(used));
        for key in self.taken.drain(..) {
            state.known.remove(&key);
        }
        let is_there = self.news.iter().any(|(other, run)| *other == key && run.course == *course);
        state.own = (!is_there).then_some(key);
        drop(state);
        let mut stash = self.shared.stash();
        for (key, run) in self.news.drain(..) {
            stash.keep(key, run, &mut self.taken);
        }
        stash.take(key, course)
    }

    /// The execution that was taken last has been used: its memory goes to another one.
    pub(crate) fn was_used(&mut self, run: Arc<Ran>) {
        self.used = Some(run);
    }

    /// Starts the scouts.
    fn begin(&mut self, program: &NativeProgram, core: Option<&Core>, settings: Settings) {
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
            state = self.shared.await_scout(state, Duration::MAX);
        }
    }
}

/// For how long the calling thread has had a core. On a machine that is shared, time may pass while others have it: what was done
/// meanwhile did not take so long.
fn busy() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in a time of its own.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
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
        let mut state = self.shared.lock();
        state.ends = true;
        self.shared.say(&self.shared.work, &mut state);
        drop(state);
        for scout in self.scouts.drain(..) {
            // Its processes have ended with it, whatever became of it; the search does without.
            let ended = scout.join();
            debug_assert!(ended.is_ok() || std::thread::panicking(), "a scout does not fail");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_unless_somebody_reads_it() {
        let mut state = State::default();
        let mut kept = Kept::default();
        kept.weigh();
        let reader = kept.run.clone();
        state.spare(kept);
        assert!(state.spare.is_empty() && state.spare_bytes == 0);
        state.spare(Kept { run: reader, bytes: 100, ..Kept::default() });
        assert!(state.spare.len() == 1 && state.spare_bytes == 100);
        state.memory();
        assert!(state.spare.is_empty() && state.spare_bytes == 0);
    }
}

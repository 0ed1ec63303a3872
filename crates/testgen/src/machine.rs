//! What a program does: a state that can be cloned, and its steps.
//!
//! The steps are those of the library. The first thread has a step of its own to start; creating a thread is
//! no step, and the new thread has run up to its first operation when its creator goes on; a thread's end is
//! a step. What stands between two operations of a thread happens with the first of them.

use selvedge_core::{Access, Assumption, AssumptionKind, OpKind, ViolationKind};

use crate::program::{Program, Statement};
use crate::race::Synchronisation;

/// Something that threads share, by the name that it has in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // Each is the thing it names.
pub enum Object {
    Mutex(usize),
    RwLock(usize),
    Condvar(usize),
    Atomic(usize),
    Cell(usize),
    /// The end of the thread with this body.
    Thread(usize),
    /// The unpark token of the thread with this body.
    Token(usize),
    /// How many of these there were.
    Spurious(Spurious),
}

/// What may happen without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spurious {
    /// A thread leaves a wait without being notified.
    Wakeup,
    /// A weak exchange fails on the value that it expects.
    Failure,
}

impl Spurious {
    /// What an answer assumes that leaves out executions with more of them.
    pub fn assumption(self, most: u32) -> Assumption {
        let kind = match self {
            Spurious::Wakeup => AssumptionKind::SpuriousWakeups,
            Spurious::Failure => AssumptionKind::SpuriousFailures,
        };
        Assumption::spurious(kind, most)
    }
}

/// Whether the statement that a thread has come to goes wrong without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surprise {
    /// It cannot: none may, or no more of them.
    Never,
    No,
    Yes,
}

/// A step that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Performed {
    /// What it was.
    pub kind: OpKind,
    /// What it touched, and how.
    pub touches: Vec<(Object, Access)>,
    /// It went on because its time ran out.
    pub timed_out: bool,
    /// It tried to take a lock and did not get it.
    pub refused: bool,
    /// The value that it chose, if there was a choice.
    pub value: Option<u32>,
}

impl Performed {
    fn local(kind: OpKind) -> Self {
        Performed { kind, touches: Vec::new(), timed_out: false, refused: false, value: None }
    }

    /// Whether the thread lets others run by this step.
    pub fn yields(&self) -> bool {
        self.timed_out || self.kind == OpKind::Yield
    }
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// Every thread ended.
    Complete,
    /// No thread can go on.
    Deadlock,
    /// The assertion at this statement of this body failed.
    Assertion(usize, usize),
    /// Two accesses to a cell are not ordered.
    Race,
    /// It had as many steps as it may have, and goes in a circle: a state that it was in came back, although every thread that
    /// could run in between has.
    Livelock,
    /// It had as many steps as it may have, and could go on.
    StepLimit,
}

impl End {
    /// Whether this is what a verdict says: this kind of violation, or none.
    pub fn is(self, violation: Option<ViolationKind>) -> bool {
        match self {
            End::Complete | End::StepLimit => violation.is_none(),
            End::Deadlock => violation == Some(ViolationKind::Deadlock),
            End::Assertion(..) => violation == Some(ViolationKind::Assertion),
            End::Race => violation == Some(ViolationKind::DataRace),
            End::Livelock => violation == Some(ViolationKind::Livelock),
        }
    }
}

/// What an execution came to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What each body remembers; empty for those that never ran.
    pub registers: Vec<Vec<i64>>,
    /// The values of the atomics.
    pub atomics: Vec<i64>,
}

/// The state of a program.
#[derive(Clone, Debug)]
pub struct Machine<'p> {
    program: &'p Program,
    /// Accesses to cells are steps.
    race_mode: bool,
    /// How many spurious events of each kind an execution may have; how many it has; and those that were left out.
    spurious: u32,
    surprises: [u32; 2],
    without: [bool; 2],
    /// In the order of their creation.
    threads: Vec<Thread>,
    /// Who holds each mutex.
    mutexes: Vec<Option<usize>>,
    rwlocks: Vec<RwLock>,
    /// Who waits on each condition variable, first come first.
    waiters: Vec<Vec<usize>>,
    atomics: Vec<i64>,
    synchronisation: Synchronisation,
    failure: Option<End>,
    raced: bool,
    accesses: Vec<Local>,
    /// A writer that waits keeps no reader out.
    readers_first: bool,
}

/// Who has a reader-writer lock.
#[derive(Clone, Copy, Debug, Default)]
struct RwLock {
    writer: bool,
    /// Read locks, of which a thread may have several.
    readers: u64,
    /// Writers that wait for readers to leave.
    waiters: u64,
}

/// The word of a reader-writer lock: whether a writer has it, above that the number of read locks, and above that the number
/// of writers that wait.
const WRITER: u64 = 1;
const READER: u64 = 2;
const WAITER: u64 = 1 << 32;
const WAITERS: u64 = !(WAITER - 1);

impl RwLock {
    /// Whether a writer can have it.
    fn is_free(&self) -> bool {
        !self.writer && self.readers == 0
    }

    /// Whether a reader can have it.
    fn lets_readers_in(&self) -> bool {
        !self.writer && self.waiters == 0
    }
}
/// What the word of no object has.
const NEVER: u64 = 1 << 63;

/// A condition on the word of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// It is 0 in the bits of the mask.
    Clear(u64),
    /// It is not.
    Set(u64),
}

/// What a step did that is no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Local {
    /// A thread created a thread.
    Spawned(usize, usize),
    /// A thread read a cell.
    Read(usize, usize),
    /// A thread wrote a cell.
    Write(usize, usize),
}

#[derive(Clone, Debug)]
struct Thread {
    body: usize,
    creator: Option<usize>,
    /// The bodies of the threads that it created and has not joined.
    children: Vec<(usize, usize)>,
    /// The statement that is next, or under way.
    at: usize,
    next: Next,
    held: Vec<usize>,
    /// The reader-writer locks that it has for reading, as often as it has them, and for writing.
    reads: Vec<usize>,
    writes: Vec<usize>,
    registers: Vec<i64>,
    signalled: bool,
    token: bool,
    surprise: Surprise,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Start,
    Statement,
    /// Whether the statement goes wrong without a reason. A wait that does never queues up, but leaves the wait later:
    /// nobody can tell that from one that queues up and is not notified.
    Decide(Spurious),
    /// The second half of a wait.
    Wake {
        timed: bool,
    },
    /// The end of a wait with a time limit, which may run out while another thread has the mutex.
    Relock {
        timed_out: bool,
    },
    /// It waits for the readers of this lock to leave.
    Queued(usize),
    /// The yield of a spin loop.
    SpinYield,
    /// So many more yields.
    Yields(u32),
    /// The same statement, from its beginning.
    Again,
    /// Nothing: it has assumed what is not so.
    Stuck,
    End,
    Ended,
}

impl<'p> Machine<'p> {
    /// The program before its first step.
    pub fn new(program: &'p Program, race_mode: bool, spurious: u32) -> Self {
        let count = program.objects();
        let mut machine = Machine {
            readers_first: false,
            program,
            race_mode,
            spurious,
            surprises: [0; 2],
            without: [false; 2],
            threads: Vec::new(),
            mutexes: vec![None; count],
            rwlocks: vec![RwLock::default(); count],
            waiters: vec![Vec::new(); count],
            atomics: vec![0; count],
            synchronisation: Synchronisation::default(),
            failure: None,
            raced: false,
            accesses: Vec::new(),
        };
        machine.create(0, None);
        machine
    }

    fn create(&mut self, body: usize, creator: Option<usize>) -> usize {
        self.threads.push(Thread {
            body,
            creator,
            children: Vec::new(),
            at: 0,
            next: if creator.is_none() { Next::Start } else { Next::Statement },
            held: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            registers: Vec::new(),
            signalled: false,
            token: false,
            surprise: Surprise::Never,
        });
        self.threads.len() - 1
    }

    pub(crate) fn program(&self) -> &'p Program {
        self.program
    }

    /// Whether a writer that waits keeps no reader out, as is so with the C library's usual locks.
    #[must_use]
    pub fn readers_first(self, readers_first: bool) -> Self {
        Machine { readers_first, ..self }
    }

    /// How many threads there are or were.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The body of a thread.
    pub fn body(&self, thread: usize) -> usize {
        self.threads[thread].body
    }

    /// The number of the statement that a thread has come to; with `one_place`, of the first of that kind in its body.
    pub fn place(&self, thread: usize, one_place: bool) -> usize {
        let (at, body) = (self.threads[thread].at, &self.program.bodies[self.threads[thread].body]);
        let kind = body.get(at).map(std::mem::discriminant);
        let same = |statement: &Statement| Some(std::mem::discriminant(statement)) == kind;
        if one_place { body.iter().position(same).unwrap_or(at) } else { at }
    }

    fn statement(&self, thread: usize) -> Statement {
        let thread = &self.threads[thread];
        self.program.bodies[thread.body][thread.at]
    }

    fn thread_of(&self, body: usize) -> Option<usize> {
        self.threads.iter().position(|thread| thread.body == body)
    }

    /// Whether a thread can take its next step.
    pub fn enabled(&self, thread: usize) -> bool {
        let state = &self.threads[thread];
        match state.next {
            Next::Start | Next::SpinYield | Next::Yields(_) | Next::Decide(_) | Next::End => true,
            Next::Again => unreachable!("it is a statement again at once"),
            Next::Stuck | Next::Ended => false,
            Next::Wake { timed } => {
                let c = self.waited_with(thread);
                timed || self.is_surprised(thread) || self.mutexes[c].is_none() && state.signalled
            }
            Next::Relock { .. } => self.mutexes[self.waited_with(thread)].is_none(),
            Next::Queued(lock) => self.rwlocks[lock].is_free(),
            Next::Statement => match self.statement(thread) {
                Statement::Lock(m) => self.mutexes[m].is_none(),
                Statement::ReadLock(l) => self.rwlocks[l].lets_readers_in(),
                Statement::WriteLock(l) if self.readers_first => self.rwlocks[l].is_free(),
                Statement::WriteLock(l) => !self.rwlocks[l].writer,
                Statement::Park => state.token || self.is_surprised(thread),
                Statement::Join(body) => {
                    self.thread_of(body).is_some_and(|child| self.threads[child].next == Next::Ended)
                }
                _ => true,
            },
        }
    }

    /// Whether a thread that is enabled is so only because its time may run out.
    pub fn waits(&self, thread: usize) -> bool {
        let state = &self.threads[thread];
        self.enabled(thread)
            && match state.next {
                Next::Wake { timed } => (timed || self.is_surprised(thread)) && !state.signalled,
                Next::Statement => match self.statement(thread) {
                    Statement::Park => self.is_surprised(thread),
                    Statement::ParkTimeout => !state.token || self.is_surprised(thread),
                    _ => false,
                },
                _ => false,
            }
    }

    fn is_surprised(&self, thread: usize) -> bool {
        self.threads[thread].surprise == Surprise::Yes
    }

    /// How many spurious events were decided on.
    pub fn surprises(&self) -> u32 {
        self.surprises.iter().sum()
    }

    /// The spurious events that were left out of this execution.
    pub fn without(&self) -> impl Iterator<Item = Spurious> {
        let left_out = |kind: &Spurious| self.without[*kind as usize];
        [Spurious::Wakeup, Spurious::Failure].into_iter().filter(left_out)
    }

    /// What a thread waits for: an object and what its word must be; whether it needs a signal; and whether it
    /// may go on without either when its time runs out.
    pub(crate) fn waits_for(&self, thread: usize) -> (Option<(Object, Until)>, bool, bool) {
        let body = self.threads[thread].body;
        match self.threads[thread].next {
            Next::Start
            | Next::SpinYield
            | Next::Yields(_)
            | Next::Decide(_)
            | Next::Again
            | Next::End
            | Next::Ended => (None, false, false),
            Next::Stuck => (Some((Object::Thread(body), Until::Set(NEVER))), false, false),
            Next::Wake { .. } if self.is_surprised(thread) => (None, true, true),
            Next::Wake { timed } => match self.statement(thread) {
                Statement::Wait(c) => (Some((Object::Mutex(c), Until::Clear(1))), true, false),
                Statement::WaitTimeout(_) => (None, true, timed),
                _ => unreachable!("only a wait wakes"),
            },
            Next::Relock { .. } => {
                (Some((Object::Mutex(self.waited_with(thread)), Until::Clear(1))), false, false)
            }
            Next::Queued(lock) => (Some((Object::RwLock(lock), Until::Clear(!WAITERS))), false, false),
            Next::Statement => match self.statement(thread) {
                Statement::Lock(m) => (Some((Object::Mutex(m), Until::Clear(1))), false, false),
                Statement::ReadLock(l) => {
                    (Some((Object::RwLock(l), Until::Clear(WRITER | WAITERS))), false, false)
                }
                Statement::WriteLock(l) => {
                    let closed_by = if self.readers_first { u64::MAX } else { WRITER };
                    (Some((Object::RwLock(l), Until::Clear(closed_by))), false, false)
                }
                Statement::Park | Statement::ParkTimeout if self.is_surprised(thread) => (None, true, true),
                Statement::Park => (Some((Object::Token(body), Until::Set(1))), false, false),
                Statement::ParkTimeout => (Some((Object::Token(body), Until::Set(1))), false, true),
                Statement::Join(body) => (Some((Object::Thread(body), Until::Set(1))), false, false),
                _ => (None, false, false),
            },
        }
    }

    /// Whether a thread that waits on a condition variable was notified.
    pub(crate) fn is_signalled(&self, thread: usize) -> bool {
        self.threads[thread].signalled
    }

    /// Who has a reader-writer lock; 1 for a mutex that is held, a thread that has ended, a token that is there;
    /// otherwise 0.
    pub(crate) fn word(&self, object: Object) -> u64 {
        u64::from(match object {
            Object::RwLock(l) => {
                let RwLock { writer, readers, waiters } = self.rwlocks[l];
                return u64::from(writer) * WRITER + readers * READER + waiters * WAITER;
            }
            Object::Mutex(m) => self.mutexes[m].is_some(),
            Object::Thread(body) => {
                self.thread_of(body).is_some_and(|thread| self.threads[thread].next == Next::Ended)
            }
            Object::Token(body) => self.thread_of(body).is_some_and(|thread| self.threads[thread].token),
            Object::Condvar(_) | Object::Atomic(_) | Object::Cell(_) | Object::Spurious(_) => false,
        })
    }

    /// Whether a thread has assumed what is not so: then this is no execution, however it goes on.
    pub fn is_infeasible(&self) -> bool {
        self.threads.iter().any(|thread| thread.next == Next::Stuck)
    }

    /// All that the program goes on by.
    pub fn state(&self) -> String {
        let Machine { threads, mutexes, rwlocks, waiters, atomics, surprises, .. } = self;
        format!("{threads:?} {mutexes:?} {rwlocks:?} {waiters:?} {atomics:?} {surprises:?}")
    }

    /// Whether every thread has ended.
    pub fn all_ended(&self) -> bool {
        self.threads.iter().all(|thread| thread.next == Next::Ended)
    }

    /// How many values a thread's next step chooses from; 0 when it has no choice.
    pub fn values(&self, thread: usize) -> u32 {
        match self.threads[thread].next {
            Next::Statement => {}
            Next::Decide(kind) if self.surprises[kind as usize] < self.spurious => return 2,
            _ => return 0,
        }
        let count = match self.statement(thread) {
            Statement::Choose(n) | Statement::ChooseUntil(n) => n,
            Statement::NotifyOne(c) => self.waiters[c].len() as u32,
            _ => 0,
        };
        if count > 1 { count } else { 0 }
    }

    /// What went wrong in the last step, if anything did.
    pub fn failure(&self) -> Option<End> {
        if self.raced { Some(End::Race) } else { self.failure }
    }

    /// The body and the statement of the assertion that failed, if one did.
    pub(crate) fn assertion(&self) -> Option<(usize, usize)> {
        match self.failure {
            Some(End::Assertion(body, statement)) => Some((body, statement)),
            _ => None,
        }
    }

    pub(crate) fn has_ended(&self, thread: usize) -> bool {
        self.threads[thread].next == Next::Ended
    }

    /// What it has come to, if this is the end.
    pub fn outcome(&self, end: End) -> Outcome {
        let mut registers = vec![Vec::new(); self.program.bodies.len()];
        for thread in &self.threads {
            registers[thread.body].clone_from(&thread.registers);
        }
        Outcome { end, registers, atomics: self.atomics.clone() }
    }

    pub(crate) fn locals(&self) -> &[Local] {
        &self.accesses
    }

    /// What a thread's next step is, and what it touches, and how at the most.
    pub(crate) fn pending(&self, thread: usize) -> Performed {
        let body = self.threads[thread].body;
        let none = (OpKind::Local, Vec::new());
        let surprised = |access| if self.is_surprised(thread) { access } else { Access::Write };
        let (kind, touches) = match self.threads[thread].next {
            Next::Start | Next::Stuck | Next::Again | Next::Ended => none,
            Next::SpinYield | Next::Yields(_) => (OpKind::Yield, Vec::new()),
            Next::Decide(kind) => (OpKind::Choose, vec![(Object::Spurious(kind), Access::Write)]),
            Next::End => (OpKind::End, vec![(Object::Thread(body), Access::Write)]),
            Next::Wake { .. } if self.is_surprised(thread) => {
                (OpKind::Wake, vec![(Object::Condvar(self.waited_with(thread)), Access::None)])
            }
            Next::Wake { timed } => {
                let c = self.waited_with(thread);
                let mutex = (Object::Mutex(c), Access::Write);
                match timed {
                    true => (OpKind::Wake, vec![(Object::Condvar(c), Access::Write)]),
                    false => (OpKind::Wake, vec![(Object::Condvar(c), Access::Read), mutex]),
                }
            }
            Next::Relock { .. } => {
                (OpKind::Lock, vec![(Object::Mutex(self.waited_with(thread)), Access::Write)])
            }
            Next::Queued(lock) => (OpKind::Lock, vec![(Object::RwLock(lock), Access::Write)]),
            Next::Statement => {
                let (kind, object, access) = match self.statement(thread) {
                    Statement::Lock(m) => (OpKind::Lock, Object::Mutex(m), Access::Write),
                    Statement::Unlock(m) => (OpKind::Unlock, Object::Mutex(m), Access::Write),
                    Statement::TryLock(m) => (OpKind::TryLock, Object::Mutex(m), Access::Write),
                    Statement::ReadLock(l) => (OpKind::ReadLock, Object::RwLock(l), Access::Read),
                    Statement::ReadUnlock(l) => (OpKind::ReadUnlock, Object::RwLock(l), Access::Read),
                    Statement::TryReadLock(l) => (OpKind::TryReadLock, Object::RwLock(l), Access::Read),
                    Statement::WriteLock(l) => (OpKind::Lock, Object::RwLock(l), Access::Write),
                    Statement::WriteUnlock(l) => (OpKind::Unlock, Object::RwLock(l), Access::Write),
                    Statement::TryWriteLock(l) => (OpKind::TryLock, Object::RwLock(l), Access::Write),
                    Statement::Wait(c) | Statement::WaitTimeout(c) => {
                        (OpKind::Wait, Object::Condvar(c), surprised(Access::None))
                    }
                    Statement::NotifyOne(c) => (OpKind::NotifyOne, Object::Condvar(c), Access::Write),
                    Statement::NotifyAll(c) => (OpKind::NotifyAll, Object::Condvar(c), Access::Write),
                    Statement::Load(a) | Statement::SpinUntil(a, _) | Statement::LookUntil(a, _) => {
                        (OpKind::Load, Object::Atomic(a), Access::Read)
                    }
                    Statement::Store(a, _) | Statement::StoreNext(a) => {
                        (OpKind::Store, Object::Atomic(a), Access::Write)
                    }
                    Statement::Add(a) => (OpKind::Rmw, Object::Atomic(a), Access::Write),
                    Statement::Exchange(a, ..) | Statement::ExchangeWeak(a, ..) => {
                        (OpKind::CompareExchange, Object::Atomic(a), surprised(Access::Read))
                    }
                    Statement::Join(child) => (OpKind::Join, Object::Thread(child), Access::Read),
                    Statement::Park | Statement::ParkTimeout => {
                        (OpKind::Park, Object::Token(body), surprised(Access::None))
                    }
                    Statement::Unpark(other) => (OpKind::Unpark, Object::Token(other), Access::Write),
                    Statement::Read(c) => (OpKind::Read, Object::Cell(c), Access::Read),
                    Statement::Write(c) => (OpKind::Write, Object::Cell(c), Access::Write),
                    Statement::Yield | Statement::Yields(_) => return Performed::local(OpKind::Yield),
                    Statement::Choose(_) | Statement::ChooseUntil(_) => {
                        return Performed::local(OpKind::Choose);
                    }
                    Statement::Spawn(_)
                    | Statement::AssertNot(_)
                    | Statement::AssumeNot(_)
                    | Statement::Unless(_) => {
                        return Performed::local(OpKind::Local);
                    }
                };
                let mut touches = vec![(object, access)];
                if let Statement::Wait(m) | Statement::WaitTimeout(m) = self.statement(thread) {
                    touches.push((Object::Mutex(m), Access::Write));
                }
                (kind, touches)
            }
        };
        Performed { touches, ..Performed::local(kind) }
    }

    /// The spurious events that could come now, where none is decided before: the thread that has one next.
    #[cfg(test)]
    pub(crate) fn surprising(&self) -> impl Iterator<Item = (usize, Spurious)> {
        (0..self.threads.len()).filter_map(|thread| Some((thread, self.surprise_of(thread)?)))
    }

    #[cfg(test)]
    fn surprise_of(&self, thread: usize) -> Option<Spurious> {
        let state = &self.threads[thread];
        match state.next {
            Next::Wake { .. } if !state.signalled => Some(Spurious::Wakeup),
            Next::Statement => match self.statement(thread) {
                Statement::Park | Statement::ParkTimeout => Some(Spurious::Wakeup),
                Statement::ExchangeWeak(a, old, _) if self.atomics[a] == old => Some(Spurious::Failure),
                _ => None,
            },
            _ => None,
        }
    }

    /// Has a thread's next step go wrong without a reason, as [`surprising`](Machine::surprising) says that it may.
    #[cfg(test)]
    pub(crate) fn surprise(&mut self, thread: usize) {
        self.threads[thread].surprise = Surprise::Yes;
        self.step(thread, None);
    }

    /// Lets an enabled thread take its next step, with a value if it has to choose one.
    pub fn step(&mut self, thread: usize, value: Option<u32>) -> Performed {
        self.accesses.clear();
        let waited = self.waits(thread);
        let body = self.threads[thread].body;
        let timed_out = waited && !self.is_surprised(thread);
        let mut done = Performed { timed_out, ..Performed::local(OpKind::Local) };
        if self.values(thread) > 0 {
            done.value = value;
        }
        let mut next = Next::Statement;
        match self.threads[thread].next {
            Next::Start => {}
            Next::Wake { timed } => {
                self.wake(thread, timed, &mut done);
                if timed || self.is_surprised(thread) {
                    next = Next::Relock { timed_out: done.timed_out };
                }
            }
            Next::Relock { timed_out } => {
                let mutex = self.waited_with(thread);
                self.hold(thread, mutex);
                if let Statement::WaitTimeout(_) = self.statement(thread) {
                    self.threads[thread].registers.push(i64::from(timed_out));
                }
                done.kind = OpKind::Lock;
                done.touches.push((Object::Mutex(mutex), Access::Write));
            }
            Next::Decide(kind) => {
                let (surprise, access) = match value {
                    None => (Surprise::Never, Access::Read),
                    Some(0) => (Surprise::No, Access::Read),
                    Some(_) => (Surprise::Yes, Access::Write),
                };
                self.threads[thread].surprise = surprise;
                self.surprises[kind as usize] += u32::from(surprise == Surprise::Yes);
                done.kind = OpKind::Choose;
                done.touches.push((Object::Spurious(kind), access));
                self.threads[thread].next = Next::Statement;
                self.synchronisation.performed(thread, &done);
                return done;
            }
            Next::SpinYield => {
                done.kind = OpKind::Yield;
                self.threads[thread].next = Next::Statement;
                self.synchronisation.performed(thread, &done);
                return done;
            }
            Next::Yields(left) => {
                done.kind = OpKind::Yield;
                if left > 1 {
                    next = Next::Yields(left - 1);
                }
            }
            Next::End => {
                done.kind = OpKind::End;
                done.touches.push((Object::Thread(body), Access::Write));
                self.threads[thread].next = Next::Ended;
                self.synchronisation.performed(thread, &done);
                return done;
            }
            Next::Queued(lock) => {
                self.rwlocks[lock].waiters -= 1;
                self.write_lock(thread, lock);
                done.kind = OpKind::Lock;
                done.touches.push((Object::RwLock(lock), Access::Write));
            }
            Next::Statement => next = self.perform(thread, value.unwrap_or(0), &mut done),
            Next::Stuck | Next::Again | Next::Ended => {
                unreachable!("a thread that goes no further is not enabled")
            }
        }
        self.synchronisation.performed(thread, &done);
        if let OpKind::Read | OpKind::Write = done.kind
            && let Object::Cell(cell) = done.touches[0].0
        {
            self.raced |= self.synchronisation.access(thread, cell, done.kind == OpKind::Write);
        }
        if next == Next::Statement {
            if self.threads[thread].next != Next::Start {
                self.threads[thread].at += 1;
            }
            self.advance(thread);
        } else {
            self.threads[thread].next = if next == Next::Again { Next::Statement } else { next };
        }
        done
    }

    fn wake(&mut self, thread: usize, timed: bool, done: &mut Performed) {
        let c = self.waited_with(thread);
        done.kind = OpKind::Wake;
        let access = match () {
            () if self.is_surprised(thread) => Access::None,
            () if done.timed_out => Access::Write,
            () => Access::Read,
        };
        done.touches.push((Object::Condvar(c), access));
        self.waiters[c].retain(|waiter| *waiter != thread);
        let state = &mut self.threads[thread];
        state.signalled = false;
        if !timed && !self.is_surprised(thread) {
            done.touches.push((Object::Mutex(c), Access::Write));
            self.hold(thread, c);
        }
    }

    fn hold(&mut self, thread: usize, mutex: usize) {
        self.mutexes[mutex] = Some(thread);
        self.threads[thread].held.push(mutex);
    }

    /// The mutex that a thread's wait has given up.
    fn waited_with(&self, thread: usize) -> usize {
        match self.statement(thread) {
            Statement::Wait(c) | Statement::WaitTimeout(c) => c,
            _ => unreachable!("only a wait wakes"),
        }
    }

    /// Performs the statement of a thread, and says what comes next if not the next statement.
    fn perform(&mut self, thread: usize, value: u32, done: &mut Performed) -> Next {
        let body = self.threads[thread].body;
        let surprise = self.threads[thread].surprise;
        let last = self.threads[thread].registers.last().copied().unwrap_or(0);
        let mut remember = None;
        let (kind, object, access) = match self.statement(thread) {
            Statement::Lock(m) => {
                self.hold(thread, m);
                (OpKind::Lock, Object::Mutex(m), Access::Write)
            }
            Statement::Unlock(m) => {
                self.mutexes[m] = None;
                self.threads[thread].held.retain(|held| *held != m);
                (OpKind::Unlock, Object::Mutex(m), Access::Write)
            }
            Statement::TryLock(m) => {
                let free = self.mutexes[m].is_none();
                remember = Some(i64::from(free));
                done.refused = !free;
                if free {
                    self.hold(thread, m);
                }
                (OpKind::TryLock, Object::Mutex(m), if free { Access::Write } else { Access::Read })
            }
            Statement::ReadLock(l) => {
                self.read_lock(thread, l);
                (OpKind::ReadLock, Object::RwLock(l), Access::Read)
            }
            Statement::ReadUnlock(l) => {
                self.rwlocks[l].readers -= 1;
                let reads = &mut self.threads[thread].reads;
                let place = reads.iter().position(|held| *held == l).expect("it makes sense");
                reads.remove(place);
                (OpKind::ReadUnlock, Object::RwLock(l), Access::Read)
            }
            Statement::TryReadLock(l) => {
                done.refused = !self.rwlocks[l].lets_readers_in();
                remember = Some(i64::from(!done.refused));
                if !done.refused {
                    self.read_lock(thread, l);
                }
                (OpKind::TryReadLock, Object::RwLock(l), Access::Read)
            }
            Statement::WriteLock(l) if !self.rwlocks[l].is_free() => {
                self.rwlocks[l].waiters += 1;
                done.kind = OpKind::TryLock;
                done.refused = true;
                done.touches.push((Object::RwLock(l), Access::Write));
                return Next::Queued(l);
            }
            Statement::WriteLock(l) => {
                self.write_lock(thread, l);
                (OpKind::Lock, Object::RwLock(l), Access::Write)
            }
            Statement::WriteUnlock(l) => {
                self.rwlocks[l].writer = false;
                self.threads[thread].writes.retain(|held| *held != l);
                (OpKind::Unlock, Object::RwLock(l), Access::Write)
            }
            Statement::TryWriteLock(l) => {
                let writer = self.rwlocks[l].writer;
                done.refused = !self.rwlocks[l].is_free();
                remember = Some(i64::from(!done.refused));
                if !done.refused {
                    self.write_lock(thread, l);
                }
                // That readers have it depends on what they do, and they only read: then it stays a write.
                (OpKind::TryLock, Object::RwLock(l), if writer { Access::Read } else { Access::Write })
            }
            Statement::Wait(c) | Statement::WaitTimeout(c) => {
                self.mutexes[c] = None;
                self.threads[thread].held.retain(|held| *held != c);
                self.without[Spurious::Wakeup as usize] |= surprise == Surprise::Never;
                let access = if surprise == Surprise::Yes {
                    Access::None
                } else {
                    self.waiters[c].push(thread);
                    Access::Write
                };
                done.kind = OpKind::Wait;
                done.touches.extend([(Object::Condvar(c), access), (Object::Mutex(c), Access::Write)]);
                let timed = matches!(self.statement(thread), Statement::WaitTimeout(_));
                return Next::Wake { timed };
            }
            Statement::NotifyOne(c) => {
                let access = if self.waiters[c].is_empty() { Access::Read } else { Access::Write };
                if access == Access::Write {
                    let woken = self.waiters[c].remove(value as usize);
                    self.threads[woken].signalled = true;
                }
                (OpKind::NotifyOne, Object::Condvar(c), access)
            }
            Statement::NotifyAll(c) => {
                let access = if self.waiters[c].is_empty() { Access::Read } else { Access::Write };
                for woken in std::mem::take(&mut self.waiters[c]) {
                    self.threads[woken].signalled = true;
                }
                (OpKind::NotifyAll, Object::Condvar(c), access)
            }
            Statement::Load(a) => {
                remember = Some(self.atomics[a]);
                (OpKind::Load, Object::Atomic(a), Access::Read)
            }
            Statement::Store(a, new) => {
                self.atomics[a] = new;
                (OpKind::Store, Object::Atomic(a), Access::Write)
            }
            Statement::StoreNext(a) => {
                self.atomics[a] = last + 1;
                (OpKind::Store, Object::Atomic(a), Access::Write)
            }
            Statement::Add(a) => {
                remember = Some(self.atomics[a]);
                self.atomics[a] += 1;
                (OpKind::Rmw, Object::Atomic(a), Access::Write)
            }
            Statement::Exchange(a, old, new) => {
                let found = self.atomics[a];
                remember = Some(found);
                if found == old {
                    self.atomics[a] = new;
                }
                let access = if found == old { Access::Write } else { Access::Read };
                (OpKind::CompareExchange, Object::Atomic(a), access)
            }
            Statement::ExchangeWeak(a, old, new) => {
                let equal = self.atomics[a] == old;
                let exchanged = equal && surprise != Surprise::Yes;
                self.without[Spurious::Failure as usize] |= equal && surprise == Surprise::Never;
                remember = Some(i64::from(exchanged));
                if exchanged {
                    self.atomics[a] = new;
                }
                let access = if exchanged { Access::Write } else { Access::Read };
                (OpKind::CompareExchange, Object::Atomic(a), access)
            }
            Statement::Join(child) => {
                self.threads[thread].children.retain(|(body, _)| *body != child);
                (OpKind::Join, Object::Thread(child), Access::Read)
            }
            Statement::Yield => {
                done.kind = OpKind::Yield;
                return Next::Statement;
            }
            Statement::Yields(times) => {
                done.kind = OpKind::Yield;
                return if times > 1 { Next::Yields(times - 1) } else { Next::Statement };
            }
            Statement::Park | Statement::ParkTimeout if surprise == Surprise::Yes => {
                (OpKind::Park, Object::Token(body), Access::None)
            }
            Statement::Park | Statement::ParkTimeout => {
                self.without[Spurious::Wakeup as usize] |= surprise == Surprise::Never;
                self.threads[thread].token = false;
                let access = if done.timed_out { Access::Read } else { Access::Write };
                (OpKind::Park, Object::Token(body), access)
            }
            Statement::Unpark(other) => {
                let other_thread = self.thread_of(other).expect("only threads that exist are unparked");
                self.threads[other_thread].token = true;
                (OpKind::Unpark, Object::Token(other), Access::Write)
            }
            Statement::Choose(_) => {
                done.kind = OpKind::Choose;
                self.threads[thread].registers.push(i64::from(value));
                return Next::Statement;
            }
            Statement::Read(c) => (OpKind::Read, Object::Cell(c), Access::Read),
            Statement::Write(c) => (OpKind::Write, Object::Cell(c), Access::Write),
            Statement::SpinUntil(a, wanted) => {
                done.kind = OpKind::Load;
                done.touches.push((Object::Atomic(a), Access::Read));
                if self.atomics[a] != wanted {
                    return Next::SpinYield;
                }
                self.threads[thread].registers.push(wanted);
                return Next::Statement;
            }
            Statement::LookUntil(a, wanted) => {
                done.kind = OpKind::Load;
                done.touches.push((Object::Atomic(a), Access::Read));
                if self.atomics[a] != wanted {
                    return Next::Again;
                }
                self.threads[thread].registers.push(wanted);
                return Next::Statement;
            }
            Statement::ChooseUntil(_) => {
                done.kind = OpKind::Choose;
                return if value == 0 { Next::Statement } else { Next::Again };
            }
            Statement::Spawn(_)
            | Statement::AssertNot(_)
            | Statement::AssumeNot(_)
            | Statement::Unless(_) => {
                unreachable!("no operation")
            }
        };
        done.kind = kind;
        done.touches.push((object, access));
        self.threads[thread].registers.extend(remember);
        Next::Statement
    }

    fn read_lock(&mut self, thread: usize, lock: usize) {
        self.rwlocks[lock].readers += 1;
        self.threads[thread].reads.push(lock);
    }

    fn write_lock(&mut self, thread: usize, lock: usize) {
        self.rwlocks[lock].writer = true;
        self.threads[thread].writes.push(lock);
    }

    /// Brings a thread to its next operation.
    fn advance(&mut self, thread: usize) {
        self.threads[thread].next = Next::Statement;
        self.threads[thread].surprise = Surprise::Never;
        while self.failure.is_none() {
            let state = &self.threads[thread];
            let Some(&statement) = self.program.bodies[state.body].get(state.at) else {
                self.threads[thread].next = Next::End;
                return;
            };
            let makes_sense = match statement {
                Statement::Unlock(m) | Statement::Wait(m) | Statement::WaitTimeout(m) => {
                    state.held.contains(&m)
                }
                Statement::ReadUnlock(l) => state.reads.contains(&l),
                Statement::WriteUnlock(l) => state.writes.contains(&l),
                Statement::ReadLock(l) | Statement::WriteLock(l) => !state.writes.contains(&l),
                Statement::Join(child) => state.children.iter().any(|(body, _)| *body == child),
                Statement::Unpark(other) => {
                    state.children.iter().any(|(body, _)| *body == other)
                        || state.creator.is_some_and(|creator| self.threads[creator].body == other)
                }
                Statement::Choose(n) | Statement::ChooseUntil(n) => n > 1,
                Statement::Yields(times) => times > 0,
                Statement::Spawn(child) => child > state.body && self.thread_of(child).is_none(),
                _ => true,
            };
            match statement {
                _ if !makes_sense => {}
                Statement::Spawn(body) => {
                    let child = self.create(body, Some(thread));
                    self.threads[thread].children.push((body, child));
                    self.synchronisation.spawned(thread, child);
                    self.accesses.push(Local::Spawned(thread, child));
                    self.advance(child);
                }
                Statement::AssertNot(value) => {
                    if state.registers.last() == Some(&value) {
                        self.failure = Some(End::Assertion(state.body, state.at));
                        return;
                    }
                }
                Statement::AssumeNot(value) => {
                    if state.registers.last() == Some(&value) {
                        self.threads[thread].next = Next::Stuck;
                        return;
                    }
                }
                Statement::Unless(value) => {
                    if state.registers.last() == Some(&value) {
                        self.threads[thread].at += 1;
                    }
                }
                Statement::Read(cell) | Statement::Write(cell) if !self.race_mode => {
                    let writes = matches!(statement, Statement::Write(_));
                    self.accesses.push(if writes {
                        Local::Write(thread, cell)
                    } else {
                        Local::Read(thread, cell)
                    });
                    self.raced |= self.synchronisation.access(thread, cell, writes);
                }
                _ => {
                    self.threads[thread].next = self.before(statement);
                    return;
                }
            }
            self.threads[thread].at += 1;
        }
    }

    /// What a thread does first that has come to a statement.
    fn before(&self, statement: Statement) -> Next {
        use Statement::{ExchangeWeak, Park, ParkTimeout, Wait, WaitTimeout};
        match statement {
            _ if self.spurious == 0 => Next::Statement,
            Wait(_) | WaitTimeout(_) | Park | ParkTimeout => Next::Decide(Spurious::Wakeup),
            ExchangeWeak(..) => Next::Decide(Spurious::Failure),
            _ => Next::Statement,
        }
    }
}

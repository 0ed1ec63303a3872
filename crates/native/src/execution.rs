//! An execution of a program, a step at a time.
//!
//! The runtime writes a log; this side reads it. The decisions that a search plans, and those that can be foreseen,
//! are given to the program when it begins, and it goes on without preemption by itself after them, since that is what
//! most searches ask for. So most executions are over before their log is read, and no step waits for an answer. Where
//! a search decides otherwise than the program has, the execution is begun again with what was decided so far; a
//! search that keeps doing so is answered step by step.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use selvedge_core::{
    Assumption, AssumptionKind, Assumptions, Decision, Location, ObjectId, Op, ThreadId, ThreadSet,
    ViolationKind,
};
use selvedge_stateless::{
    Ahead, Deadline, Description, Event, Execution, Gate, LaunchError, LocalEvent, Plan, Ran, Settings, Site,
    State, Stop, StopKind,
};

use crate::ahead::{Company, Go};
use crate::cores::Core;
use crate::describe::{Step, Words};
use crate::kept::Course;
use crate::launch::{NativeProgram, Zygote};
use crate::mirror::{Mirror, Object, Thread, engine_gate, engine_op, engine_order};
use crate::protocol::{self, ASKS, Answer, how, leaning, note, op, stop, tag};
use crate::stuck;
use crate::symbols::Symbols;
use crate::told::Told;

mod waiting;

/// How the log goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The program has taken this decision.
    Taken(u32),
    /// The program waits for one.
    Asks,
    /// There is nothing to decide: the process has ended, or is about to.
    Nothing,
}

/// What the log had.
enum Read {
    /// A step is over.
    Point,
    /// A value has to be chosen.
    Choose(u32),
    /// Something went wrong.
    Stop(Box<Stop>),
    /// The process is gone.
    Dead(i32),
}

/// Runs a program's executions, one at a time.
pub(crate) struct NativeExecution<'a> {
    program: &'a NativeProgram,
    zygote: Zygote,
    symbols: Symbols,
    mirror: Mirror,
    /// The next record of the log to be read.
    position: usize,
    next: Next,
    /// The decisions of this execution so far.
    decided: Vec<Decision>,
    /// What the search has planned for it.
    planned: Course,
    /// What may follow that, as far as it can be foreseen, and whether the search most likely ends it then.
    foreseen: Vec<u32>,
    ends: bool,
    /// Whether people are told of it, and what the log has for that.
    is_told: bool,
    told: Told,
    /// Whether its states are asked for.
    is_watched: bool,
    /// Whether it is under way.
    live: bool,
    /// What it takes for granted, as bits of [`leaning`].
    leaning: u64,
    /// The thread whose step is being read, and the one that runs in it: that may be one which it has created.
    current: u32,
    running: u32,
    step: Step,
    events: Vec<LocalEvent>,
    /// How often the program has rightly gone on by itself, less how often it has not.
    foresight: i32,
    /// How long executions take, on average.
    usual: Duration,
    /// The program stopped answering, and why; what it has logged is read first.
    lost: Option<String>,
    /// Why it last did.
    was_lost: String,
    /// How often it was told how to go on.
    answers: u32,
    company: Company,
    /// For a scout: the execution is run elsewhere, or of no interest any more.
    leaves: bool,
    /// Where the program and this side take turns.
    core: Option<Core>,
    /// When the search is to stop, and why it does, once it does.
    deadline: Deadline,
    cut_short: Option<String>,
}

/// The bit of a [`Site`] that says that memory is freed there. No address of a program's has it.
const FREES: usize = 1 << 63;

/// To end an execution takes longer than to let one that is as short as this go on to its end.
const SHORT: Duration = Duration::from_micros(100);
/// Below this, programs do not go on by themselves.
const BLIND: i32 = -4;
impl<'a> NativeExecution<'a> {
    pub(crate) fn new(
        program: &'a NativeProgram,
        zygote: Zygote,
        company: Company,
        core: Option<Core>,
        deadline: Deadline,
    ) -> Self {
        if let Some(core) = &core {
            core.enter();
            zygote.area.move_to(core.number());
        }
        let symbols = Symbols::of_process(zygote.pid());
        program.loads(symbols.files());
        NativeExecution {
            program,
            zygote,
            symbols,
            mirror: Mirror::default(),
            position: 0,
            next: Next::Nothing,
            decided: Vec::new(),
            planned: Course::default(),
            foreseen: Vec::new(),
            ends: false,
            is_told: false,
            told: Told::default(),
            is_watched: false,
            live: false,
            leaning: 0,
            current: 0,
            running: 0,
            step: Step::default(),
            events: Vec::new(),
            foresight: 0,
            usual: Duration::ZERO,
            lost: None,
            was_lost: String::new(),
            answers: 0,
            company,
            leaves: false,
            core,
            deadline,
            cut_short: None,
        }
    }

    fn words(&self) -> Words<'_> {
        Words { mirror: &self.mirror, symbols: &self.symbols }
    }

    /// Begins the execution that is planned, and reads up to its first point.
    fn begin(&mut self) -> Result<(), LaunchError> {
        self.mirror.clear();
        self.symbols.forget_loaded();
        self.events.clear();
        self.told.clear();
        self.live = true;
        self.leaning = 0;
        self.position = 0;
        self.zygote.put_files_back(self.program);
        let began = Instant::now();
        let is_left = self.core.as_mut().is_some_and(|core| core.is_left(began));
        let ends = self.ends && self.usual >= SHORT;
        self.zygote.area.get().told.store(u32::from(self.is_told), Ordering::Relaxed);
        self.zygote.area.get().watched.store(u32::from(self.is_watched), Ordering::Relaxed);
        self.zygote.request(&self.planned, &self.foreseen, self.foresight > BLIND && !ends);
        self.wait();
        if let (true, Some(core)) = (is_left, &mut self.core) {
            core.settle();
            self.zygote.area.move_to(core.number());
        }
        self.usual = (self.usual * 7 + began.elapsed()) / 8;
        if let Company::Scouts(pool) = &mut self.company {
            pool.took(self.usual);
        }
        match self.read() {
            Read::Point => {
                self.events.clear();
                Ok(())
            }
            Read::Stop(stop) => Err(LaunchError(stop.message)),
            _ => Err(LaunchError("the program ended before its main began".into())),
        }
    }

    /// Reads the log up to the end of a step.
    fn read(&mut self) -> Read {
        loop {
            let Some(record) = self.record() else {
                if let Some(stop) = self.is_lost() {
                    return Read::Stop(stop);
                }
                self.next = Next::Nothing;
                return Read::Dead(self.status().unwrap_or(0));
            };
            self.position += 1;
            let number = (record[0] >> 32) as u32;
            match record[0] as u8 {
                tag::POINT => {
                    self.point(&record);
                    return Read::Point;
                }
                tag::CHOOSE => {
                    self.next = self.next_after(number);
                    return Read::Choose(record[1] as u32);
                }
                tag::STOP => {
                    self.next = Next::Nothing;
                    self.step.operation = protocol::Op::unpack(record[5]);
                    self.step.note = record[1] >> 32;
                    self.step.numbers = [record[6], record[7]];
                    let place = self.told.place(0, &self.symbols);
                    return Read::Stop(Box::new(self.stop(&record, place)));
                }
                tag::FULL => self.go_on(Answer::GoOn),
                _ => self.follow(number, &record),
            }
        }
    }

    /// The next record of the log.
    fn record(&self) -> Option<protocol::Record> {
        let area = &self.zygote.area;
        (self.position < area.log_length()).then(|| area.record(self.position))
    }

    /// How the process of the execution ended, once it has.
    fn status(&self) -> Option<i32> {
        self.zygote.area.status()
    }

    fn next_after(&self, taken: u32) -> Next {
        match taken {
            ASKS if self.status().is_some() => Next::Nothing,
            ASKS => Next::Asks,
            taken => Next::Taken(taken),
        }
    }

    fn point(&mut self, record: &protocol::Record) {
        self.next = self.next_after((record[0] >> 32) as u32);
        self.step.operation = protocol::Op::unpack(record[1]);
        self.step.note = record[2];
        self.step.numbers = [record[3], record[4]];
        let performed = &self.step.operation;
        if performed.timed_out
            && self.mirror.exiting
            && let Some(thread) = self.mirror.threads.get_mut(self.current as usize)
        {
            thread.late = true;
            self.mirror.update(self.current as usize);
        }
        if record[2] == note::NOBODY_WAITS
            && let Some(object) = (performed.object as usize).checked_sub(1)
            && let Some(condvar) = self.mirror.objects.get_mut(object)
        {
            // To wake a futex in vain is as usual as not to.
            condvar.missed = condvar.kind == protocol::object::CONDVAR;
        }
    }

    /// Brings the mirror up to date.
    fn follow(&mut self, number: u32, record: &protocol::Record) {
        let index = number as usize;
        match record[0] as u8 {
            tag::PENDING => {
                let gate = protocol::Gate::unpack(record[2], record[3], record[4]);
                let Some(thread) = self.mirror.threads.get_mut(index) else { return };
                thread.pending = protocol::Op::unpack(record[1]);
                thread.gate = gate;
                thread.places = [self.told.place(record[5], &self.symbols), record[6], record[7]];
                self.mirror.update(index);
            }
            tag::WORD => {
                let Some(object) = self.mirror.objects.get_mut(index) else { return };
                object.word = record[1];
                object.holder = record[2] as u32;
                self.mirror.refresh(number);
            }
            tag::OBJECT => self.mirror.objects.push(Object {
                kind: record[2] as u8,
                word: record[1],
                holder: 0,
                address: record[3],
                missed: false,
            }),
            tag::THREAD => {
                self.mirror.threads.push(Thread {
                    object: record[1] as u32,
                    function: record[2],
                    name: None,
                    pending: protocol::Op::default(),
                    gate: protocol::Gate::OPEN,
                    places: [0; 3],
                    signalled: false,
                    late: false,
                    ended: false,
                });
                self.mirror.alive += 1;
                self.mirror.enabled.insert(ThreadId(number));
                if index > 0 {
                    self.step.spawned.push(index);
                    self.events.push(LocalEvent::Spawned(ThreadId(number)));
                }
            }
            tag::BY => {
                self.running = number;
                self.events.push(LocalEvent::By(ThreadId(number)));
            }
            tag::SIGNAL => {
                let Some(thread) = self.mirror.threads.get_mut(index) else { return };
                thread.signalled = record[1] == 1;
                if thread.signalled {
                    self.mirror.update(index);
                }
            }
            tag::ENDED if index < self.mirror.threads.len() => self.mirror.end(index),
            tag::EXIT => {
                self.mirror.exiting = true;
                (0..self.mirror.threads.len()).for_each(|thread| self.mirror.update(thread));
            }
            tag::ACCESS => {
                let cell = ObjectId::new(record[1] as u32);
                let place = self.told.place(record[3], &self.symbols) as usize;
                self.events.push(match record[2] {
                    how::READS => LocalEvent::Read(cell, Site(place)),
                    how::FREES => LocalEvent::Write(cell, Site(place | FREES)),
                    _ => LocalEvent::Write(cell, Site(place)),
                });
            }
            tag::LEANS => self.leaning |= record[1],
            tag::RETIRE => self.events.push(LocalEvent::Retire(ObjectId::new(record[1] as u32))),
            tag::FENCE => self.events.push(LocalEvent::Fence(engine_order(record[1] as u8))),
            tag::PUBLISH => {
                let object = ObjectId::new(record[2] as u32);
                self.events.push(match record[1] {
                    0 => LocalEvent::Acquire(object),
                    _ => LocalEvent::Release(object),
                });
            }
            tag::NAME => {
                let Some(thread) = self.mirror.threads.get_mut(index) else { return };
                let bytes: Vec<u8> =
                    [record[1], record[2]].iter().flat_map(|word| word.to_le_bytes()).collect();
                let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
                thread.name = Some(String::from_utf8_lossy(name).into_owned());
            }
            _ => self.told.follow(record, &mut self.symbols),
        }
    }

    /// What a record says that went wrong, and where in the program's own source, if that is known.
    fn stop(&self, record: &protocol::Record, place: u64) -> Stop {
        let kind = match u64::from(record[1] as u32) {
            stop::ASSERTION => StopKind::Violation(ViolationKind::Assertion),
            stop::CRASH => StopKind::Violation(ViolationKind::Crash),
            stop::MISUSE => StopKind::Violation(ViolationKind::Misuse),
            stop::DEADLOCK => StopKind::Violation(ViolationKind::Deadlock),
            stop::USE_AFTER_FREE => StopKind::Violation(ViolationKind::UseAfterFree),
            stop::DOUBLE_FREE => StopKind::Violation(ViolationKind::DoubleFree),
            stop::INFEASIBLE => StopKind::Infeasible,
            stop::DIFFERENT => StopKind::Different,
            which => {
                match which {
                    stop::MIXED_IN_8 => self.program.has_mixed_atomics(8),
                    stop::MIXED_IN_16 => self.program.has_mixed_atomics(16),
                    _ => {}
                }
                StopKind::Unsupported
            }
        };
        let places = [record[2], record[3], record[4]];
        let given_up = self.lost.as_ref().filter(|_| u64::from(record[1] as u32) == stop::GIVEN_UP);
        let thread = (record[0] >> 32) as usize;
        let mut message = match given_up {
            Some(message) => message.replace(stuck::WHO, &self.words().thread(thread)),
            None => self.zygote.area.text(),
        };
        if matches!(kind, StopKind::Violation(_)) {
            message = format!("{}: {message}", self.words().thread(thread));
        }
        if kind == StopKind::Unsupported {
            let calls: Vec<_> =
                places.iter().filter_map(|place| self.symbols.function(place.checked_sub(1)?)).collect();
            if !calls.is_empty() {
                let how = if given_up.is_some() { "it is in" } else { "called by" };
                message.push_str(&format!("; {how} {}", calls.join(", called by ")));
            }
        }
        message.extend(self.told.freed_before(&self.words()));
        let location = self.symbols.location(&[place]).or_else(|| self.symbols.location(&places));
        Stop { kind, message, location }
    }

    /// The process has ended in the middle of a step.
    fn died(&mut self, status: i32) -> Event {
        let op = engine_op(self.pending_of(self.current));
        if let Some(stop) = self.by_status(status) {
            return Event::Stopped(op, Box::new(stop));
        }
        // It has ended by a way of its own: nothing is left to run.
        for thread in 0..self.mirror.threads.len() {
            self.mirror.end(thread);
        }
        Event::Performed(op)
    }

    /// What is wrong with the way that the process ended.
    fn by_status(&self, status: i32) -> Option<Stop> {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            let message = format!("the process was ended by signal {signal} ({})", signal_name(signal));
            let kind = StopKind::Violation(ViolationKind::Crash);
            return Some(Stop { kind, message, location: None });
        }
        let code = libc::WEXITSTATUS(status);
        self.program.endings().ended(code);
        (code != 0 && self.program.exit_status_matters()).then(|| Stop {
            kind: StopKind::Violation(ViolationKind::Assertion),
            message: format!("the program exits with status {code}"),
            location: None,
        })
    }

    fn pending_of(&self, thread: u32) -> protocol::Op {
        self.mirror.threads.get(thread as usize).map_or_else(protocol::Op::default, |thread| thread.pending)
    }

    /// Begins again, this time with what was decided, and reads up to where the last decision is taken.
    fn begin_again(&mut self) -> Result<(), Stop> {
        self.end();
        let decided = self.decided.iter().map(|decision| answer(*decision).pack());
        // Where it is as foreseen, what was run was not: it was run for a search that knew less.
        let mut planned = self.planned.decisions.iter().chain(&self.foreseen).copied();
        if decided.clone().all(|decision| planned.next() == Some(decision)) {
            let rest = planned.collect();
            self.foreseen = rest;
        } else {
            drop(planned);
            self.foreseen.clear();
            self.ends = false;
        }
        self.planned.decisions.clear();
        self.planned.decisions.extend(decided);
        let failed = |kind, message: String| Stop { kind, message, location: None };
        self.begin().map_err(|error| failed(StopKind::Unsupported, error.0))?;
        for index in 0..self.decided.len() - 1 {
            let decision = self.decided[index];
            self.prepare_step(decision);
            if self.next == Next::Asks {
                self.decide(decision);
            } else if self.next != Next::Taken(answer(decision).pack()) {
                let message = "it cannot be brought to the same point again";
                return Err(failed(StopKind::Different, message.into()));
            }
            match self.read() {
                Read::Point | Read::Choose(_) => {}
                // It was given up, perhaps because the search is to stop: that is not the program's doing.
                Read::Stop(stop) if stop.kind == StopKind::Unsupported => return Err(*stop),
                Read::Stop(_) | Read::Dead(_) => {
                    return Err(failed(StopKind::Different, "it ended where it did not before".into()));
                }
            }
        }
        self.events.clear();
        Ok(())
    }

    fn prepare_step(&mut self, decision: Decision) {
        if let Decision::Thread(thread) = decision {
            (self.current, self.running) = (thread.0, thread.0);
            self.step = Step {
                operation: self.pending_of(thread.0),
                places: self.mirror.threads.get(thread.index()).map_or([0; 3], |thread| thread.places),
                ..Step::default()
            };
        }
    }

    /// Ends the process of the execution, and waits until it has.
    fn end(&mut self) {
        if !self.live {
            return;
        }
        self.live = false;
        // This side's turn: either it has ended, or it waits for an answer.
        while self.status().is_none() && self.zygote.is_alive() {
            self.reply(Answer::End);
        }
        self.lost = None;
    }
}

pub(crate) fn answer(decision: Decision) -> Answer {
    match decision {
        Decision::Thread(thread) => Answer::Thread(thread.0),
        Decision::Value(value) => Answer::Value(value),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGABRT => "SIGABRT, abort",
        libc::SIGSEGV => "SIGSEGV, segmentation fault",
        libc::SIGBUS => "SIGBUS, bus error",
        libc::SIGFPE => "SIGFPE, arithmetic error",
        libc::SIGILL => "SIGILL, illegal instruction",
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        libc::SIGPIPE => "SIGPIPE, nobody reads what it writes",
        libc::SIGALRM => "SIGALRM, alarm",
        _ => "see signal(7)",
    }
}

impl Execution for NativeExecution<'_> {
    fn assume(&self, assumptions: &mut Assumptions) {
        self.program.assume(assumptions);
        if self.leaning & leaning::WEAK_ORDER != 0 {
            assumptions.add(AssumptionKind::SequentialConsistency);
        }
        let explored = self.program.spurious_events();
        for (bit, kind, most) in [
            (leaning::NO_WAKEUPS, AssumptionKind::SpuriousWakeups, explored),
            (leaning::NO_FAILURES, AssumptionKind::SpuriousFailures, explored),
            (leaning::NO_FAILURES_UNTOLD, AssumptionKind::SpuriousFailures, 0),
        ] {
            if self.leaning & bit != 0 {
                assumptions.add(Assumption::spurious(kind, most));
            }
        }
    }

    fn plan(&mut self, plan: &Plan<'_>) {
        self.planned.follow(plan);
        self.foreseen.clear();
        self.foreseen.extend(plan.foreseen.iter().map(|decision| answer(*decision).pack()));
        self.ends = plan.ends;
        self.is_told = plan.is_told;
        self.is_watched = plan.is_watched;
    }

    fn heeds_plans(&self) -> bool {
        true
    }

    fn state(&mut self) -> Option<State> {
        if self.next != Next::Asks || self.lost.is_some() {
            return None;
        }
        self.reply(Answer::State);
        let state = self.zygote.area.get().state.load(Ordering::Relaxed);
        (state != 0 && self.lost.is_none()).then_some(State::Whole(state))
    }

    fn is_infeasible(&self) -> bool {
        let assumes = |thread: &Thread| !thread.ended && thread.pending.kind == op::ASSUME;
        self.mirror.threads.iter().any(assumes)
    }

    fn runs_ahead(&self) -> bool {
        matches!(&self.company, Company::Scouts(pool) if pool.wants_more())
    }

    fn run_ahead(&mut self, settings: Settings, search: Ahead<'_>) {
        let Company::Scouts(pool) = &mut self.company else { return };
        pool.send(self.program, self.core.as_ref(), settings, search);
    }

    fn was_run(&mut self, plan: &Plan<'_>) -> Option<Arc<Ran>> {
        if matches!(self.company, Company::Nobody) {
            return None;
        }
        self.plan(plan);
        match &mut self.company {
            Company::Nobody => None,
            Company::Scouts(pool) => pool.take(&self.planned, self.program, &self.deadline),
            Company::Scout(scout) => match scout.asks(&self.planned) {
                Go::Read(run) => Some(run),
                Go::Run => None,
                Go::Leave => {
                    self.leaves = true;
                    None
                }
            },
        }
    }

    fn was_used(&mut self, run: Arc<Ran>) {
        if let Company::Scouts(pool) = &mut self.company {
            pool.was_used(run);
        }
    }

    fn was_cut_short(&self) -> Option<String> {
        self.cut_short.clone()
    }

    fn restart(&mut self) -> Result<(), LaunchError> {
        self.end();
        self.decided.clear();
        self.lost = None;
        if std::mem::take(&mut self.leaves) {
            return Err(LaunchError("it is run elsewhere".into()));
        }
        self.begin()
    }

    fn enabled(&self) -> &ThreadSet {
        &self.mirror.enabled
    }

    fn waiting(&self) -> &ThreadSet {
        &self.mirror.waiting
    }

    fn thread_count(&self) -> usize {
        self.mirror.threads.len()
    }

    fn all_ended(&self) -> bool {
        self.mirror.alive == 0 || self.mirror.exiting || self.is_infeasible()
    }

    fn pending(&self, thread: ThreadId) -> Op {
        engine_op(self.pending_of(thread.0))
    }

    fn gate(&self, thread: ThreadId) -> Gate {
        // One that was given up when it was begun again may have fewer threads than before.
        self.mirror.threads.get(thread.index()).map_or_else(Gate::default, |thread| engine_gate(&thread.gate))
    }

    fn is_signalled(&self, thread: ThreadId) -> bool {
        self.mirror.threads.get(thread.index()).is_some_and(|thread| thread.signalled)
    }

    fn word(&self, object: ObjectId) -> u64 {
        self.mirror.objects.get(object.index()).map_or(0, |object| object.word)
    }

    fn step(&mut self, decision: Decision) -> Event {
        self.decided.push(decision);
        match self.next {
            Next::Taken(taken) if taken == answer(decision).pack() => {
                self.foresight = (self.foresight + 1).min(64);
                self.prepare_step(decision);
            }
            Next::Asks => {
                self.prepare_step(decision);
                self.decide(decision);
            }
            Next::Taken(_) => {
                if let Some(stop) = self.is_lost() {
                    return Event::Stopped(self.pending(ThreadId(self.current)), stop);
                }
                self.foresight = (self.foresight - 32).max(BLIND);
                if let Err(stop) = self.begin_again() {
                    return Event::Stopped(self.pending(ThreadId(self.current)), Box::new(stop));
                }
                self.prepare_step(decision);
                if self.next == Next::Asks {
                    self.decide(decision);
                }
            }
            Next::Nothing => self.prepare_step(decision),
        }
        match self.read() {
            Read::Point => Event::Performed(engine_op(self.step.operation)),
            Read::Choose(arity) => Event::Choose(arity),
            Read::Stop(stop) => Event::Stopped(engine_op(self.step.operation), stop),
            Read::Dead(status) => self.died(status),
        }
    }

    fn local_events(&mut self) -> &mut Vec<LocalEvent> {
        &mut self.events
    }

    fn site(&self) -> Site {
        Site(self.step.places.iter().find(|place| **place != 0).map_or(0, |place| *place as usize))
    }

    fn describe(&self) -> Description {
        self.words().step(&self.step)
    }

    fn thread_name(&self, thread: ThreadId) -> String {
        self.words().thread(thread.index())
    }

    fn object_name(&self, object: ObjectId) -> String {
        self.words().object(object.index())
    }

    fn why_blocked(&self, thread: ThreadId) -> Description {
        self.words().why_blocked(thread.index())
    }

    fn locate(&self, site: Site) -> Option<Location> {
        self.symbols.location(&[(site.0 & !FREES) as u64])
    }

    fn frees(&self, site: Site) -> bool {
        site.0 & FREES != 0
    }

    /// A thread waits for a signal that was given before: that is what is wrong, more than the deadlock.
    fn in_flight(&self) -> Option<Stop> {
        let words = self.words();
        let waits = |thread: &Thread| !thread.ended && thread.pending.kind == op::WAKE && !thread.signalled;
        let (_, thread) = self.mirror.threads.iter().enumerate().find(|(_, thread)| {
            let condvar = (thread.pending.object as usize).checked_sub(1);
            waits(thread) && condvar.is_some_and(|condvar| self.mirror.objects[condvar].missed)
        })?;
        let mut message =
            String::from("lost signal: it was given when nobody waited, and now no thread can go on");
        for index in 0..self.mirror.threads.len() {
            let why = words.why_blocked(index);
            if !why.text.is_empty() {
                let place = why.location.map_or_else(String::new, |place| format!(" (at {place})"));
                message.push_str(&format!("\n  {} {}{place}", words.thread(index), why.text));
            }
        }
        let location = self.symbols.location(&thread.places);
        Some(Stop { kind: StopKind::Violation(ViolationKind::LostSignal), message, location })
    }

    fn finish(&mut self) -> Option<Stop> {
        if !self.live {
            return None;
        }
        self.program.asks_for(self.zygote.area.get().inputs.load(Ordering::Relaxed));
        let complete = self.mirror.alive == 0 || self.mirror.exiting && self.mirror.enabled.is_empty();
        if complete {
            self.live = false;
            // It writes out its streams, or runs what is to be done when no thread is left; all that it can want is that its
            // log is read.
            while self.status().is_none() && self.lost.is_none() {
                self.reply(Answer::GoOn);
            }
            return match self.read() {
                Read::Stop(stop) => Some(*stop),
                Read::Dead(status) => self.by_status(status),
                _ => None,
            };
        }
        self.end();
        None
    }
}

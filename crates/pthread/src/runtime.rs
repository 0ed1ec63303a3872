//! The threads and objects of one execution, and who runs next.
//!
//! # The access protocol
//!
//! An execution is a process with one kernel thread. The program's threads take turns on it: the one that runs is the
//! *current* one. Whoever runs may use the [`Runtime`]; it passes on to another thread only in [`Runtime::switch`], which
//! returns when some thread passes on to this one. So a `&mut Runtime` is made from the one static only for a stretch of
//! code that neither switches nor runs code of the program.
//!
//! Before the program's `main`, and in the process that executions are forked from, the runtime is
//! [`Off`](Phase::Off): every function does what the C library's does.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use crate::attributes::Stack;
use crate::cores::Cores;
use crate::coroutine::{self, Context};
use crate::exit::{Call, EXITING};
use crate::onward::{Onward, Point};
use crate::protocol::{
    ASKS, Answer, Area, Gate, LOG, OBJECT_BITS, Op, Record, head, note, op, stop, tag, turn,
};
use crate::site::Frame;
use crate::sys::{self, futex_wait, futex_wake};
use crate::thread_local;
use crate::time::{Carried, Times};
use crate::told;
use crate::unwind::Unwinding;
use crate::{again, signal, spin, state};

/// Where an execution stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is controlled.
    Off,
    /// It runs.
    Running,
    /// The process ends: what was to be done at the exit is done, and no other thread ever runs again.
    Leaving,
}

/// How many threads an execution may create.
pub(crate) const MAX_THREADS: usize = 1024;
const MAX_OBJECTS: usize = 1 << OBJECT_BITS;

/// The word of a thread's object: it has ended, and nobody can join it.
pub(crate) const ENDED: u64 = 1;
pub(crate) const DETACHED: u64 = 2;

/// No thread, as the next of a list.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A thread of the program.
pub(crate) struct Thread {
    /// Where it goes on.
    pub(crate) context: Context,
    pub(crate) object: u32,
    pub(crate) pending: Op,
    pub(crate) gate: Gate,
    pub(crate) signalled: bool,
    pub(crate) ended: bool,
    enabled: bool,
    waiting: bool,
    /// A wait of its has run out while the process was about to exit: no other will.
    pub(crate) late: bool,
    /// It runs to its first operation, and then its creator goes on.
    starting: bool,
    creator: u32,
    /// Its virtual time, in nanoseconds since the execution began.
    pub(crate) now: u64,
    /// The next in the list of those who wait on a condition variable.
    pub(crate) next_waiter: u32,
    /// What the C library calls it.
    pub(crate) handle: usize,
    /// Its function, of pthreads or of C11.
    pub(crate) function: usize,
    pub(crate) is_c11: bool,
    pub(crate) argument: *mut c_void,
    pub(crate) result: *mut c_void,
    pub(crate) joined: bool,
    /// Where its stack begins: the highest address in use; and what it is told of it, if that is not its shell's.
    pub(crate) stack_top: usize,
    /// Where states are looked at: from where on its stack is in use, and a hash of its registers, if they are known.
    pub(crate) stack_used: usize,
    pub(crate) registers: Option<u64>,
    pub(crate) stack: Option<Stack>,
    pub(crate) cancel_disabled: bool,
    pub(crate) cancelled: bool,
    /// It waits where a request to end wakes it.
    pub(crate) in_cancellable_wait: bool,
    pub(crate) woken_to_cancel: bool,
    /// The signals that it waits for in `sigwait`, and the one that it was sent.
    pub(crate) awaited_signals: u64,
    pub(crate) sent_signal: c_int,
    /// The signals that it was sent while it had them blocked.
    pub(crate) pending_signals: u64,
    /// In an atomic section, how deep.
    pub(crate) atomic: u32,
    /// The signals that it has blocked.
    pub(crate) signal_mask: u64,
    /// The cores that it has asked for; none if it has not.
    pub(crate) cores: Cores,
    pub(crate) name: [u8; 16],
    pub(crate) unwinding: Unwinding,
    pub(crate) thread_locals: *mut thread_local::Entry,
}

/// A synchronisation object.
pub(crate) struct Object {
    pub(crate) word: u64,
    /// Where it is in the program's memory, if it is there.
    pub(crate) address: usize,
    pub(crate) times: Times,
    /// The thread that holds it, plus 1.
    pub(crate) holder: u32,
    pub(crate) kind: u8,
    /// How often its holder has it.
    pub(crate) count: u32,
    /// The threads that wait to be notified.
    pub(crate) first_waiter: u32,
    last_waiter: u32,
}

/// Everything about an execution. In this order, so that what is used most is on the same pages.
#[repr(C)]
pub(crate) struct Runtime {
    pub(crate) phase: Phase,
    area: *const Area,
    pub(crate) current: u32,
    pub(crate) thread_count: u32,
    object_count: u32,
    pub(crate) alive: u32,
    log_length: usize,
    /// How many decisions were made.
    decisions: usize,
    plan_length: usize,
    /// What the step under way does.
    pub(crate) performed: Op,
    /// Where the program does that, by an address; 0 if it is not known.
    place: u64,
    pub(crate) note: u64,
    pub(crate) number: u64,
    pub(crate) number_after: u64,
    /// The first call of `exit`.
    pub(crate) exit_call: Call,
    /// The thread that ends the process: it has done what was to be done at the exit, or has called `_exit`.
    exiter: u32,
    exiting: bool,
    pub(crate) time_passes: bool,
    pub(crate) carried: Carried,
    /// Plain accesses to memory are steps.
    pub(crate) race_mode: bool,
    /// The program, or a library that it has loaded, is one that tells of its accesses.
    pub(crate) is_instrumented: bool,
    /// Atomics within so many bytes are one object, if it is not 0.
    pub(crate) atomics_together: usize,
    /// People are told of the execution: what is around each place is logged.
    pub(crate) is_told: bool,
    /// States are looked at.
    is_watched: bool,
    /// The program has looked at a clock, or has waited for one to show something.
    pub(crate) looks_at_clocks: bool,
    /// The values of `__VERIFIER_nondet_*`: the first, and how many there are.
    pub(crate) nondet: (i32, u32),
    /// So many spurious events of each kind an execution may have, and the objects that count them.
    pub(crate) spurious: u32,
    pub(crate) counters: [u32; 2],
    /// What the execution takes for granted, as far as it was logged.
    leaning: u64,
    /// How often what a thread has done so far may have become known to others: with each step, and where something is published
    /// within one.
    pub(crate) published: u32,
    /// The object of atomic sections, plus 1.
    pub(crate) section: u32,
    /// The object of the process's exit, plus 1.
    pub(crate) exit: u32,
    /// The object of signals to the process, plus 1, and those that it was sent while they were blocked.
    pub(crate) signals: u32,
    pub(crate) pending_signals: u64,
    pub(crate) signal_values: [signal::Value; signal::VALUES],
    /// Whether the program has robust mutexes: then a thread that ends looks for those that it holds.
    pub(crate) has_robust: bool,
    onward: Onward,
    pub(crate) threads: [Thread; MAX_THREADS],
    pub(crate) objects: [Object; MAX_OBJECTS],
}

struct Shared(UnsafeCell<Runtime>);
// SAFETY: the access protocol in the module's documentation.
unsafe impl Sync for Shared {}

const NEW_THREAD: Thread = Thread {
    context: Context::NONE,
    object: 0,
    pending: Op { kind: 0, access: 0, order: 0, timed_out: false, object: 0, also: 0 },
    gate: Gate::OPEN,
    signalled: false,
    ended: false,
    enabled: false,
    waiting: false,
    late: false,
    starting: false,
    creator: 0,
    now: 0,
    next_waiter: 0,
    handle: 0,
    function: 0,
    is_c11: false,
    argument: std::ptr::null_mut(),
    result: std::ptr::null_mut(),
    joined: false,
    stack_top: 0,
    stack_used: 0,
    registers: None,
    stack: None,
    cancel_disabled: false,
    cancelled: false,
    in_cancellable_wait: false,
    woken_to_cancel: false,
    awaited_signals: 0,
    sent_signal: 0,
    pending_signals: 0,
    atomic: 0,
    signal_mask: 0,
    cores: [0; 16],
    name: [0; 16],
    unwinding: Unwinding::NEW,
    thread_locals: std::ptr::null_mut(),
};

// All zero, so that it takes no room in the file and no memory until it is used.
const NEW_OBJECT: Object = Object {
    word: 0,
    address: 0,
    times: Times::NONE,
    holder: 0,
    kind: 0,
    count: 0,
    first_waiter: 0,
    last_waiter: 0,
};

static RUNTIME: Shared = Shared(UnsafeCell::new(Runtime {
    phase: Phase::Off,
    area: std::ptr::null(),
    current: 0,
    thread_count: 0,
    object_count: 0,
    alive: 0,
    log_length: 0,
    decisions: 0,
    plan_length: 0,
    performed: Op { kind: 0, access: 0, order: 0, timed_out: false, object: 0, also: 0 },
    place: 0,
    note: 0,
    number: 0,
    number_after: 0,
    exit_call: Call::NONE,
    exiter: 0,
    exiting: false,
    time_passes: false,
    carried: Carried::NOTHING,
    race_mode: false,
    is_instrumented: false,
    atomics_together: 0,
    is_told: false,
    is_watched: false,
    looks_at_clocks: false,
    nondet: (0, 0),
    spurious: 0,
    counters: [0; 2],
    leaning: 0,
    published: 0,
    section: 0,
    exit: 0,
    signals: 0,
    pending_signals: 0,
    signal_values: [signal::Value::NONE; signal::VALUES],
    has_robust: false,
    onward: Onward::NEW,
    threads: [NEW_THREAD; MAX_THREADS],
    objects: [NEW_OBJECT; MAX_OBJECTS],
}));

/// The runtime. The reference must be gone before anything switches or runs code of the program.
#[inline(always)]
pub(crate) fn rt() -> &'static mut Runtime {
    // SAFETY: only the current thread runs, and it keeps to the protocol in the module's documentation.
    unsafe { &mut *RUNTIME.0.get() }
}

/// Where it is.
pub(crate) fn memory() -> std::ops::Range<usize> {
    let at = RUNTIME.0.get() as usize;
    at..at + size_of::<Runtime>()
}

/// Whether the caller is under control; otherwise it is to do what the C library does.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    rt().phase != Phase::Off
}

/// Begins an execution, in a process of its own, with its first thread.
pub(crate) fn begin(area: *const Area, stack_top: usize) {
    let runtime = rt();
    runtime.area = area;
    let area = runtime.area();
    runtime.plan_length = area.plan_length.load(Ordering::Relaxed) as usize;
    runtime.onward.begin(area);
    runtime.atomics_together = area.atomics_together.load(Ordering::Relaxed) as usize;
    runtime.race_mode = area.race_mode.load(Ordering::Relaxed) != 0;
    runtime.is_told = area.told.load(Ordering::Relaxed) != 0;
    runtime.is_watched = area.watched.load(Ordering::Relaxed) != 0;
    runtime.nondet.0 = area.nondet_from.load(Ordering::Relaxed) as i32;
    runtime.nondet.1 = area.nondet_count.load(Ordering::Relaxed);
    runtime.phase = Phase::Running;
    let main = runtime.new_thread(0);
    let thread = &mut runtime.threads[main as usize];
    thread.stack_top = stack_top;
    runtime.current = main;
    runtime.leaning = 0;
    runtime.count_spurious(area.spurious.load(Ordering::Relaxed));
    // Its first step runs it to its first operation.
    runtime.log([head(tag::PENDING, main), Op::local(op::LOCAL).pack(), Gate::OPEN.pack(), 0, 0, 0, 0, 0]);
    runtime.performed = Op::local(op::LOCAL);
    runtime.next();
    let runtime = rt();
    runtime.performed = Op::local(op::LOCAL);
}

/// Stops before an operation that is always possible, until it is this thread's turn. When this returns, the
/// operation is under way, and nothing else runs until its effect is made.
pub(crate) fn visible(operation: Op, frame: Frame) {
    visible_when(operation, Gate::OPEN, frame);
}

/// Stops before an operation until its gate is open and it is this thread's turn. Says whether it goes on because
/// its time ran out.
pub(crate) fn visible_when(operation: Op, gate: Gate, frame: Frame) -> bool {
    let runtime = rt();
    let me = runtime.current;
    if runtime.phase == Phase::Leaving || runtime.threads[me as usize].atomic > 0 {
        return runtime.at_once(operation, gate, frame);
    }
    if runtime.is_instrumented {
        spin::arrives(&operation, frame);
    }
    let runtime = rt();
    if runtime.is_watched {
        state::arrives(frame);
    }
    told::calls(runtime, frame);
    let thread = &mut runtime.threads[me as usize];
    thread.pending = operation;
    thread.gate = gate;
    let places = frame.places::<3>(thread.stack_top);
    let record = [
        head(tag::PENDING, me),
        operation.pack(),
        gate.pack(),
        gate.mask,
        gate.value,
        places[0],
        places[1],
        places[2],
    ];
    runtime.log(record);
    runtime.update(me);
    if runtime.threads[me as usize].starting {
        runtime.threads[me as usize].starting = false;
        let creator = runtime.threads[me as usize].creator;
        runtime.log([head(tag::BY, creator), 0, 0, 0, 0, 0, 0, 0]);
        Runtime::switch(me, creator);
    } else {
        let next = runtime.next();
        if next != me {
            Runtime::switch(me, next);
        }
    }
    let runtime = rt();
    runtime.performed = operation;
    runtime.place = places.into_iter().find(|place| *place != 0).unwrap_or(0);
    runtime.note = note::NONE;
    let thread = &mut runtime.threads[me as usize];
    let timed_out = thread.waiting;
    thread.gate = Gate::OPEN;
    if thread.signalled {
        thread.signalled = false;
        runtime.log([head(tag::SIGNAL, me), 0, 0, 0, 0, 0, 0, 0]);
    }
    if timed_out {
        runtime.threads[me as usize].waiting = false;
        runtime.threads[me as usize].late = runtime.exiting;
        runtime.performed.timed_out = true;
    }
    if runtime.time_passes {
        runtime.carry_time(&operation);
    }
    timed_out
}

impl Runtime {
    pub(crate) fn area(&self) -> &'static Area {
        // SAFETY: `begin` has set it to the mapped area, which is never unmapped.
        unsafe { &*self.area }
    }

    /// Adds a record to the log; waits for it to be read when it is full. How long the log is is known to the other side
    /// at any time, since the process may be ended at any time.
    pub(crate) fn log(&mut self, record: Record) {
        let area = self.area();
        // SAFETY: the other side reads the log only when it is its turn, and the length stays below LOG.
        unsafe { (*area.log.get())[self.log_length] = record };
        self.log_length += 1;
        if self.log_length == LOG - 1 {
            // SAFETY: as above.
            unsafe { (*area.log.get())[self.log_length] = [head(tag::FULL, 0), 0, 0, 0, 0, 0, 0, 0] };
            area.log_length.store(LOG as u32, Ordering::Relaxed);
            self.ask();
            return;
        }
        area.log_length.store(self.log_length as u32, Ordering::Relaxed);
    }

    /// Logs what the step under way takes for granted, a [`leaning`](crate::protocol::leaning), once in an execution.
    pub(crate) fn leans(&mut self, on: u64) {
        if self.leaning & on == 0 {
            self.leaning |= on;
            self.log([head(tag::LEANS, 0), on, 0, 0, 0, 0, 0, 0]);
        }
    }

    /// Gives the controlling side its turn, and waits for what it says.
    fn ask(&mut self) -> Answer {
        let area = self.area();
        let answer = loop {
            area.turn.store(turn::CONTROLLER, Ordering::Release);
            futex_wake(&area.turn, false);
            while area.turn.load(Ordering::Acquire) != turn::PROGRAM {
                futex_wait(&area.turn, turn::CONTROLLER, false);
            }
            self.log_length = 0;
            match Answer::unpack(area.answer.load(Ordering::Relaxed)) {
                Answer::State => area.state.store(state::hash(), Ordering::Relaxed),
                answer => break answer,
            }
        };
        if answer == Answer::End {
            // What was printed so far belongs to the counterexample.
            // SAFETY: a null stream means all of them.
            unsafe { sys::fflush(std::ptr::null_mut()) };
            again::end(0);
        }
        answer
    }

    /// The decision that was planned for this moment.
    fn planned(&self) -> Option<Answer> {
        if self.decisions >= self.plan_length {
            return None;
        }
        // SAFETY: the plan is written before the execution begins; `plan_length` is at most its length.
        Some(Answer::unpack(unsafe { (*self.area().plan.get())[self.decisions] }))
    }

    /// Ends a step, and says which thread takes the next.
    fn next(&mut self) -> u32 {
        if self.performed.yields() {
            self.onward.yielded(self.current, self.place);
        }
        self.published += 1;
        self.onward.at(self.decisions, self.current);
        let chosen = match self.planned() {
            Some(Answer::Thread(thread)) if self.can_run(thread) => Some(thread),
            Some(_) => None,
            None => self.onward.thread(&Point {
                step: self.decisions,
                current: self.current,
                preemptible: self.is_preemptible(),
                threads: self.thread_count,
                enabled: |thread: u32| self.threads[thread as usize].enabled,
            }),
        };
        self.decisions += 1;
        let taken = chosen.unwrap_or(ASKS);
        let operation = self.performed.pack();
        self.log([head(tag::POINT, taken), operation, self.note, self.number, self.number_after, 0, 0, 0]);
        if let Some(chosen) = chosen {
            return chosen;
        }
        let over = self.exiting || self.alive == 0;
        if over && !(0..self.thread_count).any(|thread| self.can_run(thread)) {
            self.phase = Phase::Leaving;
            return if self.exiting { self.exiter } else { self.current };
        }
        match self.ask() {
            Answer::Thread(thread) if self.can_run(thread) => thread,
            _ => self.impossible(),
        }
    }

    fn impossible(&mut self) -> ! {
        self.stop(stop::DIFFERENT, Frame::NONE, &[b"what was to be done next cannot be done"])
    }

    fn can_run(&self, thread: u32) -> bool {
        thread < self.thread_count && self.threads[thread as usize].enabled
    }

    /// Whether a switch away from the current thread preempts it.
    fn is_preemptible(&self) -> bool {
        let current = &self.threads[self.current as usize];
        current.enabled && !current.waiting && !self.performed.yields()
    }

    /// Lets another thread run until it is this one's turn again.
    pub(crate) fn switch(me: u32, next: u32) {
        let runtime = rt();
        runtime.current = next;
        let mask = runtime.threads[next as usize].signal_mask;
        if mask != runtime.threads[me as usize].signal_mask {
            sys::set_signal_mask(mask);
        }
        let from = &raw mut runtime.threads[me as usize].context;
        let to = &raw const runtime.threads[next as usize].context;
        // SAFETY: this thread's, and that of one that was switched from or has not begun.
        unsafe { coroutine::switch(from, to) };
    }

    /// An operation while no other thread may run: at the exit, or in an atomic section.
    #[cold]
    fn at_once(&mut self, operation: Op, gate: Gate, frame: Frame) -> bool {
        let me = self.current as usize;
        self.threads[me].gate = gate;
        let open = self.is_open(self.current);
        let timed = self.time_may_run_out(self.current);
        self.threads[me].gate = Gate::OPEN;
        if !open && !timed {
            let text: &[u8] = match self.phase {
                Phase::Leaving => {
                    b"deadlock: while the process exits, it waits for something that no thread is left to do"
                }
                _ => b"deadlock: in an atomic section it waits for something that only another thread can do",
            };
            self.stop(stop::DEADLOCK, frame, &[text]);
        }
        if self.phase == Phase::Leaving {
            self.performed = operation;
        } else if operation.kind == op::END {
            self.stop(
                stop::MISUSE,
                frame,
                &[b"it ends in an atomic section: __VERIFIER_atomic_end is missing"],
            );
        } else if operation.object != 0 {
            let text: &[&[u8]] = &[
                b"between __VERIFIER_atomic_begin and _end there is an operation on another object, ",
                b"such as a lock or an atomic, which is not supported",
            ];
            self.stop(stop::UNSUPPORTED, frame, text);
        }
        self.threads[me].signalled = false;
        !open
    }

    /// Something went wrong: the execution ends here.
    #[cold]
    pub(crate) fn stop(&mut self, kind: u64, frame: Frame, message: &[&[u8]]) -> ! {
        let area = self.area();
        let mut length = 0;
        for part in message {
            for &byte in *part {
                if length < crate::protocol::TEXT {
                    // SAFETY: within the text, which the other side reads only in its turn.
                    unsafe { (*area.text.get())[length] = byte };
                    length += 1;
                }
            }
        }
        area.text_length.store(length as u32, Ordering::Relaxed);
        // What cannot be checked is not run again.
        self.is_told |= kind == stop::UNSUPPORTED;
        told::calls(self, frame);
        let places = frame.places::<3>(self.threads[self.current as usize].stack_top);
        self.log([
            head(tag::STOP, self.current),
            kind | self.note << 32,
            places[0],
            places[1],
            places[2],
            self.performed.pack(),
            self.number,
            self.number_after,
        ]);
        if matches!(kind, stop::CRASH | stop::GIVEN_UP) {
            // A stream may be in any state, and whatever else there is.
            sys::write_out_stdout();
            sys::end_process(0);
        }
        // SAFETY: a null stream means all of them.
        unsafe { sys::fflush(std::ptr::null_mut()) };
        again::end(0)
    }

    /// Whether there is an object of this kind with this number.
    pub(crate) fn is_object(&self, index: u32, kind: u8) -> bool {
        index < self.object_count && self.objects[index as usize].kind == kind
    }

    /// A new object.
    pub(crate) fn new_object(&mut self, kind: u8, word: u64, address: usize) -> u32 {
        let index = self.object_count;
        if index as usize == MAX_OBJECTS {
            self.stop(stop::UNSUPPORTED, Frame::NONE, &[b"an execution has more than a million objects"]);
        }
        self.object_count += 1;
        self.objects[index as usize] = Object {
            word,
            address,
            kind,
            first_waiter: NOBODY,
            last_waiter: NOBODY,
            times: Times::NONE,
            holder: 0,
            count: 0,
        };
        self.log([head(tag::OBJECT, index), word, u64::from(kind), address as u64, 0, 0, 0, 0]);
        index
    }

    #[inline]
    pub(crate) fn object(&mut self, object: u32) -> &mut Object {
        &mut self.objects[object as usize]
    }

    /// The objects so far.
    pub(crate) fn objects(&self) -> std::ops::Range<u32> {
        0..self.object_count
    }

    /// Sets an object's word, and its holder (plus 1), and lets those who wait for it go on or wait.
    pub(crate) fn set_word(&mut self, object: u32, word: u64, holder: u32) {
        let state = &mut self.objects[object as usize];
        state.word = word;
        state.holder = holder;
        self.log([head(tag::WORD, object), word, u64::from(holder), 0, 0, 0, 0, 0]);
        for thread in 0..self.thread_count {
            if self.threads[thread as usize].gate.object == object + 1 {
                self.update(thread);
            }
        }
    }

    /// Works out anew whether a thread can go on.
    pub(crate) fn update(&mut self, thread: u32) {
        let state = &self.threads[thread as usize];
        if state.ended {
            return;
        }
        let open = self.is_open(thread);
        let timed = !open && self.time_may_run_out(thread);
        // While the process waits to exit, a thread that waits for time to pass again and again is at rest.
        let rests = timed && state.late;
        let state = &mut self.threads[thread as usize];
        state.enabled = (open || timed) && !rests;
        state.waiting = timed && !rests;
    }

    fn is_open(&self, thread: u32) -> bool {
        let thread = &self.threads[thread as usize];
        thread.gate.is_passed(self.condition(&thread.gate), thread.signalled)
    }

    fn time_may_run_out(&self, thread: u32) -> bool {
        let gate = &self.threads[thread as usize].gate;
        gate.timed && (!gate.needs_signal || self.condition(gate))
    }

    fn condition(&self, gate: &Gate) -> bool {
        gate.object == 0 || gate.allows(self.objects[gate.object as usize - 1].word)
    }

    /// Tells a thread that waits for that to go on.
    pub(crate) fn signal(&mut self, thread: u32) {
        self.threads[thread as usize].signalled = true;
        self.log([head(tag::SIGNAL, thread), 1, 0, 0, 0, 0, 0, 0]);
        self.update(thread);
    }

    /// Puts a thread at the end of the list of those who wait.
    pub(crate) fn add_waiter(&mut self, object: u32, thread: u32) {
        self.threads[thread as usize].next_waiter = NOBODY;
        let last = self.objects[object as usize].last_waiter;
        match last {
            NOBODY => self.objects[object as usize].first_waiter = thread,
            _ => self.threads[last as usize].next_waiter = thread,
        }
        self.objects[object as usize].last_waiter = thread;
    }

    /// How many threads wait on an object.
    pub(crate) fn waiters(&self, object: u32) -> u32 {
        let mut count = 0;
        let mut thread = self.objects[object as usize].first_waiter;
        while thread != NOBODY {
            count += 1;
            thread = self.threads[thread as usize].next_waiter;
        }
        count
    }

    /// Takes the waiter that `which` accepts, by place and thread, out of the list.
    pub(crate) fn take_waiter(&mut self, object: u32, which: impl Fn(u32, u32) -> bool) -> Option<u32> {
        let (mut before, mut place) = (NOBODY, 0);
        let mut thread = self.objects[object as usize].first_waiter;
        while thread != NOBODY {
            let after = self.threads[thread as usize].next_waiter;
            if which(place, thread) {
                match before {
                    NOBODY => self.objects[object as usize].first_waiter = after,
                    _ => self.threads[before as usize].next_waiter = after,
                }
                if after == NOBODY {
                    self.objects[object as usize].last_waiter = before;
                }
                return Some(thread);
            }
            (before, thread, place) = (thread, after, place + 1);
        }
        None
    }

    /// Lets the controlling side choose one of `n` values, within an operation that is under way.
    pub(crate) fn choose(&mut self, n: u32) -> u32 {
        if n <= 1 || self.phase != Phase::Running {
            return 0;
        }
        self.onward.at(self.decisions, self.current);
        let chosen = match self.planned() {
            Some(Answer::Value(value)) if value < n => Some(value),
            Some(_) => None,
            None => self.onward.value(self.decisions, n),
        };
        self.decisions += 1;
        let taken = chosen.map_or(ASKS, |value| Answer::Value(value).pack());
        self.log([head(tag::CHOOSE, taken), u64::from(n), 0, 0, 0, 0, 0, 0]);
        chosen.unwrap_or_else(|| match self.ask() {
            Answer::Value(value) if value < n => value,
            _ => self.impossible(),
        })
    }

    /// A new thread, which does not run yet.
    pub(crate) fn new_thread(&mut self, function: usize) -> u32 {
        let index = self.thread_count;
        if index as usize == MAX_THREADS {
            self.stop(stop::UNSUPPORTED, Frame::NONE, &[b"an execution creates more than 1,023 threads"]);
        }
        let object = self.new_object(crate::protocol::object::THREAD, 0, 0);
        let now = self.threads[self.current as usize].now;
        self.threads[index as usize] = Thread { object, enabled: true, now, function, ..NEW_THREAD };
        self.thread_count += 1;
        self.alive += 1;
        self.log([head(tag::THREAD, index), u64::from(object), function as u64, 0, 0, 0, 0, 0]);
        index
    }

    /// The thread was never started: as if it had not been made.
    pub(crate) fn undo_thread(&mut self, frame: Frame) -> ! {
        self.stop(
            stop::UNSUPPORTED,
            frame,
            &[b"a thread could not be created: the system has no resources left for it, or its attributes are wrong"])
    }

    /// Lets a new thread run to its first operation.
    pub(crate) fn start(&mut self, thread: u32) {
        let me = self.current;
        // It knows what was done before.
        self.published += 1;
        self.threads[thread as usize].starting = true;
        self.threads[thread as usize].creator = me;
        self.log([head(tag::BY, thread), 0, 0, 0, 0, 0, 0, 0]);
        let step = (self.performed, self.note, self.number, self.number_after);
        Runtime::switch(me, thread);
        let runtime = rt();
        (runtime.performed, runtime.note, runtime.number, runtime.number_after) = step;
    }

    /// The current thread's last step is under way: it ends, and another takes over. Returns in the thread that does
    /// what is left to do when all have ended.
    pub(crate) fn end_thread(&mut self) {
        let object = self.threads[self.current as usize].object;
        let word = self.objects[object as usize].word | ENDED;
        self.set_word(object, word, 0);
        self.pass_on();
    }

    /// The current thread takes no more steps, unless to end the process.
    fn pass_on(&mut self) {
        let me = self.current;
        self.mark_ended(me);
        let next = self.next();
        if next == me {
            return;
        }
        Runtime::switch(me, next);
    }

    fn mark_ended(&mut self, thread: u32) {
        let state = &mut self.threads[thread as usize];
        state.ended = true;
        state.enabled = false;
        state.waiting = false;
        self.alive -= 1;
        self.log([head(tag::ENDED, thread), 0, 0, 0, 0, 0, 0, 0]);
    }

    /// As [`end_thread`](Runtime::end_thread), for the thread that ends the process: returns, in this thread, when
    /// every other thread has ended or is at rest. Nobody sees it end: who waits for that waits until the process is gone.
    pub(crate) fn end_process(&mut self) {
        if self.exiting {
            // Another thread did so before; that one exits.
            return self.pass_on();
        }
        let me = self.current;
        self.exiting = true;
        self.exiter = me;
        self.log([head(tag::EXIT, me), 0, 0, 0, 0, 0, 0, 0]);
        let exit = self.exit_object();
        self.set_word(exit, EXITING, 0);
        self.pass_on();
    }
}

//! The runtime: a Rust closure as a program that the engine controls.
//!
//! Every thread of the program is a stackful coroutine, and all of them run on the one OS thread that runs
//! the engine. A coroutine suspends before each visible operation; the engine resumes the one that it
//! chooses, which performs its operation and runs to its next one.
//!
//! # The access protocol
//!
//! There is one [`Runtime`] for each OS thread that explores, behind a raw pointer in a thread-local. Both
//! the engine's side ([`execution`]) and the program's side (the types of this crate, through [`Handle`])
//! use it, never at the same time: control passes between them only in `resume` and `suspend`. So a `&mut
//! Runtime` is made from the pointer only for a stretch of code that neither suspends, resumes, nor runs
//! code of the program (a closure, a destructor); no such reference is kept across any of these.

mod access;
pub(crate) mod boxed;
mod describe;
mod execution;
mod foreign;
mod object;
mod overflow;
mod panic;
mod source;
mod spurious;
mod state;
mod statics;
mod thread;
mod time;

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::Location;

use corosensei::Yielder;
use selvedge_core::{ObjectId, Op, ThreadId, ThreadSet, ViolationKind};
pub(crate) use selvedge_stateless::Gate;
use selvedge_stateless::{LocalEvent, Site, Stop, StopKind};

use crate::alloc::Allocation;

pub(crate) use access::{Lasting, access, begin};
pub(crate) use describe::{Bits, Show, Value};
pub(crate) use execution::ClosureProgram;
pub(crate) use foreign::Mark;
pub(crate) use object::{Object, ObjectKind, ObjectSlot};
pub(crate) use panic::is_teardown;
pub(crate) use spurious::{Leaning, Spurious, Surprise};
pub(crate) use statics::{begin_anew, is_static};
pub(crate) use thread::{ENDED, RETURNED, Thread, body, spawn};

thread_local! {
    /// The runtime of the exploration that this OS thread runs, or null.
    static CURRENT: Cell<*mut Runtime> = const { Cell::new(std::ptr::null_mut()) };
}

/// What the library needs to know about how it is used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Accesses to tracked cells are scheduling points.
    pub(crate) race_mode: bool,
    /// A panic that leaves a thread's closure ends only that thread, as in std.
    pub(crate) allow_thread_panics: bool,
    /// Accesses to tracked cells may race, and overlap.
    pub(crate) allow_races: bool,
    /// What is not freed at the end is a violation.
    pub(crate) check_leaks: bool,
    /// Clones and drops of references are steps.
    pub(crate) counts_references: bool,
    /// So many spurious wakeups, and so many spurious failures, are explored in an execution.
    pub(crate) spurious: u32,
}

/// Where an execution stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It runs.
    #[default]
    Running,
    /// It is over, and the coroutines that did not end are being unwound.
    Unwinding,
    /// No thread is left; what outlived them is being dropped.
    Quiet,
}

/// Everything about the execution that is running.
pub(crate) struct Runtime {
    /// The number of this execution: no other in this process has the same.
    pub(crate) stamp: u64,
    pub(crate) options: Options,
    pub(crate) current: ThreadId,
    pub(crate) threads: Vec<Thread>,
    pub(crate) enabled: ThreadSet,
    pub(crate) waiting: ThreadSet,
    /// Threads that have not ended.
    pub(crate) alive: usize,
    objects: Vec<Object>,
    object_count: usize,
    /// What the running step has performed, where, and with what values. What the thread was about to do, until
    /// it says otherwise.
    pub(crate) performed: Op,
    pub(crate) site: Option<&'static Location<'static>>,
    pub(crate) value: Value,
    /// How many threads the running step has created.
    pub(crate) spawned: u32,
    /// What the source calls the objects that a described step has touched.
    pub(crate) names: Vec<(ObjectId, String)>,
    /// Which thread began to panic in the running step.
    pub(crate) panics: Option<ThreadId>,
    pub(crate) events: Vec<LocalEvent>,
    /// The running step needs one of so many values; 0 when it does not.
    pub(crate) arity: u32,
    pub(crate) chosen: u32,
    pub(crate) stop: Option<Box<Stop>>,
    pub(crate) phase: Phase,
    /// Whether a coroutine runs, rather than the engine.
    pub(crate) inside: bool,
    /// The coroutine that suspended will never run again and must be leaked.
    pub(crate) abandoned: bool,
    /// How many suspended coroutines are in the middle of a panic, those that were left there included.
    pub(crate) unwinding: u32,
    /// Whether any virtual time has passed in this execution.
    time_passes: bool,
    carried: time::Carried,
    /// What to do when the execution is over, such as resetting statics.
    at_end: Vec<Box<dyn FnOnce()>>,
    /// The coroutines by thread. Boxed: a coroutine must not move while it runs.
    #[expect(clippy::vec_box, reason = "a slot must stay where it is while the vector grows")]
    slots: Vec<Box<thread::Slot>>,
    pub(crate) stack_size: usize,
    /// The coroutine that suspended has used its stack up.
    overflowed: bool,
    /// Coroutines that will never run again, by thread.
    left: Vec<(ThreadId, thread::Body)>,
    #[expect(dead_code, reason = "held until it is dropped")]
    signal_stack: overflow::SignalStack,
    pub(crate) pulse: std::sync::Arc<crate::pulse::Pulse>,
    /// The order of clones and drops of references has turned out to matter.
    pub(crate) references_matter: bool,
    /// What this execution takes for granted.
    pub(crate) leaning: Leaning,
    /// What must be freed before the execution ends, when leaks are checked: what it is, and where it was made.
    pub(crate) owned: Vec<Option<(&'static str, &'static Location<'static>)>>,
    /// Memory that the execution has allocated, by address, and where it was freed if it was.
    pub(crate) allocations: HashMap<usize, Allocation>,
    /// Accesses to tracked cells that have begun and not ended.
    under_way: Vec<access::UnderWay>,
    /// Held from the first use of a static to the end of the execution.
    turn: Option<statics::Turn>,
    /// What statics held before this execution.
    before: Vec<statics::Before>,
}

/// A way to the runtime of the current exploration. Copies are cheap; none outlives the exploration.
#[derive(Clone, Copy)]
pub(crate) struct Handle(*mut Runtime);

/// The runtime of the check that the caller runs in; `None` outside of one.
///
/// # Panics
/// On a thread that a check's program has created with std; see [`foreign`].
#[inline(always)]
#[track_caller]
pub(crate) fn current() -> Option<Handle> {
    let found = exploring();
    if found.is_none() {
        foreign::refuse();
    }
    found
}

/// The runtime of the exploration that this OS thread runs.
#[inline(always)]
fn exploring() -> Option<Handle> {
    let pointer = CURRENT.get();
    if pointer.is_null() { None } else { Some(Handle(pointer)) }
}

/// Whether the caller runs in a check, so that the types of this crate are controlled.
///
/// ```
/// assert!(!selvedge::in_check());
/// selvedge::check(|| assert!(selvedge::in_check()));
/// ```
#[must_use]
pub fn in_check() -> bool {
    exploring().is_some()
}

/// The number of the execution that the caller runs in.
pub(crate) fn stamp() -> Option<u64> {
    exploring().map(|handle| handle.get().stamp)
}

fn set_current(runtime: *mut Runtime) {
    CURRENT.set(runtime);
}

impl Handle {
    /// The runtime. The reference must be gone before anything suspends, resumes or runs code of the
    /// program; see the module's documentation.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the access protocol in the module's documentation")]
    pub(crate) fn get(&self) -> &mut Runtime {
        // SAFETY: `CURRENT` is non-null only between the launch and the drop of an execution, which owns
        // the runtime; the access protocol rules out two references at a time.
        unsafe { &mut *self.0 }
    }

    /// Stops before a visible operation that is always possible, until the engine schedules it. When this
    /// returns the operation is under way and nothing else runs until its effect is made.
    ///
    /// Inlined up to the program's own function: a coroutine suspends by a return instruction, which the
    /// processor predicts only if no call has happened since the coroutine was resumed. (Not in debug builds,
    /// which would only take longer to compile.)
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn visible(self, op: Op, site: &'static Location<'static>) {
        let runtime = self.get();
        if runtime.phase != Phase::Running {
            return self.in_teardown(Gate::OPEN);
        }
        let here = 0_u8;
        let thread = &mut runtime.threads[runtime.current.index()];
        thread.pending = op;
        thread.site = Some(site);
        thread.stack_used = &raw const here as usize;
        let yielder = thread.yielder;
        self.suspend(yielder);
        let runtime = self.get();
        if runtime.time_passes {
            runtime.carry_time(&op);
        }
    }

    /// Stops before a visible operation until its gate is open and the engine schedules it. Says whether it
    /// goes on because its time ran out.
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn visible_when(self, op: Op, gate: Gate, site: &'static Location<'static>) -> bool {
        let runtime = self.get();
        if runtime.phase != Phase::Running {
            self.in_teardown(gate);
            return false;
        }
        let current = runtime.current;
        let here = 0_u8;
        let thread = &mut runtime.threads[current.index()];
        thread.pending = op;
        thread.site = Some(site);
        thread.stack_used = &raw const here as usize;
        thread.gate = gate;
        let yielder = thread.yielder;
        // A thread that runs is enabled and does not wait; so it stays if its gate is open.
        if !runtime.is_open(current) {
            runtime.update(current);
        }
        self.suspend(yielder);
        let runtime = self.get();
        let timed_out = runtime.waiting.contains(current);
        let thread = &mut runtime.threads[current.index()];
        thread.gate = Gate::OPEN;
        thread.signalled = false;
        if timed_out {
            runtime.waiting.remove(current);
            runtime.performed.timed_out = true;
        }
        if runtime.time_passes {
            runtime.carry_time(&op);
        }
        timed_out
    }

    /// Gives control to the engine until it schedules this thread.
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn suspend(self, yielder: *const Yielder<(), ()>) {
        if std::thread::panicking() {
            return self.suspend_while_panicking(yielder);
        }
        // SAFETY: the yielder lives on the coroutine's stack for as long as the coroutine does, and this
        // runs on that stack.
        unsafe { (*yielder).suspend(()) };
        if self.get().phase != Phase::Running {
            self.resumed_in_teardown(false);
        }
    }

    /// As `suspend`, when some coroutine on this OS thread is in the middle of a panic: perhaps this one.
    #[cold]
    fn suspend_while_panicking(self, yielder: *const Yielder<(), ()>) {
        let runtime = self.get();
        let unwinding = runtime.is_unwinding();
        runtime.unwinding += u32::from(unwinding);
        runtime.threads[runtime.current.index()].unwinding = unwinding;
        // SAFETY: as in `suspend`.
        unsafe { (*yielder).suspend(()) };
        let runtime = self.get();
        runtime.unwinding -= u32::from(unwinding);
        runtime.threads[runtime.current.index()].unwinding = false;
        if runtime.phase != Phase::Running {
            self.resumed_in_teardown(unwinding);
        }
    }

    #[cold]
    fn resumed_in_teardown(self, unwinding: bool) {
        if !unwinding {
            self.unwind_for_teardown();
        }
        // In a destructor, during a panic of the program: that goes on by itself, unless it would wait.
        let runtime = self.get();
        if !runtime.is_open(runtime.current) {
            self.abandon();
        }
    }

    /// An operation while the execution is torn down. Destructors may perform operations; they do not stop,
    /// and a destructor that would wait for another thread is left where it is, for good.
    #[cold]
    fn in_teardown(self, gate: Gate) {
        let runtime = self.get();
        if runtime.phase == Phase::Quiet {
            return;
        }
        if !runtime.is_unwinding() {
            self.unwind_for_teardown();
        }
        let current = runtime.current;
        runtime.threads[current.index()].gate = gate;
        let open = runtime.is_open(current);
        runtime.threads[current.index()].gate = Gate::OPEN;
        if !open {
            self.abandon();
        }
    }

    /// Gives control to the engine for good: this coroutine's stack is leaked.
    #[cold]
    pub(crate) fn abandon(self) -> ! {
        loop {
            let runtime = self.get();
            runtime.abandoned = true;
            let yielder = runtime.threads[runtime.current.index()].yielder;
            // SAFETY: as in `suspend`.
            unsafe { (*yielder).suspend(()) };
        }
    }

    /// Ends the execution, and the check: the program does something here that cannot be checked.
    /// Only while it runs.
    #[cold]
    pub(crate) fn unsupported(self, message: String, site: &'static Location<'static>) -> ! {
        self.stop(StopKind::Unsupported, message, site)
    }

    /// Ends the execution: the program does something here that it must not. Only while it runs.
    #[cold]
    pub(crate) fn violates(
        self,
        kind: ViolationKind,
        message: String,
        site: &'static Location<'static>,
    ) -> ! {
        self.stop(StopKind::Violation(kind), message, site)
    }

    fn stop(self, kind: StopKind, message: String, site: &'static Location<'static>) -> ! {
        let runtime = self.get();
        let location = Some(describe::location(site));
        runtime.stop = Some(Box::new(Stop { kind, message, location }));
        self.suspend(runtime.threads[runtime.current.index()].yielder);
        self.abandon()
    }

    /// Lets the engine choose one of `n` values. Only within an operation that is under way.
    pub(crate) fn choose(self, n: u32) -> u32 {
        let runtime = self.get();
        if n <= 1 || runtime.phase != Phase::Running {
            return 0;
        }
        runtime.arity = n;
        let yielder = runtime.threads[runtime.current.index()].yielder;
        let (performed, site) = (runtime.performed, runtime.site);
        self.suspend(yielder);
        let runtime = self.get();
        (runtime.performed, runtime.site) = (performed, site);
        runtime.chosen
    }
}

impl Runtime {
    /// The object behind a slot, made known to this execution when it is first touched.
    #[inline]
    pub(crate) fn object(&mut self, slot: &ObjectSlot, kind: ObjectKind, initial: u64) -> ObjectId {
        match slot.get(self.stamp) {
            Some(object) => object,
            None => self.register(slot, kind, initial),
        }
    }

    #[cold]
    fn register(&mut self, slot: &ObjectSlot, kind: ObjectKind, initial: u64) -> ObjectId {
        if self.turn.is_none() && is_static(slot) {
            self.turn = Some(statics::take_turn());
        }
        let object = self.new_object(kind, initial);
        slot.set(self.stamp, object);
        object
    }

    /// An object that has no slot of its own, such as a thread.
    pub(crate) fn new_object(&mut self, kind: ObjectKind, initial: u64) -> ObjectId {
        let index = self.object_count;
        self.object_count += 1;
        if index == self.objects.len() {
            self.objects.push(Object::default());
        }
        self.objects[index].reset(kind, initial);
        ObjectId::new(index as u32)
    }

    /// The state of an object.
    #[inline(always)]
    pub(crate) fn state(&mut self, object: ObjectId) -> &mut Object {
        &mut self.objects[object.index()]
    }

    /// Sets an object's word, and lets those who wait for it go on or wait.
    #[inline]
    pub(crate) fn set_word(&mut self, object: ObjectId, word: u64) {
        self.objects[object.index()].word = word;
        self.refresh(object);
    }

    /// Works out anew whether the threads that wait for an object can go on.
    #[inline]
    pub(crate) fn refresh(&mut self, object: ObjectId) {
        for index in 0..self.threads.len() {
            if self.threads[index].gate.waits_for(object) {
                self.update(ThreadId(index as u32));
            }
        }
    }

    /// Works out anew whether a thread can go on.
    pub(crate) fn update(&mut self, thread: ThreadId) {
        if self.threads[thread.index()].ended {
            return;
        }
        let open = self.is_open(thread);
        let timed = !open && self.time_may_run_out(thread);
        self.enabled.set(thread, open || timed);
        self.waiting.set(thread, timed);
    }

    /// Whether the thread's gate is open, without regard to its time limit.
    #[inline]
    fn is_open(&self, thread: ThreadId) -> bool {
        let thread = &self.threads[thread.index()];
        let gate = &thread.gate;
        self.condition(gate) && (!gate.needs_signal || thread.signalled)
    }

    /// Whether the thread can go on because its time limit may run out. One that waits for a signal needs
    /// its mutex all the same.
    fn time_may_run_out(&self, thread: ThreadId) -> bool {
        let gate = &self.threads[thread.index()].gate;
        gate.timed && (!gate.needs_signal || self.condition(gate))
    }

    #[inline]
    fn condition(&self, gate: &Gate) -> bool {
        match gate.object {
            Some(object) => gate.allows(self.objects[object.index()].word),
            None => true,
        }
    }

    /// Whether the current thread is in the middle of a panic. `std::thread::panicking` speaks of the OS
    /// thread, on which other coroutines may be suspended in the middle of panics of their own. (A
    /// thread that catches a panic while another is suspended in one is thought to panic until that is over.)
    #[inline]
    pub(crate) fn is_unwinding(&mut self) -> bool {
        if !std::thread::panicking() {
            return false;
        }
        self.unwinding == 0 || self.threads[self.current.index()].panicked
    }

    /// Has something done when the execution is over.
    pub(crate) fn at_end(&mut self, action: Box<dyn FnOnce()>) {
        self.at_end.push(action);
    }

    /// Notes something that is no scheduling point.
    #[inline]
    pub(crate) fn event(&mut self, event: LocalEvent) {
        self.events.push(event);
    }
}

/// The place as the engine knows it.
pub(crate) fn site_of(location: Option<&'static Location<'static>>) -> Site {
    Site(location.map_or(0, |location| std::ptr::from_ref(location) as usize))
}

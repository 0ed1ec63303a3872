//! Threads of the program under test, as coroutines.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::time::Duration;

use corosensei::stack::{DefaultStack, Stack as _};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use selvedge_core::{Access, ObjectId, Op, OpKind, ThreadId, ViolationKind};
use selvedge_stateless::{LocalEvent, Stop, StopKind};

use super::panic::{self, PanicNote};
use super::{Gate, Handle, ObjectKind, Phase, describe, overflow};

/// A thread of the current execution.
pub(crate) struct Thread {
    pub(crate) name: Option<String>,
    /// Stands for the thread where others wait for its end.
    pub(crate) object: ObjectId,
    /// Stands for its unpark token; made when it is first needed.
    pub(crate) park_token: Option<ObjectId>,
    pub(crate) yielder: *const Yielder<(), ()>,
    /// What it does when it is scheduled next, and where in the program that is.
    pub(crate) pending: Op,
    pub(crate) site: Option<&'static Location<'static>>,
    /// An address on its stack near the lowest that it used when it stopped; 0 before it ran.
    pub(crate) stack_used: usize,
    /// What it waits for.
    pub(crate) gate: Gate,
    /// A condition variable has notified it.
    pub(crate) signalled: bool,
    pub(crate) ended: bool,
    /// It has begun to panic. It may have caught that since.
    pub(crate) panicked: bool,
    /// It is suspended in the middle of a panic.
    pub(crate) unwinding: bool,
    pub(crate) panic: Option<Box<PanicNote>>,
    /// The panic before that one, which has been caught, or is unwinding still.
    pub(crate) earlier_panic: Option<Box<PanicNote>>,
    /// Its virtual time, since the execution began.
    pub(crate) now: Duration,
    pub(crate) locals: Locals,
    /// Where its stack ends.
    pub(super) stack_limit: usize,
    /// Where it has rested since main ended: in a sleep, or a wait with a time limit.
    pub(super) rested_at: Vec<&'static Location<'static>>,
    /// It has come back to one of these places again and again.
    pub(super) is_daemon: bool,
}

/// The thread-local variables of a thread, each with the address of its key.
#[derive(Default)]
pub(crate) struct Locals {
    /// In the order in which they were first used.
    pub(crate) values: Vec<(usize, Box<dyn Any>)>,
    /// The keys of those that have been dropped.
    pub(crate) destroyed: Vec<usize>,
}

impl Thread {
    /// What reports call it.
    pub(crate) fn label(&self, index: usize) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None if index == 0 => "main".into(),
            None => format!("thread {index}"),
        }
    }
}

/// What runs the body of a thread.
pub(super) type Body = Coroutine<(), (), ()>;

/// What is kept for the thread with one number from execution to execution.
#[derive(Default)]
pub(crate) struct Slot {
    coroutine: Option<Body>,
    stack: Option<DefaultStack>,
    stack_size: usize,
    /// The memory of the stack, as far as a thread may use it.
    memory: Range<usize>,
}

impl Slot {
    /// The memory of the stack, while a thread is on it.
    pub(super) fn memory(&self) -> Range<usize> {
        if self.is_busy() { self.memory.clone() } else { 0..0 }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.coroutine.is_some()
    }
}

/// How a thread's body ended.
pub(crate) enum BodyEnd {
    /// It returned.
    Returned,
    /// It panicked, with this payload (which the body has kept if someone may ask for it).
    Panicked,
    /// It was unwound because its execution is over.
    TornDown,
}

/// Creates a thread. It exists and is enabled at once; unless it is the first, it has run to its first
/// visible operation.
///
/// # Safety
/// `body` must stay valid until the thread has ended or the execution is torn down.
pub(crate) unsafe fn spawn<F>(
    handle: Handle,
    name: Option<String>,
    stack_size: Option<usize>,
    body: F,
) -> ThreadId
where
    F: FnOnce() -> BodyEnd,
{
    let runtime = handle.get();
    let id = ThreadId(runtime.threads.len() as u32);
    let object = runtime.new_object(ObjectKind::Thread, 0);
    let creator_time =
        runtime.threads.get(runtime.current.index()).map_or(Duration::ZERO, |creator| creator.now);
    runtime.threads.push(Thread {
        name,
        object,
        park_token: None,
        yielder: std::ptr::null(),
        pending: Op::local(OpKind::Local),
        site: None,
        stack_used: 0,
        gate: Gate::OPEN,
        signalled: false,
        ended: false,
        panicked: false,
        unwinding: false,
        panic: None,
        earlier_panic: None,
        now: creator_time,
        locals: Locals::default(),
        stack_limit: 0,
        rested_at: Vec::new(),
        is_daemon: false,
    });
    runtime.enabled.insert(id);
    runtime.alive += 1;
    if runtime.slots.len() <= id.index() {
        runtime.slots.push(Box::default());
    }
    let size = stack_size.unwrap_or(0).max(runtime.stack_size);
    let slot = &mut runtime.slots[id.index()];
    let stack = match slot.stack.take() {
        Some(stack) if slot.stack_size >= size => stack,
        _ => {
            slot.stack_size = size;
            DefaultStack::new(size).expect("there is memory for a stack")
        }
    };
    runtime.threads[id.index()].stack_limit = overflow::limit(&stack);
    let root = move |yielder: &Yielder<(), ()>, ()| run(handle, id, yielder, body);
    slot.memory = stack.base().get() - size / 16 * 16..stack.base().get();
    // SAFETY: the caller promises that the body stays valid; the rest is 'static.
    slot.coroutine = Some(unsafe { Coroutine::with_stack_unchecked(stack, root) });
    if id.index() > 0 && runtime.phase == Phase::Running {
        let parent = runtime.current;
        runtime.spawned += 1;
        runtime.event(LocalEvent::Spawned(id));
        runtime.event(LocalEvent::By(id));
        let performed = (runtime.performed, runtime.site, runtime.value);
        runtime.pulse.goes_on(id.0, None);
        resume(handle, id);
        let runtime = handle.get();
        (runtime.performed, runtime.site, runtime.value) = performed;
        runtime.pulse.goes_on(parent.0, runtime.site);
        runtime.current = parent;
        runtime.event(LocalEvent::By(parent));
    }
    id
}

/// Lets a thread run until it suspends or ends.
#[inline(always)]
pub(crate) fn resume(handle: Handle, thread: ThreadId) {
    let runtime = handle.get();
    runtime.current = thread;
    let slot: *mut Slot = &raw mut *runtime.slots[thread.index()];
    // SAFETY: slots are boxed and are neither dropped nor replaced while their coroutine runs, so the
    // pointer stays valid although the program may spawn threads meanwhile; and nobody else touches the slot
    // of a thread that runs.
    let slot = unsafe { &mut *slot };
    let coroutine = slot.coroutine.as_mut().expect("a thread that is scheduled has not ended");
    if let CoroutineResult::Return(()) = coroutine.resume(()) {
        slot.stack = slot.coroutine.take().map(Coroutine::into_stack);
    } else if handle.get().abandoned {
        leak(handle, slot, thread);
    }
}

/// Gives up a coroutine that can never run again. Until the execution is over its stack stays as it is: nothing on it is
/// dropped, and nothing that borrows from it dangles.
#[cold]
fn leak(handle: Handle, slot: &mut Slot, thread: ThreadId) {
    let runtime = handle.get();
    runtime.left.extend(slot.coroutine.take().map(|coroutine| (thread, coroutine)));
    runtime.abandoned = false;
    let state = &mut runtime.threads[thread.index()];
    state.ended = true;
    let label = state.label(thread.index());
    runtime.enabled.remove(thread);
    runtime.alive -= 1;
    if std::mem::take(&mut runtime.overflowed) && runtime.phase == Phase::Running {
        runtime.stop = Some(Box::new(Stop {
            kind: StopKind::Violation(ViolationKind::Crash),
            message: format!(
                "{label} has overflowed its stack of {}. If it does not recurse without end, give it more: \
                 Checker::stack_size, or thread::Builder::stack_size",
                selvedge_stateless::size(slot.stack_size as u64)
            ),
            location: runtime.site.map(describe::location),
        }));
    }
}

/// Takes the stacks of coroutines that were given up, when nothing is left of the execution that could use what is on them.
pub(super) fn reuse_stacks(handle: Handle) {
    let runtime = handle.get();
    for (thread, mut coroutine) in runtime.left.drain(..) {
        // SAFETY: all threads have ended, and what outlives them borrows from none of their stacks; what is on this one is
        // leaked.
        unsafe { coroutine.force_reset() };
        runtime.slots[thread.index()].stack = Some(coroutine.into_stack());
    }
}

/// The root of every coroutine.
fn run<F: FnOnce() -> BodyEnd>(handle: Handle, id: ThreadId, yielder: &Yielder<(), ()>, body: F) {
    let runtime = handle.get();
    runtime.threads[id.index()].yielder = yielder;
    if runtime.phase != Phase::Running {
        // It never ran, and never will: only what the body captured is dropped.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(body)));
        end(handle, id);
        return;
    }
    if id.index() == 0 {
        runtime.performed = Op::local(OpKind::Local);
        runtime.site = None;
    }
    let mut outcome = body();
    if !matches!(outcome, BodyEnd::TornDown) {
        if !is_fatal(handle, id, &outcome) {
            returned(handle, id);
        }
        outcome = drop_locals(handle, id, outcome);
    }
    let runtime = handle.get();
    match outcome {
        BodyEnd::TornDown => {}
        BodyEnd::Panicked if is_fatal(handle, id, &outcome) => {
            let thread = &mut runtime.threads[id.index()];
            let unknown =
                || PanicNote { message: "a panic that another panic hook took".into(), location: None };
            let note = thread.panic.take().map_or_else(unknown, |note| *note);
            let name = thread.label(id.index());
            if runtime.stop.is_none() && runtime.phase == Phase::Running {
                runtime.stop = Some(Box::new(panic::stop(&name, note)));
            }
        }
        BodyEnd::Returned | BodyEnd::Panicked => {
            runtime.threads[id.index()].panicked = false;
            let object = runtime.threads[id.index()].object;
            let last = Op::on(OpKind::End, Access::Write, object);
            let ended = catch_unwind(AssertUnwindSafe(|| handle.visible(last, Location::caller())));
            if ended.is_ok() {
                let runtime = handle.get();
                runtime.site = None;
                let word = runtime.state(object).word;
                runtime.set_word(object, word | ENDED);
            }
        }
    }
    end(handle, id);
}

/// Whether a body's end is a violation.
fn is_fatal(handle: Handle, id: ThreadId, outcome: &BodyEnd) -> bool {
    let may_panic = id.index() > 0 && handle.get().options.allow_thread_panics;
    matches!(outcome, BodyEnd::Panicked) && !may_panic
}

/// The word of the object that stands for a thread: its closure has returned, and it has ended. Only where it has local
/// variables does it do anything in between.
pub(crate) const RETURNED: u64 = 2;
pub(crate) const ENDED: u64 = 1;

/// A thread's closure has returned, and the destructors of its local variables have yet to run: a scope does not wait for
/// them, and the thread is finished for those who ask.
fn returned(handle: Handle, id: ThreadId) {
    let runtime = handle.get();
    if id.index() == 0 || runtime.threads[id.index()].locals.values.is_empty() {
        return;
    }
    let object = runtime.threads[id.index()].object;
    let op = Op::on(OpKind::Unpark, Access::Write, object);
    // Where the execution is over that is noticed by the destructors.
    if catch_unwind(AssertUnwindSafe(|| handle.visible(op, Location::caller()))).is_ok() {
        let runtime = handle.get();
        runtime.site = None;
        runtime.set_word(object, RETURNED);
    }
}

fn end(handle: Handle, id: ThreadId) {
    let runtime = handle.get();
    runtime.threads[id.index()].ended = true;
    runtime.enabled.remove(id);
    runtime.waiting.remove(id);
    runtime.alive -= 1;
}

/// Drops a thread's local variables, those that were used last first, as std does on most systems, and those
/// that destructors bring to life too.
pub(super) fn drop_locals(handle: Handle, id: ThreadId, outcome: BodyEnd) -> BodyEnd {
    let mut outcome = outcome;
    loop {
        let locals = &mut handle.get().threads[id.index()].locals;
        let Some((key, value)) = locals.values.pop() else { return outcome };
        locals.destroyed.push(key);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(move || drop(value))) {
            let torn_down = panic::is_teardown(payload.as_ref());
            outcome = if torn_down { BodyEnd::TornDown } else { BodyEnd::Panicked };
        }
    }
}

/// Runs a closure as the body of a thread, and gives its result, or its panic, to `keep`.
pub(crate) fn body<T>(f: impl FnOnce() -> T, keep: impl FnOnce(std::thread::Result<T>)) -> BodyEnd {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => {
            keep(Ok(value));
            BodyEnd::Returned
        }
        Err(payload) if panic::is_teardown(payload.as_ref()) => BodyEnd::TornDown,
        Err(payload) => {
            keep(Err(payload));
            BodyEnd::Panicked
        }
    }
}

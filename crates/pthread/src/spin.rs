//! Loops that wait for another thread by looking at memory again and again, and do not yield.
//!
//! Real programs have them (`while (atomic_exchange(&lock, 1)) _mm_pause();`), and on a machine with preemption they
//! end. Under a scheduler that lets a thread go on for as long as it can they do not; but which loops wait can be told: one
//! that comes back to the same operation at the same place with the same registers and stack, holds what it held, and has
//! written nothing in between, has done nothing at all, and will do nothing until another thread does. There a yield is
//! put in, which is a step of its own, so that the fair bound applies as if the program had called `sched_yield`.
//!
//! Whether it is must depend on nothing but what the thread itself has done and seen, as all that it does must. So bytes on its
//! stack that others may write to do not count: atomics, the objects of pthreads, and what another thread has written to. And
//! it must be known what the thread writes; so only operations of instrumented code are looked at, which atomics and
//! accesses to memory are. What code that is not instrumented writes is not seen, so that a loop with such code in it may be
//! taken for one that waits: it yields more often than it had to.
//!
//! Reads that are no steps are looked at now and then, where there are many: a thread that waits in these comes to no step.

mod shared;

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::ops::Range;

use crate::protocol::{Op, access, note, op};
use crate::runtime::{MAX_THREADS, Runtime, is_on, rt};
use crate::shell;
use crate::site::Frame;
use crate::thread::yields;
use crate::unwind::each_frame;
pub(crate) use shared::mix;
use shared::{Stacks, words_of};

/// So many operations a loop may have that are looked at.
const REMEMBERED: usize = 64;
/// Deeper stacks are not looked at.
const DEEPEST: usize = 1 << 20;
/// Reads that are no steps are looked at when a thread has made so many since its last one, and each time that it has made twice
/// as many; then so many of them.
const FIRST_LOOK: u64 = 1 << 12;
const LOOKED_AT: u64 = 4 * REMEMBERED as u64;

/// An operation that a thread has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    call: usize,
    stack: usize,
    object: u32,
    kind: u8,
}

/// What a thread has come to since it has last done something.
#[derive(Clone, Copy)]
struct Look {
    place: Place,
    /// How often it has come to it. After 2, 4, 8 times and so on the state is noted, so that a loop which is the same only
    /// each second time is found out too.
    visits: u32,
    /// What its registers, its stack and its locks were, if that was noted; 0 if not.
    state: u64,
}

/// What is known of a thread.
#[derive(Clone, Copy)]
struct Looks {
    count: usize,
    /// Which of them to replace next.
    oldest: usize,
    /// The place where it waits, plus 1, and how many others it has come to since.
    waits_at: usize,
    others: usize,
    /// Reads since its last step that were none.
    reads: u64,
    /// How often it has read a clock since it has last done something but to yield.
    clock_reads: u32,
    /// A sum of the locks that it has taken and not given back, counted from anywhere.
    held: u64,
    /// Others may write to more bytes of its stack than are remembered: it is not looked at.
    is_full: bool,
    looks: [Look; REMEMBERED],
}

struct State {
    threads: [Looks; MAX_THREADS],
    stacks: Stacks,
}

struct Static(UnsafeCell<State>);
// SAFETY: used by the current thread only; see the runtime's access protocol.
unsafe impl Sync for Static {}

// All zero, so that it takes no room in the file and no memory until it is used.
const NO_LOOK: Look = Look { place: Place { call: 0, stack: 0, object: 0, kind: 0 }, visits: 0, state: 0 };
const NO_LOOKS: Looks = Looks {
    count: 0,
    oldest: 0,
    waits_at: 0,
    others: 0,
    reads: 0,
    clock_reads: 0,
    held: 0,
    is_full: false,
    looks: [NO_LOOK; REMEMBERED],
};
static STATE: Static =
    Static(UnsafeCell::new(State { threads: [NO_LOOKS; MAX_THREADS], stacks: Stacks::NONE }));

/// Where what is kept here is.
pub(crate) fn memory() -> Range<usize> {
    let at = STATE.0.get() as usize;
    at..at + size_of::<State>()
}

fn state() -> &'static mut State {
    // SAFETY: see `Static`.
    unsafe { &mut *STATE.0.get() }
}

/// The current thread has come to an operation. If it waits there, it yields first.
pub(crate) fn arrives(operation: &Op, frame: Frame) {
    if operation.kind == op::YIELD {
        // It is seen when it has been performed, or was put in here.
        return;
    }
    let runtime = rt();
    let looks = &mut state().threads[runtime.current as usize];
    match effect(runtime) {
        Effect::None => {}
        Effect::Takes(object) => looks.held = looks.held.wrapping_add(mix(object as usize, 0)),
        Effect::GivesBack(object) => looks.held = looks.held.wrapping_sub(mix(object as usize, 0)),
        Effect::Acts if runtime.performed.yields() => looks.forget(),
        Effect::Acts => looks.acts(),
    }
    looks.reads = 0;
    let is_look = matches!(
        operation.kind,
        op::LOAD
            | op::RMW
            | op::COMPARE_EXCHANGE
            | op::READ
            | op::LOCK
            | op::TRY_LOCK
            | op::READ_LOCK
            | op::TRY_READ_LOCK
            | op::TAKE
            | op::IS_FINISHED
    );
    if is_look && runtime.thread_count > 1 && looks.is_waiting(operation, frame) {
        waits(frame);
    }
}

/// The current thread is about to read memory, which is no step. It may do nothing else for ever. Says whether it has yielded.
#[inline]
pub(crate) fn reads(object: u32, frame: Frame) -> bool {
    let looks = &mut state().threads[rt().current as usize];
    looks.reads += 1;
    looks.reads >= FIRST_LOOK && looks_at_read(looks, object, frame)
}

#[cold]
fn looks_at_read(looks: &mut Looks, object: u32, frame: Frame) -> bool {
    let since = looks.reads - (1 << looks.reads.ilog2());
    if since == 0 {
        looks.forget();
    }
    let is_waiting = since < LOOKED_AT && looks.is_waiting(&Op::on(op::READ, access::READ, object), frame);
    if is_waiting {
        waits(frame);
        // What comes next is looked at, too.
        state().threads[rt().current as usize].reads = FIRST_LOOK;
    }
    is_waiting
}

/// A yield is put in.
fn waits(frame: Frame) {
    yields(frame);
    rt().note = note::WAITS;
}

/// What a step has done to what others see.
enum Effect {
    None,
    Takes(u32),
    GivesBack(u32),
    /// It has changed something, or let others run.
    Acts,
}

/// What the last step of the current thread has done.
fn effect(runtime: &Runtime) -> Effect {
    let performed = &runtime.performed;
    let object = performed.object;
    match (performed.kind, runtime.note) {
        // What it chooses is not what others do.
        (op::CHOOSE, _) if object == 0 => Effect::Acts,
        _ if performed.yields() => Effect::Acts,
        (op::LOCK | op::READ_LOCK, note::NONE) => Effect::Takes(object),
        (op::TRY_LOCK | op::TRY_READ_LOCK, note::TAKEN) => Effect::Takes(object),
        (op::UNLOCK | op::READ_UNLOCK, note::NONE) => Effect::GivesBack(object),
        (op::TAKE, note::CHANGED) => Effect::Takes(object),
        (op::POST, note::CHANGED) => Effect::GivesBack(object),
        (_, note::CHANGED) if runtime.number == runtime.number_after => Effect::None,
        // What is written plainly, also in an atomic section, is told of by itself.
        (op::WRITE, _) => Effect::None,
        (op::RMW, _) if object == runtime.section => Effect::None,
        _ if performed.access == access::WRITE => Effect::Acts,
        _ => Effect::None,
    }
}

/// The current thread is about to write to memory. What nobody else looks at, on its own stack, is part of what it is.
pub(crate) fn writes(address: usize, size: usize, frame: Frame) {
    let runtime = rt();
    let me = runtime.current as usize;
    if (frame.stack..runtime.threads[me].stack_top).contains(&address) {
        let stacks = &state().stacks;
        if stacks.has_any(me) && stacks.has(address..address.saturating_add(size)) {
            acts();
        }
        return;
    }
    acts();
    is_shared(address, size);
}

/// The current thread does something that is no step and is not told of otherwise.
pub(crate) fn acts() {
    state().threads[rt().current as usize].acts();
}

/// The current thread reads a clock. Says how often it has done so before since it has done something: it may wait for time to pass.
pub(crate) fn reads_clock() -> u32 {
    let looks = &mut state().threads[rt().current as usize];
    looks.clock_reads = looks.clock_reads.saturating_add(1);
    looks.clock_reads - 1
}

/// If these bytes are on a stack, they are no part of what its thread is.
pub(crate) fn is_shared(address: usize, size: usize) {
    let runtime = rt();
    let threads = &runtime.threads[..runtime.thread_count as usize];
    let on_stack = |top: usize| address < top && address >= top.saturating_sub(shell::stack_size());
    let Some(owner) = threads.iter().position(|thread| on_stack(thread.stack_top)) else { return };
    let bytes = address..address.saturating_add(size);
    for word in words_of(bytes.clone()) {
        let within = (word..word + 8).filter(|byte| bytes.contains(byte));
        let State { threads, stacks } = state();
        match stacks.share(owner, word, within.fold(0, |all, byte| all | 0xFF << (byte % 8 * 8))) {
            Some(change) => threads[owner].with(word).for_each(|look| look.state ^= change),
            None => threads[owner].is_full = true,
        }
    }
}

/// The current thread has entered a function, which returns to there. What was on its stack below that function's caller is
/// gone.
#[inline]
pub(crate) fn enters(frame: Frame, returns_to: usize) {
    let me = rt().current as usize;
    let State { threads, stacks } = state();
    if is_on() && stacks.has_any(me) {
        let looks = &mut threads[me];
        stacks.leave_below(me, caller(frame, returns_to), |word| {
            looks.with(word).for_each(|look| look.state = 0)
        });
    }
}

/// From where on the stack is the caller's of the function that a frame is in; the function's own beginning if that is not known.
fn caller(frame: Frame, returns_to: usize) -> usize {
    let top = rt().threads[rt().current as usize].stack_top;
    let is_frame = frame.outer >= frame.stack && frame.outer + 16 <= top && frame.outer.is_multiple_of(8);
    // SAFETY: between the function's beginning and that of the thread's stack.
    let is_its = is_frame && unsafe { *((frame.outer + 8) as *const usize) } == returns_to;
    if is_its { frame.outer + 16 } else { frame.stack }
}

impl Looks {
    fn forget(&mut self) {
        (self.count, self.oldest, self.waits_at) = (0, 0, 0);
    }

    fn acts(&mut self) {
        self.forget();
        self.clock_reads = 0;
    }

    /// The looks that a word of the stack was part of.
    fn with(&mut self, word: usize) -> impl Iterator<Item = &mut Look> {
        let looks = &mut self.looks[..self.count];
        looks.iter_mut().filter(move |look| look.state != 0 && look.place.stack <= word)
    }

    /// Whether the thread is where it was, has done nothing since, and is the same.
    fn is_waiting(&mut self, operation: &Op, frame: Frame) -> bool {
        let place =
            Place { call: frame.call, stack: frame.stack, object: operation.object, kind: operation.kind };
        let Some(at) = self.looks[..self.count].iter().position(|look| look.place == place) else {
            self.passes();
            self.add(place);
            return false;
        };
        if self.waits_at != 0 && self.waits_at != at + 1 {
            // It yields once each time round.
            self.passes();
            return false;
        }
        let now = private_state(frame).map_or(0, |state| (state ^ mix(0, self.held)).max(1));
        let (look, has_waited) = (&mut self.looks[at], self.waits_at != 0);
        look.visits += 1;
        let waits = look.state != 0 && look.state == now;
        if !waits && (has_waited || look.visits.is_power_of_two()) {
            look.state = now;
            if has_waited {
                look.visits = 2;
            }
        }
        (self.waits_at, self.others) = (if waits { at + 1 } else { 0 }, 0);
        waits
    }

    /// It has come to another operation than the one where it waits: if that is so for long, it waits there no more.
    fn passes(&mut self) {
        self.others += 1;
        if self.waits_at != 0 && self.others > REMEMBERED {
            self.waits_at = 0;
        }
    }

    fn add(&mut self, place: Place) {
        let at = if self.count < REMEMBERED { self.count } else { self.oldest };
        self.count = self.count.max(at + 1);
        self.oldest = (at + 1) % REMEMBERED;
        if self.waits_at == at + 1 {
            self.waits_at = 0;
        }
        self.looks[at] = Look { place, visits: 1, state: 0 };
    }
}

/// All that the current thread goes on by but what others can write to: registers and stack.
#[cold]
fn private_state(frame: Frame) -> Option<u64> {
    let (runtime, State { threads, stacks }) = (rt(), state());
    let me = runtime.current as usize;
    let stack = frame.stack..runtime.threads[me].stack_top & !7;
    if threads[me].is_full || !stack.start.is_multiple_of(8) || stack.is_empty() || stack.len() > DEEPEST {
        return None;
    }
    Some(registers(frame)? ^ stacks.sum(me, stack))
}

/// The registers of the caller that a call leaves as they are.
pub(crate) fn registers(frame: Frame) -> Option<u64> {
    /// rbx, rbp, r12 to r15.
    const KEPT: [c_int; 6] = [3, 6, 12, 13, 14, 15];
    let mut registers = None;
    each_frame(|unwound| {
        if unwound.place() == frame.call {
            let kept =
                KEPT.iter().map(|register| mix(*register as usize, unwound.register(*register) as u64));
            registers = Some(kept.fold(0, |all, register| all ^ register));
        }
        registers.is_none()
    });
    registers
}

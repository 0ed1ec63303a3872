//! What the program under test and the process that controls it say to each other.
//!
//! They share one area of memory. The runtime in the program writes a *log* of what happens, which is enough to
//! know at every scheduling point what each thread is about to do and whether it can; the controlling process
//! writes decisions. Only one of the two sides runs at a time: [`Area::turn`] says which.
//!
//! This file is a module of both sides: of the runtime (`crates/pthread`), and, by its path, of the controlling
//! side (`crates/native`).

#![allow(dead_code, reason = "each side uses its part")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The signal by which a program that does not come back is asked where it is: SIGXCPU.
pub(crate) const ASKS_WHERE: i32 = 24;

/// The first word of the area: both sides are of the same version.
pub(crate) const MAGIC: u32 = 0x5E1F_000D;

/// The environment variable that gives the number of the file descriptor of the area.
pub(crate) const AREA_VARIABLE: &str = "SELVEDGE_AREA";

/// The environment variable that says that `LD_BIND_NOW` is not the user's.
pub(crate) const BIND_MARK: &std::ffi::CStr = c"SELVEDGE_BIND_NOW";

/// The functions of C++'s library that tell of an exception which nobody catches: to be told when one is, its type, and
/// that as the source has it.
pub(crate) const CPP: [&std::ffi::CStr; 3] =
    [c"_ZSt13set_terminatePFvvE", c"__cxa_current_exception_type", c"__cxa_demangle"];

/// How many decisions can be planned; later ones are asked for.
pub(crate) const PLAN: usize = 1 << 16;
/// How many records the log has room for. When it is full the program waits until it has been read.
pub(crate) const LOG: usize = 1 << 16;
/// The length of a message, in bytes.
pub(crate) const TEXT: usize = 4096;

/// How many functions of a program can be atomic sections.
pub(crate) const SECTIONS: usize = 256;

/// One entry of the log. The first word has the tag in its lowest byte.
pub(crate) type Record = [u64; 8];

/// The shared area.
#[repr(C)]
pub(crate) struct Area {
    pub(crate) magic: u32,
    /// Whose turn it is, one of [`turn`]; both sides wait here.
    pub(crate) turn: AtomicU32,
    /// The number of executions that were asked for; the program's first process waits here.
    pub(crate) request: AtomicU32,
    /// The process of the current execution; 0 if there is none.
    pub(crate) pid: AtomicU32,
    /// Set once that process has ended, with its status as `waitpid` gives it.
    pub(crate) dead: AtomicU32,
    pub(crate) status: AtomicU32,
    /// How the program goes on by itself after the plan, one of [`onward`], as a strategy would most likely decide.
    pub(crate) onward: AtomicU32,
    pub(crate) onward_number: AtomicU32,
    pub(crate) onward_seed: AtomicU64,
    pub(crate) onward_longest: AtomicU64,
    /// Whether the program can ask threads to end: it has `pthread_cancel` among the functions that it calls.
    pub(crate) cancels: AtomicU32,
    /// Whether plain accesses to memory are steps, in programs that are compiled for it.
    pub(crate) race_mode: AtomicU32,
    /// Atomics within so many bytes are one object; 0 if each is its own.
    pub(crate) atomics_together: AtomicU32,
    /// The values of `__VERIFIER_nondet_*`: the first, an `i32`, and how many there are.
    pub(crate) nondet_from: AtomicU32,
    pub(crate) nondet_count: AtomicU32,
    /// So many spurious wakeups, and so many spurious failures, are explored in an execution.
    pub(crate) spurious: AtomicU32,
    /// The functions of the executable that are atomic sections: where each begins and ends, as its file has it, and how many
    /// there are; and the one by whose `abort` the program assumes something, or zeros.
    pub(crate) sections: [[AtomicU64; 2]; SECTIONS],
    pub(crate) section_count: AtomicU32,
    pub(crate) assumes: [AtomicU64; 2],
    /// The function by which C++'s library yields a few times before it waits for an atomic in the system, or zeros.
    pub(crate) lingers: [AtomicU64; 2],
    /// Where the executable has the functions [`CPP`], as its file has it; 0 where it does not.
    pub(crate) cpp: [AtomicU64; 3],
    /// Whether the execution is one that people are told of: the log has then also what is around each place.
    pub(crate) told: AtomicU32,
    /// What executions have asked for of the program's surroundings, some of [`inputs`].
    pub(crate) inputs: AtomicU32,
    /// Whether states of the execution are asked for; and the last of them, as a hash, or 0 if it is not known.
    pub(crate) watched: AtomicU32,
    pub(crate) state: AtomicU64,
    /// Whether a request means that all is over: the program's processes end.
    pub(crate) leaving: AtomicU32,
    /// The core that the program is to run on, and one; 0 if any.
    pub(crate) core: AtomicU32,
    /// The last of the requests that was taken up.
    pub(crate) taken: AtomicU32,
    /// How often a process has stayed for another execution.
    pub(crate) reused: AtomicU32,
    /// Whether an execution may have read or written files since the controlling side last put its input and output back.
    pub(crate) touches_files: AtomicU32,
    /// How many threads an execution has had beside its first, at most: the next ones are forked with as many at hand.
    pub(crate) shells: AtomicU32,
    /// The answer to the question that the program has asked, as [`pack`](Answer::pack) writes it.
    pub(crate) answer: AtomicU32,
    /// How many decisions are planned.
    pub(crate) plan_length: AtomicU32,
    /// How many records the log has.
    pub(crate) log_length: AtomicU32,
    pub(crate) text_length: AtomicU32,
    pub(crate) plan: UnsafeCell<[u32; PLAN]>,
    pub(crate) text: UnsafeCell<[u8; TEXT]>,
    pub(crate) log: UnsafeCell<[Record; LOG]>,
}

/// Whose turn it is.
pub(crate) mod turn {
    /// The program runs.
    pub(crate) const PROGRAM: u32 = 1;
    /// The controlling side runs: the program has asked something, is ready to begin, or has ended.
    pub(crate) const CONTROLLER: u32 = 2;
}

/// Inputs of a program of which not every one is tried.
pub(crate) mod inputs {
    /// Numbers of which a range is tried.
    pub(crate) const NUMBERS: u32 = 1;
    /// Pointers, which are null.
    pub(crate) const POINTERS: u32 = 2;
}

/// How the program goes on after the plan.
pub(crate) mod onward {
    /// It asks.
    pub(crate) const NOT: u32 = 0;
    /// Without preemption, within the fair bound that the number is.
    pub(crate) const CALMLY: u32 = 1;
    /// At random, from the seed.
    pub(crate) const AT_RANDOM: u32 = 2;
    /// By random priorities, from the seed; at so many steps of an execution so long the running thread's drops.
    pub(crate) const BY_PRIORITY: u32 = 3;
}

/// What the controlling side answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This thread takes the next step.
    Thread(u32),
    /// This value is chosen.
    Value(u32),
    /// The log was read.
    GoOn,
    /// The execution is over.
    End,
    /// A hash of the state is asked for, and then the same question is answered.
    State,
}

const VALUE: u32 = 1 << 31;
const GO_ON: u32 = u32::MAX;
const END: u32 = u32::MAX - 1;
const STATE: u32 = u32::MAX - 2;

impl Answer {
    pub(crate) fn pack(self) -> u32 {
        match self {
            Answer::Thread(thread) => thread,
            Answer::Value(value) => value | VALUE,
            Answer::GoOn => GO_ON,
            Answer::End => END,
            Answer::State => STATE,
        }
    }

    pub(crate) fn unpack(word: u32) -> Self {
        match word {
            GO_ON => Answer::GoOn,
            END => Answer::End,
            STATE => Answer::State,
            _ if word & VALUE != 0 => Answer::Value(word & !VALUE),
            _ => Answer::Thread(word),
        }
    }
}

/// The tags of records, with what their words are. Word 0 has the tag in bits 0 to 7 and, where a thread or an
/// object is named as "the" one, its number in the upper half.
pub(crate) mod tag {
    /// The thread is about to do something. 1: the operation; 2: the gate's object and flags; 3: mask; 4: value; 5
    /// to 7: places in the code, from the inside out.
    pub(crate) const PENDING: u8 = 1;
    /// The object's state. 1: its word; 2: its holder, plus 1.
    pub(crate) const WORD: u8 = 2;
    /// A new object. 1: its word; 2: its kind; 3: its address.
    pub(crate) const OBJECT: u8 = 3;
    /// A new thread, created by the one that runs. 1: its object; 2: the address of its function.
    pub(crate) const THREAD: u8 = 4;
    /// What follows is done by the thread.
    pub(crate) const BY: u8 = 5;
    /// The thread has been signalled (1: 1) or has taken note of it (1: 0).
    pub(crate) const SIGNAL: u8 = 6;
    /// The thread has ended.
    pub(crate) const ENDED: u8 = 7;
    /// A step is over. 1: the operation that it performed; 2: a note; 3: a number. In the upper half of word 0 the
    /// decision that was taken next, or [`super::ASKS`].
    pub(crate) const POINT: u8 = 8;
    /// The step needs one of so many values (word 1). Word 0 as for `POINT`.
    pub(crate) const CHOOSE: u8 = 9;
    /// Something went wrong, the message is in the text. 1: a [`super::stop`], and in the upper half a note; 2 to 4:
    /// places; 5: the operation under way; 6 and 7: the note's numbers.
    pub(crate) const STOP: u8 = 10;
    /// The process is to end when the other threads have come to rest.
    pub(crate) const EXIT: u8 = 11;
    /// The log is full and wants to be read.
    pub(crate) const FULL: u8 = 12;
    /// A plain access to memory: 1: the cell; 2: a [`super::how`]; 3: the place.
    pub(crate) const ACCESS: u8 = 13;
    /// A memory fence of an order (word 1).
    pub(crate) const FENCE: u8 = 14;
    /// The thread has acquired (1: 0) or released (1: 1) what an object (2) publishes.
    pub(crate) const PUBLISH: u8 = 15;
    /// The cell's memory is no longer its.
    pub(crate) const RETIRE: u8 = 16;
    /// The name of the thread is in words 1 and 2.
    pub(crate) const NAME: u8 = 17;
    /// Where people are told: the calls around the place in the next record that has one, from the inside out. What
    /// there is no room for is in more of these.
    pub(crate) const CALLS: u8 = 18;
    /// Where people are told: a library that was loaded since the execution began. 1 and 2: its memory, from and to; 3:
    /// by how much its addresses are shifted; 4 to 7: a part of its path. In the upper half of word 0 where that begins
    /// in the path, which ends with a byte that is 0.
    pub(crate) const LOADED: u8 = 19;
    /// Where people are told: the thread has freed a block. 1: its address; 2: its size; 3: the place.
    pub(crate) const FREED: u8 = 20;
    /// Where people are told: what goes wrong does in freed memory, at an address (1).
    pub(crate) const STALE: u8 = 21;
    /// The execution takes something for granted: 1: a [`super::leaning`].
    pub(crate) const LEANS: u8 = 22;
}

/// What an execution takes for granted, as bits.
pub(crate) mod leaning {
    /// An atomic operation, or a fence, is weaker than sequentially consistent.
    pub(crate) const WEAK_ORDER: u64 = 1;
    /// A wait could have ended for no reason, and that is left out.
    pub(crate) const NO_WAKEUPS: u64 = 2;
    /// A weak exchange could have failed for no reason, and that is left out.
    pub(crate) const NO_FAILURES: u64 = 4;
    /// An exchange of which the compiler has not said whether it is weak could have, if it is: that is never explored.
    pub(crate) const NO_FAILURES_UNTOLD: u64 = 8;
}

/// What an access does.
pub(crate) mod how {
    pub(crate) const READS: u64 = 0;
    pub(crate) const WRITES: u64 = 1;
    /// Gives the memory back.
    pub(crate) const FREES: u64 = 2;
}

/// In place of a decision: the program waits for one.
pub(crate) const ASKS: u32 = u32::MAX;

/// Kinds of operations, in the order in which the controlling side lists them.
pub(crate) mod op {
    pub(crate) const LOCAL: u8 = 0;
    pub(crate) const END: u8 = 1;
    pub(crate) const JOIN: u8 = 2;
    pub(crate) const LOCK: u8 = 3;
    pub(crate) const TRY_LOCK: u8 = 4;
    pub(crate) const UNLOCK: u8 = 5;
    pub(crate) const READ_LOCK: u8 = 6;
    pub(crate) const TRY_READ_LOCK: u8 = 7;
    pub(crate) const READ_UNLOCK: u8 = 8;
    pub(crate) const WAIT: u8 = 9;
    pub(crate) const WAKE: u8 = 10;
    pub(crate) const NOTIFY_ONE: u8 = 11;
    pub(crate) const NOTIFY_ALL: u8 = 12;
    pub(crate) const YIELD: u8 = 13;
    pub(crate) const SLEEP: u8 = 14;
    pub(crate) const BARRIER_ARRIVE: u8 = 15;
    pub(crate) const BARRIER_PASS: u8 = 16;
    pub(crate) const ONCE_ENTER: u8 = 17;
    pub(crate) const ONCE_LEAVE: u8 = 18;
    pub(crate) const CHOOSE: u8 = 19;
    /// Raising a semaphore.
    pub(crate) const POST: u8 = 20;
    /// Lowering a semaphore.
    pub(crate) const TAKE: u8 = 21;
    pub(crate) const IS_FINISHED: u8 = 22;
    pub(crate) const LOAD: u8 = 23;
    pub(crate) const STORE: u8 = 24;
    pub(crate) const RMW: u8 = 25;
    pub(crate) const COMPARE_EXCHANGE: u8 = 26;
    pub(crate) const READ: u8 = 27;
    pub(crate) const WRITE: u8 = 28;
    /// Asking a thread to end.
    pub(crate) const CANCEL: u8 = 29;
    /// Destroying an object.
    pub(crate) const DESTROY: u8 = 30;
    /// Looking whether someone has asked this thread to end.
    pub(crate) const TEST_CANCEL: u8 = 31;
    /// An assumption that is not met: the thread never goes on.
    pub(crate) const ASSUME: u8 = 32;
    /// Waiting for a signal of the system.
    pub(crate) const SIGNAL_WAIT: u8 = 33;
    /// Sending one to a thread.
    pub(crate) const KILL: u8 = 34;
    /// Calling `exit`.
    pub(crate) const EXIT: u8 = 35;
    /// Saying that nobody will wait for a thread.
    pub(crate) const DETACH: u8 = 36;
    /// Looking for signals of the system that were sent before.
    pub(crate) const SIGNAL_LOOK: u8 = 37;
    /// Registering what is to be done at the exit.
    pub(crate) const AT_EXIT: u8 = 38;

    /// Whether a switch after it is free.
    pub(crate) fn yields(kind: u8) -> bool {
        kind == YIELD || kind == SLEEP
    }
}

/// How an operation touches its object.
pub(crate) mod access {
    pub(crate) const NONE: u8 = 0;
    pub(crate) const READ: u8 = 1;
    pub(crate) const WRITE: u8 = 2;
}

/// The order of an atomic operation, and whether a lock acquires.
pub(crate) mod order {
    pub(crate) const RELAXED: u8 = 0;
    pub(crate) const ACQUIRE: u8 = 1;
    pub(crate) const RELEASE: u8 = 2;
    pub(crate) const ACQ_REL: u8 = 3;
    pub(crate) const SEQ_CST: u8 = 4;
}

/// Kinds of objects, in the order in which the controlling side names them.
pub(crate) mod object {
    pub(crate) const THREAD: u8 = 0;
    pub(crate) const MUTEX: u8 = 1;
    pub(crate) const CONDVAR: u8 = 2;
    pub(crate) const RWLOCK: u8 = 3;
    pub(crate) const BARRIER: u8 = 4;
    pub(crate) const SPINLOCK: u8 = 5;
    pub(crate) const SEMAPHORE: u8 = 6;
    pub(crate) const ONCE: u8 = 7;
    pub(crate) const ATOMIC: u8 = 8;
    pub(crate) const CELL: u8 = 9;
    pub(crate) const ATOMIC_SECTION: u8 = 10;
    /// Signals to the process, and its exit.
    pub(crate) const PROCESS: u8 = 11;
    /// The names of semaphores.
    pub(crate) const NAMES: u8 = 12;
    /// How many there were.
    pub(crate) const SPURIOUS_WAKEUPS: u8 = 13;
    pub(crate) const SPURIOUS_FAILURES: u8 = 14;
}

/// What can go wrong.
pub(crate) mod stop {
    pub(crate) const ASSERTION: u64 = 0;
    pub(crate) const CRASH: u64 = 1;
    /// The program does what the interface leaves undefined: it unlocks what it does not hold.
    pub(crate) const MISUSE: u64 = 2;
    /// The program does something that cannot be checked.
    pub(crate) const UNSUPPORTED: u64 = 3;
    pub(crate) const DEADLOCK: u64 = 4;
    pub(crate) const USE_AFTER_FREE: u64 = 5;
    pub(crate) const DOUBLE_FREE: u64 = 6;
    /// The controlling side has asked, by [`super::ASKS_WHERE`], where the program is.
    pub(crate) const GIVEN_UP: u64 = 7;
    /// Nothing: the program assumes what is not so, and so this execution is of no interest.
    pub(crate) const INFEASIBLE: u64 = 8;
    /// Atomic operations overlap that were taken for independent, within eight bytes or within sixteen. See `memory.rs`.
    pub(crate) const MIXED_IN_8: u64 = 9;
    pub(crate) const MIXED_IN_16: u64 = 10;
    /// A decision was planned that cannot be taken: the program does not do what it has done before.
    pub(crate) const DIFFERENT: u64 = 11;
}

/// What is said of how a step went, in the order in which the controlling side has the words.
pub(crate) mod note {
    pub(crate) const NONE: u64 = 0;
    pub(crate) const TAKEN: u64 = 1;
    pub(crate) const BUSY: u64 = 2;
    pub(crate) const NOBODY_WAITS: u64 = 3;
    pub(crate) const LAST: u64 = 4;
    pub(crate) const DONE: u64 = 5;
    /// The number is shown.
    pub(crate) const NUMBER: u64 = 6;
    pub(crate) const OWNER_DIED: u64 = 7;
    pub(crate) const CANCELLED: u64 = 8;
    /// The numbers before and after are in words 3 and 4.
    pub(crate) const CHANGED: u64 = 9;
    /// The number is shown, and is an `i64`.
    pub(crate) const SIGNED: u64 = 10;
    /// A yield that the program does not have: it waits in a loop.
    pub(crate) const WAITS: u64 = 11;
    /// Whether there is a spurious event, or may be none any more.
    pub(crate) const NO: u64 = 12;
    pub(crate) const YES: u64 = 13;
    pub(crate) const NO_MORE: u64 = 14;
}

/// Tests of a gate.
pub(crate) mod test {
    pub(crate) const EQUAL: u8 = 0;
    pub(crate) const DIFFERENT: u8 = 1;
    pub(crate) const ABOVE: u8 = 2;
    pub(crate) const BELOW: u8 = 3;
}

/// What a thread waits for: a condition on the word of one object, and perhaps a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gate {
    /// The object plus 1; 0 is none.
    pub(crate) object: u32,
    pub(crate) test: u8,
    pub(crate) needs_signal: bool,
    /// A signal to the thread does instead of the condition.
    pub(crate) or_signal: bool,
    /// The thread does not wait for ever.
    pub(crate) timed: bool,
    pub(crate) mask: u64,
    pub(crate) value: u64,
}

impl Gate {
    pub(crate) const OPEN: Gate = Gate {
        object: 0,
        test: test::EQUAL,
        needs_signal: false,
        or_signal: false,
        timed: false,
        mask: 0,
        value: 0,
    };

    /// The object's word is 0 in the bits of the mask.
    pub(crate) fn clear(object: u32, mask: u64) -> Self {
        Gate { object: object + 1, mask, ..Gate::OPEN }
    }

    /// The object's word is not 0 in the bits of the mask.
    pub(crate) fn set(object: u32, mask: u64) -> Self {
        Gate { object: object + 1, mask, test: test::DIFFERENT, ..Gate::OPEN }
    }

    /// The bits of the mask are more than the value.
    pub(crate) fn above(object: u32, mask: u64, value: u64) -> Self {
        Gate { object: object + 1, mask, value, test: test::ABOVE, ..Gate::OPEN }
    }

    pub(crate) fn allows(&self, word: u64) -> bool {
        let bits = word & self.mask;
        match self.test {
            test::EQUAL => bits == self.value,
            test::DIFFERENT => bits != self.value,
            test::ABOVE => bits > self.value,
            _ => bits < self.value,
        }
    }

    /// Whether it is open, by whether the word allows it and whether the thread was signalled.
    #[inline]
    pub(crate) fn is_passed(&self, allowed: bool, signalled: bool) -> bool {
        allowed && !self.needs_signal || signalled && (allowed || self.or_signal)
    }

    pub(crate) fn pack(&self) -> u64 {
        u64::from(self.object)
            | u64::from(self.test) << 32
            | u64::from(self.needs_signal) << 40
            | u64::from(self.timed) << 41
            | u64::from(self.or_signal) << 42
    }

    pub(crate) fn unpack(head: u64, mask: u64, value: u64) -> Self {
        Gate {
            object: head as u32,
            test: (head >> 32) as u8,
            needs_signal: head >> 40 & 1 == 1,
            timed: head >> 41 & 1 == 1,
            or_signal: head >> 42 & 1 == 1,
            mask,
            value,
        }
    }
}

/// An operation. Objects are given plus 1; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) kind: u8,
    pub(crate) access: u8,
    pub(crate) order: u8,
    pub(crate) timed_out: bool,
    pub(crate) object: u32,
    pub(crate) also: u32,
}

/// The bits of an object's number in a packed operation. An execution has fewer objects.
pub(crate) const OBJECT_BITS: u32 = 20;

impl Op {
    pub(crate) fn local(kind: u8) -> Self {
        Op { kind, ..Op::default() }
    }

    pub(crate) fn on(kind: u8, access: u8, object: u32) -> Self {
        Op { kind, access, object: object + 1, ..Op::default() }
    }

    pub(crate) fn ordered(self, order: u8) -> Self {
        Op { order, ..self }
    }

    pub(crate) fn with(self, also: u32) -> Self {
        Op { also: also + 1, ..self }
    }

    pub(crate) fn yields(&self) -> bool {
        self.timed_out || op::yields(self.kind)
    }

    pub(crate) fn pack(&self) -> u64 {
        u64::from(self.kind)
            | u64::from(self.access) << 8
            | u64::from(self.order) << 12
            | u64::from(self.timed_out) << 16
            | u64::from(self.object) << 20
            | u64::from(self.also) << (20 + OBJECT_BITS + 1)
    }

    pub(crate) fn unpack(word: u64) -> Self {
        let mask = (1 << (OBJECT_BITS + 1)) - 1;
        Op {
            kind: word as u8,
            access: (word >> 8 & 0xF) as u8,
            order: (word >> 12 & 0xF) as u8,
            timed_out: word >> 16 & 1 == 1,
            object: (word >> 20 & mask) as u32,
            also: (word >> (20 + OBJECT_BITS + 1) & mask) as u32,
        }
    }
}

/// The first word of a record.
pub(crate) fn head(tag: u8, number: u32) -> u64 {
    u64::from(tag) | u64::from(number) << 32
}

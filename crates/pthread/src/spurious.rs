//! What may happen without a reason: a thread leaves a wait that nobody has ended, and a weak compare-exchange fails on
//! the value that it expects.
//!
//! Whether it does is decided before the operation, by a step of its own on an object that counts such events, where the
//! controlling side allows any. A wait that ends spuriously is never among those that a signal can end: nobody can tell it
//! from one that is, and is not chosen. The Rust library has the same in its `rt/spurious.rs`.

use crate::protocol::{Op, access, leaning, note, object, op};
use crate::runtime::{Phase, Runtime, rt, visible};
use crate::site::Frame;

/// What happens without a reason.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spurious {
    Wakeup,
    Failure,
}

/// Whether it does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surprise {
    /// No, and that was not decided: the execution may have no more of them.
    Never,
    No,
    Yes,
}

impl Runtime {
    /// Makes the objects that count spurious events, where there are any. They come first, in every execution.
    pub(crate) fn count_spurious(&mut self, most: u32) {
        self.spurious = most;
        if most > 0 {
            self.counters =
                [object::SPURIOUS_WAKEUPS, object::SPURIOUS_FAILURES].map(|kind| self.new_object(kind, 0, 0));
        }
    }

    /// The step under way could have gone wrong without a reason, and that is not explored.
    pub(crate) fn leaves_out(&mut self, kind: Spurious) {
        self.leans(match kind {
            Spurious::Wakeup => leaning::NO_WAKEUPS,
            Spurious::Failure => leaning::NO_FAILURES,
        });
    }
}

/// Decides whether the operation that the current thread has come to goes wrong without a reason.
pub(crate) fn decides(kind: Spurious, frame: Frame) -> Surprise {
    let runtime = rt();
    if runtime.spurious == 0 || runtime.phase != Phase::Running {
        return Surprise::Never;
    }
    let counter = runtime.counters[kind as usize];
    visible(Op::on(op::CHOOSE, access::WRITE, counter), frame);
    let runtime = rt();
    let (surprise, note) = if runtime.object(counter).count == runtime.spurious {
        (Surprise::Never, note::NO_MORE)
    } else if runtime.choose(2) == 0 {
        (Surprise::No, note::NO)
    } else {
        (Surprise::Yes, note::YES)
    };
    let runtime = rt();
    runtime.note = note;
    if surprise == Surprise::Yes {
        runtime.object(counter).count += 1;
    } else {
        runtime.performs(access::READ);
    }
    surprise
}

//! What may happen without a reason: a thread leaves a wait that nobody has ended, and a weak compare-exchange fails on
//! the value that it expects.
//!
//! Whether it does is decided before the operation, by a step of its own on an object that counts such events. A wait that
//! ends spuriously is never among those that a notification can end: nobody can tell it from one that is, and is not chosen.
//! So each choice is made once, and a wait that nobody ends is a deadlock whatever the bound is.

use std::panic::Location;

use selvedge_core::{Access, Assumption, AssumptionKind, Assumptions, ObjectId, Op, OpKind};

use super::{Gate, Handle, ObjectKind, Runtime, Value};

/// What happens without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spurious {
    Wakeup,
    Failure,
}

/// Whether it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surprise {
    /// No, and that was not decided: the execution may have no more of them.
    Never,
    No,
    Yes,
}

/// What an execution takes for granted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaning {
    /// It performed an atomic operation, or a fence, that is weaker than SeqCst.
    pub(crate) weak_order: bool,
    /// Of each kind of spurious event, it left one out.
    without: [bool; 2],
}

impl Leaning {
    /// Adds it to what others take for granted, where an execution may have so many spurious events of each kind.
    pub(super) fn add_to(self, assumptions: &mut Assumptions, spurious: u32) {
        if self.weak_order {
            assumptions.add(AssumptionKind::SequentialConsistency);
        }
        let kinds = [AssumptionKind::SpuriousWakeups, AssumptionKind::SpuriousFailures];
        for (kind, _) in kinds.into_iter().zip(self.without).filter(|(_, without)| *without) {
            assumptions.add(Assumption::spurious(kind, spurious));
        }
    }
}

impl Runtime {
    /// Makes the objects that count spurious events, where there are any. They come first, in every execution.
    pub(super) fn count_spurious(&mut self) {
        if self.options.spurious > 0 {
            self.new_object(ObjectKind::SpuriousWakeups, 0);
            self.new_object(ObjectKind::SpuriousFailures, 0);
        }
    }

    /// The running step could have gone wrong without a reason, and that is not explored.
    #[inline]
    pub(crate) fn leaves_out(&mut self, kind: Spurious) {
        self.leaning.without[kind as usize] = true;
    }
}

impl Handle {
    /// Decides whether the operation that the thread has come to goes wrong without a reason.
    #[inline]
    pub(crate) fn decides(self, kind: Spurious, site: &'static Location<'static>) -> Surprise {
        match self.get().options.spurious {
            0 => Surprise::Never,
            most => self.decides_within(most, kind, site),
        }
    }

    #[cold]
    fn decides_within(self, most: u32, kind: Spurious, site: &'static Location<'static>) -> Surprise {
        let counter = ObjectId::new(kind as u32);
        self.visible(Op::on(OpKind::Choose, Access::Write, counter), site);
        let has_come = self.get().state(counter).word >= u64::from(most);
        let comes = !has_come && self.choose(2) == 1;
        let runtime = self.get();
        let (surprise, note) = match (has_come, comes) {
            (true, _) => (Surprise::Never, "no, it may have no more"),
            (_, false) => (Surprise::No, "no"),
            (_, true) => (Surprise::Yes, "yes"),
        };
        runtime.value = Value::Note(note);
        if comes {
            runtime.state(counter).word += 1;
        } else {
            runtime.performs(Access::Read);
        }
        surprise
    }

    /// Stops before an operation that ends a wait for no reason. The thread waits until then: to switch away from it
    /// preempts nothing.
    pub(crate) fn wakes_spuriously(self, op: Op, site: &'static Location<'static>) {
        self.visible_when(op, Gate::OPEN.and_signal().timed(true), site);
        // No time has run out.
        self.get().performed.timed_out = false;
    }
}

//! Visible operations of threads, and which of them depend on each other.

use crate::ObjectId;

/// What an operation does to the objects that it names, as far as other operations on them can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// Nothing: it commutes with every operation of every other thread.
    #[default]
    None,
    /// It observes the object. Two reads commute.
    Read,
    /// It changes the object.
    Write,
}

impl Access {
    /// Whether the order of two accesses to one object can matter.
    ///
    /// ```
    /// use selvedge_core::Access;
    /// assert!(Access::Read.conflicts_with(Access::Write));
    /// assert!(!Access::Read.conflicts_with(Access::Read));
    /// assert!(!Access::Write.conflicts_with(Access::None));
    /// ```
    #[inline]
    pub fn conflicts_with(self, other: Access) -> bool {
        self != Access::None && other != Access::None && (self == Access::Write || other == Access::Write)
    }
}

/// The memory ordering that the program asked of an atomic operation. Values are sequentially consistent
/// whatever it says; the race detector takes a happens-before edge only where the ordering promises one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names of std::sync::atomic::Ordering.
pub enum MemoryOrder {
    #[default]
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl MemoryOrder {
    /// Whether a load with this ordering synchronises with the store that it reads.
    pub fn acquires(self) -> bool {
        matches!(self, MemoryOrder::Acquire | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
    }

    /// Whether a store with this ordering publishes what its thread did before.
    pub fn releases(self) -> bool {
        matches!(self, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
    }
}

/// The kind of a visible operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// A step that no other thread can observe.
    #[default]
    Local,
    /// A thread's last step. Its object is the thread.
    End,
    /// Waiting for a thread to end.
    Join,
    /// Asking whether a thread has ended.
    IsFinished,
    /// An atomic load.
    Load,
    /// An atomic store.
    Store,
    /// An atomic read-modify-write that is sure to write.
    Rmw,
    /// An atomic compare-exchange. One that fails only reads.
    CompareExchange,
    /// A read of a tracked cell (a scheduling point in race mode only).
    Read,
    /// A write of a tracked cell (a scheduling point in race mode only).
    Write,
    /// Taking a lock exclusively.
    Lock,
    /// Trying to take a lock exclusively.
    TryLock,
    /// Releasing an exclusive lock.
    Unlock,
    /// Taking a lock shared.
    ReadLock,
    /// Trying to take a lock shared.
    TryReadLock,
    /// Releasing a shared lock.
    ReadUnlock,
    /// Starting to wait on a condition variable, which releases the mutex (the second object).
    Wait,
    /// Leaving a wait: the thread was notified (or its time ran out) and has the mutex again.
    Wake,
    /// Notifying one waiter.
    NotifyOne,
    /// Notifying every waiter.
    NotifyAll,
    /// Waiting for this thread's unpark token.
    Park,
    /// Giving a thread its unpark token.
    Unpark,
    /// Letting other threads run (`yield_now`).
    Yield,
    /// A hint that this is a spin loop.
    SpinLoop,
    /// Sleeping. Other threads may run for as long as they like.
    Sleep,
    /// Sending on a channel.
    Send,
    /// Receiving from a channel.
    Receive,
    /// Dropping an end of a channel.
    Disconnect,
    /// Arriving at a barrier.
    BarrierArrive,
    /// Going on from a barrier that has been released.
    BarrierPass,
    /// Entering a one-time initialisation, or finding it done.
    OnceEnter,
    /// Finishing a one-time initialisation.
    OnceLeave,
    /// Choosing one of several values.
    Choose,
    /// An observation of a reference count, or the drop that frees.
    RefCount,
}

impl OpKind {
    /// Whether the thread lets others run by this operation, so that the switch after it is free.
    #[inline]
    pub fn yields(self) -> bool {
        matches!(self, OpKind::Yield | OpKind::SpinLoop | OpKind::Sleep)
    }
}

/// A visible operation: one step of a thread.
///
/// ```
/// use selvedge_core::{Access, ObjectId, Op, OpKind};
/// let x = ObjectId::new(0);
/// let read = Op::on(OpKind::Load, Access::Read, x);
/// let write = Op::on(OpKind::Store, Access::Write, x);
/// assert!(read.conflicts_with(&write));
/// assert!(!read.conflicts_with(&read));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// How it touches `object`. The second object is always written.
    pub access: Access,
    /// For atomics, the ordering.
    pub order: MemoryOrder,
    /// For an operation with a time limit: the limit ran out. Such a step counts as a yield.
    pub timed_out: bool,
    /// For an operation that yields: the fair bound counts it. Its thread has now yielded at this place of the program more
    /// often than it had at any place before, so that yields outside of loops count once, all together.
    pub counted: bool,
    /// The object that it works on.
    pub object: Option<ObjectId>,
    /// A second object: the mutex of a condition variable's wait and wake.
    pub also: Option<ObjectId>,
}

impl Op {
    /// An operation that touches no object.
    #[inline]
    pub fn local(kind: OpKind) -> Self {
        Op { kind, ..Op::default() }
    }

    /// An operation on one object.
    #[inline]
    pub fn on(kind: OpKind, access: Access, object: ObjectId) -> Self {
        Op { kind, access, object: Some(object), ..Op::default() }
    }

    /// The same operation with a memory ordering.
    #[inline]
    pub fn ordered(self, order: MemoryOrder) -> Self {
        Op { order, ..self }
    }

    /// The objects that it touches, and how.
    #[inline]
    pub fn touches(&self) -> impl Iterator<Item = (ObjectId, Access)> {
        let first = self.object.map(|object| (object, self.access));
        let second = self.also.map(|object| (object, Access::Write));
        first.into_iter().chain(second)
    }

    /// Whether the order of the two operations, by different threads, can matter.
    #[inline]
    pub fn conflicts_with(&self, other: &Op) -> bool {
        if self.also.is_none() && other.also.is_none() {
            return self.object.is_some()
                && self.object == other.object
                && self.access.conflicts_with(other.access);
        }
        self.touches()
            .any(|(object, access)| other.touches().any(|(o, a)| o == object && access.conflicts_with(a)))
    }

    /// Whether there can be a state in which two threads are both able to do these two operations next.
    /// Two operations that cannot be enabled together need no reordering.
    #[inline]
    pub fn may_be_coenabled(&self, other: &Op) -> bool {
        use OpKind::{End, Join, Lock, ReadLock, ReadUnlock, Unlock};
        if self.object != other.object || self.also.is_some() || other.also.is_some() {
            return true;
        }
        !matches!(
            (self.kind, other.kind),
            (Unlock, Lock | ReadLock | Unlock | ReadUnlock)
                | (Lock | ReadLock | ReadUnlock, Unlock)
                | (ReadUnlock, Lock)
                | (Lock, ReadUnlock)
                | (Join, End)
                | (End, Join)
        )
    }

    /// Whether the thread lets others run by this operation, so that the switch after it is free: it
    /// yielded, slept, or waited until its time ran out.
    #[inline]
    pub fn yields(&self) -> bool {
        self.timed_out || self.kind.yields()
    }
}

//! Synchronisation objects and tracked cells, as the runtime knows them.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use selvedge_core::{ObjectId, ThreadId};

use super::time::Times;

/// What an object is; its name in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    #[default]
    Atomic,
    Mutex,
    RwLock,
    Condvar,
    Barrier,
    Once,
    Channel,
    /// The senders of a channel, as far as dropping them is concerned.
    Senders,
    Thread,
    ParkToken,
    Cell,
    Arc,
    Waker,
    Task,
    /// How many there were.
    SpuriousWakeups,
    SpuriousFailures,
}

impl ObjectKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ObjectKind::Atomic => "atomic",
            ObjectKind::Mutex => "mutex",
            ObjectKind::RwLock => "rwlock",
            ObjectKind::Condvar => "condvar",
            ObjectKind::Barrier => "barrier",
            ObjectKind::Once => "once",
            ObjectKind::Channel => "channel",
            ObjectKind::Senders => "senders of channel",
            ObjectKind::Thread => "thread",
            ObjectKind::ParkToken => "park token",
            ObjectKind::Cell => "cell",
            ObjectKind::Arc => "arc",
            ObjectKind::Waker => "waker",
            ObjectKind::Task => "task",
            ObjectKind::SpuriousWakeups => "spurious wakeup",
            ObjectKind::SpuriousFailures => "spurious failure",
        }
    }
}

/// The state of an object in the current execution.
#[derive(Debug, Default)]
pub(crate) struct Object {
    pub(crate) kind: ObjectKind,
    /// Its state, which gates test. What it means is up to the type.
    pub(crate) word: u64,
    pub(crate) times: Times,
    /// Who holds it, for reports.
    pub(crate) holder: Option<ThreadId>,
    /// Threads that wait to be notified, in the order in which they came.
    pub(crate) waiters: VecDeque<ThreadId>,
    /// What the execution has put into it, in a box of its own; see [`super::boxed`].
    pub(super) content: Option<NonNull<()>>,
}

impl Object {
    pub(crate) fn reset(&mut self, kind: ObjectKind, word: u64) {
        self.kind = kind;
        self.word = word;
        self.times = Times::default();
        self.holder = None;
        self.waiters.clear();
        self.content = None;
    }
}

/// Part of every object: which object of the current execution it is. `new` of the types can be `const`, so
/// an object is numbered when an execution first touches it, and belongs to that execution only.
#[derive(Debug, Default)]
pub(crate) struct ObjectSlot(AtomicU64);

/// The stamp takes the upper 40 bits: some 10^12 executions in a process.
const INDEX_BITS: u32 = 24;

impl ObjectSlot {
    pub(crate) const fn new() -> Self {
        ObjectSlot(AtomicU64::new(0))
    }

    #[inline(always)]
    pub(crate) fn get(&self, stamp: u64) -> Option<ObjectId> {
        let word = self.0.load(Ordering::Relaxed);
        if word >> INDEX_BITS == stamp {
            Some(ObjectId::new((word & ((1 << INDEX_BITS) - 1)) as u32))
        } else {
            None
        }
    }

    pub(crate) fn set(&self, stamp: u64, object: ObjectId) {
        assert!(object.index() < 1 << INDEX_BITS, "an execution has fewer than 2^{INDEX_BITS} objects");
        self.0.store(stamp << INDEX_BITS | object.index() as u64, Ordering::Relaxed);
    }

    /// Another one for the same object.
    pub(crate) fn copy(&self) -> Self {
        ObjectSlot(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }

    /// Forgets which object it is: it will be a new one when it is touched again.
    pub(crate) fn clear(&mut self) {
        *self.0.get_mut() = 0;
    }
}

//! [`Barrier`].

use std::fmt;
use std::panic::Location;

use selvedge_core::{Access, Op, OpKind};
use selvedge_stateless::LocalEvent;

use crate::rt::{self, Gate, Handle, ObjectKind, ObjectSlot, Value};

/// The object's word: how many have come, and above that how often the barrier has let threads go.
const COUNT: u64 = (1 << 32) - 1;
const GENERATION: u64 = !COUNT;

/// Lets threads go on once so many have come, again and again; as [`std::sync::Barrier`].
///
/// ```
/// use selvedge::sync::Barrier;
/// use selvedge::sync::atomic::{AtomicU32, Ordering};
///
/// selvedge::check(|| {
///     let (barrier, arrived) = (Barrier::new(2), AtomicU32::new(0));
///     selvedge::thread::scope(|scope| {
///         for _ in 0..2 {
///             scope.spawn(|| {
///                 arrived.fetch_add(1, Ordering::Relaxed);
///                 barrier.wait();
///                 assert_eq!(arrived.load(Ordering::Relaxed), 2);
///             });
///         }
///     });
/// });
/// ```
pub struct Barrier {
    slot: ObjectSlot,
    threads: u64,
    outside: std::sync::Barrier,
}

/// Whether the thread is the one that the barrier singled out; as [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// A barrier for so many threads.
    #[inline]
    pub const fn new(n: usize) -> Self {
        Barrier { slot: ObjectSlot::new(), threads: n as u64, outside: std::sync::Barrier::new(n) }
    }

    /// Waits until as many threads have come as the barrier is for. One of them is told that it is the
    /// leader: in a check the last to come.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        match rt::current() {
            None => BarrierWaitResult(self.outside.wait().is_leader()),
            Some(handle) => BarrierWaitResult(self.wait_in_check(handle, Location::caller())),
        }
    }

    fn wait_in_check(&self, handle: Handle, site: &'static Location<'static>) -> bool {
        let barrier = handle.get().object(&self.slot, ObjectKind::Barrier, 0);
        handle.visible(Op::on(OpKind::BarrierArrive, Access::Write, barrier), site);
        let runtime = handle.get();
        let word = runtime.state(barrier).word;
        let generation = word & GENERATION;
        let come = (word & COUNT) + 1;
        if come >= self.threads {
            runtime.value = Value::Note("the last: all go on");
            // It goes on at once, with what those who came before have done behind it.
            runtime.event(LocalEvent::Acquire(barrier));
            runtime.set_word(barrier, generation.wrapping_add(COUNT + 1));
            return true;
        }
        runtime.value = Value::Number(come);
        runtime.set_word(barrier, generation | come);
        let pass = Op::on(OpKind::BarrierPass, Access::Read, barrier);
        handle.visible_when(pass, Gate::above(barrier, GENERATION, generation), site);
        false
    }
}

impl BarrierWaitResult {
    /// Whether this thread is the leader. There is exactly one each time that the barrier lets threads go.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}

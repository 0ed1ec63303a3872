//! [`Condvar`].

use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

use selvedge_core::{Access, ObjectId, Op, OpKind};

use super::mutex::{self, MutexGuard};
use crate::rt::{self, Gate, Handle, ObjectKind, ObjectSlot, Spurious, Surprise, Value};

/// A condition variable, as [`std::sync::Condvar`]. Which waiter [`notify_one`](Condvar::notify_one) wakes
/// is explored; waits do not end by themselves unless they have a time limit, which may run out at any
/// point, or [spurious wakeups](crate::Checker::spurious) are asked for.
#[derive(Default)]
pub struct Condvar {
    slot: ObjectSlot,
    outside: std::sync::Condvar,
}

/// Whether a wait ended because its time ran out; as [`std::sync::WaitTimeoutResult`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time ran out.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A new condition variable that nobody waits on.
    pub const fn new() -> Self {
        Condvar { slot: ObjectSlot::new(), outside: std::sync::Condvar::new() }
    }

    /// Waits for a notification, with the mutex unlocked meanwhile.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let site = Location::caller();
        match rt::current() {
            Some(handle) => self.wait_in_check(handle, guard, None, site).0,
            None => {
                let (lock, outside, taken) = guard.outside().expect("a guard from outside of a check");
                let outside = self.outside.wait(outside).unwrap_or_else(PoisonError::into_inner);
                MutexGuard::from_outside(lock, outside, taken)
            }
        }
    }

    /// Waits for as long as the condition is true.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notification, or until the time runs out.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let site = Location::caller();
        let (guard, timed_out) = match rt::current() {
            Some(handle) => self.wait_in_check(handle, guard, Some(limit), site),
            None => {
                let (lock, outside, taken) = guard.outside().expect("a guard from outside of a check");
                let (outside, result) =
                    self.outside.wait_timeout(outside, limit).unwrap_or_else(PoisonError::into_inner);
                (MutexGuard::from_outside(lock, outside, taken), result.timed_out())
            }
        };
        match guard {
            Ok(guard) => Ok((guard, WaitTimeoutResult(timed_out))),
            Err(error) => Err(PoisonError::new((error.into_inner(), WaitTimeoutResult(timed_out)))),
        }
    }

    /// Waits for as long as the condition is true, or until the time runs out.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        let start = crate::time::Instant::now();
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(left) = limit.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, left)?.0;
        }
    }

    fn wait_in_check<'a, T: ?Sized>(
        &self,
        handle: Handle,
        guard: MutexGuard<'a, T>,
        limit: Option<Duration>,
        site: &'static Location<'static>,
    ) -> (LockResult<MutexGuard<'a, T>>, bool) {
        let mutex = guard.mutex().object(handle);
        let condvar = handle.get().object(&self.slot, ObjectKind::Condvar, 0);
        let surprise = handle.decides(Spurious::Wakeup, site);
        if surprise == Surprise::Yes {
            let wait = Op { also: Some(mutex), ..Op::on(OpKind::Wait, Access::None, condvar) };
            handle.visible(wait, site);
            mutex::release(handle, mutex);
            handle.wakes_spuriously(Op::on(OpKind::Wake, Access::None, condvar), site);
            return (Self::locked_again(handle, guard, mutex, site), false);
        }
        let wait = Op { also: Some(mutex), ..Op::on(OpKind::Wait, Access::Write, condvar) };
        handle.visible(wait, site);
        let runtime = handle.get();
        if surprise == Surprise::Never {
            runtime.leaves_out(Spurious::Wakeup);
        }
        let current = runtime.current;
        let deadline = limit.map(|limit| runtime.now().saturating_add(limit));
        runtime.state(condvar).waiters.push_back(current);
        mutex::release(handle, mutex);

        // Its time may run out while another thread has the mutex: so it wakes first, and then locks.
        let timed_out = if limit.is_some() {
            let wake = Op::on(OpKind::Wake, Access::Write, condvar);
            handle.visible_when(wake, Gate::OPEN.and_signal().timed(true), site)
        } else {
            let wake = Op { also: Some(mutex), ..Op::on(OpKind::Wake, Access::Read, condvar) };
            handle.visible_when(wake, mutex::free(mutex).and_signal(), site)
        };
        let runtime = handle.get();
        if timed_out {
            runtime.state(condvar).waiters.retain(|waiter| *waiter != current);
            runtime.pass_time(deadline.unwrap_or_default());
        } else {
            runtime.performs(Access::Read);
        }
        if limit.is_some() {
            return (Self::locked_again(handle, guard, mutex, site), timed_out);
        }
        (Self::held_again(handle, guard, mutex), timed_out)
    }

    /// Locks the mutex again after the wait.
    fn locked_again<'a, T: ?Sized>(
        handle: Handle,
        guard: MutexGuard<'a, T>,
        mutex: ObjectId,
        site: &'static Location<'static>,
    ) -> LockResult<MutexGuard<'a, T>> {
        mutex::acquire(handle, mutex, site);
        Self::held_again(handle, guard, mutex)
    }

    fn held_again<'a, T: ?Sized>(
        handle: Handle,
        guard: MutexGuard<'a, T>,
        mutex: ObjectId,
    ) -> LockResult<MutexGuard<'a, T>> {
        if mutex::hold(handle, mutex) { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Wakes one of the threads that wait, if any does.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify(OpKind::NotifyOne, Location::caller());
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify(OpKind::NotifyAll, Location::caller());
    }

    fn notify(&self, kind: OpKind, site: &'static Location<'static>) {
        let Some(handle) = rt::current() else {
            return match kind {
                OpKind::NotifyOne => self.outside.notify_one(),
                _ => self.outside.notify_all(),
            };
        };
        let condvar = handle.get().object(&self.slot, ObjectKind::Condvar, 0);
        handle.visible(Op::on(kind, Access::Write, condvar), site);
        let waiting = handle.get().state(condvar).waiters.len();
        if waiting == 0 {
            let runtime = handle.get();
            runtime.performs(Access::Read);
            runtime.value = Value::Note("nobody waits");
            return;
        }
        let woken = match kind {
            OpKind::NotifyOne => {
                let index = handle.choose(waiting as u32) as usize;
                index..index + 1
            }
            _ => 0..waiting,
        };
        for index in woken.rev() {
            let runtime = handle.get();
            if let Some(waiter) = runtime.state(condvar).waiters.remove(index) {
                runtime.threads[waiter.index()].signalled = true;
                runtime.update(waiter);
            }
        }
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

//! Parking.

use std::panic::Location;
use std::time::Duration;

use selvedge_core::{Access, MemoryOrder, ObjectId, Op, OpKind, ThreadId};

use crate::rt::{self, Gate, Handle, ObjectKind, Spurious, Surprise};

/// The object that stands for a thread's token: its word is 1 while the token is there.
fn token(handle: Handle, thread: ThreadId) -> ObjectId {
    let runtime = handle.get();
    if let Some(token) = runtime.threads[thread.index()].park_token {
        return token;
    }
    let token = runtime.new_object(ObjectKind::ParkToken, 0);
    runtime.threads[thread.index()].park_token = Some(token);
    token
}

/// Waits until the thread is unparked, as [`std::thread::park`]. In a check it does not return without a
/// reason, unless [spurious wakeups](crate::Checker::spurious) are asked for.
///
/// ```
/// selvedge::check(|| {
///     let parked = selvedge::thread::spawn(selvedge::thread::park);
///     parked.thread().unpark();
///     parked.join().unwrap();
/// });
/// ```
#[track_caller]
pub fn park() {
    match rt::current() {
        None => std::thread::park(),
        Some(handle) => park_in_check(handle, None, Location::caller()),
    }
}

/// Waits until the thread is unparked or the time runs out, as [`std::thread::park_timeout`].
#[track_caller]
pub fn park_timeout(limit: Duration) {
    match rt::current() {
        None => std::thread::park_timeout(limit),
        Some(handle) => park_in_check(handle, Some(limit), Location::caller()),
    }
}

fn park_in_check(handle: Handle, limit: Option<Duration>, site: &'static Location<'static>) {
    let current = handle.get().current;
    let token = token(handle, current);
    let surprise = handle.decides(Spurious::Wakeup, site);
    if surprise == Surprise::Yes {
        return handle.wakes_spuriously(Op::on(OpKind::Park, Access::None, token), site);
    }
    let deadline = handle.get().now().saturating_add(limit.unwrap_or_default());
    let op = Op::on(OpKind::Park, Access::Write, token).ordered(MemoryOrder::Acquire);
    let timed_out = handle.visible_when(op, Gate::set(token, 1).timed(limit.is_some()), site);
    let runtime = handle.get();
    if surprise == Surprise::Never {
        runtime.leaves_out(Spurious::Wakeup);
    }
    if timed_out {
        runtime.performs(Access::Read);
        runtime.pass_time(deadline);
    }
    runtime.set_word(token, 0);
}

pub(super) fn unpark(handle: Handle, thread: ThreadId, site: &'static Location<'static>) {
    let token = token(handle, thread);
    handle.visible(Op::on(OpKind::Unpark, Access::Write, token), site);
    handle.get().set_word(token, 1);
}

//! [`spin_loop`], as in [`std::hint`].

use std::panic::Location;

use selvedge_core::{Op, OpKind};

use crate::rt;

/// Says that this is a spin loop: another thread must make progress. In a check it lets other threads run,
/// and the switch is no preemption.
///
/// ```
/// use selvedge::sync::atomic::{AtomicBool, Ordering};
/// use selvedge::{hint, sync::Arc, thread};
///
/// selvedge::check(|| {
///     let ready = Arc::new(AtomicBool::new(false));
///     let setter = ready.clone();
///     thread::spawn(move || setter.store(true, Ordering::Release));
///     while !ready.load(Ordering::Acquire) {
///         hint::spin_loop();
///     }
/// });
/// ```
#[inline(always)]
#[track_caller]
pub fn spin_loop() {
    match rt::current() {
        None => std::hint::spin_loop(),
        Some(handle) => handle.visible(Op::local(OpKind::SpinLoop), Location::caller()),
    }
}

pub use std::hint::{assert_unchecked, black_box, unreachable_unchecked};

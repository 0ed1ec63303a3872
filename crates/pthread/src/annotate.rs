//! What programs tell a race detector of orders that it does not see: the thread sanitizer's interface, and the older
//! annotations. Programs that are compiled for a race detector call these by themselves.
//!
//! What is released at an address is behind whoever acquires there later. None of these is a step: what they order is
//! done by other operations.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::memory;
use crate::protocol::{head, tag};
use crate::runtime::{Phase, rt};
use crate::site::{Frame, frame};

/// Sets what is annotated at an address apart from the atomic that may be there.
const ANNOTATED: usize = 1 << 63;

fn order(address: Address, releases: bool, frame: Frame) {
    order_by_atomic(address as usize ^ ANNOTATED, releases, frame);
}

/// The same by the atomic at an address, which the program may look at itself.
pub(crate) fn order_by_atomic(address: usize, releases: bool, frame: Frame) {
    if rt().phase == Phase::Running {
        let object = memory::atomic(address, 1, frame);
        rt().published += 1;
        rt().log([head(tag::PUBLISH, 0), u64::from(releases), u64::from(object), 0, 0, 0, 0, 0]);
    }
}

macro_rules! orders {
    ($($name:ident($address:ident: $($argument:ident: $type:ty),*) $releases:literal;)*) => {$(
        /// What came before is published, or what was published came before.
        ///
        /// # Safety
        /// Any caller.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) {
            order($address, $releases, frame!());
        }
    )*};
}

type Address = *mut c_void;
type File = *const c_char;

orders! {
    __tsan_acquire(at: at: Address) false;
    __tsan_release(at: at: Address) true;
    __tsan_mutex_post_lock(at: at: Address, _flags: c_uint, _depth: c_int) false;
    AnnotateHappensBefore(at: _file: File, _line: c_int, at: Address) true;
    AnnotateHappensAfter(at: _file: File, _line: c_int, at: Address) false;
    AnnotateRWLockAcquired(at: _file: File, _line: c_int, at: Address, _writes: isize) false;
    AnnotateRWLockReleased(at: _file: File, _line: c_int, at: Address, _writes: isize) true;
}

/// What is done under a lock that is given back is published.
///
/// # Safety
/// Any caller.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __tsan_mutex_pre_unlock(address: Address, _: c_uint) -> c_int {
    order(address, true, frame!());
    1
}

/// Functions that say nothing of an order. To leave accesses out is not heeded: what races is said to.
macro_rules! unheeded {
    ($($name:ident)*) => {$(
        /// Is not heeded.
        ///
        /// # Safety
        /// Any caller: arguments are not looked at.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name() {}
    )*};
}

unheeded! {
    __tsan_mutex_create
    __tsan_mutex_destroy
    __tsan_mutex_pre_lock
    __tsan_mutex_post_unlock
    __tsan_mutex_pre_signal
    __tsan_mutex_post_signal
    __tsan_mutex_pre_divert
    __tsan_mutex_post_divert
    AnnotateRWLockCreate
    AnnotateRWLockCreateStatic
    AnnotateRWLockDestroy
    AnnotateIgnoreReadsBegin
    AnnotateIgnoreReadsEnd
    AnnotateIgnoreWritesBegin
    AnnotateIgnoreWritesEnd
    AnnotateIgnoreSyncBegin
    AnnotateIgnoreSyncEnd
    AnnotateBenignRace
    AnnotateBenignRaceSized
    AnnotateNewMemory
    AnnotateThreadName
    AnnotateEnableRaceDetection
    AnnotateFlushState
}

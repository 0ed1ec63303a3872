//! Telling statics from other objects.
//!
//! A `static` with interior state outlives an execution, so what an execution put into it must be dropped
//! at its end. An object elsewhere has an owner that drops it. Only the address tells them apart.
//!
//! And a `static` is there for all checks of the process, which may run at the same time (tests do): an
//! execution that touches one has them to itself until it ends.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by the execution that uses statics.
static TURN: Mutex<()> = Mutex::new(());

/// The right to use statics.
pub(super) type Turn = MutexGuard<'static, ()>;

/// Waits until no other execution uses statics.
#[cold]
pub(super) fn take_turn() -> Turn {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the address lies in the data of the executable or of a library that it has loaded. Where that
/// cannot be found out, the answer is no, and the value is leaked rather than dropped.
#[cfg(target_os = "linux")]
pub(crate) fn is_static<T: ?Sized>(object: &T) -> bool {
    use std::ops::Range;
    use std::sync::OnceLock;

    /// Where the executable and each library are. There is nothing of others between their segments.
    static LOADED: OnceLock<Vec<Range<usize>>> = OnceLock::new();

    unsafe extern "C" fn collect(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        loaded: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` passes a valid description of a loaded object, and the pointer that was
        // given to it.
        unsafe {
            let (info, loaded) = (&*info, &mut *loaded.cast::<Vec<Range<usize>>>());
            let mut all: Option<Range<usize>> = None;
            for index in 0..usize::from(info.dlpi_phnum) {
                let header = &*info.dlpi_phdr.add(index);
                if header.p_type == libc::PT_LOAD {
                    let start = (info.dlpi_addr + header.p_vaddr) as usize;
                    let end = start + header.p_memsz as usize;
                    all = Some(all.map_or(start..end, |all| all.start.min(start)..all.end.max(end)));
                }
            }
            loaded.extend(all);
        }
        0
    }

    let loaded = LOADED.get_or_init(|| {
        let mut loaded = Vec::<Range<usize>>::new();
        // SAFETY: the callback matches what `dl_iterate_phdr` calls, and the vector outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut loaded).cast()) };
        loaded
    });
    let address = std::ptr::from_ref(object).cast::<u8>() as usize;
    loaded.iter().any(|range| range.contains(&address))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_static<T: ?Sized>(_: &T) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn statics_are_told_from_heap_and_stack() {
        static COUNTER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        assert!(is_static(&COUNTER));
        assert!(!is_static(&5_u32.wrapping_add(std::process::id())));
        assert!(!is_static(Box::new(5_u32).as_ref()));
    }
}

//! Telling statics from other objects.
//!
//! A `static` with interior state outlives an execution, so what an execution put into it must be dropped
//! at its end. An object elsewhere has an owner that drops it. Only the address tells them apart.
//!
//! And a `static` is there for all checks of the process, which may run at the same time (tests do): an
//! execution that touches one has them to itself until it ends.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, needs_drop};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Handle, Phase};

/// Held by the execution that uses statics.
static TURN: Mutex<()> = Mutex::new(());

/// The right to use statics.
pub(super) type Turn = MutexGuard<'static, ()>;

/// Waits until no other execution uses statics.
#[cold]
pub(super) fn take_turn() -> Turn {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes of a static, as they were before the execution.
pub(super) struct Before {
    place: *mut MaybeUninit<u8>,
    bytes: Box<[MaybeUninit<u8>]>,
}

impl Before {
    fn put_back(&self) {
        // SAFETY: the place is in a static, and as large as when the bytes were taken; nobody uses it, as all threads of the
        // execution have ended.
        unsafe { std::ptr::copy_nonoverlapping(self.bytes.as_ptr(), self.place, self.bytes.len()) };
    }
}

/// Has the data of a lock be what it is now when the next execution begins, if it is in a static. Before the execution first
/// takes the lock; `used_outside` says whether it was ever taken outside of a check.
pub(crate) fn begin_anew<T: ?Sized>(
    handle: Handle,
    data: &UnsafeCell<T>,
    used_outside: bool,
    site: &'static Location<'static>,
) {
    // An execution that has touched a static has the turn.
    if handle.get().turn.is_none() || !is_static(data) {
        return;
    }
    // SAFETY: nobody has taken the lock.
    let layout = Layout::for_value(unsafe { &*data.get() });
    if layout.size() == 0 {
        return;
    }
    if needs_drop::<T>() {
        // Where nobody has changed it, it is what the compiler made, which owns no memory: its bytes can be used again and
        // again.
        if used_outside && handle.get().phase == Phase::Running {
            let message = "the data of this static lock has a destructor and was used outside of the check, so that it cannot \
                           begin every execution anew: put the lock into a selvedge::sync::LazyLock, or make it in the check";
            handle.unsupported(message.into(), site);
        }
    }
    let place = data.get().cast::<MaybeUninit<u8>>();
    // SAFETY: the data is as large as its layout says, and bytes may be uninitialised here.
    let bytes = unsafe { std::slice::from_raw_parts(place, layout.size()) }.into();
    let runtime = handle.get();
    if needs_drop::<T>() {
        let value = data.get();
        let action: Box<dyn FnOnce() + '_> = Box::new(move || drop_moved(handle, value, layout));
        // SAFETY: the value is in a static, so that what it borrows lives for ever too.
        runtime.at_end(unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce()>>(action) });
    }
    runtime.before.push(Before { place, bytes });
}

/// Drops what an execution has left in a static, after what it began with is back there: a destructor may use the static.
fn drop_moved<T: ?Sized>(handle: Handle, value: *mut T, layout: Layout) {
    let place = value.cast::<MaybeUninit<u8>>();
    // SAFETY: the layout is that of the value and has a size; the copy is the value from then on, as the static has other
    // bytes. The address of a pointer, thin or not, is its first word.
    unsafe {
        let memory = std::alloc::alloc(layout);
        if memory.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        std::ptr::copy_nonoverlapping(place, memory.cast(), layout.size());
        handle.get().before.iter().filter(|before| before.place == place).for_each(Before::put_back);
        let mut moved = value;
        (&raw mut moved).cast::<*mut u8>().write(memory);
        // Statics are not dropped outside of a check, so that a panic there is no one's.
        let _ = catch_unwind(AssertUnwindSafe(|| std::ptr::drop_in_place(moved)));
        std::alloc::dealloc(memory, layout);
    }
}

/// At the end of an execution: what it has changed in statics is what it was before. (What destructors have left there since is
/// leaked.)
pub(super) fn put_back(handle: Handle) {
    handle.get().before.drain(..).for_each(|before| before.put_back());
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

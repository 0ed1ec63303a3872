//! Raw memory that a check keeps account of, with the names of [`std::alloc`].
//!
//! In a check that [looks for leaks](crate::Checker::check_leaks), memory that is not freed is one; freeing what is not
//! allocated, or is freed already, is a violation in every check. Accesses through the pointers are not seen.
//!
//! ```
//! use selvedge::alloc::{Layout, alloc, dealloc};
//! use selvedge::{Checker, ViolationKind};
//!
//! let layout = Layout::new::<u64>();
//! // SAFETY: the layout has a size.
//! let leaks = Checker::new().check_leaks().explore(move || _ = unsafe { alloc(layout) });
//! assert_eq!(leaks.violation().unwrap().kind, ViolationKind::Leak);
//! // SAFETY: as above, and the memory is freed once.
//! let frees = Checker::new().check_leaks().explore(move || unsafe { dealloc(alloc(layout), layout) });
//! assert!(frees.holds());
//! ```

use std::panic::Location;

use selvedge_core::{ObjectId, ViolationKind};

pub use std::alloc::{Layout, handle_alloc_error};

use crate::rt::{self, Handle, ObjectSlot, Phase};

/// Memory that the execution has allocated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    layout: Layout,
    /// Its place in the list of what must be freed.
    place: usize,
    freed: Option<&'static Location<'static>>,
}

fn running() -> Option<Handle> {
    rt::current().filter(|handle| handle.get().phase == Phase::Running)
}

/// Allocates memory, as [`std::alloc::alloc`].
///
/// # Safety
/// As for std's.
#[must_use = "it must be freed"]
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    note(unsafe { std::alloc::alloc(layout) }, layout, Location::caller())
}

/// Allocates memory that is filled with zeros, as [`std::alloc::alloc_zeroed`].
///
/// # Safety
/// As for std's.
#[must_use = "it must be freed"]
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    note(unsafe { std::alloc::alloc_zeroed(layout) }, layout, Location::caller())
}

fn note(pointer: *mut u8, layout: Layout, site: &'static Location<'static>) -> *mut u8 {
    if let Some(handle) = running().filter(|_| !pointer.is_null()) {
        let runtime = handle.get();
        let allocation = Allocation { layout, place: runtime.owned.len(), freed: None };
        runtime.owned.push(Some(("memory allocated", site)));
        runtime.allocations.insert(pointer as usize, allocation);
    }
    pointer
}

/// Frees memory, as [`std::alloc::dealloc`]. In a check its address is not given out again in the same execution.
///
/// # Safety
/// As for std's. A check finds memory that is freed twice, or that [`alloc`] has not allocated.
#[track_caller]
pub unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    let site = Location::caller();
    let Some(handle) = rt::current() else {
        // SAFETY: the caller's promise.
        return unsafe { std::alloc::dealloc(pointer, layout) };
    };
    let runtime = handle.get();
    let wrong = match runtime.allocations.get_mut(&(pointer as usize)) {
        None => "memory that was not allocated in this execution is freed".to_string(),
        Some(Allocation { freed: Some(before), .. }) => {
            format!("memory is freed twice, first at {}:{}", before.file(), before.line())
        }
        Some(allocation) if allocation.layout != layout => {
            format!("memory allocated as {:?} is freed as {layout:?}", allocation.layout)
        }
        Some(allocation) => {
            allocation.freed = Some(site);
            let place = allocation.place;
            runtime.owned[place] = None;
            return runtime.at_end(Box::new(move || {
                // SAFETY: the caller's promise; the execution frees it no second time.
                unsafe { std::alloc::dealloc(pointer, layout) }
            }));
        }
    };
    // A destructor may free again what the execution was torn away from.
    if runtime.phase == Phase::Running {
        handle.violates(ViolationKind::DoubleFree, wrong, site);
    }
}

/// A value that must be dropped before the execution ends, where a check looks for leaks.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    listed: ObjectSlot,
}

impl<T> Track<T> {
    /// Keeps account of a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let listed = ObjectSlot::new();
        if let Some(handle) = running() {
            let runtime = handle.get();
            listed.set(runtime.stamp, ObjectId::new(runtime.owned.len() as u32));
            runtime.owned.push(Some(("a tracked value made", Location::caller())));
        }
        Track { value, listed }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value, of which no account is kept any more.
    pub fn into_inner(self) -> T {
        let this = std::mem::ManuallyDrop::new(self);
        this.unlist();
        // SAFETY: `this` is not dropped, so that the value is moved out once.
        unsafe { std::ptr::read(&raw const this.value) }
    }

    fn unlist(&self) {
        if let Some(handle) = rt::current()
            && let Some(place) = self.listed.get(handle.get().stamp)
        {
            handle.get().owned[place.index()] = None;
        }
    }
}

impl<T> Drop for Track<T> {
    fn drop(&mut self) {
        self.unlist();
    }
}

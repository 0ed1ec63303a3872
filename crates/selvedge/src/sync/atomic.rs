//! Atomic types, with the names and meaning of [`std::sync::atomic`].
//!
//! In a check every operation is a scheduling point, and values are sequentially consistent whatever the
//! ordering says; the race detector takes the ordering at its word. `compare_exchange_weak` does not fail
//! without a reason, unless [spurious failures](crate::Checker::spurious) are asked for. The value lives with the execution: an atomic in a `static` begins every execution with
//! the value that it was made with.

use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{Location, RefUnwindSafe};

pub use std::sync::atomic::{Ordering, compiler_fence};

use selvedge_core::{Access, MemoryOrder, ObjectId, Op, OpKind};
use selvedge_stateless::LocalEvent;

use crate::rt::{self, Bits, Handle, ObjectKind, ObjectSlot, Runtime, Show, Spurious, Surprise, Value};

/// The ordering as the engine knows it.
fn order(ordering: Ordering) -> MemoryOrder {
    match ordering {
        Ordering::Relaxed => MemoryOrder::Relaxed,
        Ordering::Acquire => MemoryOrder::Acquire,
        Ordering::Release => MemoryOrder::Release,
        Ordering::AcqRel => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

/// Panics, as std does, when an operation of this kind cannot have the ordering.
#[inline]
#[track_caller]
fn check_ordering(ordering: Ordering, forbidden: Ordering, operation: &str) {
    if ordering == forbidden || ordering == Ordering::AcqRel {
        let name = match ordering {
            Ordering::Release => "a release",
            Ordering::Acquire => "an acquire",
            _ => "an acquire-release",
        };
        panic!("there is no such thing as {name} {operation}");
    }
}

/// An atomic fence, as [`std::sync::atomic::fence`]. In a check it is no scheduling point: it commutes with
/// whatever other threads do, and what it orders is for the race detector to know.
#[track_caller]
pub fn fence(ordering: Ordering) {
    assert!(ordering != Ordering::Relaxed, "there is no such thing as a relaxed fence");
    match rt::current() {
        None => std::sync::atomic::fence(ordering),
        Some(handle) => {
            let runtime = handle.get();
            is_ordered(runtime, ordering);
            runtime.event(LocalEvent::Fence(order(ordering)));
        }
    }
}

/// The running step is ordered like this, and that it is sequentially consistent all the same is taken for granted.
#[inline(always)]
fn is_ordered(runtime: &mut Runtime, ordering: Ordering) {
    runtime.leaning.weak_order |= ordering != Ordering::SeqCst;
}

/// The word of an atomic in the current execution.
#[inline(always)]
fn load(
    handle: Handle,
    slot: &ObjectSlot,
    initial: u64,
    show: Show,
    ordering: Ordering,
    site: &'static Location<'static>,
) -> u64 {
    let runtime = handle.get();
    let object = runtime.object(slot, ObjectKind::Atomic, initial);
    handle.visible(Op::on(OpKind::Load, Access::Read, object).ordered(order(ordering)), site);
    let runtime = handle.get();
    is_ordered(runtime, ordering);
    let raw = runtime.state(object).word;
    runtime.value = Value::Read(Bits { raw, show });
    raw
}

#[inline(always)]
fn store(
    handle: Handle,
    slot: &ObjectSlot,
    (initial, raw): (u64, u64),
    show: Show,
    ordering: Ordering,
    site: &'static Location<'static>,
) {
    let runtime = handle.get();
    let object = runtime.object(slot, ObjectKind::Atomic, initial);
    handle.visible(Op::on(OpKind::Store, Access::Write, object).ordered(order(ordering)), site);
    let runtime = handle.get();
    is_ordered(runtime, ordering);
    runtime.state(object).word = raw;
    runtime.value = Value::Wrote(Bits { raw, show });
}

/// A read-modify-write: `change` says what comes of the old word, or `None` to leave it (a failed
/// compare-exchange, which has its own ordering).
#[inline(always)]
fn update(
    handle: Handle,
    slot: &ObjectSlot,
    initial: u64,
    show: Show,
    (success, failure): (Ordering, Option<Ordering>),
    site: &'static Location<'static>,
    change: impl FnOnce(u64) -> Option<u64>,
) -> u64 {
    let runtime = handle.get();
    let object: ObjectId = runtime.object(slot, ObjectKind::Atomic, initial);
    let kind = if failure.is_some() { OpKind::CompareExchange } else { OpKind::Rmw };
    handle.visible(Op::on(kind, Access::Write, object).ordered(order(success)), site);
    let runtime = handle.get();
    // In weaker memory it may be the failure that comes.
    is_ordered(runtime, success);
    is_ordered(runtime, failure.unwrap_or(success));
    let old = runtime.state(object).word;
    match change(old) {
        Some(new) => {
            runtime.state(object).word = new;
            runtime.value = Value::Changed(Bits { raw: old, show }, Bits { raw: new, show });
        }
        None => {
            runtime.performs(Access::Read);
            runtime.performed.order = order(failure.unwrap_or(Ordering::Relaxed));
            runtime.value = Value::Read(Bits { raw: old, show });
        }
    }
    old
}

/// A weak compare-exchange that fails for no reason. It has only read.
#[cold]
fn fail_spuriously(
    handle: Handle,
    slot: &ObjectSlot,
    initial: u64,
    show: Show,
    (success, failure): (Ordering, Ordering),
    site: &'static Location<'static>,
) -> u64 {
    let runtime = handle.get();
    let object = runtime.object(slot, ObjectKind::Atomic, initial);
    handle.visible(Op::on(OpKind::CompareExchange, Access::Read, object).ordered(order(failure)), site);
    let runtime = handle.get();
    is_ordered(runtime, success);
    is_ordered(runtime, failure);
    let raw = runtime.state(object).word;
    runtime.value = Value::Read(Bits { raw, show });
    raw
}

/// Whatever all atomic types have.
macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident $(<$generic:ident>)?, $value:ty, $std:ty, $show:expr, $to:expr, $from:expr) => {
        $(#[$doc])*
        #[repr(C)]
        pub struct $name $(<$generic>)? {
            slot: ObjectSlot,
            outside: $std,
            #[allow(clippy::type_complexity)]
            not_auto: std::marker::PhantomData<UnsafeCell<$value>>,
        }

        // SAFETY: shared access is through the atomic of std outside of a check, and through the runtime,
        // which runs one thread at a time, in one.
        unsafe impl $(<$generic>)? Sync for $name $(<$generic>)? {}
        // SAFETY: an atomic owns nothing that is tied to a thread.
        unsafe impl $(<$generic>)? Send for $name $(<$generic>)? {}
        impl $(<$generic>)? RefUnwindSafe for $name $(<$generic>)? {}

        impl $(<$generic>)? $name $(<$generic>)? {
            /// A new atomic with this value.
            #[inline]
            pub const fn new(value: $value) -> Self {
                Self { slot: ObjectSlot::new(), outside: <$std>::new(value), not_auto: std::marker::PhantomData }
            }

            /// The value it was made with, as far as the current execution is concerned.
            #[inline]
            fn initial(&self) -> u64 {
                $to(self.outside.load(Ordering::Relaxed))
            }

            /// The value.
            #[inline(always)]
            #[track_caller]
            pub fn load(&self, ordering: Ordering) -> $value {
                check_ordering(ordering, Ordering::Release, "load");
                match rt::current() {
                    None => self.outside.load(ordering),
                    Some(handle) => {
                        $from(load(handle, &self.slot, self.initial(), $show, ordering, Location::caller()))
                    }
                }
            }

            /// Sets the value.
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $value, ordering: Ordering) {
                check_ordering(ordering, Ordering::Acquire, "store");
                match rt::current() {
                    None => self.outside.store(value, ordering),
                    Some(handle) => {
                        let words = (self.initial(), $to(value));
                        store(handle, &self.slot, words, $show, ordering, Location::caller());
                    }
                }
            }

            #[inline(always)]
            #[track_caller]
            fn rmw(&self, handle: Handle, ordering: Ordering, change: impl FnOnce($value) -> $value) -> $value {
                let change = |old| Some($to(change($from(old))));
                $from(update(
                    handle, &self.slot, self.initial(), $show, (ordering, None), Location::caller(), change,
                ))
            }

            /// Sets the value and returns the one before.
            #[inline(always)]
            #[track_caller]
            pub fn swap(&self, value: $value, ordering: Ordering) -> $value {
                match rt::current() {
                    None => self.outside.swap(value, ordering),
                    Some(handle) => self.rmw(handle, ordering, |_| value),
                }
            }

            /// Sets the value if it is `current`; returns the one before, as `Ok` if it was set.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                check_ordering(failure, Ordering::Release, "failure ordering");
                let Some(handle) = rt::current() else {
                    return self.outside.compare_exchange(current, new, success, failure);
                };
                let expected = $to(current);
                let change = |old| (old == expected).then(|| $to(new));
                let old = update(
                    handle, &self.slot, self.initial(), $show, (success, Some(failure)), Location::caller(), change,
                );
                if old == expected { Ok($from(old)) } else { Err($from(old)) }
            }

            /// As [`compare_exchange`](Self::compare_exchange). In a check it fails spuriously only as often as
            /// [that is asked for](crate::Checker::spurious).
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let Some(handle) = rt::current() else {
                    return self.outside.compare_exchange_weak(current, new, success, failure);
                };
                check_ordering(failure, Ordering::Release, "failure ordering");
                let site = Location::caller();
                let surprise = handle.decides(Spurious::Failure, site);
                if surprise == Surprise::Yes {
                    let orders = (success, failure);
                    let found = fail_spuriously(handle, &self.slot, self.initial(), $show, orders, site);
                    return Err($from(found));
                }
                let result = self.compare_exchange(current, new, success, failure);
                if result.is_ok() && surprise == Surprise::Never {
                    handle.get().leaves_out(Spurious::Failure);
                }
                result
            }

            /// Sets the value if it is `current`; returns the one before.
            #[inline(always)]
            #[track_caller]
            #[deprecated(note = "use `compare_exchange` or `compare_exchange_weak` instead")]
            pub fn compare_and_swap(&self, current: $value, new: $value, ordering: Ordering) -> $value {
                let failure = match ordering {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    other => other,
                };
                self.compare_exchange(current, new, ordering, failure).unwrap_or_else(|old| old)
            }

            /// Loads the value and tries to replace it by what `change` makes of it, again and again until
            /// nobody came between, or `change` says `None`.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut change: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let mut before = self.load(fetch_order);
                while let Some(next) = change(before) {
                    match self.compare_exchange_weak(before, next, set_order, fetch_order) {
                        Ok(before) => return Ok(before),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }

            /// As [`fetch_update`](Self::fetch_update).
            #[track_caller]
            pub fn try_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                change: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                self.fetch_update(set_order, fetch_order, change)
            }

            /// As [`fetch_update`](Self::fetch_update), for a change that is always made.
            #[track_caller]
            pub fn update<F>(&self, set_order: Ordering, fetch_order: Ordering, mut change: F) -> $value
            where
                F: FnMut($value) -> $value,
            {
                match self.fetch_update(set_order, fetch_order, |value| Some(change(value))) {
                    Ok(before) | Err(before) => before,
                }
            }

            /// Brings the value that the execution has given it home, and forgets which object it was.
            fn settle(&mut self) {
                if let Some(handle) = rt::current() {
                    let runtime = handle.get();
                    if let Some(object) = self.slot.get(runtime.stamp) {
                        *self.outside.get_mut() = $from(runtime.state(object).word);
                        self.slot.clear();
                    }
                }
            }

            /// The value, which nobody else can have.
            pub fn get_mut(&mut self) -> &mut $value {
                self.settle();
                self.outside.get_mut()
            }

            /// Gives the value, which nobody else can have, to `change`.
            pub fn with_mut<R>(&mut self, change: impl FnOnce(&mut $value) -> R) -> R {
                change(self.get_mut())
            }

            /// The value, read as by a load that is relaxed. In a check a store by another thread that is not ordered
            /// before or after it is a data race.
            ///
            /// # Safety
            /// No other thread may store meanwhile.
            #[inline(always)]
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                let value = self.load(Ordering::Relaxed);
                if let Some(handle) = rt::current() {
                    let runtime = handle.get();
                    if let Some(object) = self.slot.get(runtime.stamp) {
                        runtime.event(LocalEvent::Unsync(object, rt::site_of(Some(Location::caller()))));
                    }
                }
                value
            }

            /// Takes the value out.
            pub fn into_inner(mut self) -> $value {
                self.settle();
                self.outside.into_inner()
            }

            /// A pointer to the value. In a check, what is done through it is not seen by other operations.
            pub fn as_ptr(&self) -> *mut $value {
                self.outside.as_ptr()
            }
        }

        impl $(<$generic>)? From<$value> for $name $(<$generic>)? {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl $(<$generic>)? fmt::Debug for $name $(<$generic>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.load(Ordering::Relaxed).fmt(f)
            }
        }
    };
}

macro_rules! fetch {
    ($($(#[$doc:meta])* $method:ident($value:ty) = $change:expr;)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            #[track_caller]
            pub fn $method(&self, value: $value, ordering: Ordering) -> $value {
                match rt::current() {
                    None => self.outside.$method(value, ordering),
                    Some(handle) => self.rmw(handle, ordering, |old| $change(old, value)),
                }
            }
        )*
    };
}

macro_rules! integer {
    ($name:ident, $value:ident, $show:expr) => {
        atomic! {
            #[doc = concat!("An atomic `", stringify!($value), "`, as [`std::sync::atomic::", stringify!($name), "`].")]
            ///
            /// ```
            #[doc = concat!("use selvedge::sync::atomic::{", stringify!($name), ", Ordering};")]
            ///
            #[doc = concat!("let counter = ", stringify!($name), "::new(1);")]
            /// assert_eq!(counter.fetch_add(2, Ordering::SeqCst), 1);
            /// assert_eq!(counter.load(Ordering::SeqCst), 3);
            /// ```
            $name, $value, std::sync::atomic::$name, $show, |value: $value| value as u64, |raw: u64| raw as $value
        }

        impl $name {
            fetch! {
                /// Adds, wrapping around, and returns the value before.
                fetch_add($value) = $value::wrapping_add;
                /// Subtracts, wrapping around, and returns the value before.
                fetch_sub($value) = $value::wrapping_sub;
                /// Takes the bitwise and, and returns the value before.
                fetch_and($value) = |old: $value, value: $value| old & value;
                /// Takes the bitwise and, inverted, and returns the value before.
                fetch_nand($value) = |old: $value, value: $value| !(old & value);
                /// Takes the bitwise or, and returns the value before.
                fetch_or($value) = |old: $value, value: $value| old | value;
                /// Takes the bitwise exclusive or, and returns the value before.
                fetch_xor($value) = |old: $value, value: $value| old ^ value;
                /// Takes the greater of the two, and returns the value before.
                fetch_max($value) = Ord::max;
                /// Takes the lesser of the two, and returns the value before.
                fetch_min($value) = Ord::min;
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }
    };
}

integer!(AtomicI8, i8, Show::Signed);
integer!(AtomicI16, i16, Show::Signed);
integer!(AtomicI32, i32, Show::Signed);
integer!(AtomicI64, i64, Show::Signed);
integer!(AtomicIsize, isize, Show::Signed);
integer!(AtomicU8, u8, Show::Unsigned);
integer!(AtomicU16, u16, Show::Unsigned);
integer!(AtomicU32, u32, Show::Unsigned);
integer!(AtomicU64, u64, Show::Unsigned);
integer!(AtomicUsize, usize, Show::Unsigned);

atomic! {
    /// An atomic `bool`, as [`std::sync::atomic::AtomicBool`].
    AtomicBool, bool, std::sync::atomic::AtomicBool, Show::Bool, u64::from, |raw: u64| raw != 0
}

impl AtomicBool {
    fetch! {
        /// Takes the logical and, and returns the value before.
        fetch_and(bool) = |old: bool, value: bool| old & value;
        /// Takes the logical and, inverted, and returns the value before.
        fetch_nand(bool) = |old: bool, value: bool| !(old & value);
        /// Takes the logical or, and returns the value before.
        fetch_or(bool) = |old: bool, value: bool| old | value;
        /// Takes the logical exclusive or, and returns the value before.
        fetch_xor(bool) = |old: bool, value: bool| old ^ value;
    }

    /// Inverts the value, and returns the one before.
    #[track_caller]
    pub fn fetch_not(&self, ordering: Ordering) -> bool {
        self.fetch_xor(true, ordering)
    }
}

impl Default for AtomicBool {
    fn default() -> Self {
        Self::new(false)
    }
}

atomic! {
    /// An atomic pointer, as [`std::sync::atomic::AtomicPtr`].
    AtomicPtr<T>, *mut T, std::sync::atomic::AtomicPtr<T>, Show::Pointer,
    |pointer: *mut T| pointer.expose_provenance() as u64,
    |raw: u64| std::ptr::with_exposed_provenance_mut(raw as usize)
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f)
    }
}

//! [`Once`].

use std::fmt;
use std::panic::Location;

use selvedge_core::{Access, ObjectId, Op, OpKind};

use crate::rt::{self, Gate, Handle, ObjectKind, ObjectSlot, Phase, Value};

/// The object's word: a closure runs, a closure has panicked, a closure has returned; or 0.
pub(super) const RUNNING: u64 = 1;
const POISONED: u64 = 2;
pub(super) const DONE: u64 = 4;

/// Runs a closure once, as [`std::sync::Once`]. In a check it begins every execution in the state that it
/// has outside, so one in a `static` runs its closure once in each.
///
/// ```
/// use selvedge::sync::Once;
/// use selvedge::sync::atomic::{AtomicU32, Ordering};
///
/// static ONCE: Once = Once::new();
/// static RUNS: AtomicU32 = AtomicU32::new(0);
///
/// selvedge::check(|| {
///     let other = selvedge::thread::spawn(|| ONCE.call_once(|| _ = RUNS.fetch_add(1, Ordering::Relaxed)));
///     ONCE.call_once(|| _ = RUNS.fetch_add(1, Ordering::Relaxed));
///     assert_eq!(RUNS.load(Ordering::Relaxed), 1);
///     other.join().unwrap();
/// });
/// ```
pub struct Once {
    pub(super) slot: ObjectSlot,
    pub(super) outside: std::sync::Once,
}

/// What a closure of [`Once::call_once_force`] is told; as [`std::sync::OnceState`].
pub struct OnceState {
    poisoned: bool,
}

/// How entering went.
pub(super) enum Entry {
    Done,
    Poisoned,
    /// The closure is the caller's to run.
    Entered(Running),
}

/// The running thread runs the closure. Unless it is completed, it is poisoned.
pub(super) struct Running {
    handle: Handle,
    object: ObjectId,
    site: &'static Location<'static>,
    poisoned: bool,
}

impl Once {
    /// One whose closure has not run.
    #[inline]
    pub const fn new() -> Self {
        Once { slot: ObjectSlot::new(), outside: std::sync::Once::new() }
    }

    /// The object, done from the start if it is done outside.
    pub(super) fn object(&self, handle: Handle) -> ObjectId {
        let initial = if self.outside.is_completed() { DONE } else { 0 };
        handle.get().object(&self.slot, ObjectKind::Once, initial)
    }

    /// Runs the closure unless one has run before; waits if one is running.
    ///
    /// # Panics
    /// When a closure has panicked before.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        let Some(handle) = rt::current() else { return self.outside.call_once(f) };
        let object = self.object(handle);
        match enter(handle, object, false, Location::caller()) {
            Entry::Done => {}
            Entry::Poisoned => panic!("Once instance has previously been poisoned"),
            Entry::Entered(running) => {
                f();
                running.complete();
            }
        }
    }

    /// As [`call_once`](Once::call_once), but runs the closure even when one has panicked before.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let Some(handle) = rt::current() else {
            return self.outside.call_once_force(|state| f(&OnceState { poisoned: state.is_poisoned() }));
        };
        let object = self.object(handle);
        if let Entry::Entered(running) = enter(handle, object, true, Location::caller()) {
            f(&OnceState { poisoned: running.poisoned });
            running.complete();
        }
    }

    /// Whether a closure has run, and returned.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        match rt::current() {
            None => self.outside.is_completed(),
            Some(handle) => is_done(handle, self.object(handle), Location::caller()),
        }
    }

    /// Waits until a closure has run.
    ///
    /// # Panics
    /// When a closure has panicked, and none has run since.
    #[track_caller]
    pub fn wait(&self) {
        let Some(handle) = rt::current() else { return self.outside.wait() };
        let object = self.object(handle);
        wait(handle, object, DONE | POISONED, Location::caller());
        if handle.get().state(object).word & POISONED != 0 {
            panic!("Once instance has previously been poisoned");
        }
    }

    /// Waits until a closure has run, even when one has panicked before.
    #[track_caller]
    pub fn wait_force(&self) {
        match rt::current() {
            None => self.outside.wait_force(),
            Some(handle) => wait(handle, self.object(handle), DONE, Location::caller()),
        }
    }
}

/// Enters, once nobody is inside.
pub(super) fn enter(
    handle: Handle,
    object: ObjectId,
    force: bool,
    site: &'static Location<'static>,
) -> Entry {
    // What is done stays done.
    let done = handle.get().state(object).word & DONE != 0;
    let access = if done { Access::Read } else { Access::Write };
    handle.visible_when(Op::on(OpKind::OnceEnter, access, object), Gate::clear(object, RUNNING), site);
    let runtime = handle.get();
    let current = runtime.current;
    let state = runtime.state(object);
    let word = state.word;
    if word & DONE != 0 {
        runtime.performs(Access::Read);
        runtime.value = Value::Note("it is done");
        return Entry::Done;
    }
    let poisoned = word & POISONED != 0;
    if poisoned && !force {
        runtime.performs(Access::Read);
        runtime.value = Value::Note("it is poisoned");
        return Entry::Poisoned;
    }
    state.holder = Some(current);
    runtime.set_word(object, RUNNING);
    Entry::Entered(Running { handle, object, site, poisoned })
}

/// Asks whether it is done.
pub(super) fn is_done(handle: Handle, object: ObjectId, site: &'static Location<'static>) -> bool {
    handle.visible(Op::on(OpKind::OnceEnter, Access::Read, object), site);
    let runtime = handle.get();
    let done = runtime.state(object).word & DONE != 0;
    runtime.value = Value::Note(if done { "it is done" } else { "it is not done" });
    done
}

/// Waits until one of the bits is set.
pub(super) fn wait(handle: Handle, object: ObjectId, bits: u64, site: &'static Location<'static>) {
    handle.visible_when(Op::on(OpKind::OnceEnter, Access::Read, object), Gate::set(object, bits), site);
}

impl Running {
    /// The closure has returned.
    pub(super) fn complete(self) {
        self.handle.visible(Op::on(OpKind::OnceLeave, Access::Write, self.object), self.site);
        self.leave(DONE);
        std::mem::forget(self);
    }

    fn leave(&self, word: u64) {
        let runtime = self.handle.get();
        runtime.state(self.object).holder = None;
        runtime.set_word(self.object, word);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.handle.get().phase == Phase::Running {
            self.handle.visible(Op::on(OpKind::OnceLeave, Access::Write, self.object), self.site);
        }
        let runtime = self.handle.get();
        if runtime.phase == Phase::Running {
            runtime.value = Value::Note("poisoned by a panic");
            self.leave(POISONED);
        } else {
            self.leave(0);
        }
    }
}

impl OnceState {
    /// Whether a closure has panicked before.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl Default for Once {
    fn default() -> Self {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.is_poisoned()).finish()
    }
}

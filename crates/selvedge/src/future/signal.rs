//! What is behind a waker: a flag that one thread waits for.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Wake;

use selvedge_core::{Access, MemoryOrder, ObjectId, Op, OpKind, ThreadId};
use selvedge_stateless::LocalEvent;

use crate::rt::{self, Gate, Handle, ObjectKind, Phase};

/// Set by a wake, cleared by the thread that waits for it.
pub(super) struct Signal(Inner);

enum Inner {
    InCheck(InCheck),
    /// Not a thread's park token: that belongs to the program.
    Outside(Mutex<bool>, Condvar),
}

struct InCheck {
    /// The execution, and the object that stands for the waker in it: its word is 1 while it is woken.
    stamp: u64,
    waker: ObjectId,
    /// Where the future is run: a wake has no place of its own.
    site: &'static Location<'static>,
    /// The thread that waits.
    owner: AtomicU32,
    /// The owner woke itself.
    yields: AtomicBool,
}

impl Signal {
    pub(super) fn new(site: &'static Location<'static>, woken: bool) -> Self {
        Signal(match rt::current() {
            None => Inner::Outside(Mutex::new(woken), Condvar::new()),
            Some(handle) => {
                let runtime = handle.get();
                Inner::InCheck(InCheck {
                    stamp: runtime.stamp,
                    waker: runtime.new_object(ObjectKind::Waker, woken.into()),
                    site,
                    owner: AtomicU32::new(runtime.current.0),
                    yields: AtomicBool::new(false),
                })
            }
        })
    }

    /// Says which thread will wait.
    pub(super) fn owned_by_this_thread(&self) {
        if let Inner::InCheck(inner) = &self.0
            && let Some(handle) = rt::current()
        {
            inner.owner.store(handle.get().current.0, Ordering::Relaxed);
        }
    }

    /// Wakes whoever waits, in one step with another effect, which it will see.
    pub(super) fn wake_with(&self, effect: impl FnOnce()) {
        match &self.0 {
            Inner::InCheck(inner) => {
                if let Some(handle) = inner.handle() {
                    inner.wake(handle);
                    effect();
                }
            }
            Inner::Outside(woken, changed) => {
                effect();
                *woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
                changed.notify_one();
            }
        }
    }

    /// Waits for a wake, and clears it.
    pub(super) fn wait(&self) {
        match &self.0 {
            Inner::InCheck(inner) => match inner.handle() {
                Some(handle) => inner.wait(handle),
                None => panic!("a future of a check is polled outside of it, where nobody can wake it"),
            },
            Inner::Outside(woken, changed) => {
                let woken = woken.lock().unwrap_or_else(PoisonError::into_inner);
                let mut woken =
                    changed.wait_while(woken, |woken| !*woken).unwrap_or_else(PoisonError::into_inner);
                *woken = false;
            }
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_with(|| ());
    }
}

impl InCheck {
    /// The runtime, if it still runs the execution that this belongs to.
    fn handle(&self) -> Option<Handle> {
        rt::current().filter(|handle| handle.get().stamp == self.stamp)
    }

    fn wait(&self, handle: Handle) {
        if self.yields.swap(false, Ordering::Relaxed) {
            handle.visible(Op::on(OpKind::Yield, Access::Write, self.waker), self.site);
            // Others may have woken it too.
            handle.get().event(LocalEvent::Acquire(self.waker));
        } else {
            let op = Op::on(OpKind::Park, Access::Write, self.waker).ordered(MemoryOrder::Acquire);
            handle.visible_when(op, Gate::set(self.waker, 1), self.site);
        }
        handle.get().set_word(self.waker, 0);
    }

    fn wake(&self, handle: Handle) {
        let runtime = handle.get();
        if runtime.current == ThreadId(self.owner.load(Ordering::Relaxed)) && runtime.phase == Phase::Running
        {
            // Nobody else can tell when: it only says that the next wait will not be one.
            self.yields.store(true, Ordering::Relaxed);
            return;
        }
        handle.visible(Op::on(OpKind::Unpark, Access::Write, self.waker), self.site);
        handle.get().set_word(self.waker, 1);
    }
}

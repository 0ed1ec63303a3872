//! Handles to threads.

use std::cell::UnsafeCell;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use selvedge_core::{Access, Op, OpKind, ThreadId as Index};

use crate::rt::{self, Gate, Handle, Value};

/// What a thread of a check leaves behind for whoever joins it.
pub(super) struct Packet<T> {
    result: UnsafeCell<Option<std::thread::Result<T>>>,
    /// The execution in which alone the result, which need not be `Send`, may be dropped.
    home: Option<u64>,
}

// SAFETY: the thread writes it before it ends and whoever joins reads it after that, once; both run on one
// OS thread.
unsafe impl<T> Send for Packet<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Packet<T> {}

impl<T> Packet<T> {
    pub(super) fn new(home: Option<u64>) -> Arc<Self> {
        Arc::new(Packet { result: UnsafeCell::new(None), home })
    }

    pub(super) fn put(&self, result: std::thread::Result<T>) {
        // SAFETY: only the thread itself puts, before anybody takes.
        unsafe { *self.result.get() = Some(result) };
    }

    fn take(&self) -> Option<std::thread::Result<T>> {
        // SAFETY: only the one handle takes, after the thread has ended.
        unsafe { (*self.result.get()).take() }
    }
}

impl<T> Drop for Packet<T> {
    fn drop(&mut self) {
        if self.home.is_some() && self.home != rt::stamp() {
            std::mem::forget(self.result.get_mut().take());
        }
    }
}

/// A thread of a check, as seen by a handle to it.
pub(super) struct Joinable<T> {
    pub(super) handle: Handle,
    pub(super) index: Index,
    pub(super) packet: Arc<Packet<T>>,
    /// The execution that it belongs to.
    pub(super) stamp: u64,
    /// Made when somebody asks for it.
    pub(super) thread: OnceLock<Thread>,
}

// SAFETY: a handle may move to, and be shared with, other threads of its check, which all run on one OS
// thread; using it elsewhere is an error that `live` reports.
unsafe impl<T> Send for Joinable<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Joinable<T> {}

impl<T> Joinable<T> {
    /// Makes sure that the runtime is there, and in the execution that the thread belongs to.
    #[track_caller]
    fn live(&self) {
        assert!(
            rt::current().is_some_and(|handle| handle.get().stamp == self.stamp),
            "a thread of a check can be waited for only in the execution that created it"
        );
    }

    pub(super) fn thread(&self) -> &Thread {
        self.thread.get_or_init(|| match rt::current() {
            Some(handle) if handle.get().stamp == self.stamp => Thread::in_check(handle, self.index),
            // Its execution is over, and its name is gone with it.
            _ => Thread(Who::InCheck { stamp: self.stamp, index: self.index, name: None }),
        })
    }

    #[track_caller]
    pub(super) fn wait(&self, site: &'static Location<'static>) {
        self.live();
        let object = self.handle.get().threads[self.index.index()].object;
        self.handle.visible_when(
            Op::on(OpKind::Join, Access::Read, object),
            Gate::set(object, rt::ENDED),
            site,
        );
    }

    #[track_caller]
    pub(super) fn join(self, site: &'static Location<'static>) -> std::thread::Result<T> {
        self.wait(site);
        self.packet.take().expect("a thread that has ended has left its result")
    }

    #[track_caller]
    pub(super) fn is_finished(&self, site: &'static Location<'static>) -> bool {
        self.live();
        let object = self.handle.get().threads[self.index.index()].object;
        self.handle.visible(Op::on(OpKind::IsFinished, Access::Read, object), site);
        let runtime = self.handle.get();
        let ended = runtime.state(object).word != 0;
        runtime.value = Value::Note(if ended { "yes" } else { "no" });
        ended
    }
}

/// A handle to a thread, to wait for its end; as [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(pub(super) Inner<T>);

pub(super) enum Inner<T> {
    Outside(std::thread::JoinHandle<T>, Thread),
    InCheck(Joinable<T>),
}

impl<T> JoinHandle<T> {
    /// The thread.
    pub fn thread(&self) -> &Thread {
        match &self.0 {
            Inner::Outside(_, thread) => thread,
            Inner::InCheck(joinable) => joinable.thread(),
        }
    }

    /// Waits for the thread to end, and returns its result, or its panic.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        match self.0 {
            Inner::Outside(handle, _) => handle.join(),
            Inner::InCheck(joinable) => joinable.join(Location::caller()),
        }
    }

    /// Whether the thread's closure has returned. The destructors of its thread-local variables need not have run.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Inner::Outside(handle, _) => handle.is_finished(),
            Inner::InCheck(joinable) => joinable.is_finished(Location::caller()),
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// A thread, as [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(Who);

#[derive(Clone)]
enum Who {
    Outside(std::thread::Thread),
    InCheck { stamp: u64, index: Index, name: Option<Arc<str>> },
}

impl Thread {
    pub(super) fn outside(thread: std::thread::Thread) -> Self {
        Thread(Who::Outside(thread))
    }

    pub(super) fn in_check(handle: Handle, index: Index) -> Self {
        let runtime = handle.get();
        let name = match (&runtime.threads[index.index()].name, index.0) {
            (Some(name), _) => Some(Arc::from(name.as_str())),
            (None, 0) => Some(Arc::from("main")),
            (None, _) => None,
        };
        Thread(Who::InCheck { stamp: runtime.stamp, index, name })
    }

    /// Its identifier, which no other thread has.
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.0 {
            Who::Outside(thread) => Id::Outside(thread.id()),
            Who::InCheck { stamp, index, .. } => Id::InCheck(*stamp, *index),
        })
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Who::Outside(thread) => thread.name(),
            Who::InCheck { name, .. } => name.as_deref(),
        }
    }

    /// Lets the thread go on from, or not stop at, [`park`](super::park()).
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Who::Outside(thread) => thread.unpark(),
            Who::InCheck { stamp, index, .. } => {
                if let Some(handle) = rt::current()
                    && handle.get().stamp == *stamp
                {
                    super::park::unpark(handle, *index, Location::caller());
                }
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The identifier of a thread, as [`std::thread::ThreadId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(Id);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Id {
    Outside(std::thread::ThreadId),
    InCheck(u64, Index),
}

/// The current thread, as [`std::thread::current`].
pub fn current() -> Thread {
    match rt::current() {
        None => Thread::outside(std::thread::current()),
        Some(handle) => Thread::in_check(handle, handle.get().current),
    }
}

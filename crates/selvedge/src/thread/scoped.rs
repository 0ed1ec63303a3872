//! Threads that may borrow from their creator.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use selvedge_core::{Access, Op, OpKind, ThreadId};

use super::builder::Builder;
use super::handle::{Inner, Joinable, Thread};
use crate::rt::{self, Gate, Handle};

/// A scope in which threads may be created that borrow from outside of it; as [`std::thread::Scope`].
#[expect(explicit_outlives_requirements, reason = "the bound that std states")]
pub struct Scope<'scope, 'env: 'scope> {
    kind: ScopeKind<'scope, 'env>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

enum ScopeKind<'scope, 'env> {
    Outside(&'scope std::thread::Scope<'scope, 'env>),
    InCheck(ScopeInCheck),
}

struct ScopeInCheck {
    handle: Handle,
    /// The threads that nobody has joined yet, and whether one of them has panicked.
    threads: RefCell<Vec<(ThreadId, std::sync::Arc<std::sync::atomic::AtomicBool>)>>,
}

// SAFETY: a scope is shared among threads of its check, which run on one OS thread, one at a time; the cell
// is not borrowed across a scheduling point.
unsafe impl Sync for ScopeInCheck {}
// SAFETY: as above.
unsafe impl Send for ScopeInCheck {}

/// A handle to a thread of a scope, as [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T>(ScopedInner<'scope, T>);

enum ScopedInner<'scope, T> {
    Outside(std::thread::ScopedJoinHandle<'scope, T>, Thread),
    InCheck(Joinable<T>, std::sync::Arc<std::sync::atomic::AtomicBool>),
}

/// Where a scope outside of a check lives while its threads run.
struct Place(*mut ());

/// Creates a scope for threads that borrow, and waits at its end until the closures of all of them have returned; as
/// [`std::thread::scope`]. The destructors of their thread-local variables may run later.
///
/// ```
/// use selvedge::sync::atomic::{AtomicUsize, Ordering};
///
/// selvedge::check(|| {
///     let hits = AtomicUsize::new(0);
///     selvedge::thread::scope(|scope| {
///         scope.spawn(|| hits.fetch_add(1, Ordering::Relaxed));
///         scope.spawn(|| hits.fetch_add(1, Ordering::Relaxed));
///     });
///     assert_eq!(hits.into_inner(), 2);
/// });
/// ```
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let site = Location::caller();
    let Some(handle) = rt::current() else {
        let mut place = MaybeUninit::<Scope<'static, 'static>>::uninit();
        let place = Place(place.as_mut_ptr().cast::<()>());
        return std::thread::scope(|scope| {
            let place = place.0.cast::<Scope<'_, 'env>>();
            let scope = Scope { kind: ScopeKind::Outside(scope), scope: PhantomData, env: PhantomData };
            // SAFETY: the place is on the frame around `std::thread::scope`, which waits for every thread
            // that may use it; lifetimes do not change the layout; and there is nothing to drop.
            f(unsafe {
                place.write(scope);
                &*place
            })
        });
    };
    let inner = ScopeInCheck { handle, threads: RefCell::default() };
    let scope = Scope { kind: ScopeKind::InCheck(inner), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let ScopeKind::InCheck(inner) = &scope.kind else { unreachable!("made above") };
    let panicked = inner.join_all(site);
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

impl ScopeInCheck {
    /// Waits for the threads that nobody has joined. Says whether one of them panicked.
    fn join_all(&self, site: &'static Location<'static>) -> bool {
        let mut panicked = false;
        loop {
            let Some((thread, failed)) = self.threads.borrow_mut().pop() else { return panicked };
            let object = self.handle.get().threads[thread.index()].object;
            let op = Op::on(OpKind::Join, Access::Read, object);
            self.handle.visible_when(op, Gate::set(object, rt::RETURNED | rt::ENDED), site);
            panicked |= failed.load(std::sync::atomic::Ordering::Relaxed);
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Creates a thread within the scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f).expect("failed to spawn thread")
    }
}

impl Builder {
    /// Creates a thread within a scope.
    ///
    /// # Errors
    /// When the operating system cannot; never in a check.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> std::io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        match &scope.kind {
            ScopeKind::Outside(outside) => {
                let handle = self.std().spawn_scoped(outside, f)?;
                let thread = Thread::outside(handle.thread().clone());
                Ok(ScopedJoinHandle(ScopedInner::Outside(handle, thread)))
            }
            ScopeKind::InCheck(inner) => {
                let failed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
                let done = failed.clone();
                let body = move || {
                    let value = f();
                    done.store(false, std::sync::atomic::Ordering::Relaxed);
                    value
                };
                // SAFETY: `scope` waits for every thread before it returns, and a torn-down execution unwinds
                // children first.
                let Inner::InCheck(joinable) = (unsafe { self.spawn_unchecked(body) })? else {
                    unreachable!("the scope was made in a check")
                };
                inner.threads.borrow_mut().push((joinable.index, failed.clone()));
                Ok(ScopedJoinHandle(ScopedInner::InCheck(joinable, failed)))
            }
        }
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// The thread.
    pub fn thread(&self) -> &Thread {
        match &self.0 {
            ScopedInner::Outside(_, thread) => thread,
            ScopedInner::InCheck(joinable, _) => joinable.thread(),
        }
    }

    /// Waits for the thread to end, and returns its result, or its panic.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        match self.0 {
            ScopedInner::Outside(handle, _) => handle.join(),
            ScopedInner::InCheck(joinable, failed) => {
                let result = joinable.join(Location::caller());
                // Whoever joins a thread deals with its panic.
                failed.store(false, std::sync::atomic::Ordering::Relaxed);
                result
            }
        }
    }

    /// Whether the thread's closure has returned. The destructors of its thread-local variables need not have run.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            ScopedInner::Outside(handle, _) => handle.is_finished(),
            ScopedInner::InCheck(joinable, _) => joinable.is_finished(Location::caller()),
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

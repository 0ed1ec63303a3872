//! Tasks: futures that run on threads of their own.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use selvedge_core::{Access, Op, OpKind};
use selvedge_stateless::LocalEvent;

use super::drive;
use super::signal::Signal;
use crate::rt::{self, ObjectKind, ObjectSlot, Value};

/// A task, as seen by itself and by its handle.
struct Task<T> {
    /// Stands for the outcome.
    slot: ObjectSlot,
    /// What the task waits for: woken from the beginning, so that its first poll is a step of its own, which
    /// an abort may come before.
    signal: Arc<Signal>,
    site: &'static Location<'static>,
    /// Only locked for a moment, never across a scheduling point or code of the program.
    state: Mutex<State<T>>,
}

struct State<T> {
    aborted: bool,
    finished: bool,
    outcome: Option<Result<T, JoinError>>,
    /// Who polled the handle last.
    waiter: Option<Waker>,
}

/// A handle to a task: a future that is ready when the task is done. Dropping it leaves the task alone.
///
/// ```
/// selvedge::check(|| {
///     let task = selvedge::future::spawn(async { 42 });
///     assert_eq!(selvedge::future::block_on(task).unwrap(), 42);
/// });
/// ```
pub struct JoinHandle<T>(Arc<Task<T>>);

/// Why a task has no output: it was aborted, or it panicked.
///
/// ```
/// selvedge::check(|| {
///     let task = selvedge::future::spawn(std::future::pending::<()>());
///     task.abort();
///     let error = selvedge::future::block_on(task).unwrap_err();
///     assert!(error.is_cancelled() && !error.is_panic());
///     assert_eq!(error.to_string(), "task was cancelled");
/// });
/// ```
pub struct JoinError(Option<Mutex<Box<dyn Any + Send>>>);

/// Runs a future as a task. In a check it is a thread of the check; elsewhere it has a thread of std.
///
/// A panic of the task is a violation, unless
/// [`allow_thread_panics`](crate::Checker::allow_thread_panics) lets whoever awaits the handle have it.
///
/// ```
/// use selvedge::future::{block_on, spawn};
///
/// selvedge::check(|| {
///     let sum = block_on(async {
///         let (left, right) = (spawn(async { 1 }), spawn(async { 2 }));
///         left.await.unwrap() + right.await.unwrap()
///     });
///     assert_eq!(sum, 3);
/// });
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let site = Location::caller();
    let task = Arc::new(Task {
        slot: ObjectSlot::new(),
        signal: Arc::new(Signal::new(site, true)),
        site,
        state: Mutex::new(State { aborted: false, finished: false, outcome: None, waiter: None }),
    });
    let runner = task.clone();
    // The handle to the thread is not needed: whoever waits for the task asks for its outcome.
    drop(crate::thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| runner.run(future)));
        runner.complete(outcome.map_or_else(caught, |output| output.ok_or(JoinError(None))));
    }));
    JoinHandle(task)
}

/// What a panic of a task makes of it, if it does not end the execution.
fn caught<T>(payload: Box<dyn Any + Send>) -> Result<T, JoinError> {
    if let Some(handle) = rt::current() {
        let runtime = handle.get();
        if rt::is_teardown(payload.as_ref()) || !runtime.options.allow_thread_panics {
            resume_unwind(payload);
        }
        runtime.threads[runtime.current.index()].panicked = false;
    }
    Err(JoinError(Some(Mutex::new(payload))))
}

impl<T> Task<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the future to its end; `None` if it was aborted.
    fn run(&self, future: impl Future<Output = T>) -> Option<T> {
        let aborted = || self.lock().aborted;
        self.signal.owned_by_this_thread();
        self.signal.wait();
        if aborted() {
            return None;
        }
        drive(future, &self.signal, aborted)
    }

    fn complete(&self, outcome: Result<T, JoinError>) {
        if let Some(handle) = rt::current() {
            let task = handle.get().object(&self.slot, ObjectKind::Task, 0);
            handle.visible(Op::on(OpKind::Unpark, Access::Write, task), self.site);
        }
        let mut state = self.lock();
        state.finished = true;
        state.outcome = Some(outcome);
        let waiter = state.waiter.take();
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Asks whether the task is done, as a step; `waiter` is to be woken if it is not.
    fn ask(&self, waiter: Option<Waker>, site: &'static Location<'static>) -> bool {
        let Some(handle) = rt::current() else {
            return self.look(waiter);
        };
        let access = if waiter.is_some() { Access::Write } else { Access::Read };
        let task = handle.get().object(&self.slot, ObjectKind::Task, 0);
        handle.visible(Op::on(OpKind::IsFinished, access, task), site);
        let finished = self.lock().finished;
        let runtime = handle.get();
        runtime.value = Value::Note(if finished { "yes" } else { "no" });
        if finished {
            runtime.performs(Access::Read);
            runtime.event(LocalEvent::Acquire(task));
        }
        // Last, because dropping a waker may run code of the program.
        self.look(waiter)
    }

    fn look(&self, waiter: Option<Waker>) -> bool {
        let mut state = self.lock();
        let finished = state.finished;
        let unused = match waiter {
            Some(waiter) if !finished => state.waiter.replace(waiter),
            other => other,
        };
        drop(state);
        drop(unused);
        finished
    }
}

impl<T> JoinHandle<T> {
    /// Has the task cancelled the next time it is pending, or before its first poll. One that is done, or
    /// gets done first, has its output all the same.
    ///
    /// ```
    /// selvedge::check(|| {
    ///     let task = selvedge::future::spawn(async { 1 });
    ///     task.abort();
    ///     match selvedge::future::block_on(task) {
    ///         Ok(output) => assert_eq!(output, 1), // it was faster
    ///         Err(error) => assert!(error.is_cancelled()),
    ///     }
    /// });
    /// ```
    pub fn abort(&self) {
        self.0.signal.wake_with(|| self.0.lock().aborted = true);
    }

    /// Whether the task is done.
    ///
    /// ```
    /// selvedge::check(|| {
    ///     let task = selvedge::future::spawn(async {});
    ///     while !task.is_finished() {
    ///         selvedge::thread::yield_now();
    ///     }
    /// });
    /// ```
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.ask(None, Location::caller())
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.0.ask(Some(context.waker().clone()), Location::caller()) {
            return Poll::Pending;
        }
        let outcome = self.0.lock().outcome.take();
        Poll::Ready(outcome.expect("a task's handle is not polled again after it was ready"))
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl JoinError {
    /// Whether the task was aborted.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the task panicked.
    pub fn is_panic(&self) -> bool {
        self.0.is_some()
    }

    /// The panic.
    ///
    /// # Panics
    /// When the task did not.
    ///
    /// ```
    /// let task = selvedge::future::spawn(async { panic!("oh") });
    /// let error = selvedge::future::block_on(task).unwrap_err();
    /// assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "oh");
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        self.try_into_panic().expect("a task that panicked")
    }

    /// The panic.
    ///
    /// # Errors
    /// The same, when the task did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, JoinError> {
        match self.0 {
            Some(payload) => Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner)),
            None => Err(self),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cancelled() { "JoinError::Cancelled" } else { "JoinError::Panic(..)" })
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cancelled() { "task was cancelled" } else { "task panicked" })
    }
}

impl std::error::Error for JoinError {}

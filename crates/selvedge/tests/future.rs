//! Futures under a check, and the same bodies outside of one.

mod common;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

use common::{outcomes, violation};
use selvedge::future::{JoinHandle, block_on, spawn, yield_now};
use selvedge::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use selvedge::sync::{Arc, Mutex, mpsc};
use selvedge::{Checker, Strategy, ViolationKind, thread};

/// Runs a body outside of a check, and in one.
fn both(body: fn()) {
    body();
    selvedge::check(body);
}

/// A flag that can be awaited: the waker and the flag are under one lock.
#[derive(Clone, Default)]
struct Event(Arc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    fn set(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        let waker = state.1.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Future for Event {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Whichever of two futures is ready first.
async fn select<A: Future + Unpin, B: Future + Unpin>(mut a: A, mut b: B) -> Result<A::Output, B::Output> {
    poll_fn(move |context| {
        if let Poll::Ready(output) = Pin::new(&mut a).poll(context) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(&mut b).poll(context).map(Err)
    })
    .await
}

#[test]
fn a_future_that_is_ready_is_not_waited_for() {
    both(|| {
        assert_eq!(block_on(async { 1 + std::future::ready(1).await }), 2);
    });
}

#[test]
fn block_on_may_borrow_and_nest() {
    both(|| {
        let text = String::from("borrowed");
        assert_eq!(block_on(async { block_on(async { text.len() }) }), 8);
    });
}

#[test]
fn a_thread_may_wake_before_or_after_the_poll() {
    both(|| {
        let event = Event::default();
        let setter = event.clone();
        let thread = thread::spawn(move || setter.set());
        block_on(event);
        thread.join().unwrap();
    });
    // Both happen: the waker is there when the event is set, or it is not.
    let found = outcomes(|| {
        let event = Event::default();
        let setter = event.clone();
        let thread = thread::spawn(move || {
            let waits = setter.0.lock().unwrap().1.is_some();
            setter.set();
            waits
        });
        block_on(event);
        thread.join().unwrap()
    });
    assert_eq!(found, [false, true].into());
}

#[test]
fn a_wake_during_the_poll_is_not_lost() {
    both(|| {
        let mut polls = 0;
        let count = block_on(poll_fn(|context| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready(polls);
            }
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake()).join().unwrap();
            Poll::Pending
        }));
        assert_eq!(count, 3);
    });
}

#[test]
fn a_future_may_wake_itself() {
    both(|| {
        let mut polls = 0;
        block_on(poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            let again = context.waker().clone();
            again.wake();
            if polls < 3 { Poll::Pending } else { Poll::Ready(()) }
        }));
        assert_eq!(polls, 3);
    });
}

#[test]
fn wakers_of_the_same_future_are_the_same() {
    both(|| {
        let mut last: Option<Waker> = None;
        block_on(poll_fn(|context| match &last {
            Some(waker) => {
                assert!(waker.will_wake(context.waker()));
                Poll::Ready(())
            }
            None => {
                last = Some(context.waker().clone());
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }));
        last.unwrap().wake(); // Nobody is left to care.
    });
}

#[test]
fn tasks_are_joined() {
    both(|| {
        let sum = block_on(async {
            let tasks: Vec<_> = (1..=3).map(|n| spawn(async move { n })).collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 6);
    });
}

#[test]
fn tasks_spawn_tasks() {
    both(|| {
        let task = spawn(async {
            let inner = spawn(async {
                yield_now().await;
                20
            });
            inner.await.unwrap() + 1
        });
        assert_eq!(block_on(task).unwrap(), 21);
    });
}

#[test]
fn a_task_whose_handle_is_dropped_runs_all_the_same() {
    both(|| {
        let (sender, receiver) = mpsc::channel();
        drop(spawn(async move { sender.send(1).unwrap() }));
        assert_eq!(receiver.recv(), Ok(1));
    });
}

#[test]
fn a_handle_says_when_the_task_is_done() {
    both(|| {
        let event = Event::default();
        let task = spawn(event.clone());
        assert!(!task.is_finished());
        event.set();
        while !task.is_finished() {
            thread::yield_now();
        }
        block_on(task).unwrap();
    });
}

#[test]
fn a_handle_can_be_awaited_on_another_thread() {
    both(|| {
        let task = spawn(async { 5 });
        assert_eq!(thread::spawn(move || block_on(task).unwrap()).join().unwrap(), 5);
    });
}

#[test]
fn a_handle_that_was_polled_elsewhere_wakes_whoever_polled_last() {
    both(|| {
        let event = Event::default();
        let mut task = spawn(event.clone());
        let mut first = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut task).poll(&mut first).is_pending());
        event.set();
        block_on(task).unwrap();
    });
}

#[test]
fn an_aborted_task_is_dropped_and_says_so() {
    both(|| {
        struct Dropped(Arc<AtomicBool>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.store(true, SeqCst);
            }
        }
        let dropped = Arc::new(AtomicBool::new(false));
        let guard = Dropped(dropped.clone());
        let task = spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        task.abort();
        let error = block_on(task).unwrap_err();
        assert!(error.is_cancelled() && error.try_into_panic().is_err());
        assert!(dropped.load(SeqCst));
    });
}

#[test]
fn an_abort_may_come_before_the_first_poll_or_between_two_or_too_late() {
    let found = outcomes(|| {
        let polls = Arc::new(AtomicUsize::new(0));
        let count = polls.clone();
        let task = spawn(async move {
            count.fetch_add(1, SeqCst);
            yield_now().await;
            count.fetch_add(1, SeqCst);
        });
        task.abort();
        let done = block_on(task).is_ok();
        (polls.load(SeqCst), done)
    });
    assert_eq!(found, [(0, false), (1, false), (2, true)].into());
}

#[test]
fn a_task_may_abort_itself() {
    both(|| {
        let own = Arc::new(OnceLock::<JoinHandle<()>>::new());
        let slot = own.clone();
        let start = Event::default();
        let started = start.clone();
        let task = spawn(async move {
            started.await;
            slot.get().unwrap().abort();
            yield_now().await;
            unreachable!("it is aborted where it is pending");
        });
        own.set(task).unwrap();
        start.set();
        while !own.get().unwrap().is_finished() {
            thread::yield_now();
        }
        let task = Arc::into_inner(own).and_then(OnceLock::into_inner).expect("the task has dropped its own");
        assert!(block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn a_panic_of_a_task_is_a_violation_or_an_error() {
    let body = || {
        let task = spawn(async {
            yield_now().await;
            panic!("on purpose");
        });
        let error = block_on(task).unwrap_err();
        assert!(error.is_panic());
        assert_eq!(format!("{error} {error:?}"), "task panicked JoinError::Panic(..)");
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"on purpose"));
    };
    body();
    Checker::new().allow_thread_panics().check(body);
    assert!(violation(body).contains("thread 1 panicked: on purpose"));
}

#[test]
fn select_takes_either() {
    let found = outcomes(|| {
        let (left, right) = (spawn(async { 1 }), spawn(async { 2 }));
        block_on(select(left, right)).map(Result::unwrap).map_err(Result::unwrap)
    });
    assert_eq!(found, [Ok(1), Err(2)].into());
    both(|| {
        let never = std::future::pending::<()>();
        assert_eq!(block_on(select(pin!(never), spawn(async { 2 }))).unwrap_err().unwrap(), 2);
    });
}

#[test]
fn yielding_lets_others_run_for_free() {
    let outcome = Checker::new().preemptions(0).explore(|| {
        let ready = Arc::new(AtomicBool::new(false));
        let setter = ready.clone();
        let task = spawn(async move { setter.store(true, SeqCst) });
        block_on(async {
            while !ready.load(SeqCst) {
                yield_now().await;
            }
            task.await.unwrap();
        });
    });
    assert!(outcome.holds(), "{:?}", outcome.verdict);
    // A task that yields gives others the chance to come between without a preemption.
    let outcome = Checker::new().preemptions(0).explore(|| {
        let total = Arc::new(AtomicUsize::new(0));
        let add = |total: Arc<AtomicUsize>| async move {
            let seen = total.load(SeqCst);
            yield_now().await;
            total.store(seen + 1, SeqCst);
        };
        let tasks = [spawn(add(total.clone())), spawn(add(total.clone()))];
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(total.load(SeqCst), 2);
    });
    assert_eq!(outcome.violation().unwrap().kind, ViolationKind::Assertion);
}

#[test]
fn tasks_are_interleaved_between_their_awaits_too() {
    let outcome = Checker::new().explore(|| {
        let total = Arc::new(AtomicUsize::new(0));
        let add = |total: Arc<AtomicUsize>| async move {
            let seen = total.load(SeqCst);
            total.store(seen + 1, SeqCst);
        };
        let tasks = [spawn(add(total.clone())), spawn(add(total.clone()))];
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(total.load(SeqCst), 2);
    });
    assert_eq!(outcome.violation().unwrap().preemptions, 1);
}

#[test]
fn many_tasks_run() {
    both(|| {
        let total = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..3)
            .map(|n| {
                let total = total.clone();
                spawn(async move { total.fetch_add(n, SeqCst) })
            })
            .collect();
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(total.load(SeqCst), 3);
    });
    let outcome = Checker::new().strategy(Strategy::Random).max_executions(20).explore(|| {
        let total = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let total = total.clone();
                spawn(async move {
                    yield_now().await;
                    total.fetch_add(1, SeqCst);
                })
            })
            .collect();
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(total.load(SeqCst), 100);
    });
    assert!(outcome.violation().is_none(), "{:?}", outcome.verdict);
    assert_eq!(outcome.statistics.executions, Some(20));
}

/// Looks at the flag and then keeps the waker: a set that comes between is lost.
#[derive(Clone, Default)]
struct Buggy {
    flag: Arc<AtomicBool>,
    waker: Arc<Mutex<Option<Waker>>>,
}

impl Buggy {
    fn set(&self) {
        self.flag.store(true, SeqCst);
        if let Some(waker) = self.waker.lock().unwrap().take() {
            waker.wake();
        }
    }
}

impl Future for Buggy {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.flag.load(SeqCst) {
            return Poll::Ready(());
        }
        *self.waker.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    }
}

#[test]
fn a_lost_wake_up_is_a_deadlock_that_says_so() {
    let program = || {
        let event = Buggy::default();
        let setter = event.clone();
        spawn(async move { setter.set() });
        block_on(event);
    };
    let outcome = Checker::new().explore(program);
    let violation = outcome.violation().unwrap();
    assert_eq!((violation.kind, violation.preemptions), (ViolationKind::Deadlock, 1));
    assert!(violation.message.contains("no thread is left that could wake it"), "{}", violation.message);
    assert!(
        violation.trace.steps.iter().all(|step| !step.op.contains("park")),
        "{:?}",
        violation.trace.steps
    );
    let again = Checker::new().replay(violation.schedule.clone()).explore(program);
    assert_eq!(again.violation().unwrap().message, violation.message);
}

#[test]
fn a_future_that_nobody_wakes_is_a_deadlock() {
    let message = violation(|| block_on(std::future::pending()));
    assert!(message.contains("polled a future that is pending"), "{message}");
    // A waker that went to another future is of no use.
    let message = violation(|| {
        let waker = Arc::new(Mutex::new(None));
        let keep = waker.clone();
        block_on(poll_fn(|context| {
            *keep.lock().unwrap() = Some(context.waker().clone());
            Poll::Ready(())
        }));
        let stale = waker.lock().unwrap().take().unwrap();
        thread::spawn(move || stale.wake());
        block_on(std::future::pending())
    });
    assert!(message.contains("waker #1"), "{message}");
}

#[test]
fn a_forgotten_task_is_a_deadlock() {
    let message = violation(|| drop(spawn(std::future::pending::<()>())));
    assert!(message.contains("thread 1"), "{message}");
}

#[test]
fn a_counterexample_names_wakers_and_tasks() {
    let outcome = Checker::new().explore(|| {
        let event = Event::default();
        let task = spawn(event.clone());
        event.set();
        block_on(task).unwrap();
        panic!("at the end");
    });
    let steps = &outcome.violation().unwrap().trace.steps;
    let texts: Vec<_> = steps.iter().map(|step| step.op.as_str()).collect();
    for expected in ["poll a future, woken by waker #0", "complete task #0", "ask whether task #0 has ended"]
    {
        assert!(texts.iter().any(|text| text.starts_with(expected)), "{expected}: {texts:?}");
    }
    let asked = steps.iter().find(|step| step.op.starts_with("ask")).unwrap();
    assert!(asked.location.as_ref().unwrap().file.ends_with("future.rs"), "{asked:?}");
}

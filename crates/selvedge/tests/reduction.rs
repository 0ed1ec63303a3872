//! Partial-order reduction on the library's own types: what it reaches is what the plain search reaches.

use selvedge::sync::atomic::{AtomicUsize, Ordering};
use selvedge::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use selvedge::{Checker, Coverage, Strategy, thread};

fn orders(strategy: Strategy, preemptions: Option<u32>, program: fn()) -> (u64, u64) {
    search(Checker::new(), strategy, preemptions, program)
}

fn at_bound(strategy: Strategy, preemptions: Option<u32>, program: fn()) -> (u64, u64) {
    search(Checker::new().at_bound(), strategy, preemptions, program)
}

fn search(checker: Checker, strategy: Strategy, preemptions: Option<u32>, program: fn()) -> (u64, u64) {
    let checker = checker.strategy(strategy).coverage(Coverage::Orders).keep_going().shorten(0);
    let checker = match preemptions {
        Some(bound) => checker.preemptions(bound),
        None => checker.unbounded().at_bound(),
    };
    let outcome = checker.max_executions(300_000).explore(program);
    let row =
        outcome.rows.last().unwrap_or_else(|| panic!("{strategy} {preemptions:?}: {:?}", outcome.verdict));
    (row.distinct.unwrap(), row.executions.unwrap())
}

/// For bounds 0 to 2, what `cb-por` and `optimal` reach is what `icb` reaches, and they reach it once; and without a bound,
/// `dpor` and they what `dfs` does.
fn agree(unbounded: bool, program: fn()) {
    for bound in 0..=2 {
        let (plain, _) = orders(Strategy::Icb, Some(bound), program);
        for strategy in [Strategy::CbPor, Strategy::Optimal] {
            let reduced = orders(strategy, Some(bound), program);
            assert_eq!(reduced, (plain, plain), "{strategy}: orders, executions with {bound} preemptions");
        }
    }
    if unbounded {
        let (plain, _) = orders(Strategy::Dfs, None, program);
        assert_eq!(orders(Strategy::Dpor, None, program).0, plain, "terminal orders");
        for strategy in [Strategy::CbPor, Strategy::Optimal] {
            assert_eq!(orders(strategy, None, program), (plain, plain), "{strategy}: orders, executions");
        }
    }
}

/// Three threads with two critical sections each on one lock.
fn three_times_two_sections() {
    let lock = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let lock = lock.clone();
            thread::spawn(move || (0..2).for_each(|_| *lock.lock().unwrap() += 1))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn mutexes() {
    agree(false, three_times_two_sections);
    for (bound, expected) in [(Some(0), 6), (Some(1), 24), (Some(2), 60), (None, 90)] {
        let found = orders(Strategy::CbPor, bound, three_times_two_sections);
        assert_eq!(found, (expected, expected), "{bound:?}");
        let found = at_bound(Strategy::Optimal, bound, three_times_two_sections);
        assert_eq!(found, (expected, expected), "{bound:?}");
    }
    assert_eq!(orders(Strategy::Dpor, None, three_times_two_sections), (90, 90));
    assert_eq!(orders(Strategy::Optimal, None, three_times_two_sections), (90, 90));
}

/// Joins of threads that have ended could come while another one goes on, whatever that one does.
#[test]
fn joins_that_could_come_earlier() {
    fn add_twice(x: &AtomicUsize) {
        x.fetch_add(1, Ordering::Relaxed);
        x.fetch_add(1, Ordering::Relaxed);
    }
    agree(true, || {
        let x = Arc::new(AtomicUsize::new(0));
        let [a, b] = [x.clone(), x.clone()].map(|x| thread::spawn(move || add_twice(&x)));
        a.join().unwrap();
        b.join().unwrap();
    });
    agree(false, || {
        let x = Arc::new(AtomicUsize::new(0));
        let threads = [x.clone(), x.clone(), x.clone()].map(|x| {
            thread::spawn(move || {
                x.load(Ordering::Relaxed);
                x.fetch_add(1, Ordering::Relaxed);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    // One that asks whether the other has ended.
    agree(true, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (own, other) = (x.clone(), x.clone());
        let a = Arc::new(thread::spawn(move || add_twice(&own)));
        let asked = a.clone();
        let b = thread::spawn(move || {
            asked.is_finished();
            drop(asked);
            add_twice(&other);
        });
        x.load(Ordering::Relaxed);
        if let Ok(a) = Arc::try_unwrap(a) {
            a.join().unwrap();
        }
        b.join().unwrap();
    });
}

#[test]
fn rwlocks() {
    agree(true, || {
        let lock = Arc::new(RwLock::new(0));
        let (a, b) = (lock.clone(), lock.clone());
        let reader = thread::spawn(move || *a.read().unwrap());
        let tries = thread::spawn(move || b.try_write().map(|mut guard| *guard += 1).is_ok());
        let _ = *lock.read().unwrap();
        reader.join().unwrap();
        tries.join().unwrap();
    });
}

#[test]
fn channels() {
    agree(true, || {
        let (sender, receiver) = mpsc::sync_channel(1);
        let other = sender.clone();
        let a = thread::spawn(move || sender.send(1).unwrap());
        let b = thread::spawn(move || other.send(2).unwrap());
        assert_eq!(receiver.recv().unwrap() + receiver.recv().unwrap(), 3);
        a.join().unwrap();
        b.join().unwrap();
    });
}

#[test]
fn rendezvous() {
    agree(true, || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let a = thread::spawn(move || sender.send(1).is_ok());
        let _ = receiver.try_recv();
        drop(receiver);
        a.join().unwrap();
    });
}

#[test]
fn barriers_and_onces() {
    agree(true, || {
        let (barrier, once) = (Arc::new(Barrier::new(2)), Arc::new(Once::new()));
        let (b, o) = (barrier.clone(), once.clone());
        let other = thread::spawn(move || {
            b.wait();
            o.call_once(|| ());
        });
        barrier.wait();
        once.call_once(|| ());
        other.join().unwrap();
    });
}

#[test]
fn condition_variables_and_parking() {
    agree(true, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let main = thread::current();
        let waiter = thread::spawn(move || {
            let (lock, condvar) = &*other;
            let mut ready = lock.lock().unwrap();
            while !*ready {
                ready = condvar.wait(ready).unwrap();
            }
            main.unpark();
        });
        *pair.0.lock().unwrap() = true;
        pair.1.notify_one();
        thread::park();
        waiter.join().unwrap();
    });
}

#[test]
fn threads_created_by_threads() {
    agree(true, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (a, b) = (x.clone(), x.clone());
        let one = thread::spawn(move || {
            let c = a.clone();
            let inner = thread::spawn(move || c.fetch_add(1, Ordering::SeqCst));
            a.load(Ordering::SeqCst);
            inner.join().unwrap();
        });
        let two = thread::spawn(move || {
            let inner = thread::spawn(move || b.store(7, Ordering::SeqCst));
            inner.join().unwrap();
        });
        one.join().unwrap();
        two.join().unwrap();
    });
}

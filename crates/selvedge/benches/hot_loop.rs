//! What the loop over executions costs: one more step of each kind, one more thread, and what counting
//! partial orders and states adds.
//!
//! `cargo bench -p selvedge`. An iteration is a whole check, OS thread included, so the figures are for many
//! executions or steps at once; `items` is the rate. Beside other tools: benches/peers.

use divan::Bencher;
use divan::counter::ItemsCount;
use selvedge::sync::atomic::{AtomicUsize, Ordering};
use selvedge::sync::mpsc::sync_channel;
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{Checker, Coverage, Strategy, thread};

fn main() {
    divan::main();
}

/// Steps of one kind in one execution.
const STEPS: usize = 10_000;
const EXECUTIONS: u64 = 1_000;

fn sample(executions: u64, program: fn()) {
    let checker = Checker::new().strategy(Strategy::Random).max_executions(executions);
    let outcome = checker.max_steps(usize::MAX).explore(program);
    assert!(outcome.violation().is_none(), "{outcome:?}");
}

fn load() {
    let atomic = AtomicUsize::new(0);
    for _ in 0..STEPS {
        divan::black_box(atomic.load(Ordering::Acquire));
    }
}

fn mutex() {
    let mutex = Mutex::new(0);
    for _ in 0..STEPS {
        *mutex.lock().expect("nobody panics") += 1;
    }
}

fn condvar() {
    let turn = Arc::new((Mutex::new(false), Condvar::new()));
    let play = |mine: bool, turn: &(Mutex<bool>, Condvar)| {
        for _ in 0..STEPS / 2 {
            let whose = turn.0.lock().expect("nobody panics");
            let mut whose = turn.1.wait_while(whose, |whose| *whose != mine).expect("nobody panics");
            *whose = !mine;
            turn.1.notify_one();
        }
    };
    let other = turn.clone();
    let thread = thread::spawn(move || play(true, &other));
    play(false, &turn);
    thread.join().expect("nobody panics");
}

fn channel() {
    let (sender, receiver) = sync_channel(1);
    let thread =
        thread::spawn(move || (0..STEPS).for_each(|value| sender.send(value).expect("it is received")));
    assert_eq!(receiver.iter().count(), STEPS);
    thread.join().expect("nobody panics");
}

/// One execution of many steps: loads; locked sections; turns taken; messages.
#[divan::bench(args = ["load", "mutex", "condvar", "channel"])]
fn marginal_step(bencher: Bencher<'_, '_>, kind: &str) {
    let program = match kind {
        "load" => load,
        "mutex" => mutex,
        "condvar" => condvar,
        _ => channel,
    };
    bencher.counter(ItemsCount::new(STEPS)).bench(|| sample(1, program));
}

/// A program of so many threads that do one thing each.
fn with_threads<const THREADS: usize>() {
    let counter = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || counter.fetch_add(1, Ordering::Relaxed))
        })
        .collect();
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

/// Many executions.
#[divan::bench(args = [1, 2, 4, 16, 100])]
fn execution_with_threads(bencher: Bencher<'_, '_>, threads: usize) {
    let program = match threads {
        1 => with_threads::<1>,
        2 => with_threads::<2>,
        4 => with_threads::<4>,
        16 => with_threads::<16>,
        _ => with_threads::<100>,
    };
    bencher.counter(ItemsCount::new(EXECUTIONS)).bench(|| sample(EXECUTIONS, program));
}

/// Many executions of a search by iterative context bounding.
#[divan::bench(args = [Coverage::Executions, Coverage::Orders, Coverage::States])]
fn icb(bencher: Bencher<'_, '_>, coverage: Coverage) {
    bencher.counter(ItemsCount::new(EXECUTIONS)).bench(|| {
        let checker = Checker::new().unbounded().coverage(coverage).max_executions(EXECUTIONS);
        let outcome = checker.explore(with_threads::<4>);
        assert!(outcome.violation().is_none(), "{outcome:?}");
    });
}

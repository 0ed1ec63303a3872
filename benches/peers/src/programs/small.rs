//! Programs that can be explored to the end.

use super::super::sync::atomic::{AtomicUsize, Ordering};
use super::super::sync::mpsc::channel;
use super::super::sync::{Arc, Mutex};
use super::super::thread;

/// Runs the same in several threads, over one atomic, and joins them.
fn on_an_atomic(threads: usize, work: fn(&AtomicUsize)) {
    let atomic = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            let atomic = atomic.clone();
            thread::spawn(move || work(&atomic))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn load_store(atomic: &AtomicUsize) {
    let value = atomic.load(Ordering::SeqCst);
    atomic.store(value + 1, Ordering::SeqCst);
}

pub(crate) fn two_load_store() {
    on_an_atomic(2, load_store);
}

pub(crate) fn three_load_store() {
    on_an_atomic(3, load_store);
}

pub(crate) fn four_rmw() {
    on_an_atomic(4, |atomic| {
        atomic.fetch_add(1, Ordering::SeqCst);
    });
}

pub(crate) fn three_mutex() {
    let mutex = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let mutex = mutex.clone();
            thread::spawn(move || {
                *mutex.lock().unwrap() += 1;
                *mutex.lock().unwrap() += 1;
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

pub(crate) fn three_philosophers() {
    super::philosophers::dine(3);
}

pub(crate) fn pipeline() {
    let (to_stage, at_stage) = channel();
    let (to_sink, at_sink) = channel();
    let source = thread::spawn(move || (0..2).for_each(|number| to_stage.send(number).unwrap()));
    let stage = thread::spawn(move || (0..2).for_each(|_| to_sink.send(at_stage.recv().unwrap()).unwrap()));
    (0..2).for_each(|number| assert_eq!(at_sink.recv().unwrap(), number));
    source.join().unwrap();
    stage.join().unwrap();
}

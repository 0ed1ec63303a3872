//! The programs.

use selvedge::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{hint, thread};

/// A work-stealing queue after Cilk-5's protocol (Frigo, Leiserson, Randall, PLDI 1998).
struct Queue {
    head: AtomicIsize,
    tail: AtomicIsize,
    items: Vec<AtomicUsize>,
    thief: Mutex<()>,
}

impl Queue {
    fn push(&self, item: usize) {
        let tail = self.tail.load(SeqCst);
        self.items[tail as usize].store(item, SeqCst);
        self.tail.store(tail + 1, SeqCst);
    }

    fn pop(&self) -> Option<usize> {
        let tail = self.tail.load(SeqCst) - 1;
        self.tail.store(tail, SeqCst);
        if self.head.load(SeqCst) > tail {
            // A thief may be after the same item: ask again under the lock.
            let _lock = self.thief.lock().unwrap();
            if self.head.load(SeqCst) > tail {
                self.tail.store(tail + 1, SeqCst);
                return None;
            }
        }
        Some(self.items[tail as usize].load(SeqCst))
    }

    fn steal(&self) -> Option<usize> {
        let _lock = self.thief.lock().unwrap();
        let head = self.head.load(SeqCst);
        self.head.store(head + 1, SeqCst);
        if head >= self.tail.load(SeqCst) {
            self.head.store(head, SeqCst);
            return None;
        }
        Some(self.items[head as usize].load(SeqCst))
    }
}

/// An owner that pushes so many items and pops as many, and a thief that steals twice.
pub(crate) fn queue(items: usize) {
    let queue = Arc::new(Queue {
        head: AtomicIsize::new(0),
        tail: AtomicIsize::new(0),
        items: (0..items).map(|_| AtomicUsize::new(0)).collect(),
        thief: Mutex::new(()),
    });
    let thief = thread::spawn({
        let queue = queue.clone();
        move || queue.steal().unwrap_or(0) + queue.steal().unwrap_or(0)
    });
    (0..items).for_each(|item| queue.push(1 << item));
    let mut taken: usize = (0..items).filter_map(|_| queue.pop()).sum();
    taken += thief.join().unwrap();
    taken += std::iter::from_fn(|| queue.steal()).sum::<usize>();
    assert_eq!(taken, (1 << items) - 1, "every item is taken once");
}

/// The programs whose coverage is measured.
pub(crate) const COVERED: &[(&str, fn())] = &[
    ("manual reset event", manual_reset_event),
    ("eight threads, a lock", eight_threads),
    ("exception", exception),
    ("spin loop", spin_loop),
];

/// An event that stays set until it is reset: a setter that sets, resets and sets, and two that wait.
fn manual_reset_event() {
    struct Event(Mutex<bool>, Condvar);

    impl Event {
        fn set(&self, to: bool) {
            *self.0.lock().unwrap() = to;
            self.1.notify_all();
        }

        fn wait(&self) {
            drop(self.1.wait_while(self.0.lock().unwrap(), |set| !*set).unwrap());
        }
    }

    let event = Arc::new(Event(Mutex::new(false), Condvar::new()));
    let seen = Arc::new(AtomicUsize::new(0));
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let (event, seen) = (event.clone(), seen.clone());
            thread::spawn(move || {
                event.wait();
                seen.fetch_add(1, SeqCst);
            })
        })
        .collect();
    event.set(true);
    seen.load(SeqCst);
    event.set(false);
    event.set(true);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

/// Eight threads that each work on a part of their own, as those of a Fourier transform do, and add to a sum
/// under a lock.
fn eight_threads() {
    let parts: Arc<Vec<AtomicUsize>> = Arc::new((0..8).map(AtomicUsize::new).collect());
    let sum = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..8)
        .map(|part| {
            let (parts, sum) = (parts.clone(), sum.clone());
            thread::spawn(move || {
                let value = parts[part].load(SeqCst);
                parts[part].store(2 * value, SeqCst);
                *sum.lock().unwrap() += value;
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*sum.lock().unwrap(), 28);
}

/// Workers of which one fails and tells the others, which look before each piece of work.
fn exception() {
    let failed = Arc::new(AtomicBool::new(false));
    let log = Arc::new(Mutex::new(Vec::new()));
    let workers: Vec<_> = (0..3)
        .map(|worker| {
            let (failed, log) = (failed.clone(), log.clone());
            thread::spawn(move || {
                for piece in 0..2 {
                    if failed.load(SeqCst) {
                        return;
                    }
                    if (worker, piece) == (1, 1) {
                        failed.store(true, SeqCst);
                    }
                    log.lock().unwrap().push((worker, piece));
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

/// Two threads that wait for each other by spinning.
fn spin_loop() {
    let turns = Arc::new([const { AtomicBool::new(false) }; 2]);
    let threads: Vec<_> = (0..2)
        .map(|own: usize| {
            let turns = turns.clone();
            thread::spawn(move || {
                turns[own].store(true, SeqCst);
                while !turns[1 - own].load(SeqCst) {
                    hint::spin_loop();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// So many threads that each take one lock so many times.
pub(crate) fn locks(threads: usize, rounds: usize) {
    let lock = Arc::new(Mutex::new(0));
    let work = move |lock: &Mutex<usize>| (0..rounds).for_each(|_| *lock.lock().unwrap() += 1);
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let lock = lock.clone();
            thread::spawn(move || work(&lock))
        })
        .collect();
    work(&lock);
    others.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Two threads with so many steps each, half of them on a lock, of which few conflict.
pub(crate) fn two_threads(steps: usize) {
    let shared = Arc::new((AtomicUsize::new(0), Mutex::new(0)));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                for step in 0..steps / 4 {
                    shared.0.load(SeqCst);
                    if step % 4 == 0 {
                        shared.0.fetch_add(1, SeqCst);
                    } else {
                        shared.0.load(SeqCst);
                    }
                    *shared.1.lock().unwrap() += 1;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

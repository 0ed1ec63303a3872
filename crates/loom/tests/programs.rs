//! Small programs as loom's users write them: each holds, and fails with a planted fault.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicBool, AtomicUsize, fence};
use loom::sync::{Arc, Condvar, Mutex, Notify, RwLock, mpsc};
use loom::thread;

/// Checks a program without its fault, and with it: the report of that must contain the words.
#[track_caller]
fn check(program: fn(bool), expected: &str) {
    loom::model(move || program(false));
    let result = catch_unwind(AssertUnwindSafe(|| loom::model(move || program(true))));
    let payload = result.expect_err("the planted fault is not found");
    let report = payload.downcast_ref::<String>().expect("a panic has a report");
    assert!(report.contains(expected), "expected {expected:?} in {report}");
}

struct Ring {
    slots: [UnsafeCell<usize>; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}

// SAFETY: one thread pushes and one pops; that they do not meet in a slot is what is checked.
unsafe impl Sync for Ring {}

impl Ring {
    fn push(&self, value: usize, store_first: bool) -> bool {
        let tail = self.tail.load(Relaxed);
        if tail - self.head.load(Acquire) == 2 {
            return false;
        }
        if store_first {
            self.tail.store(tail + 1, Release);
        }
        // SAFETY: the slot is free.
        self.slots[tail % 2].with_mut(|slot| unsafe { *slot = value });
        self.tail.store(tail + 1, Release);
        true
    }

    fn pop(&self) -> Option<usize> {
        let head = self.head.load(Relaxed);
        if self.tail.load(Acquire) == head {
            return None;
        }
        // SAFETY: the slot is full.
        let value = self.slots[head % 2].with(|slot| unsafe { *slot });
        self.head.store(head + 1, Release);
        Some(value)
    }
}

#[test]
fn a_ring_buffer() {
    check(
        |fault| {
            let slots = [UnsafeCell::new(0), UnsafeCell::new(0)];
            let ring = Arc::new(Ring { slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) });
            let producer = ring.clone();
            let thread = thread::spawn(move || {
                for value in 1..=3 {
                    while !producer.push(value, fault) {
                        thread::yield_now();
                    }
                }
            });
            for expected in 1..=3 {
                let value = loop {
                    match ring.pop() {
                        Some(value) => break value,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(value, expected);
            }
            thread.join().unwrap();
        },
        "data race",
    );
}

#[test]
fn a_spin_lock() {
    struct Spin(AtomicBool, UnsafeCell<u32>);
    // SAFETY: the flag is what is checked.
    unsafe impl Sync for Spin {}
    check(
        |fault| {
            let spin = Arc::new(Spin(AtomicBool::new(false), UnsafeCell::new(0)));
            let add = move |spin: &Spin| {
                while spin.0.swap(true, Acquire) {
                    thread::yield_now();
                }
                // SAFETY: the lock is held.
                spin.1.with_mut(|count| unsafe { *count += 1 });
                spin.0.store(false, if fault { Relaxed } else { Release });
            };
            let other = spin.clone();
            let thread = thread::spawn(move || add(&other));
            add(&spin);
            thread.join().unwrap();
            // SAFETY: the other thread has ended.
            assert_eq!(spin.1.with(|count| unsafe { *count }), 2);
        },
        "data race",
    );
}

#[test]
fn a_notification() {
    check(
        |fault| {
            let shared = Arc::new((AtomicBool::new(false), Notify::new()));
            let other = shared.clone();
            let thread = thread::spawn(move || {
                other.0.store(true, Release);
                if !fault {
                    other.1.notify();
                }
            });
            while !shared.0.load(Acquire) {
                shared.1.wait();
            }
            thread.join().unwrap();
        },
        "deadlock",
    );
}

#[test]
fn a_notification_without_a_loop_around_its_wait() {
    // One wait may end without a notification.
    check(
        |fault| {
            let shared = Arc::new((AtomicBool::new(false), Notify::new()));
            let other = shared.clone();
            let thread = thread::spawn(move || {
                other.0.store(true, Release);
                other.1.notify();
            });
            shared.1.wait();
            while !fault && !shared.0.load(Acquire) {
                shared.1.wait();
            }
            assert!(shared.0.load(Acquire), "it was notified");
            thread.join().unwrap();
        },
        "it was notified",
    );
}

#[test]
fn a_future_that_is_woken() {
    use loom::future::{AtomicWaker, block_on};
    use std::future::poll_fn;
    use std::task::Poll;

    check(
        |fault| {
            let shared = Arc::new((AtomicBool::new(false), AtomicWaker::new()));
            let other = shared.clone();
            let thread = thread::spawn(move || {
                other.0.store(true, Release);
                other.1.wake();
            });
            block_on(poll_fn(|context| {
                if shared.0.load(Acquire) {
                    return Poll::Ready(());
                }
                shared.1.register_by_ref(context.waker());
                // What was stored before the waker was there wakes nobody.
                if !fault && shared.0.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
            }));
            thread.join().unwrap();
        },
        "deadlock",
    );
}

#[test]
fn a_future_that_takes_a_poll_for_a_wake() {
    use loom::future::block_on;
    use std::future::poll_fn;
    use std::task::Poll;

    check(
        |fault| {
            let woken = Arc::new(AtomicBool::new(false));
            let mut thread = None;
            block_on(poll_fn(|context| {
                if thread.is_none() {
                    let (waker, woken) = (context.waker().clone(), woken.clone());
                    thread = Some(thread::spawn(move || {
                        woken.store(true, SeqCst);
                        waker.wake();
                    }));
                    return Poll::Pending;
                }
                if fault || woken.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
            }));
            assert!(woken.load(SeqCst), "it was woken");
            thread.unwrap().join().unwrap();
        },
        "it was woken",
    );
}

#[test]
fn a_oneshot_channel() {
    struct Oneshot(UnsafeCell<Option<String>>, AtomicBool);
    // SAFETY: the flag is what is checked.
    unsafe impl Sync for Oneshot {}
    check(
        |fault| {
            let channel = Arc::new(Oneshot(UnsafeCell::new(None), AtomicBool::new(false)));
            let other = channel.clone();
            let thread = thread::spawn(move || {
                let place = other.0.get_mut();
                // SAFETY: nobody reads it before the flag is set.
                unsafe { *place.deref() = Some("value".into()) };
                if !fault {
                    drop(place);
                    return other.1.store(true, Release);
                }
                // The access lasts until the pointer is dropped.
                other.1.store(true, Release);
                drop(place);
            });
            if channel.1.load(Acquire) {
                // SAFETY: it is written.
                let value = unsafe { channel.0.get_mut().deref().take() };
                assert_eq!(value.as_deref(), Some("value"));
            }
            thread.join().unwrap();
        },
        "data race",
    );
}

#[test]
fn a_sequence_lock() {
    check(
        |fault| {
            let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)));
            let writer = shared.clone();
            let thread = thread::spawn(move || {
                let (sequence, a, b) = &*writer;
                sequence.fetch_add(1, AcqRel);
                fence(Release);
                a.store(1, Relaxed);
                b.store(1, Relaxed);
                sequence.fetch_add(1, Release);
            });
            let (sequence, a, b) = &*shared;
            let before = sequence.load(Acquire);
            let seen = (a.load(Relaxed), b.load(Relaxed));
            fence(Acquire);
            if before % 2 == 0 && (fault || sequence.load(Relaxed) == before) {
                assert_eq!(seen.0, seen.1, "a torn read");
            }
            thread.join().unwrap();
        },
        "a torn read",
    );
}

#[test]
fn a_fence_that_publishes() {
    struct Slot(UnsafeCell<u32>, AtomicBool);
    // SAFETY: the fences are what is checked.
    unsafe impl Sync for Slot {}
    check(
        |fault| {
            let slot = Arc::new(Slot(UnsafeCell::new(0), AtomicBool::new(false)));
            let other = slot.clone();
            let thread = thread::spawn(move || {
                // SAFETY: nobody reads it yet.
                other.0.with_mut(|value| unsafe { *value = 7 });
                if !fault {
                    fence(Release);
                }
                other.1.store(true, Relaxed);
            });
            if slot.1.load(Relaxed) {
                fence(Acquire);
                // SAFETY: it is written.
                assert_eq!(slot.0.with(|value| unsafe { *value }), 7);
            }
            thread.join().unwrap();
        },
        "data race",
    );
}

#[test]
fn a_cell_that_is_published_before_it_is_made() {
    use loom::sync::atomic::AtomicPtr;
    check(
        |fault| {
            let place = Arc::new(AtomicPtr::<UnsafeCell<u32>>::default());
            let other = place.clone();
            let thread = thread::spawn(move || {
                let cell = Box::into_raw(Box::new(UnsafeCell::new(7)));
                other.store(cell, if fault { Relaxed } else { Release });
            });
            let seen = place.load(Acquire);
            if !seen.is_null() {
                // SAFETY: it is not freed yet.
                assert_eq!(unsafe { (*seen).with(|value| *value) }, 7);
            }
            thread.join().unwrap();
            // SAFETY: the thread has ended, and nobody else has it.
            drop(unsafe { Box::from_raw(place.load(Relaxed)) });
        },
        "data race",
    );
}

#[test]
fn a_load_that_is_not_synchronised() {
    // Whichever of the two comes first.
    let program = |late: bool| {
        let count = Arc::new(AtomicUsize::new(0));
        let other = count.clone();
        let thread = thread::spawn(move || other.store(1, SeqCst));
        if !late {
            thread.join().unwrap();
            // SAFETY: the thread that stores has ended.
            return assert_eq!(unsafe { count.unsync_load() }, 1);
        }
        // SAFETY: that nobody stores meanwhile is what is checked.
        _ = unsafe { count.unsync_load() };
        thread.join().unwrap();
    };
    check(program, "data race on atomic");
    check(
        |fault| {
            let shared = Arc::new((AtomicUsize::new(0), AtomicBool::new(false)));
            let other = shared.clone();
            let thread = thread::spawn(move || {
                // Once it has been stored, and published or not, before.
                other.0.fetch_add(1, Relaxed);
                other.1.store(true, if fault { Relaxed } else { Release });
            });
            if shared.1.load(Acquire) {
                // SAFETY: as above.
                assert_eq!(unsafe { shared.0.unsync_load() }, 1);
            }
            thread.join().unwrap();
        },
        "data race on atomic",
    );
}

#[test]
fn a_condition_variable_and_a_lock() {
    check(
        |fault| {
            let shared = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new(0)));
            let other = shared.clone();
            let thread = thread::spawn(move || {
                *other.0.lock().unwrap() = 1;
                *other.2.write().unwrap() = 1;
                if !fault {
                    other.1.notify_one();
                }
            });
            let mut value = shared.0.lock().unwrap();
            while *value == 0 {
                value = shared.1.wait(value).unwrap();
            }
            drop(value);
            thread.join().unwrap();
            assert_eq!(*shared.2.read().unwrap(), 1);
        },
        "deadlock",
    );
}

#[test]
fn messages() {
    check(
        |fault| {
            let (sender, receiver) = mpsc::channel();
            let second = sender.clone();
            let threads = [
                thread::spawn(move || sender.send(1).unwrap()),
                thread::spawn(move || second.send(2).unwrap()),
            ];
            let received = [receiver.recv().unwrap(), receiver.recv().unwrap()];
            assert!(!fault || received == [1, 2], "in order");
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        },
        "in order",
    );
}

#[test]
fn references_that_are_counted() {
    check(
        |fault| {
            let shared: Arc<dyn Fn() -> u32> = Arc::from_std(std::sync::Arc::new(|| 7));
            let other = shared.clone();
            // Not `Send`, as loom allows.
            let thread = thread::spawn(move || {
                assert_eq!(other(), 7);
                if fault {
                    std::mem::forget(other);
                }
            });
            thread.join().unwrap();
        },
        "never freed",
    );
}

#[test]
fn memory_that_is_allocated() {
    use loom::alloc::{Layout, Track, alloc, dealloc};
    // SAFETY: the layout has a size; that the memory is freed once is what is checked.
    check(
        |fault| unsafe {
            let memory = alloc(Layout::new::<u64>());
            if !fault {
                dealloc(memory, Layout::new::<u64>());
            }
        },
        "never freed",
    );
    check(
        |fault| unsafe {
            let memory = alloc(Layout::new::<u64>());
            dealloc(memory, Layout::new::<u64>());
            if fault {
                dealloc(memory, Layout::new::<u64>());
            }
        },
        "freed twice",
    );
    check(
        |fault| {
            let track = Track::new(String::from("value"));
            if fault {
                std::mem::forget(track);
            } else {
                assert_eq!(track.into_inner(), "value");
            }
        },
        "never freed",
    );
}

#[test]
fn statics_begin_every_execution_anew() {
    loom::lazy_static! {
        static ref COUNT: AtomicUsize = AtomicUsize::new(0);
    }
    loom::thread_local! {
        static OWN: std::cell::Cell<u32> = std::cell::Cell::new(1);
    }
    check(
        |fault| {
            let thread = thread::spawn(move || {
                OWN.with(|own| own.set(2));
                COUNT.fetch_add(1 + usize::from(fault), SeqCst);
            });
            COUNT.fetch_add(1, SeqCst);
            thread.join().unwrap();
            assert_eq!(OWN.with(|own| own.get()), 1);
            assert_eq!(COUNT.load(SeqCst), 2, "twice");
        },
        "twice",
    );
}

#[test]
fn nothing_is_left_out_where_loom_would() {
    check(
        |fault| {
            loom::stop_exploring();
            let count = Arc::new(AtomicUsize::new(0));
            let add = move |count: &AtomicUsize| {
                if fault {
                    let seen = count.load(SeqCst);
                    loom::skip_branch();
                    count.store(seen + 1, SeqCst);
                } else {
                    count.fetch_add(1, SeqCst);
                }
            };
            let other = count.clone();
            let thread = thread::spawn(move || add(&other));
            add(&count);
            thread.join().unwrap();
            loom::explore();
            assert_eq!(count.load(SeqCst), 2, "an update is lost");
        },
        "an update is lost",
    );
}

#[test]
fn store_buffering_is_no_false_alarm_and_more_than_five_threads_are_none() {
    check(
        |fault| {
            let flags = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
            let other = flags.clone();
            let thread = thread::spawn(move || {
                other.0.store(!fault, SeqCst);
                other.1.load(SeqCst)
            });
            let idle: Vec<_> = (0..6).map(|_| thread::spawn(|| ())).collect();
            flags.1.store(true, SeqCst);
            let seen = flags.0.load(SeqCst);
            assert!(thread.join().unwrap() || seen, "both stores came late");
            idle.into_iter().for_each(|thread| thread.join().unwrap());
        },
        "both stores came late",
    );
}

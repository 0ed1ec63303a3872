//! What channels, wakers and tasks publish, as the race detector sees it: data handed over by them is not
//! raced for, and what they do not order is.

use std::task::Poll;

use selvedge::cell::UnsafeCell;
use selvedge::future::{block_on, spawn};
use selvedge::sync::{Arc, mpsc};
use selvedge::{Checker, ViolationKind, thread};

/// A place that threads share without a lock.
#[derive(Clone)]
struct Shared(Arc<UnsafeCell<u32>>);

// SAFETY: the race detector says when two threads use it at once, and they all run on one OS thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> (Self, Self) {
        let shared = Shared(Arc::new(UnsafeCell::new(0)));
        (shared.clone(), shared)
    }

    #[track_caller]
    fn write(&self, value: u32) {
        // SAFETY: as for `Send`; the reference does not outlive the closure.
        self.0.with_mut(|place| unsafe { *place = value });
    }

    #[track_caller]
    fn read(&self) -> u32 {
        // SAFETY: as for `Send`; the reference does not outlive the closure.
        self.0.with(|place| unsafe { *place })
    }
}

fn orders(program: fn()) {
    let outcome = Checker::new().explore(program);
    assert!(outcome.holds(), "{:?}", outcome.verdict);
}

fn races(program: fn()) {
    let outcome = Checker::new().explore(program);
    assert_eq!(outcome.violation().expect("a race").kind, ViolationKind::DataRace);
}

#[test]
fn a_message_publishes_what_came_before_it() {
    orders(|| {
        let (ours, theirs) = Shared::new();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            theirs.write(1);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        assert_eq!(ours.read(), 1);
    });
    races(|| {
        let (ours, theirs) = Shared::new();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            sender.send(()).unwrap();
            theirs.write(1);
        });
        receiver.recv().unwrap();
        ours.read();
    });
}

#[test]
fn a_message_publishes_only_what_its_sender_did() {
    races(|| {
        let (ours, theirs) = Shared::new();
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        thread::spawn(move || {
            theirs.write(1);
            let _ = sender.send(1);
        });
        thread::spawn(move || _ = other.send(2));
        if receiver.recv() == Ok(2) {
            ours.read();
        }
    });
}

#[test]
fn an_empty_channel_publishes_nothing() {
    races(|| {
        let (ours, theirs) = Shared::new();
        let (sender, receiver) = mpsc::channel::<()>();
        let other = sender.clone();
        thread::spawn(move || {
            theirs.write(1);
            drop(other);
        });
        assert!(receiver.try_recv().is_err());
        ours.read();
        drop(sender);
    });
}

#[test]
fn the_end_of_a_channel_publishes_what_all_its_senders_did() {
    orders(|| {
        let (sender, receiver) = mpsc::channel::<()>();
        let shared: Vec<_> = (0..2)
            .map(|value| {
                let (ours, theirs) = Shared::new();
                let sender = sender.clone();
                thread::spawn(move || {
                    theirs.write(value);
                    drop(sender);
                });
                ours
            })
            .collect();
        drop(sender);
        assert!(receiver.recv().is_err());
        assert_eq!(shared.iter().map(Shared::read).sum::<u32>(), 1);
    });
}

#[test]
fn a_receiver_that_goes_publishes_what_came_before() {
    for room in [0, 1] {
        fn program(room: usize) {
            let (ours, theirs) = Shared::new();
            let (sender, receiver) = mpsc::sync_channel(room);
            thread::spawn(move || {
                theirs.write(1);
                drop(receiver);
            });
            if sender.send(()).is_err() || sender.send(()).is_err() {
                ours.read();
            }
        }
        orders(if room == 0 { || program(0) } else { || program(1) });
    }
}

#[test]
fn room_in_a_channel_is_published_by_whoever_made_it() {
    orders(|| {
        let (ours, theirs) = Shared::new();
        let (sender, receiver) = mpsc::sync_channel(1);
        thread::spawn(move || {
            theirs.write(1);
            receiver.recv().unwrap();
            receiver.recv().unwrap();
        });
        sender.send(()).unwrap();
        sender.send(()).unwrap();
        assert_eq!(ours.read(), 1);
    });
    races(|| {
        let (ours, theirs) = Shared::new();
        let (sender, receiver) = mpsc::sync_channel(1);
        thread::spawn(move || {
            theirs.write(1);
            receiver.recv().unwrap();
        });
        sender.send(()).unwrap();
        ours.read();
    });
}

/// A send that does not wait finds room that a receive has made, too.
#[test]
fn room_that_a_try_send_finds_is_published_and_that_there_is_none_is_not() {
    fn program(reads: fn(found_room: bool) -> bool) {
        let (ours, theirs) = Shared::new();
        let (sender, receiver) = mpsc::sync_channel(1);
        thread::spawn(move || {
            theirs.write(1);
            receiver.recv().unwrap();
            let _ = receiver.recv();
        });
        sender.send(()).unwrap();
        if reads(sender.try_send(()).is_ok()) {
            ours.read();
        }
    }
    orders(|| program(|found_room| found_room));
    races(|| program(|found_room| !found_room));
}

#[test]
fn a_rendezvous_publishes_both_ways() {
    orders(|| {
        let ((ours, theirs), (mine, yours)) = (Shared::new(), Shared::new());
        let (sender, receiver) = mpsc::sync_channel(0);
        thread::spawn(move || {
            theirs.write(1);
            receiver.recv().unwrap();
            assert_eq!(yours.read(), 2);
        });
        mine.write(2);
        sender.send(()).unwrap();
        assert_eq!(ours.read(), 1);
    });
    races(|| {
        let (ours, theirs) = Shared::new();
        let (sender, receiver) = mpsc::sync_channel(0);
        thread::spawn(move || {
            receiver.recv().unwrap();
            theirs.write(1);
        });
        sender.send(()).unwrap();
        ours.read();
    });
}

#[test]
fn a_wake_publishes_what_came_before_it() {
    orders(|| {
        let (ours, theirs) = Shared::new();
        let mut polled = false;
        block_on(std::future::poll_fn(|context| {
            if std::mem::replace(&mut polled, true) {
                return Poll::Ready(());
            }
            let (waker, theirs) = (context.waker().clone(), theirs.clone());
            thread::spawn(move || {
                theirs.write(1);
                waker.wake();
            });
            Poll::Pending
        }));
        assert_eq!(ours.read(), 1);
    });
    races(|| {
        let (ours, theirs) = Shared::new();
        let mut polled = false;
        block_on(std::future::poll_fn(|context| {
            if std::mem::replace(&mut polled, true) {
                return Poll::Ready(());
            }
            let (waker, theirs) = (context.waker().clone(), theirs.clone());
            thread::spawn(move || {
                waker.wake();
                theirs.write(1);
            });
            Poll::Pending
        }));
        ours.read();
    });
}

#[test]
fn a_task_publishes_what_it_did() {
    orders(|| {
        let (ours, theirs) = Shared::new();
        let task = spawn(async move { theirs.write(1) });
        block_on(task).unwrap();
        assert_eq!(ours.read(), 1);
    });
    orders(|| {
        let (ours, theirs) = Shared::new();
        let task = spawn(async move { theirs.write(1) });
        if task.is_finished() {
            assert_eq!(ours.read(), 1);
        }
    });
    races(|| {
        let (ours, theirs) = Shared::new();
        let task = spawn(async move { theirs.write(1) });
        if !task.is_finished() {
            ours.read();
        }
    });
}

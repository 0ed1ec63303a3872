//! Channels do what std documents: each body runs on std's channels, on ours outside of a check, and under a
//! check. Then what only a check can show: every outcome is reached, and a deadlock is explained.

mod common;

use common::{outcomes, violation};
use selvedge::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
use selvedge::{Checker, Strategy, thread};

macro_rules! same {
    ($(fn $name:ident() $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            mod on_std {
                use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
                use std::sync::{Arc, mpsc::*};
                use std::thread;
                use std::time::{Duration, Instant};

                #[test]
                fn std() $body
            }
            #[allow(unused_imports)]
            mod on_selvedge {
                use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
                use selvedge::sync::{Arc, mpsc::*};
                use selvedge::thread;
                use selvedge::time::{Duration, Instant};

                #[test]
                fn outside() $body

                #[test]
                fn in_check() {
                    fn body() $body
                    selvedge::check(body);
                }
            }
        }
    )*};
}

same! {
    fn messages_arrive_in_order() {
        let (sender, receiver) = channel();
        let thread = thread::spawn(move || (0..4).for_each(|i| sender.send(i).unwrap()));
        for i in 0..4 {
            assert_eq!(receiver.recv(), Ok(i));
        }
        assert_eq!(receiver.recv(), Err(RecvError));
        thread.join().unwrap();
    }

    fn messages_of_each_sender_arrive_in_order() {
        let (sender, receiver) = channel();
        for who in 0..2 {
            let sender = sender.clone();
            thread::spawn(move || (0..2).for_each(|i| sender.send((who, i)).unwrap()));
        }
        drop(sender);
        let received: Vec<_> = receiver.iter().collect();
        for who in 0..2 {
            let own: Vec<_> = received.iter().filter(|(from, _)| *from == who).map(|(_, i)| *i).collect();
            assert_eq!(own, [0, 1]);
        }
    }

    fn a_send_without_a_receiver_gives_the_message_back() {
        let (sender, receiver) = channel();
        sender.send("lost").unwrap();
        drop(receiver);
        assert_eq!(sender.send("back"), Err(SendError("back")));
        let (sender, receiver) = sync_channel(1);
        drop(receiver);
        assert_eq!(sender.send("back"), Err(SendError("back")));
        assert_eq!(sender.try_send("back"), Err(TrySendError::Disconnected("back")));
    }

    fn what_was_sent_before_the_senders_went_is_received() {
        let (sender, receiver) = channel();
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        drop(sender);
        assert_eq!(receiver.recv(), Ok(1));
        assert_eq!(receiver.try_recv(), Ok(2));
        assert_eq!(receiver.recv(), Err(RecvError));
        assert_eq!(receiver.recv(), Err(RecvError));
    }

    fn the_channel_lasts_as_long_as_any_sender() {
        let (sender, receiver) = channel();
        let other = sender.clone();
        drop(sender);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        let thread = thread::spawn(move || other.clone().send(1).unwrap());
        assert_eq!(receiver.recv(), Ok(1));
        thread.join().unwrap();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    }

    fn try_recv_tells_empty_from_disconnected() {
        let (sender, receiver) = channel();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        sender.send(1).unwrap();
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        drop(sender);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    }

    fn recv_timeout_times_out_receives_and_sees_the_end() {
        let (sender, receiver) = channel();
        let limit = Duration::from_millis(5);
        let start = Instant::now();
        assert_eq!(receiver.recv_timeout(limit), Err(RecvTimeoutError::Timeout));
        assert!(start.elapsed() >= limit);
        sender.send(1).unwrap();
        assert_eq!(receiver.recv_timeout(limit), Ok(1));
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        drop(sender);
        assert_eq!(receiver.recv_timeout(Duration::MAX), Err(RecvTimeoutError::Disconnected));
    }

    fn recv_timeout_gets_what_comes_in_time() {
        let (sender, receiver) = channel();
        let thread = thread::spawn(move || {
            sender.send(1).unwrap();
            sender
        });
        let received = loop {
            match receiver.recv_timeout(Duration::from_secs(60)) {
                Ok(value) => break value,
                Err(error) => assert_eq!(error, RecvTimeoutError::Timeout),
            }
        };
        assert_eq!(received, 1);
        drop(thread.join().unwrap());
    }

    fn iterators_end_with_the_senders() {
        let (sender, receiver) = channel();
        let thread = thread::spawn(move || (1..=2).for_each(|i| sender.send(i).unwrap()));
        let mut sum = 0;
        for i in &receiver {
            sum += i;
        }
        assert_eq!((sum, receiver.iter().next()), (3, None));
        thread.join().unwrap();
        let (sender, receiver) = sync_channel(1);
        let thread = thread::spawn(move || (1..=2).for_each(|i| sender.send(i).unwrap()));
        assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [1, 2]);
        thread.join().unwrap();
    }

    fn try_iter_does_not_wait() {
        let (sender, receiver) = channel();
        assert_eq!(receiver.try_iter().count(), 0);
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(receiver.try_iter().next(), None);
        drop(sender);
        assert_eq!(receiver.try_iter().next(), None);
    }

    fn a_bounded_channel_is_full_when_it_has_no_room() {
        let (sender, receiver) = sync_channel(2);
        assert_eq!(sender.try_send(1), Ok(()));
        assert_eq!(sender.send(2), Ok(()));
        assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
        assert_eq!(receiver.recv(), Ok(1));
        assert_eq!(sender.clone().try_send(4), Ok(()));
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [2, 4]);
    }

    fn a_send_waits_for_room() {
        let (sender, receiver) = sync_channel(1);
        let sent = Arc::new(AtomicUsize::new(0));
        let count = sent.clone();
        let thread = thread::spawn(move || {
            for i in 0..3 {
                sender.send(i).unwrap();
                count.fetch_add(1, SeqCst);
            }
        });
        for i in 0..3 {
            assert!(sent.load(SeqCst) <= i + 1);
            assert_eq!(receiver.recv(), Ok(i));
        }
        thread.join().unwrap();
        assert_eq!(sent.load(SeqCst), 3);
    }

    fn a_send_that_waits_for_room_fails_when_the_receiver_goes() {
        let (sender, receiver) = sync_channel(1);
        sender.send(1).unwrap();
        let thread = thread::spawn(move || drop(receiver));
        assert_eq!(sender.send(2), Err(SendError(2)));
        thread.join().unwrap();
    }

    fn a_rendezvous_ends_when_the_message_is_received() {
        let (sender, receiver) = sync_channel(0);
        let receiving = Arc::new(AtomicUsize::new(0));
        let seen = receiving.clone();
        let thread = thread::spawn(move || {
            for i in 1..=2 {
                sender.send(i).unwrap();
                assert!(seen.load(SeqCst) >= i);
            }
        });
        for i in 1..=2 {
            receiving.store(i, SeqCst);
            assert_eq!(receiver.recv(), Ok(i));
        }
        thread.join().unwrap();
        assert_eq!(receiver.recv(), Err(RecvError));
    }

    fn nothing_fits_into_a_rendezvous_without_a_partner() {
        let (sender, receiver) = sync_channel(0);
        assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(receiver.recv_timeout(Duration::from_millis(2)), Err(RecvTimeoutError::Timeout));
        assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
        assert_eq!(receiver.try_iter().next(), None);
        drop(sender);
        assert_eq!(receiver.recv_timeout(Duration::from_millis(2)), Err(RecvTimeoutError::Disconnected));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    }

    fn try_recv_takes_from_a_sender_that_waits() {
        let (sender, receiver) = sync_channel(0);
        let thread = thread::spawn(move || sender.send(1).unwrap());
        let received = loop {
            match receiver.try_recv() {
                Ok(value) => break value,
                Err(error) => assert_eq!(error, TryRecvError::Empty),
            }
            thread::yield_now();
        };
        assert_eq!(received, 1);
        thread.join().unwrap();
    }

    fn try_send_hands_over_to_a_receiver_that_waits() {
        let (sender, receiver) = sync_channel(0);
        let thread = thread::spawn(move || receiver.recv());
        while let Err(error) = sender.try_send(1) {
            assert_eq!(error, TrySendError::Full(1));
            thread::yield_now();
        }
        assert_eq!(thread.join().unwrap(), Ok(1));
    }

    fn a_rendezvous_fails_when_the_receiver_goes() {
        let (sender, receiver) = sync_channel(0);
        let other = sender.clone();
        let threads = [
            thread::spawn(move || assert_eq!(sender.send("a"), Err(SendError("a")))),
            thread::spawn(move || assert_eq!(other.send("b"), Err(SendError("b")))),
        ];
        drop(receiver);
        for thread in threads {
            thread.join().unwrap();
        }
    }

    fn senders_of_a_rendezvous_are_served_one_by_one() {
        let (sender, receiver) = sync_channel(0);
        let other = sender.clone();
        let threads =
            [thread::spawn(move || sender.send(1).unwrap()), thread::spawn(move || other.send(2).unwrap())];
        let first = receiver.recv().unwrap();
        assert_eq!(receiver.recv(), Ok(3 - first));
        assert_eq!(receiver.recv(), Err(RecvError));
        for thread in threads {
            thread.join().unwrap();
        }
    }

    fn messages_that_are_left_are_dropped_with_the_receiver() {
        struct Counted(Arc<AtomicUsize>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let drops = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = channel();
        for _ in 0..3 {
            assert!(sender.send(Counted(drops.clone())).is_ok());
        }
        drop(receiver.recv().unwrap());
        assert_eq!(drops.load(SeqCst), 1);
        drop(receiver);
        assert_eq!(drops.load(SeqCst), 3);
        let back = sender.send(Counted(drops.clone()));
        assert_eq!(drops.load(SeqCst), 3);
        drop(back);
        assert_eq!(drops.load(SeqCst), 4);
    }

    fn ends_can_be_sent_over_channels() {
        let (outer, requests) = channel::<(u32, Sender<u32>)>();
        let server = thread::spawn(move || {
            for (question, reply) in requests {
                reply.send(question + 1).unwrap();
            }
        });
        for question in 0..2 {
            let (sender, receiver) = channel();
            outer.send((question, sender)).unwrap();
            assert_eq!(receiver.recv(), Ok(question + 1));
        }
        drop(outer);
        server.join().unwrap();
    }

    fn threads_may_share_a_sender() {
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            scope.spawn(|| sender.send(1).unwrap());
            scope.spawn(|| sender.send(2).unwrap());
        });
        drop(sender);
        assert_eq!(receiver.iter().sum::<i32>(), 3);
    }

    fn a_channel_of_nothing_and_closures_works() {
        let (sender, receiver) = sync_channel(1);
        sender.send(()).unwrap();
        assert_eq!(sender.try_send(()), Err(TrySendError::Full(())));
        assert_eq!(receiver.recv(), Ok(()));
        let (sender, receiver) = channel::<Box<dyn FnOnce() -> u32 + Send>>();
        let thread = thread::spawn(move || receiver.into_iter().map(|task| task()).sum::<u32>());
        sender.send(Box::new(|| 1)).unwrap();
        sender.send(Box::new(|| 2)).unwrap();
        drop(sender);
        assert_eq!(thread.join().unwrap(), 3);
    }

    fn debug_says_which_end_it_is() {
        let (sender, receiver) = channel::<u32>();
        assert_eq!(format!("{sender:?} {receiver:?}"), "Sender { .. } Receiver { .. }");
        let (sender, receiver) = sync_channel::<u32>(0);
        assert_eq!(format!("{sender:?}"), "SyncSender { .. }");
        drop(sender);
        assert_eq!(format!("{:?}", receiver.recv()), "Err(RecvError)");
    }

    fn ends_have_the_bounds_of_std() {
        fn is_send<T: Send>() {}
        fn is_sync<T: Sync>() {}
        trait AmbiguousIfSync<A> {
            fn check() {}
        }
        impl<T> AmbiguousIfSync<()> for T {}
        impl<T: Sync> AmbiguousIfSync<u8> for T {}
        is_send::<Sender<std::cell::Cell<u8>>>();
        is_sync::<Sender<std::cell::Cell<u8>>>();
        is_sync::<SyncSender<std::cell::Cell<u8>>>();
        is_send::<Receiver<std::cell::Cell<u8>>>();
        <Receiver<u8> as AmbiguousIfSync<_>>::check();
        <Sender<*const u8> as AmbiguousIfSync<_>>::check();
    }
}

#[test]
fn all_orders_of_two_senders_are_explored() {
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        thread::spawn(move || (1..=2).for_each(|i| sender.send(i).unwrap()));
        thread::spawn(move || (3..=4).for_each(|i| other.send(i).unwrap()));
        receiver.iter().collect::<Vec<_>>()
    });
    let all = [[1, 2, 3, 4], [1, 3, 2, 4], [1, 3, 4, 2], [3, 1, 2, 4], [3, 1, 4, 2], [3, 4, 1, 2]];
    assert_eq!(found, all.map(Vec::from).into());
}

#[test]
fn try_recv_sees_each_state_of_the_channel() {
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || _ = sender.send(1));
        [receiver.try_recv(), receiver.try_recv()]
            .map(|result| result.map_err(|error| error == TryRecvError::Disconnected))
    });
    let (empty, gone) = (Err(false), Err(true));
    assert_eq!(found, [[empty, empty], [empty, Ok(1)], [Ok(1), empty], [Ok(1), gone]].into());
}

#[test]
fn recv_timeout_may_time_out_whenever_it_waits() {
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1).unwrap());
        let result = receiver.recv_timeout(std::time::Duration::from_secs(1));
        thread.join().unwrap();
        result.map_err(|error| error == RecvTimeoutError::Timeout)
    });
    assert_eq!(found, [Ok(1), Err(true)].into());
}

#[test]
fn a_timed_rendezvous_may_go_either_way() {
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || sender.send(1).is_ok());
        let received = receiver.recv_timeout(std::time::Duration::from_secs(1)).is_ok();
        drop(receiver);
        (thread.join().unwrap(), received)
    });
    assert_eq!(found, [(true, true), (false, false)].into());
}

#[test]
fn try_variants_of_a_rendezvous_may_come_too_early() {
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || receiver.recv().is_ok());
        let sent = sender.try_send(1);
        drop(sender);
        (sent.is_ok(), thread.join().unwrap())
    });
    assert_eq!(found, [(true, true), (false, false)].into());
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || sender.send(1).is_ok());
        let received = receiver.try_recv().is_ok();
        drop(receiver);
        (thread.join().unwrap(), received)
    });
    assert_eq!(found, [(true, true), (false, false)].into());
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || receiver.try_recv().is_ok());
        let sent = sender.try_send(1) != Err(TrySendError::Full(1));
        (sent, thread.join().unwrap())
    });
    // Two that do not wait never meet; the sender may find the receiver gone.
    assert_eq!(found, [(false, false), (true, false)].into());
}

#[test]
fn a_bounded_sender_runs_ahead_by_its_bound() {
    use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    for bound in 0..3 {
        let found = outcomes(move || {
            let (sender, receiver) = mpsc::sync_channel(bound);
            let sent = std::sync::Arc::new(AtomicUsize::new(0));
            let count = sent.clone();
            let thread = thread::spawn(move || {
                for i in 0..4 {
                    sender.send(i).unwrap();
                    count.fetch_add(1, SeqCst);
                }
            });
            receiver.recv().unwrap();
            let ahead = sent.load(SeqCst);
            assert_eq!(receiver.iter().count(), 3);
            thread.join().unwrap();
            ahead
        });
        assert_eq!(found, (0..=bound + 1).collect(), "with room for {bound}");
    }
}

#[test]
fn drops_of_senders_are_scheduling_points_and_clones_are_none() {
    let steps = |clones: u64| {
        let outcome = Checker::new().strategy(Strategy::Random).max_executions(1).explore(move || {
            let (sender, receiver) = mpsc::channel();
            let thread = thread::spawn(move || {
                (0..clones).for_each(|_| drop(sender.clone()));
                sender.send(1).unwrap();
            });
            assert_eq!(receiver.iter().count(), 1);
            thread.join().unwrap();
        });
        outcome.statistics.depth.unwrap()
    };
    assert_eq!(steps(0) + 5, steps(5));
}

#[test]
fn whoever_drops_the_last_sender_disconnects() {
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        let other = sender.clone();
        let first = thread::spawn(move || {
            thread::yield_now();
            drop(sender);
        });
        let second = thread::spawn(move || {
            thread::yield_now();
            drop(other);
        });
        let result = receiver.try_recv();
        first.join().unwrap();
        second.join().unwrap();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        result == Err(TryRecvError::Disconnected)
    });
    assert_eq!(found, [false, true].into());
}

#[test]
fn a_panicking_thread_disconnects_its_ends() {
    Checker::new().allow_thread_panics().check(|| {
        let (sender, receiver) = mpsc::channel();
        let (back, answers) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || {
            let _ends = (&back, sender.send(1), &sender);
            if receiver_is_tired() {
                panic!("on purpose");
            }
            back.send(0).unwrap();
        });
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [1]);
        assert!(answers.recv().is_err());
        assert!(thread.join().is_err());
    });

    fn receiver_is_tired() -> bool {
        true
    }
}

#[test]
fn waiting_for_a_sender_that_never_sends_is_a_deadlock() {
    let message = violation(|| {
        let (_sender, receiver) = mpsc::channel::<u32>();
        let _ = receiver.recv();
    });
    assert!(message.contains("waits to receive from channel #0"), "{message}");
    let message = violation(|| {
        let (sender, _receiver) = mpsc::sync_channel(1);
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    assert!(message.contains("waits for room in channel #0"), "{message}");
    let message = violation(|| {
        let (sender, _receiver) = mpsc::sync_channel(0);
        sender.send(1).unwrap();
    });
    assert!(message.contains("waits for its message on channel #0 to be received"), "{message}");
}

#[test]
fn a_channel_from_outside_takes_results_out_of_a_check() {
    let (sender, receiver) = mpsc::channel();
    Checker::new().check(move || {
        let sender = sender.clone();
        thread::spawn(move || sender.send(1).unwrap()).join().unwrap();
    });
    assert!(receiver.iter().all(|value| value == 1));
}

#[test]
fn a_check_that_fails_with_messages_under_way_is_torn_down() {
    let message = violation(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let (more, _rest) = mpsc::channel();
        more.send(Box::new(1)).unwrap();
        thread::spawn(move || sender.send(Box::new(2)));
        thread::yield_now();
        assert!(receiver.try_recv().is_err(), "it was there");
    });
    assert!(message.contains("it was there"), "{message}");
}

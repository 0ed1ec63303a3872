//! A mailbox with room for one letter: who sends waits until there is room, who receives until there is a letter.
//!
//! With a sender and a receiver, a wait in an `if` is never seen to be wrong, unless it ends for no reason, as the contract
//! of a condition variable allows. Nor is a weak exchange that is not tried again, unless it fails for none.

//@ waits-in-if: violated, panic, 0 preemptions, 1 spurious
//@ exchanges-once: violated, assertion, 0 preemptions, 1 spurious
//@ fixed-wait: holds, 2 preemptions, 1 spurious
//@ fixed-wait at 0: 3 executions, 3 orders, 35 states
//@ fixed-wait at 1: 4 executions, 4 orders, 43 states
//@ fixed-wait at 2: 4 executions, 4 orders, 43 states
//@ fixed-exchange: holds, 2 preemptions, 1 spurious
//@ fixed-exchange at 0: 6 executions, 6 orders, 68 states
//@ fixed-exchange at 1: 8 executions, 8 orders, 87 states
//@ fixed-exchange at 2: 8 executions, 8 orders, 87 states

use selvedge::sync::atomic::{AtomicU32, Ordering::SeqCst};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge_corpus::{Variant, start};

/// What may be wrong with the mailbox.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    /// Who has waited does not look again.
    WaitsInIf,
    /// Letters are counted by a weak exchange that may fail.
    ExchangesOnce,
}

struct Mailbox {
    bug: Bug,
    letter: Mutex<Option<u32>>,
    changed: Condvar,
    received: AtomicU32,
}

impl Mailbox {
    fn new(bug: Bug) -> Arc<Self> {
        let (letter, changed) = (Mutex::new(None), Condvar::new());
        Arc::new(Mailbox { bug, letter, changed, received: AtomicU32::new(0) })
    }

    fn send(&self, letter: u32) {
        *self.letter.lock().unwrap() = Some(letter);
        self.changed.notify_one();
    }

    fn receive(&self) -> u32 {
        let mut letter = self.letter.lock().unwrap();
        if self.bug == Bug::WaitsInIf {
            if letter.is_none() {
                letter = self.changed.wait(letter).unwrap();
            }
        } else {
            letter = self.changed.wait_while(letter, |letter| letter.is_none()).unwrap();
        }
        letter.take().expect("there is a letter")
    }

    fn count(&self) {
        let before = self.received.load(SeqCst);
        while self.received.compare_exchange_weak(before, before + 1, SeqCst, SeqCst).is_err() {
            if self.bug == Bug::ExchangesOnce {
                return;
            }
        }
    }
}

/// A letter is sent and received.
fn send_and_receive(bug: Bug) {
    let mailbox = Mailbox::new(bug);
    let other = mailbox.clone();
    let sender = start("sender", move || other.send(7));
    assert_eq!(mailbox.receive(), 7);
    sender.join().unwrap();
}

/// A letter is received and counted, by the one thread that counts.
fn receive_and_count(bug: Bug) {
    let mailbox = Mailbox::new(bug);
    let other = mailbox.clone();
    let sender = start("sender", move || other.send(7));
    mailbox.receive();
    mailbox.count();
    assert_eq!(mailbox.received.load(SeqCst), 1, "one letter was received");
    sender.join().unwrap();
}

/// The mailbox with each of the bugs, and without.
pub(crate) const VARIANTS: &[Variant] = &[
    ("waits-in-if", || send_and_receive(Bug::WaitsInIf)),
    ("exchanges-once", || receive_and_count(Bug::ExchangesOnce)),
    ("fixed-wait", || send_and_receive(Bug::None)),
    ("fixed-exchange", || receive_and_count(Bug::None)),
];

fn main() {
    selvedge_corpus::check("mailbox", VARIANTS);
}

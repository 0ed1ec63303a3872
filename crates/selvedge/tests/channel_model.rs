//! Channels against a model: for many small programs, what a check reaches is exactly what a brute-force walk
//! over the states of a plain description of a channel reaches; under the default strategy too, which says that it has
//! checked every execution, although receives with a time limit yield more often than its fair bound.

mod model;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::{Answer, Receive, Results, Send, outcomes_of};
use selvedge::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
use selvedge::{Checker, Strategy, thread};
use selvedge_core::Guarantee;

/// One receiver, and some senders of a channel with some room; what each of them does.
#[derive(Clone, Debug)]
struct Script {
    room: Option<usize>,
    senders: Vec<Vec<Send>>,
    receiver: Vec<Receive>,
}

/// The results of one execution. The last thread that lets go of it has the execution's outcome.
struct Record {
    results: Mutex<Results>,
    found: Arc<Mutex<BTreeSet<Results>>>,
}

impl Record {
    fn note(&self, thread: usize, answer: Answer) {
        self.results.lock().unwrap()[thread].push(answer);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let results = std::mem::take(self.results.get_mut().unwrap_or_else(PoisonError::into_inner));
        self.found.lock().unwrap().insert(results);
    }
}

#[derive(Clone)]
enum Sender {
    Unbounded(mpsc::Sender<u8>),
    Bounded(mpsc::SyncSender<u8>),
}

impl Sender {
    fn perform(&self, op: Send, value: u8) -> Answer {
        let result = match (self, op) {
            (Sender::Unbounded(sender), _) => sender.send(value).map_err(|_| Answer::Gone),
            (Sender::Bounded(sender), Send::Wait) => sender.send(value).map_err(|_| Answer::Gone),
            (Sender::Bounded(sender), Send::Try) => sender.try_send(value).map_err(|error| match error {
                TrySendError::Full(_) => Answer::NotNow,
                TrySendError::Disconnected(_) => Answer::Gone,
            }),
        };
        result.map_or_else(|error| error, |()| Answer::Sent)
    }
}

/// The first of two receives, or the second: each at a place of its own, as in a program without loops.
#[expect(clippy::if_same_then_else, reason = "what differs is the place")]
fn receive(receiver: &mpsc::Receiver<u8>, op: Receive, is_first: bool) -> Answer {
    const LIMIT: Duration = Duration::from_secs(1);
    let result = match op {
        Receive::Wait => receiver.recv().map_err(|_| Answer::Gone),
        Receive::Try => receiver.try_recv().map_err(|error| match error {
            TryRecvError::Empty => Answer::NotNow,
            TryRecvError::Disconnected => Answer::Gone,
        }),
        Receive::Timed => {
            let result = if is_first { receiver.recv_timeout(LIMIT) } else { receiver.recv_timeout(LIMIT) };
            result.map_err(|error| match error {
                RecvTimeoutError::Timeout => Answer::NotNow,
                RecvTimeoutError::Disconnected => Answer::Gone,
            })
        }
    };
    result.map_or_else(|error| error, Answer::Got)
}

/// What a check reaches, and its guarantee.
fn explored(script: &Script, checker: Checker) -> (BTreeSet<Results>, Guarantee) {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let (keep, program) = (found.clone(), script.clone());
    let outcome = checker.explore(move || {
        let results = Mutex::new(vec![Vec::new(); program.senders.len() + 1]);
        let record = Arc::new(Record { results, found: keep.clone() });
        let (first, receiver) = match program.room {
            None => {
                let (sender, receiver) = mpsc::channel();
                (Sender::Unbounded(sender), receiver)
            }
            Some(room) => {
                let (sender, receiver) = mpsc::sync_channel(room);
                (Sender::Bounded(sender), receiver)
            }
        };
        for (index, ops) in program.senders.iter().cloned().enumerate() {
            let (sender, record) = (first.clone(), record.clone());
            thread::spawn(move || {
                for (count, op) in ops.into_iter().enumerate() {
                    record.note(index, sender.perform(op, (10 * index + count) as u8));
                }
            });
        }
        drop(first);
        for (index, op) in program.receiver.iter().enumerate() {
            record.note(program.senders.len(), receive(&receiver, *op, index == 0));
        }
    });
    assert!(outcome.holds(), "{script:?}: {:?}", outcome.verdict);
    let guarantee = outcome.guarantee().expect("it holds").clone();
    (std::mem::take(&mut found.lock().unwrap()), guarantee)
}

fn compare(script: &Script) {
    let expected = outcomes_of(script.room, &script.senders, &script.receiver);
    let (found, _) = explored(script, Checker::new().strategy(Strategy::Dfs).yields(10));
    assert_eq!(found, expected, "{script:?}");
    let (found, guarantee) = explored(script, Checker::new().unbounded());
    assert_eq!(found, expected, "{script:?}");
    assert_eq!(guarantee.bounds.yields, None, "{script:?}");
    assert!(guarantee.complete, "{script:?}");
}

/// All lists of so many of these.
fn lists<T: Copy>(items: &[T], length: usize) -> Vec<Vec<T>> {
    (0..length).fold(vec![Vec::new()], |lists, _| {
        lists.iter().flat_map(|list| items.iter().map(|item| [list.as_slice(), &[*item]].concat())).collect()
    })
}

fn sends(room: Option<usize>) -> &'static [Send] {
    if room.is_none() { &[Send::Wait] } else { &[Send::Wait, Send::Try] }
}

const RECEIVES: [Receive; 3] = [Receive::Wait, Receive::Try, Receive::Timed];

#[test]
fn one_sender() {
    for room in [None, Some(0), Some(1), Some(2)] {
        for length in 1..=2 {
            for sender in lists(sends(room), length) {
                for receiver in (0..=2).flat_map(|length| lists(&RECEIVES, length)) {
                    compare(&Script { room, senders: vec![sender.clone()], receiver });
                }
            }
        }
    }
}

#[test]
fn two_senders() {
    for room in [None, Some(0), Some(1), Some(2)] {
        for ops in lists(sends(room), 2) {
            for receiver in (0..=2).flat_map(|length| lists(&RECEIVES, length)) {
                let senders = ops.iter().map(|op| vec![*op]).collect();
                compare(&Script { room, senders, receiver });
            }
        }
    }
}

#[test]
fn a_sender_of_two_and_a_sender_of_one() {
    for room in [None, Some(0), Some(1)] {
        for pair in lists(sends(room), 2) {
            let senders = vec![pair, vec![Send::Wait]];
            compare(&Script { room, senders, receiver: vec![Receive::Wait, Receive::Try] });
        }
    }
}

//! A channel in the plainest words: states, and what each thread can do next in one.

use std::collections::BTreeSet;

/// A send that waits, or one that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Send {
    Wait,
    Try,
}

/// A receive that waits, one that does not, and one that waits for a time that may run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receive {
    Wait,
    Try,
    Timed,
}

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    Sent,
    Got(u8),
    /// Full, empty, or out of time.
    NotNow,
    /// Nobody is at the other end.
    Gone,
}

/// The answers to each sender, and last those to the receiver.
pub(crate) type Results = Vec<Vec<Answer>>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    /// Messages with who sent them.
    queue: Vec<(usize, u8)>,
    /// In a rendezvous: senders whose message waits to be taken, and whether the receiver waits.
    offering: Vec<bool>,
    receiving: bool,
    /// Which senders are gone, and last whether the receiver is.
    gone: Vec<bool>,
    results: Results,
}

struct Model<'a> {
    room: Option<usize>,
    senders: &'a [Vec<Send>],
    receiver: &'a [Receive],
}

/// Everything that can come of a script.
pub(crate) fn outcomes_of(
    room: Option<usize>,
    senders: &[Vec<Send>],
    receiver: &[Receive],
) -> BTreeSet<Results> {
    let model = Model { room, senders, receiver };
    let threads = senders.len() + 1;
    let mut seen = BTreeSet::new();
    let mut outcomes = BTreeSet::new();
    let mut todo = vec![State {
        queue: Vec::new(),
        offering: vec![false; senders.len()],
        receiving: false,
        gone: vec![false; threads],
        results: vec![Vec::new(); threads],
    }];
    while let Some(state) = todo.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        if state.gone.iter().all(|gone| *gone) {
            outcomes.insert(state.results);
            continue;
        }
        let before = todo.len();
        for sender in (0..senders.len()).filter(|sender| !state.gone[*sender]) {
            todo.extend(model.sender(&state, sender));
        }
        if !state.gone[senders.len()] {
            todo.extend(model.receiver(&state));
        }
        assert!(todo.len() > before, "the model is stuck in {state:?}");
    }
    outcomes
}

impl Model<'_> {
    /// The state after a sender's next step, if it can take it.
    fn sender(&self, state: &State, sender: usize) -> Option<State> {
        let receiver = self.senders.len();
        let mut next = state.clone();
        let done = state.results[sender].len();
        let Some(op) = self.senders[sender].get(done) else {
            next.gone[sender] = true;
            return Some(next);
        };
        let message = (sender, (10 * sender + done) as u8);
        let answer = if state.offering[sender] {
            if state.queue.contains(&message) && !state.gone[receiver] {
                return None;
            }
            next.offering[sender] = false;
            next.queue.retain(|queued| *queued != message);
            if state.queue.contains(&message) { Answer::Gone } else { Answer::Sent }
        } else if state.gone[receiver] {
            Answer::Gone
        } else if self.room.is_none_or(|room| state.queue.len() < room)
            || (self.room == Some(0) && state.receiving && state.queue.is_empty())
        {
            next.queue.push(message);
            Answer::Sent
        } else if *op == Send::Try {
            Answer::NotNow
        } else if self.room == Some(0) {
            next.offering[sender] = true;
            next.queue.push(message);
            return Some(next);
        } else {
            return None;
        };
        next.results[sender].push(answer);
        Some(next)
    }

    /// The state after the receiver's next step, if it can take it. One whose time may run out always can.
    fn receiver(&self, state: &State) -> Option<State> {
        let receiver = self.senders.len();
        let mut next = state.clone();
        let Some(op) = self.receiver.get(state.results[receiver].len()) else {
            next.gone[receiver] = true;
            next.queue.retain(|(sender, _)| state.offering[*sender]);
            return Some(next);
        };
        let answer = if let Some((_, value)) = state.queue.first() {
            next.queue.remove(0);
            Answer::Got(*value)
        } else if state.gone[..receiver].iter().all(|gone| *gone) {
            Answer::Gone
        } else if self.room == Some(0) && !state.receiving && *op != Receive::Try {
            next.receiving = true;
            return Some(next);
        } else if *op == Receive::Wait {
            return None;
        } else {
            Answer::NotNow
        };
        next.receiving = false;
        next.results[receiver].push(answer);
        Some(next)
    }
}

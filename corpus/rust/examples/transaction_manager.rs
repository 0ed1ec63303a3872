//! A transaction manager: transactions in flight are in a hash table with a lock for each bucket; clients
//! create, commit and delete them, and a timer flushes those that have timed out.
//!
//! After the transaction manager among the programs of Musuvathi and Qadeer's *Iterative Context Bounding*
//! (PLDI 2007). A client creates the first transaction, which starts the timer; the timer ends when it finds
//! nothing in flight, and is started again when it is next needed. To commit, a client first extends the
//! deadline, so that the timer leaves the transaction alone, and then writes the log without holding a lock.

//@ flush-unseen: violated, panic, 2 preemptions
//@ flush-unseen at 0: 1 execution, 1 order, 37 states
//@ flush-unseen at 1: 7 executions, 7 orders, 233 states
//@ timer-retires: violated, deadlock, 2 preemptions
//@ timer-retires at 0: 1 execution, 1 order, 36 states
//@ timer-retires at 1: 6 executions, 6 orders, 222 states
//@ flush-renewed: violated, panic, 3 preemptions
//@ flush-renewed at 0: 1 execution, 1 order, 37 states
//@ flush-renewed at 1: 7 executions, 7 orders, 233 states
//@ flush-renewed at 2: 19 executions, 19 orders, 510 states
//@ fixed-commit: holds, 3 preemptions
//@ fixed-commit at 0: 1 execution, 1 order, 37 states
//@ fixed-commit at 1: 7 executions, 7 orders, 233 states
//@ fixed-commit at 2: 19 executions, 19 orders, 510 states
//@ fixed-commit at 3: 27 executions, 27 orders, 740 states
//@ fixed-timer: holds, 3 preemptions
//@ fixed-timer at 0: 1 execution, 1 order, 40 states
//@ fixed-timer at 1: 6 executions, 6 orders, 258 states
//@ fixed-timer at 2: 26 executions, 26 orders, 969 states
//@ fixed-timer at 3: 83 executions, 83 orders, 2513 states

use std::collections::BTreeMap;
use std::time::Duration;

use selvedge::sync::atomic::{AtomicBool, Ordering::SeqCst};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::thread::{self, JoinHandle};
use selvedge_corpus::{Variant, start};

/// What may be wrong with the manager.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    /// The timer lists what has timed out under the locks of the buckets, and flushes the list later without
    /// looking again. What was committed meanwhile is rolled back.
    FlushUnseen,
    /// The timer finds nothing in flight, says that there is no timer any more, and ends without looking
    /// again. A transaction that is created between the two relies on that timer: nobody flushes it.
    TimerRetires,
    /// The timer looks again before it flushes, but only at the state and not at the deadline. A transaction
    /// that was listed, then renewed for its commit, is rolled back while its log record is being written.
    FlushRenewed,
}

type Id = u64;

/// The manager's clock, in ticks since it started.
type Tick = u64;

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Committed,
    Aborted,
}

struct Transaction {
    status: Mutex<Status>,
    resolved: Condvar,
}

struct Status {
    state: State,
    deadline: Tick,
}

impl Transaction {
    /// Waits until it is committed or aborted.
    fn wait(&self) -> State {
        let status = self.status.lock().unwrap();
        self.resolved.wait_while(status, |status| status.state == State::Active).unwrap().state
    }
}

/// A bucket of the table of transactions in flight.
type Bucket = Mutex<BTreeMap<Id, Arc<Transaction>>>;

const BUCKETS: usize = 2;

/// What the timer's clock shows.
const NOW: Tick = 10;

/// A deadline that has passed when the timer looks, and one that has not.
const SHORT: Tick = 5;
const LONG: Tick = 1000;

struct Manager {
    bug: Bug,
    buckets: [Bucket; BUCKETS],
    /// A thread flushes what times out. Whoever sets this starts it.
    has_timer: AtomicBool,
    /// The threads that are or were the timer.
    timers: Mutex<Vec<JoinHandle<()>>>,
    log: Mutex<Vec<Id>>,
}

impl Manager {
    fn new(bug: Bug) -> Arc<Self> {
        Arc::new(Manager {
            bug,
            buckets: Default::default(),
            has_timer: AtomicBool::new(false),
            timers: Mutex::default(),
            log: Mutex::default(),
        })
    }

    fn bucket(&self, id: Id) -> &Bucket {
        &self.buckets[id as usize % BUCKETS]
    }

    /// A client begins a transaction.
    fn create(manager: &Arc<Self>, id: Id, deadline: Tick) -> Arc<Transaction> {
        let status = Mutex::new(Status { state: State::Active, deadline });
        let transaction = Arc::new(Transaction { status, resolved: Condvar::new() });
        manager.bucket(id).lock().unwrap().insert(id, transaction.clone());
        if !manager.has_timer.swap(true, SeqCst) {
            let timer = manager.clone();
            manager.timers.lock().unwrap().push(start("timer", move || timer.run_timer()));
        }
        transaction
    }

    /// A client commits a transaction, unless that has been aborted.
    fn commit(&self, id: Id) -> Result<(), State> {
        let transaction = self.bucket(id).lock().unwrap().get(&id).cloned().ok_or(State::Aborted)?;
        {
            let mut status = transaction.status.lock().unwrap();
            if status.state != State::Active {
                return Err(status.state);
            }
            status.deadline = LONG;
        }
        self.log.lock().unwrap().push(id);
        {
            let mut status = transaction.status.lock().unwrap();
            assert!(status.state == State::Active, "transaction {id} was rolled back while it was committed");
            status.state = State::Committed;
        }
        transaction.resolved.notify_all();
        self.bucket(id).lock().unwrap().remove(&id);
        Ok(())
    }

    /// A client gives up a transaction that has done nothing.
    fn delete(&self, id: Id) {
        self.bucket(id).lock().unwrap().remove(&id);
    }

    /// The timer's thread.
    fn run_timer(&self) {
        loop {
            self.flush(NOW);
            if self.retire() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Aborts what has timed out.
    fn flush(&self, now: Tick) {
        let mut late = Vec::new();
        for bucket in &self.buckets {
            for (&id, transaction) in &*bucket.lock().unwrap() {
                if transaction.status.lock().unwrap().deadline <= now {
                    late.push((id, transaction.clone()));
                }
            }
        }
        // The locks of the buckets are free again: clients need not wait while transactions are rolled back.
        for (id, transaction) in late {
            {
                let mut status = transaction.status.lock().unwrap();
                let flushes = match self.bug {
                    Bug::FlushUnseen => true,
                    Bug::FlushRenewed => status.state == State::Active,
                    Bug::None | Bug::TimerRetires => status.state == State::Active && status.deadline <= now,
                };
                if !flushes {
                    continue;
                }
                status.state = State::Aborted;
            }
            transaction.resolved.notify_all();
            self.bucket(id).lock().unwrap().remove(&id);
        }
    }

    /// Whether the timer ends, because it has nothing to do.
    fn retire(&self) -> bool {
        if self.in_flight() {
            return false;
        }
        self.has_timer.store(false, SeqCst);
        if self.bug == Bug::TimerRetires {
            return true;
        }
        // What was created just before relied on this timer: it goes on, unless there is another by now.
        !self.in_flight() || self.has_timer.swap(true, SeqCst)
    }

    fn in_flight(&self) -> bool {
        self.buckets.iter().any(|bucket| !bucket.lock().unwrap().is_empty())
    }

    /// Waits for the timer to retire, which it does when nothing is in flight.
    fn shut_down(&self) {
        let threads = std::mem::take(&mut *self.timers.lock().unwrap());
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

/// A client commits a transaction that times out meanwhile. Once it is committed it stays so.
fn commit_against_timer(bug: Bug) {
    let manager = Manager::new(bug);
    let transaction = Manager::create(&manager, 1, SHORT);
    let committed = manager.commit(1);
    manager.shut_down();
    let state = transaction.status.lock().unwrap().state;
    match committed {
        Ok(()) => assert!(state == State::Committed, "a committed transaction is {state:?}"),
        Err(seen) => assert_eq!(seen, state),
    }
}

/// A client deletes one transaction and forgets about another, which must time out.
fn timer_against_client(bug: Bug) {
    let manager = Manager::new(bug);
    Manager::create(&manager, 1, SHORT);
    manager.delete(1);
    let forgotten = Manager::create(&manager, 2, SHORT);
    assert_eq!(forgotten.wait(), State::Aborted);
    manager.shut_down();
}

/// The manager with each of the bugs, and without.
pub(crate) const VARIANTS: &[Variant] = &[
    ("flush-unseen", || commit_against_timer(Bug::FlushUnseen)),
    ("timer-retires", || timer_against_client(Bug::TimerRetires)),
    ("flush-renewed", || commit_against_timer(Bug::FlushRenewed)),
    ("fixed-commit", || commit_against_timer(Bug::None)),
    ("fixed-timer", || timer_against_client(Bug::None)),
];

fn main() {
    selvedge_corpus::check("transaction_manager", VARIANTS);
}

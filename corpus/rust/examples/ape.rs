//! An asynchronous processing environment: work items are posted, worker threads run them, completions say
//! when something is done, and objects that items share are counted.
//!
//! After APE, the environment of that kind among the programs of Musuvathi and Qadeer's *Iterative Context
//! Bounding* (PLDI 2007). The main thread sets it up with two workers, posts items, waits for them, frees what
//! they used, and shuts down.

//@ wakes-one: violated, deadlock, 0 preemptions
//@ drains-queue-only: violated, panic, 0 preemptions
//@ check-then-wait: violated, deadlock, 1 preemption
//@ check-then-wait at 0: 8 executions, 8 orders, 168 states
//@ resurrects: violated, panic, 2 preemptions
//@ resurrects at 0: 8 executions, 8 orders, 167 states
//@ resurrects at 1: 124 executions, 124 orders, 2547 states
//@ fixed-completion: holds, 2 preemptions
//@ fixed-completion at 0: 8 executions, 8 orders, 176 states
//@ fixed-completion at 1: 120 executions, 120 orders, 2470 states
//@ fixed-completion at 2: 648 executions, 648 orders, 12260 states
//@ fixed-object: holds, 2 preemptions
//@ fixed-object at 0: 8 executions, 8 orders, 167 states
//@ fixed-object at 1: 120 executions, 120 orders, 2471 states
//@ fixed-object at 2: 692 executions, 692 orders, 14039 states

use std::collections::{BTreeMap, VecDeque};

use selvedge::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::thread::JoinHandle;
use selvedge_corpus::{Allocation, Variant, start};

/// What may be wrong with the environment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    /// A completion wakes one of those who wait for it, as if there were never more. The others wait for ever.
    WakesOne,
    /// Draining waits until nothing is queued, although what was taken from the queue may still be running.
    DrainsQueueOnly,
    /// Whoever waits for a completion looks at its flag before taking the lock. When it is set in between,
    /// the notification is over before the wait begins.
    CheckThenWait,
    /// Whoever lets go of an object counts down before locking the table of objects. In between another can
    /// find the object, whose count is zero, and count it up again; it is freed all the same.
    Resurrects,
}

/// Something that is done at some time, and stays so.
struct Completion {
    bug: Bug,
    done: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Completion {
    fn new(bug: Bug) -> Arc<Self> {
        let done = AtomicBool::new(false);
        Arc::new(Completion { bug, done, lock: Mutex::new(()), changed: Condvar::new() })
    }

    fn set(&self) {
        let _lock = self.lock.lock().unwrap();
        self.done.store(true, SeqCst);
        match self.bug {
            Bug::WakesOne => self.changed.notify_one(),
            _ => self.changed.notify_all(),
        }
    }

    fn wait(&self) {
        if self.bug == Bug::CheckThenWait {
            if !self.done.load(SeqCst) {
                drop(self.changed.wait(self.lock.lock().unwrap()).unwrap());
            }
            return;
        }
        let mut lock = self.lock.lock().unwrap();
        while !self.done.load(SeqCst) {
            lock = self.changed.wait(lock).unwrap();
        }
    }
}

/// An object that items share for as long as one of them needs it.
struct Object {
    memory: Allocation,
    references: AtomicU32,
    lines: Mutex<Vec<&'static str>>,
}

impl Object {
    fn new() -> Arc<Self> {
        Arc::new(Object {
            memory: Allocation::new("an object"),
            references: AtomicU32::new(0),
            lines: Mutex::default(),
        })
    }

    fn append(&self, line: &'static str) {
        let mut lines = self.lines.lock().unwrap();
        self.memory.touch();
        lines.push(line);
    }
}

/// Objects by name.
struct Objects {
    bug: Bug,
    table: Mutex<BTreeMap<&'static str, Arc<Object>>>,
}

impl Objects {
    /// Gives the object of this name, which is made if there is none.
    fn open(&self, name: &'static str) -> Arc<Object> {
        let mut table = self.table.lock().unwrap();
        let object = table.entry(name).or_insert_with(Object::new);
        object.references.fetch_add(1, SeqCst);
        object.clone()
    }

    /// Lets go of an object that was opened. The last to do so frees it.
    fn close(&self, name: &'static str, object: &Object) {
        if self.bug == Bug::Resurrects {
            if object.references.fetch_sub(1, SeqCst) == 1 {
                Self::forget(&mut self.table.lock().unwrap(), name);
            }
            return;
        }
        let mut table = self.table.lock().unwrap();
        if object.references.fetch_sub(1, SeqCst) == 1 {
            Self::forget(&mut table, name);
        }
    }

    fn forget(table: &mut BTreeMap<&'static str, Arc<Object>>, name: &'static str) {
        if let Some(object) = table.remove(name) {
            object.memory.free();
        }
    }
}

type WorkItem = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Work {
    queued: VecDeque<WorkItem>,
    /// Items that are queued or running.
    unfinished: usize,
    shutting_down: bool,
}

/// What the workers share.
struct Pool {
    bug: Bug,
    work: Mutex<Work>,
    available: Condvar,
    drained: Condvar,
}

impl Pool {
    /// What a worker does.
    fn serve(&self) {
        let mut work = self.work.lock().unwrap();
        loop {
            work = self
                .available
                .wait_while(work, |work| work.queued.is_empty() && !work.shutting_down)
                .unwrap();
            let Some(item) = work.queued.pop_front() else { return };
            self.tell_if_drained(&work);
            drop(work);
            item();
            work = self.work.lock().unwrap();
            work.unfinished -= 1;
            self.tell_if_drained(&work);
        }
    }

    fn is_drained(&self, work: &Work) -> bool {
        match self.bug {
            Bug::DrainsQueueOnly => work.queued.is_empty(),
            _ => work.unfinished == 0,
        }
    }

    fn tell_if_drained(&self, work: &Work) {
        if self.is_drained(work) {
            self.drained.notify_all();
        }
    }
}

/// The environment.
struct Environment {
    pool: Arc<Pool>,
    workers: Vec<JoinHandle<()>>,
}

impl Environment {
    fn new(bug: Bug) -> Self {
        let pool = Arc::new(Pool {
            bug,
            work: Mutex::default(),
            available: Condvar::new(),
            drained: Condvar::new(),
        });
        let worker = |number| {
            let pool = pool.clone();
            start(&format!("worker {number}"), move || pool.serve())
        };
        let workers = (1..=2).map(worker).collect();
        Environment { pool, workers }
    }

    fn post(&self, item: impl FnOnce() + Send + 'static) {
        let mut work = self.pool.work.lock().unwrap();
        work.queued.push_back(Box::new(item));
        work.unfinished += 1;
        self.pool.available.notify_one();
    }

    /// Waits until all that was posted is finished.
    fn drain(&self) {
        let work = self.pool.work.lock().unwrap();
        drop(self.pool.drained.wait_while(work, |work| !self.pool.is_drained(work)).unwrap());
    }

    fn shut_down(self) {
        self.pool.work.lock().unwrap().shutting_down = true;
        self.pool.available.notify_all();
        for worker in self.workers {
            worker.join().unwrap();
        }
    }
}

/// One item and the main thread wait for another item. Then the data that the items use is freed.
fn wait_for_completion(bug: Bug) {
    let environment = Environment::new(bug);
    let data = Arc::new(Allocation::new("the items' data"));
    let ready = Completion::new(bug);
    environment.post({
        let (data, ready) = (data.clone(), ready.clone());
        move || {
            ready.wait();
            data.touch();
        }
    });
    environment.post({
        let ready = ready.clone();
        move || ready.set()
    });
    ready.wait();
    environment.drain();
    data.free();
    environment.shut_down();
}

/// Two items share an object, which is freed when neither needs it.
fn share_object(bug: Bug) {
    let environment = Environment::new(bug);
    let objects = Arc::new(Objects { bug, table: Mutex::default() });
    for _ in 0..2 {
        let objects = objects.clone();
        environment.post(move || {
            let object = objects.open("log file");
            object.append("done");
            objects.close("log file", &object);
        });
    }
    environment.drain();
    assert!(objects.table.lock().unwrap().is_empty());
    environment.shut_down();
}

/// The environment with each of the bugs, and without.
pub(crate) const VARIANTS: &[Variant] = &[
    ("wakes-one", || wait_for_completion(Bug::WakesOne)),
    ("drains-queue-only", || wait_for_completion(Bug::DrainsQueueOnly)),
    ("check-then-wait", || wait_for_completion(Bug::CheckThenWait)),
    ("resurrects", || share_object(Bug::Resurrects)),
    ("fixed-completion", || wait_for_completion(Bug::None)),
    ("fixed-object", || share_object(Bug::None)),
];

fn main() {
    selvedge_corpus::check("ape", VARIANTS);
}

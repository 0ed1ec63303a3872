//! A generated program as a closure on the library's types: the second implementation of what it means.

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex as Plain};
use std::time::Duration;

use selvedge::cell::UnsafeCell;
use selvedge::sync::atomic::{AtomicI64, Ordering::SeqCst};
use selvedge::sync::{Condvar, Mutex, RwLock};
use selvedge::thread::{self, JoinHandle, Thread};
use selvedge_testgen::{Program, Statement};

/// What the bodies remembered, for each execution that was begun.
pub(crate) type Log = Arc<Plain<Vec<Vec<Vec<i64>>>>>;

/// What the threads share. It is made anew for every execution.
struct World {
    program: Arc<Program>,
    log: Log,
    mutexes: Vec<Mutex<()>>,
    rwlocks: Vec<RwLock<()>>,
    condvars: Vec<Condvar>,
    atomics: Vec<AtomicI64>,
    cells: Vec<UnsafeCell<()>>,
    /// The threads by body, for those that unpark them.
    threads: Plain<Vec<Option<Thread>>>,
}

// SAFETY: the cells hold nothing, and nothing is read or written through their pointers.
unsafe impl Sync for World {}

/// The closure to check, which writes what its threads remember to the log.
pub(crate) fn closure(program: &Program, log: &Log) -> impl Fn() + Send + Sync + 'static {
    let (program, log) = (Arc::new(program.clone()), log.clone());
    move || {
        log.lock().unwrap().push(vec![Vec::new(); program.bodies.len()]);
        let count = program.objects();
        let world = World {
            program: program.clone(),
            log: log.clone(),
            mutexes: (0..count).map(|_| Mutex::new(())).collect(),
            rwlocks: (0..count).map(|_| RwLock::new(())).collect(),
            condvars: (0..count).map(|_| Condvar::new()).collect(),
            atomics: (0..count).map(|_| AtomicI64::new(0)).collect(),
            cells: (0..count).map(|_| UnsafeCell::new(())).collect(),
            threads: Plain::new(vec![None; program.bodies.len()]),
        };
        run(&Arc::new(world), 0, None);
    }
}

/// Runs the statements of a body. Guards are kept where unwinding does not drop them: a lock that the
/// program does not unlock stays locked.
fn run(world: &Arc<World>, body: usize, creator: Option<usize>) {
    world.threads.lock().unwrap()[body] = Some(thread::current());
    let mut guards = BTreeMap::new();
    let (mut readers, mut writers) = (BTreeMap::<usize, Vec<_>>::new(), BTreeMap::new());
    let mut children: BTreeMap<usize, JoinHandle<()>> = BTreeMap::new();
    let mut last = None;
    let limit = Duration::from_millis(1);
    let mut statements = world.program.bodies[body].iter();
    while let Some(statement) = statements.next() {
        let remembered = match *statement {
            Statement::Lock(m) => {
                guards.insert(m, ManuallyDrop::new(world.mutexes[m].lock().unwrap()));
                None
            }
            Statement::Unlock(m) => {
                drop(guards.remove(&m).map(ManuallyDrop::into_inner));
                None
            }
            Statement::TryLock(m) => {
                let guard = world.mutexes[m].try_lock().ok();
                let taken = guard.is_some();
                guards.extend(guard.map(|guard| (m, ManuallyDrop::new(guard))));
                Some(i64::from(taken))
            }
            Statement::ReadLock(l) => {
                if !writers.contains_key(&l) {
                    let guard = world.rwlocks[l].read().unwrap();
                    readers.entry(l).or_default().push(ManuallyDrop::new(guard));
                }
                None
            }
            Statement::ReadUnlock(l) => {
                drop(readers.entry(l).or_default().pop().map(ManuallyDrop::into_inner));
                None
            }
            Statement::TryReadLock(l) => {
                let guard = world.rwlocks[l].try_read().ok();
                let taken = guard.is_some();
                readers.entry(l).or_default().extend(guard.map(ManuallyDrop::new));
                Some(i64::from(taken))
            }
            Statement::WriteLock(l) => {
                writers.entry(l).or_insert_with(|| ManuallyDrop::new(world.rwlocks[l].write().unwrap()));
                None
            }
            Statement::WriteUnlock(l) => {
                drop(writers.remove(&l).map(ManuallyDrop::into_inner));
                None
            }
            Statement::TryWriteLock(l) => {
                let guard = world.rwlocks[l].try_write().ok();
                let taken = guard.is_some();
                writers.extend(guard.map(|guard| (l, ManuallyDrop::new(guard))));
                Some(i64::from(taken))
            }
            Statement::Wait(c) => {
                if let Some(guard) = guards.remove(&c) {
                    let guard = world.condvars[c].wait(ManuallyDrop::into_inner(guard)).unwrap();
                    guards.insert(c, ManuallyDrop::new(guard));
                }
                None
            }
            Statement::WaitTimeout(c) => guards.remove(&c).map(|guard| {
                let guard = ManuallyDrop::into_inner(guard);
                let (guard, result) = world.condvars[c].wait_timeout(guard, limit).unwrap();
                guards.insert(c, ManuallyDrop::new(guard));
                i64::from(result.timed_out())
            }),
            Statement::NotifyOne(c) => {
                world.condvars[c].notify_one();
                None
            }
            Statement::NotifyAll(c) => {
                world.condvars[c].notify_all();
                None
            }
            Statement::Load(a) => Some(world.atomics[a].load(SeqCst)),
            Statement::Store(a, value) => {
                world.atomics[a].store(value, SeqCst);
                None
            }
            Statement::StoreNext(a) => {
                world.atomics[a].store(last.unwrap_or(0) + 1, SeqCst);
                None
            }
            Statement::Add(a) => Some(world.atomics[a].fetch_add(1, SeqCst)),
            Statement::Exchange(a, old, new) => Some(
                world.atomics[a].compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|found| found),
            ),
            Statement::ExchangeWeak(a, old, new) => {
                let exchanged = world.atomics[a].compare_exchange_weak(old, new, SeqCst, SeqCst);
                Some(i64::from(exchanged.is_ok()))
            }
            Statement::Spawn(child) => {
                let shared = world.clone();
                children.insert(child, thread::spawn(move || run(&shared, child, Some(body))));
                None
            }
            Statement::Join(child) => {
                if let Some(handle) = children.remove(&child) {
                    handle.join().unwrap();
                }
                None
            }
            Statement::Yield => {
                thread::yield_now();
                None
            }
            Statement::Yields(times) => {
                (0..times).for_each(|_| thread::yield_now());
                None
            }
            Statement::Park => {
                thread::park();
                None
            }
            Statement::ParkTimeout => {
                thread::park_timeout(limit);
                None
            }
            Statement::Unpark(other) => {
                if children.contains_key(&other) || creator == Some(other) {
                    let thread = world.threads.lock().unwrap()[other].clone();
                    thread.expect("a thread that exists has put itself there").unpark();
                }
                None
            }
            Statement::Choose(n) => (n > 1).then(|| selvedge::choose(n as usize) as i64),
            Statement::Read(c) => {
                world.cells[c].with(|_| ());
                None
            }
            Statement::Write(c) => {
                world.cells[c].with_mut(|_| ());
                None
            }
            Statement::AssertNot(value) => {
                assert_ne!(last, Some(value));
                None
            }
            Statement::AssumeNot(_) => unreachable!("what is assumed in Rust is asserted"),
            Statement::Unless(value) => {
                if last == Some(value) {
                    statements.next();
                }
                None
            }
            Statement::LookUntil(a, value) => {
                while world.atomics[a].load(SeqCst) != value {}
                Some(value)
            }
            Statement::ChooseUntil(n) => {
                while n > 1 && selvedge::choose(n as usize) != 0 {}
                None
            }
            Statement::SpinUntil(a, value) => {
                while world.atomics[a].load(SeqCst) != value {
                    thread::yield_now();
                }
                Some(value)
            }
        };
        if let Some(value) = remembered {
            last = remembered;
            let mut log = world.log.lock().unwrap();
            log.last_mut().expect("this execution was begun")[body].push(value);
        }
    }
}

//! Increments, a deque, readers and writers, and a queue, in C: as many executions and partial orders at each bound as brute force counts
//! that knows the programs' operations and nothing of the runtime.

use std::collections::HashSet;

use selvedge_core::Outcome;
use selvedge_native::{Named, NativeProgram, Parameters, Search};

use crate::common::{compile, has, instrument};

/// What a thread does, one after the other.
#[derive(Clone, Copy)]
enum Do {
    ReadLock,
    ReadUnlock,
    WriteLock,
    WriteUnlock,
    Lock,
    Unlock,
    /// Waits on a condition variable as long as so many are used.
    WaitWhile(i32, usize),
    /// Changes how many are used: no step.
    Use(i32),
    Signal(usize),
    /// Operations on atomics.
    Run(Code),
    Join(usize),
    End,
}

/// What comes at a place of some code, with a register and the atomics: which of these it touches, whether it writes it,
/// and the next place.
type Code = fn(usize, &mut i32, &mut [i32; 2]) -> (usize, bool, usize);

/// The place after the last.
const OVER: usize = usize::MAX;

/// What a step touches: an object, and whether it writes.
type Touch = (Object, bool);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Object {
    ReadWriteLock,
    Mutex,
    Condvar(usize),
    Atomic(usize),
    Thread(usize),
}

#[derive(Clone)]
struct State {
    at: Vec<usize>,
    /// Who waits on which condition variable, and who of them has been woken.
    waits_on: Vec<Option<usize>>,
    woken: Vec<bool>,
    readers: u32,
    writes: bool,
    locked: bool,
    used: i32,
    /// Where each thread is in its code, and its register.
    code_at: Vec<usize>,
    registers: Vec<i32>,
    atomics: [i32; 2],
}

/// A step of an execution: the thread, its number there, what it touches and which waiter it chose.
#[derive(Clone)]
struct Step {
    name: (usize, usize),
    touches: Vec<Touch>,
    chosen: Option<usize>,
}

/// A step with the names of the earlier steps of others that it conflicts with.
type Action = ((usize, usize), Vec<Touch>, Option<usize>, Vec<(usize, usize)>);

struct Brute<'a> {
    bodies: &'a [Vec<Do>],
    /// The most preemptions that an execution may have.
    bound: u32,
    /// The preemptions of each execution, and its partial order.
    runs: Vec<(u32, Vec<Action>)>,
}

impl Brute<'_> {
    fn next(&self, state: &State, thread: usize) -> Option<Do> {
        self.bodies[thread].get(state.at[thread]).copied()
    }

    fn is_enabled(&self, state: &State, thread: usize) -> bool {
        match self.next(state, thread) {
            None => false,
            Some(Do::ReadLock) => !state.writes,
            Some(Do::WriteLock) => !state.writes && state.readers == 0,
            Some(Do::Lock) => !state.locked,
            Some(Do::WaitWhile(..)) if state.waits_on[thread].is_some() => {
                state.woken[thread] && !state.locked
            }
            Some(Do::Join(other)) => self.next(state, other).is_none(),
            Some(_) => true,
        }
    }

    /// Takes a step and what follows it up to the next one; the touches.
    fn step(&self, state: &mut State, thread: usize, chosen: Option<usize>) -> Vec<Touch> {
        let mut moves_on = true;
        let touches = match self.next(state, thread).expect("it is enabled") {
            Do::ReadLock => {
                state.readers += 1;
                vec![(Object::ReadWriteLock, false)]
            }
            Do::ReadUnlock => {
                state.readers -= 1;
                vec![(Object::ReadWriteLock, false)]
            }
            Do::WriteLock => {
                state.writes = true;
                vec![(Object::ReadWriteLock, true)]
            }
            Do::WriteUnlock => {
                state.writes = false;
                vec![(Object::ReadWriteLock, true)]
            }
            Do::Lock => {
                state.locked = true;
                vec![(Object::Mutex, true)]
            }
            Do::Unlock => {
                state.locked = false;
                vec![(Object::Mutex, true)]
            }
            Do::WaitWhile(_, condvar) => {
                moves_on = false;
                // The first step gives the mutex back, the second takes it again and looks once more.
                let wakes = state.waits_on[thread].take().is_some();
                state.locked = wakes;
                if !wakes {
                    (state.waits_on[thread], state.woken[thread]) = (Some(condvar), false);
                }
                vec![(Object::Mutex, true), (Object::Condvar(condvar), !wakes)]
            }
            Do::Signal(condvar) => {
                if let Some(waiter) = chosen {
                    state.woken[waiter] = true;
                }
                vec![(Object::Condvar(condvar), chosen.is_some())]
            }
            Do::Run(code) => {
                let (atomic, writes, next) =
                    code(state.code_at[thread], &mut state.registers[thread], &mut state.atomics);
                moves_on = next == OVER;
                state.code_at[thread] = if moves_on { 0 } else { next };
                vec![(Object::Atomic(atomic), writes)]
            }
            Do::Join(other) => vec![(Object::Thread(other), false)],
            Do::End => vec![(Object::Thread(thread), true)],
            Do::Use(_) => unreachable!("no step"),
        };
        state.at[thread] += usize::from(moves_on);
        loop {
            match self.next(state, thread) {
                Some(Do::Use(change)) => state.used += change,
                Some(Do::WaitWhile(used, _)) if state.waits_on[thread].is_none() && state.used != used => {}
                _ => return touches,
            }
            state.at[thread] += 1;
        }
    }

    /// Every way on from here. `last` has run last.
    fn explore(&mut self, state: &State, last: usize, preemptions: u32, steps: &mut Vec<Step>) {
        let enabled: Vec<usize> =
            (0..self.bodies.len()).filter(|&thread| self.is_enabled(state, thread)).collect();
        if enabled.is_empty() {
            assert!((0..self.bodies.len()).all(|thread| self.next(state, thread).is_none()), "a deadlock");
            let order = order(steps);
            self.runs.push((preemptions, order));
            return;
        }
        for &thread in &enabled {
            let cost = u32::from(thread != last && enabled.contains(&last));
            if preemptions + cost > self.bound {
                continue;
            }
            let waiters: Vec<Option<usize>> = match self.next(state, thread) {
                Some(Do::Signal(condvar)) => (0..self.bodies.len())
                    .filter(|&other| state.waits_on[other] == Some(condvar) && !state.woken[other])
                    .map(Some)
                    .collect(),
                _ => Vec::new(),
            };
            for chosen in if waiters.is_empty() { vec![None] } else { waiters } {
                let mut next = state.clone();
                let number = steps.iter().filter(|step| step.name.0 == thread).count();
                let touches = self.step(&mut next, thread, chosen);
                steps.push(Step { name: (thread, number), touches, chosen });
                self.explore(&next, thread, preemptions + cost, steps);
                steps.pop();
            }
        }
    }
}

fn order(steps: &[Step]) -> Vec<Action> {
    let conflict = |one: &Step, other: &Step| {
        one.name.0 != other.name.0
            && one.touches.iter().any(|(object, writes)| {
                other.touches.iter().any(|(same, also)| object == same && (*writes || *also))
            })
    };
    let mut actions: Vec<Action> = (0..steps.len())
        .map(|index| {
            let step = &steps[index];
            let before = steps[..index].iter().filter(|other| conflict(step, other)).map(|other| other.name);
            let mut before: Vec<_> = before.collect();
            before.sort_unstable();
            (step.name, step.touches.clone(), step.chosen, before)
        })
        .collect();
    actions.sort_unstable();
    actions
}

/// Executions and partial orders within each number of preemptions, from 0 to the bound or the most there are.
fn counts(bodies: &[Vec<Do>], bound: u32) -> Vec<(u64, u64)> {
    let count = bodies.len();
    let state = State {
        at: vec![0; count],
        waits_on: vec![None; count],
        woken: vec![false; count],
        readers: 0,
        writes: false,
        locked: false,
        used: 0,
        code_at: vec![0; count],
        registers: vec![0; count],
        atomics: [0; 2],
    };
    let mut brute = Brute { bodies, bound, runs: Vec::new() };
    brute.explore(&state, 0, 0, &mut Vec::new());
    let most = brute.runs.iter().map(|run| run.0).max().expect("there is an execution");
    let within = |bound: u32| {
        let runs: Vec<_> = brute.runs.iter().filter(|run| run.0 <= bound).collect();
        let orders: HashSet<_> = runs.iter().map(|run| &run.1).collect();
        (runs.len() as u64, orders.len() as u64)
    };
    (0..=most).map(within).collect()
}

/// Compares a program with as many threads that do the one as that do the other.
#[track_caller]
fn compare(source: &str, one: &[Do], other: &[Do], numbers: [usize; 2], bound: u32) {
    if !has("gcc", source) {
        return;
    }
    let threads = numbers[0] + numbers[1];
    let mut bodies = vec![(1..=threads).map(Do::Join).collect::<Vec<Do>>()];
    bodies.extend((0..threads).map(|thread| if thread < numbers[0] { one.to_vec() } else { other.to_vec() }));
    let expected = counts(&bodies, bound);
    let source_path = format!("counted/{source}");
    let atomics = one.iter().chain(other).any(|step| matches!(step, Do::Run(_)));
    let path = if atomics { instrument(&source_path, &[]) } else { compile(&source_path, &[]) };
    let program = NativeProgram::open(&path).unwrap();
    let program = program.arguments(numbers.map(|number| number.to_string()));
    let check = |strategy: Named| -> Outcome {
        let search = Search { strategy, parameters: Parameters::bounded(bound), ..Search::default() };
        let outcome = search.check(&program, None, &mut |_| ()).unwrap();
        assert!(outcome.holds(), "{source} {numbers:?} {strategy:?}: {outcome:?}");
        outcome
    };
    let rows = check(Named::Icb).rows;
    let seen: Vec<_> = rows.iter().map(|row| (row.executions.unwrap(), row.distinct.unwrap())).collect();
    assert_eq!(seen, expected, "{source} {numbers:?}");
    // With reduction: the same orders.
    for strategy in [Named::CbPor, Named::Optimal] {
        let rows = check(strategy).rows;
        let orders = expected[expected.len() - 1].1;
        assert_eq!(
            rows.last().and_then(|row| row.distinct),
            Some(orders),
            "{source} {numbers:?} {strategy:?}"
        );
    }
}

const READER: [Do; 3] = [Do::ReadLock, Do::ReadUnlock, Do::End];
const WRITER: [Do; 3] = [Do::WriteLock, Do::WriteUnlock, Do::End];
const PRODUCER: [Do; 6] = [Do::Lock, Do::WaitWhile(1, 0), Do::Use(1), Do::Signal(1), Do::Unlock, Do::End];
const CONSUMER: [Do; 6] = [Do::Lock, Do::WaitWhile(0, 1), Do::Use(-1), Do::Signal(0), Do::Unlock, Do::End];

fn at_once(_: usize, _: &mut i32, atomics: &mut [i32; 2]) -> (usize, bool, usize) {
    atomics[0] += 1;
    (0, true, OVER)
}

fn read_and_write(at: usize, register: &mut i32, atomics: &mut [i32; 2]) -> (usize, bool, usize) {
    if at == 0 {
        *register = atomics[0];
        return (0, false, 1);
    }
    atomics[0] = *register + 1;
    (0, true, OVER)
}

/// The ends of the deque.
const TOP: usize = 0;
const BOTTOM: usize = 1;

fn own(at: usize, register: &mut i32, atomics: &mut [i32; 2]) -> (usize, bool, usize) {
    match at {
        0..=2 => {
            atomics[BOTTOM] = [1, 2, 1][at];
            (BOTTOM, true, at + 1)
        }
        3 => {
            *register = atomics[TOP];
            (TOP, false, [OVER, 4, 5][*register as usize])
        }
        4 => {
            let mine = atomics[TOP] == *register;
            atomics[TOP] += i32::from(mine);
            (TOP, mine, 5)
        }
        _ => {
            atomics[BOTTOM] = 2;
            (BOTTOM, true, OVER)
        }
    }
}

fn steal(at: usize, register: &mut i32, atomics: &mut [i32; 2]) -> (usize, bool, usize) {
    match at {
        0 => {
            *register = atomics[TOP];
            (TOP, false, 1)
        }
        1 => (BOTTOM, false, if *register < atomics[BOTTOM] { 2 } else { OVER }),
        _ => {
            let mine = atomics[TOP] == *register;
            atomics[TOP] += i32::from(mine);
            (TOP, mine, OVER)
        }
    }
}

#[test]
fn increments_are_counted_as_by_brute_force() {
    let (safe, unsafe_) = ([Do::Run(at_once), Do::End], [Do::Run(read_and_write), Do::End]);
    for (numbers, bound) in [([2, 0], 20), ([3, 0], 20), ([4, 0], 1), ([0, 2], 20), ([1, 2], 20), ([0, 3], 2)]
    {
        compare("increments.c", &safe, &unsafe_, numbers, bound);
    }
}

#[test]
fn a_deque_is_counted_as_by_brute_force() {
    for (numbers, bound) in [([1, 1], 20), ([1, 2], 2), ([0, 2], 20)] {
        compare("deque.c", &[Do::Run(own), Do::End], &[Do::Run(steal), Do::End], numbers, bound);
    }
}

#[test]
fn readers_and_writers_are_counted_as_by_brute_force() {
    for numbers in [[1, 1], [2, 0], [0, 2], [2, 1], [1, 2]] {
        compare("readers_writers.c", &READER, &WRITER, numbers, 20);
    }
}

#[test]
fn a_queue_is_counted_as_by_brute_force() {
    // With two of each, two can wait at once, and which of them is woken is a choice.
    for (numbers, bound) in [([1, 1], 20), ([2, 1], 20), ([2, 2], 1)] {
        compare("queue.c", &PRODUCER, &CONSUMER, numbers, bound);
    }
}

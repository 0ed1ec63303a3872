//! Programs from seeds.

use crate::program::{Program, Statement};

/// What a program is mostly about. Objects and statements are drawn so that threads get in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Loads, stores and updates of a few atomics.
    Atomics,
    /// Mutexes, nested or not, sometimes never unlocked.
    Locks,
    /// Condition variables, with and without time limits.
    Condvars,
    /// Parking, joining and nested spawning.
    Threads,
    /// Tracked cells, and the synchronisation that may or may not order them.
    Cells,
    /// Spin loops that yield.
    Spins,
    /// Everything.
    Mixed,
    /// Threads that the first one creates and joins, and that get in each other's way meanwhile.
    Joins,
    /// Reader-writer locks, sometimes never unlocked, so that several readers keep a writer out together.
    Readers,
    /// Yields and waits with a time limit, one after the other and in loops that end by themselves: more of them than a
    /// fair bound allows.
    Yields,
    /// Executions that do not end, beside those that are long, and what is assumed in both.
    Endless,
}

impl Theme {
    /// Every theme.
    pub const ALL: [Theme; 11] = [
        Theme::Atomics,
        Theme::Locks,
        Theme::Condvars,
        Theme::Threads,
        Theme::Cells,
        Theme::Spins,
        Theme::Mixed,
        Theme::Joins,
        Theme::Readers,
        Theme::Yields,
        Theme::Endless,
    ];
}

/// A stream of numbers that depends on nothing but its seed (SplitMix64).
///
/// ```
/// use selvedge_testgen::Numbers;
/// assert_eq!(Numbers(7).below(100), Numbers(7).below(100));
/// ```
pub struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, which must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// True in one of `n` cases.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The program of a theme with this seed. Most have two or three threads with a few statements each, so that
/// all their executions can be enumerated; some have four threads, or up to eight statements in one.
pub fn generate(theme: Theme, seed: u64) -> Program {
    // A theme after the eighth draws the numbers of another one's next seed, and makes something else of them.
    let mut numbers = Numbers(seed.wrapping_mul(8).wrapping_add(theme as u64));
    match theme {
        Theme::Joins => return joins(&mut numbers),
        Theme::Readers => {
            let bodies = readers(&mut numbers);
            return spawned(bodies, &mut numbers);
        }
        _ => {}
    }
    // Where executions are long, there are few threads with little to do beside that.
    let is_endless = theme == Theme::Endless;
    let count = [2, 2, 2, 3, 3, 4][numbers.below(if is_endless { 4 } else { 6 })];
    let most = if numbers.one_in(8) { 8 } else { 14 / count };
    let longest = [3, 4, 5, 6, 8][numbers.below(if is_endless { 2 } else { 5 })].min(most);
    let bodies = (0..count)
        .map(|body| {
            let fewest = usize::from(body > 0);
            let length = fewest + numbers.below(longest - fewest + 1);
            let mut statements = Vec::new();
            while statements.len() < length {
                snippet(theme, body, count, &mut numbers, &mut statements);
            }
            statements.truncate(8);
            statements
        })
        .collect();
    spawned(bodies, &mut numbers)
}

/// A program of these bodies: each but the first is spawned by one before it, and half of them are joined.
fn spawned(mut bodies: Vec<Vec<Statement>>, numbers: &mut Numbers) -> Program {
    for child in (1..bodies.len()).rev() {
        let parent = if numbers.one_in(4) { numbers.below(child) } else { 0 };
        let join = numbers.one_in(2);
        let body = &mut bodies[parent];
        let place = if numbers.one_in(3) { numbers.below(body.len() + 1) } else { 0 };
        body.insert(place, Statement::Spawn(child));
        if join {
            let place = if numbers.one_in(3) { place + 1 } else { body.len() };
            body.insert(place, Statement::Join(child));
        }
    }
    Program { bodies }
}

/// Adds a few statements that belong together.
fn snippet(theme: Theme, body: usize, count: usize, numbers: &mut Numbers, out: &mut Vec<Statement>) {
    let theme = match theme {
        Theme::Mixed => Theme::ALL[numbers.below(5)],
        other => other,
    };
    match theme {
        Theme::Atomics | Theme::Mixed | Theme::Joins | Theme::Readers => atomics(numbers, out),
        Theme::Yields => yields(numbers, out),
        Theme::Locks => locks(numbers, out),
        Theme::Condvars => condvars(numbers, out),
        Theme::Threads => threads(body, count, numbers, out),
        Theme::Cells => cells(numbers, out),
        Theme::Spins => match numbers.below(4) {
            0 => out.push(Statement::SpinUntil(numbers.below(2), 1)),
            1 => out.push(Statement::Store(numbers.below(2), 1)),
            2 => out.push(Statement::Yield),
            _ => atomics(numbers, out),
        },
        Theme::Endless => match numbers.below(10) {
            0 => out.push(Statement::SpinUntil(numbers.below(2), 1)),
            1 => out.push(match numbers.below(4) {
                0 => Statement::ChooseUntil(2),
                1 => Statement::LookUntil(numbers.below(2), 1),
                _ => Statement::SpinUntil(numbers.below(2), 1),
            }),
            2 => out.push(Statement::Store(numbers.below(2), 1)),
            3 | 4 => out.push(Statement::Yields([2, 30, 30][numbers.below(3)])),
            5 => out.extend([Statement::Load(0), Statement::AssertNot(1)]),
            6 => {
                out.extend([Statement::Load(numbers.below(2)), Statement::AssumeNot(numbers.below(2) as i64)])
            }
            7 => out.extend([Statement::Lock(0), Statement::Unlock(0)]),
            8 => out.extend([Statement::TryLock(0), Statement::Unlock(0)]),
            _ => atomics(numbers, out),
        },
    }
}

/// A program in which the first thread does little more than to create the others, and to join most of them in some order.
fn joins(numbers: &mut Numbers) -> Program {
    let count = [3, 3, 3, 4][numbers.below(4)];
    let mut first: Vec<Statement> = (1..count).map(Statement::Spawn).collect();
    let mut children: Vec<usize> = (1..count).collect();
    while !children.is_empty() {
        let child = children.swap_remove(numbers.below(children.len()));
        match numbers.below(8) {
            0 => first.push(Statement::Load(0)),
            1 => continue,
            _ => {}
        }
        first.push(Statement::Join(child));
    }
    let worker = |numbers: &mut Numbers| {
        let mut statements = Vec::new();
        let length = 1 + numbers.below(if count == 3 { 5 } else { 2 });
        while statements.len() < length {
            match numbers.below(8) {
                0 | 1 => statements.extend([Statement::Lock(0), Statement::Unlock(0)]),
                2 | 3 => statements.push(Statement::Load(0)),
                4 => statements.push(Statement::Load(1)),
                5 => statements.push(Statement::Store(0, 1)),
                6 => statements.push(Statement::Add(1)),
                _ => statements.push(Statement::Add(0)),
            }
        }
        statements
    };
    let workers = (1..count).map(|_| worker(numbers));
    let bodies = std::iter::once(first).chain(workers.collect::<Vec<_>>()).collect();
    Program { bodies }
}

/// The bodies of a program in which threads read and write under a lock or two. Most have three threads or four, as only
/// then several can be in the way of one; they are the shorter for it.
fn readers(numbers: &mut Numbers) -> Vec<Vec<Statement>> {
    let count = [2, 3, 3, 3, 4][numbers.below(5)];
    let has_cells = count < 4 && numbers.one_in(4);
    // The last thread writes what the others read and keep: a search that begins with the first has to get it past them.
    let keeps = !has_cells && numbers.one_in(2);
    let body = |body: usize| {
        let (fewest, most) = match (count, body) {
            (2, _) => (1, 5),
            (3, 0) => (0, 2),
            (3, _) => (1, 3),
            (_, 0) => (0, usize::from(numbers.one_in(3))),
            _ => (1, if numbers.one_in(6) { 2 } else { 1 }),
        };
        // A cell is accessed between the lock and the unlock, and that is no step.
        let length = fewest + numbers.below(most - fewest + 1) + if has_cells { 2 } else { 0 };
        let mut statements = Vec::new();
        while statements.len() < length {
            match numbers.below(4) {
                0 | 1 if has_cells => locked_cells(numbers, &mut statements),
                0..=2 if keeps && body + 1 < count => statements.push(Statement::ReadLock(0)),
                0..=2 if keeps => statements.push(Statement::WriteLock(0)),
                _ => rwlocks(numbers, &mut statements),
            }
        }
        // What is cut off in the middle is not unlocked either.
        statements.truncate(length);
        statements
    };
    (0..count).map(body).collect()
}

fn rwlocks(numbers: &mut Numbers, out: &mut Vec<Statement>) {
    use Statement::{ReadLock, ReadUnlock, TryReadLock, TryWriteLock, WriteLock, WriteUnlock};
    let lock = usize::from(numbers.one_in(5));
    match numbers.below(12) {
        0 | 1 => out.extend([ReadLock(lock), ReadUnlock(lock)]),
        2 => out.extend([ReadLock(lock), Statement::Load(0), ReadUnlock(lock)]),
        3 | 4 => out.extend([WriteLock(lock), WriteUnlock(lock)]),
        5 => out.extend([WriteLock(lock), Statement::Add(0), WriteUnlock(lock)]),
        6 => out.push(ReadLock(lock)),
        7 => out.extend([TryReadLock(lock), ReadUnlock(lock)]),
        8 => out.extend([TryWriteLock(lock), WriteUnlock(lock)]),
        9 => out.extend([TryWriteLock(lock), Statement::AssertNot(1)]),
        // One that writes what it reads already waits for ever.
        10 => {
            let second = if numbers.one_in(3) { WriteLock(lock) } else { ReadLock(1 - lock) };
            out.extend([ReadLock(lock), second]);
        }
        _ => atomics(numbers, out),
    }
}

/// What a lock guards; readers that write race with each other.
fn locked_cells(numbers: &mut Numbers, out: &mut Vec<Statement>) {
    use Statement::{Read, ReadLock, ReadUnlock, TryWriteLock, Write, WriteLock, WriteUnlock};
    match numbers.below(6) {
        0 | 1 => out.extend([ReadLock(0), Read(0), ReadUnlock(0)]),
        2 => out.extend([ReadLock(0), Write(0), ReadUnlock(0)]),
        3 => out.extend([TryWriteLock(0), Write(0), WriteUnlock(0)]),
        4 => out.extend([WriteLock(0), WriteUnlock(0), Read(0)]),
        _ => out.extend([WriteLock(0), Write(0), WriteUnlock(0)]),
    }
}

fn atomics(numbers: &mut Numbers, out: &mut Vec<Statement>) {
    let atomic = usize::from(numbers.one_in(3));
    match numbers.below(9) {
        0 | 1 => out.push(Statement::Load(atomic)),
        2 => out.push(Statement::Store(atomic, 1 + numbers.below(2) as i64)),
        3 | 4 => out.extend([Statement::Load(atomic), Statement::StoreNext(atomic)]),
        5 => out.push(Statement::Add(atomic)),
        6 => out.push(match numbers.below(4) as i64 {
            old @ 0..2 => Statement::Exchange(atomic, old, 2),
            old => Statement::ExchangeWeak(atomic, old - 2, 2),
        }),
        7 => out.push(if numbers.one_in(2) { Statement::Yield } else { Statement::Choose(2) }),
        _ => out.extend([Statement::Load(atomic), Statement::AssertNot(1 + numbers.below(2) as i64)]),
    }
}

fn locks(numbers: &mut Numbers, out: &mut Vec<Statement>) {
    let mutex = numbers.below(2);
    match numbers.below(8) {
        0 | 1 => out.extend([Statement::Lock(mutex), Statement::Add(0), Statement::Unlock(mutex)]),
        2 => out.extend([
            Statement::Lock(mutex),
            Statement::Lock(1 - mutex),
            Statement::Unlock(1 - mutex),
            Statement::Unlock(mutex),
        ]),
        3 => out.extend([
            Statement::Lock(mutex),
            Statement::Lock(1 - mutex),
            Statement::Unlock(mutex),
            Statement::Unlock(1 - mutex),
        ]),
        4 => out.extend([Statement::TryLock(mutex), Statement::Unlock(mutex)]),
        5 => out.push(Statement::Lock(mutex)),
        6 => out.push(Statement::TryLock(mutex)),
        _ => out.push(Statement::Unlock(mutex)),
    }
}

fn condvars(numbers: &mut Numbers, out: &mut Vec<Statement>) {
    let condvar = usize::from(numbers.one_in(5));
    match numbers.below(9) {
        0 | 1 => {
            out.extend([Statement::Lock(condvar), Statement::Wait(condvar), Statement::Unlock(condvar)]);
        }
        2 => out.extend([
            Statement::Lock(condvar),
            Statement::WaitTimeout(condvar),
            Statement::Unlock(condvar),
        ]),
        3 => {
            out.extend([Statement::Lock(condvar), Statement::NotifyOne(condvar), Statement::Unlock(condvar)])
        }
        4 | 5 => out.push(Statement::NotifyOne(condvar)),
        6 => out.push(Statement::NotifyAll(condvar)),
        7 => out.extend([Statement::Lock(condvar), Statement::Wait(condvar)]),
        _ => out.push(Statement::AssertNot(1)),
    }
}

fn yields(numbers: &mut Numbers, out: &mut Vec<Statement>) {
    match numbers.below(8) {
        0 => out.extend([Statement::Yield, Statement::Yield]),
        1 => out.push(Statement::Yields(2 + numbers.below(2) as u32)),
        2 => out.extend([Statement::ParkTimeout, Statement::ParkTimeout]),
        3 => out.extend([Statement::Lock(0), Statement::WaitTimeout(0), Statement::Unlock(0)]),
        4 => out.extend([Statement::Lock(0), Statement::Add(0), Statement::Unlock(0)]),
        5 => out.push(Statement::NotifyOne(0)),
        _ => atomics(numbers, out),
    }
}

fn threads(body: usize, count: usize, numbers: &mut Numbers, out: &mut Vec<Statement>) {
    let other = if body > 0 && numbers.one_in(2) { 0 } else { (body + 1) % count };
    match numbers.below(8) {
        0 => out.push(Statement::Park),
        1 => out.push(Statement::ParkTimeout),
        2 | 3 => out.push(Statement::Unpark(other)),
        4 => out.push(Statement::Yield),
        5 => out.extend([Statement::Choose(3), Statement::AssertNot(2)]),
        _ => atomics(numbers, out),
    }
}

fn cells(numbers: &mut Numbers, out: &mut Vec<Statement>) {
    let cell = usize::from(numbers.one_in(4));
    let access = if numbers.one_in(2) { Statement::Read(cell) } else { Statement::Write(cell) };
    match numbers.below(6) {
        0 => out.push(access),
        1 | 2 => out.extend([Statement::Lock(0), access, Statement::Unlock(0)]),
        3 => out.extend([access, Statement::Store(0, 1)]),
        4 => out.extend([Statement::Load(0), Statement::AssertNot(1), access]),
        _ => atomics(numbers, out),
    }
}

/// The programs that are this one without one of its statements, or with a body emptied.
pub fn smaller(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    for (index, body) in program.bodies.iter().enumerate() {
        if body.len() > 1 {
            let mut without = program.clone();
            without.bodies[index].clear();
            found.push(without);
        }
    }
    for (index, body) in program.bodies.iter().enumerate() {
        for at in 0..body.len() {
            let mut without = program.clone();
            without.bodies[index].remove(at);
            found.push(without);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use selvedge_core::Decision;

    use super::*;
    use crate::{End, Limits, Run, enumerate};

    #[test]
    fn every_program_is_what_it_says() {
        for theme in Theme::ALL {
            for seed in 0..300 {
                let program = generate(theme, seed);
                assert!(program.bodies.iter().all(|body| body.len() <= 8 + 2 * 3), "{program}");
                assert_eq!(program, generate(theme, seed));
                assert_eq!(program.to_string().parse(), Ok(program.clone()));
                assert!((2..=4).contains(&program.bodies.len()));
                for child in 1..program.bodies.len() {
                    let spawns = program.bodies.iter().flatten().filter(|s| **s == Statement::Spawn(child));
                    assert_eq!(spawns.count(), 1, "{program}");
                }
                assert!(smaller(&program).iter().all(|other| other != &program));
            }
        }
    }

    /// What a theme is for does happen in its executions, often enough for a test that looks at some hundred
    /// programs to mean something.
    #[test]
    fn executions_end_in_every_way_and_take_every_kind_of_step() {
        let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut timed_out, mut preempted, mut chosen, mut enumerated) = (0, 0, 0, 0);
        for theme in Theme::ALL {
            for seed in 0..60 {
                let program = generate(theme, seed);
                let limits = Limits { yields: Some(1), max_steps: 24, executions: 200, ..Limits::default() };
                let Some(all) = enumerate(&program, limits) else { continue };
                enumerated += 1;
                preempted += usize::from(all.most_preemptions() > 1);
                for name in all.runs.iter().map(|run| name(run.outcome.end)).collect::<BTreeSet<_>>() {
                    *ends.entry(name).or_default() += 1;
                }
                let values = |run: &Run| run.schedule.iter().any(|d| matches!(d, Decision::Value(_)));
                chosen += usize::from(all.runs.iter().any(values));
                let times = |s: &Statement| matches!(s, Statement::WaitTimeout(_) | Statement::ParkTimeout);
                timed_out += usize::from(program.has(times));
            }
        }
        assert!(enumerated > 250, "{enumerated}");
        for name in ["complete", "deadlock", "assertion", "race", "livelock", "step limit"] {
            assert!(ends.get(name).is_some_and(|count| *count >= 12), "{name}: {ends:?}");
        }
        assert!(timed_out > 30 && preempted > 100 && chosen > 30, "{timed_out} {preempted} {chosen}");
    }

    fn name(end: End) -> &'static str {
        match end {
            End::Complete => "complete",
            End::Deadlock => "deadlock",
            End::Assertion(..) => "assertion",
            End::Race => "race",
            End::Livelock => "livelock",
            End::StepLimit => "step limit",
        }
    }
}

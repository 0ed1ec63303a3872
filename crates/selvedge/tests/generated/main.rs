//! Generated programs, run as closures on the library's types, against brute force over their statements: the
//! same executions, outcomes, partial orders and states at every bound.
//!
//! `SELVEDGE_LONG=N` runs N times as many programs.

mod closure;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use closure::{Log, closure};
use selvedge::{Assumption, Assumptions, Checker, CoverageRow, Outcome, Schedule, Strategy, Verdict};
use selvedge_testgen::{
    End, Enumeration, Limits, Program, Run, Statement, Theme, enumerate, generate, smaller,
};

type Verified = Result<(), String>;

macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*));
        }
    };
}

const YIELDS: u32 = 1;
const MAX_STEPS: usize = 30;

/// How programs are run.
#[derive(Clone, Copy, Debug, Default)]
struct Mode {
    race_mode: bool,
    spurious: u32,
}

const PLAIN: Mode = Mode { race_mode: false, spurious: 0 };
const RACE_MODE: Mode = Mode { race_mode: true, spurious: 0 };

fn limits(Mode { race_mode, spurious }: Mode) -> Limits {
    Limits {
        yields: Some(YIELDS),
        max_steps: MAX_STEPS,
        executions: 300,
        race_mode,
        one_place: true,
        spurious,
        ..Limits::NONE
    }
}

fn checker(mode: Mode) -> Checker {
    let checker = Checker::new().unbounded().yields(YIELDS).max_steps(MAX_STEPS).shorten(20);
    let checker = checker.spurious(mode.spurious);
    if mode.race_mode { checker.race_mode() } else { checker }
}

/// What the bodies remembered in each run.
type Seen = Vec<Vec<Vec<i64>>>;

fn explore(checker: Checker, program: &Program) -> Result<(Outcome, Seen), String> {
    let log: Log = Arc::new(Mutex::new(Vec::new()));
    let outcome = checker.try_explore(closure(program, &log)).map_err(|error| error.to_string())?;
    let seen = std::mem::take(&mut *log.lock().unwrap());
    Ok((outcome, seen))
}

/// Everything that must be true of a program; `None` when it has too many executions.
fn verify(program: &Program, mode: Mode) -> Option<Verified> {
    let all = enumerate(program, limits(mode))?;
    Some(searches(program, mode, &all).and_then(|()| replays(program, mode, &all)))
}

/// Whole searches: the counts at every bound, the outcomes, the verdict.
fn searches(program: &Program, mode: Mode, all: &Enumeration) -> Verified {
    for strategy in [Strategy::Icb, Strategy::Dfs] {
        let checker = checker(mode).strategy(strategy).keep_going().shorten(0);
        let (outcome, seen) = explore(checker, program)?;
        let last = all.most_preemptions();
        let bounds: Vec<u32> = outcome.rows.iter().map(|row| row.bound).collect();
        ensure!(bounds.iter().copied().eq(0..=last), "{strategy}: rows of {bounds:?}, not up to {last}");
        for row in &outcome.rows {
            same_row(all, row).map_err(|error| format!("{strategy}: {error}"))?;
        }
        same_outcomes(all, u32::MAX, &seen, None).map_err(|error| format!("{strategy}: {error}"))?;
    }
    for (strategy, bound) in [Strategy::Icb, Strategy::default()]
        .into_iter()
        .flat_map(|strategy| (0..all.most_preemptions().min(3)).map(move |bound| (strategy, bound)))
    {
        let checker = checker(mode).strategy(strategy).preemptions(bound).keep_going().shorten(0);
        let (outcome, seen) = explore(checker, program)?;
        let unfinished = (strategy != Strategy::Icb).then_some(usize::MAX);
        same_outcomes(all, bound, &seen, unfinished)
            .map_err(|error| format!("{strategy}, bound {bound}: {error}"))?;
        let distinct = outcome.rows.last().and_then(|row| row.distinct);
        let orders = all.orders_within(bound) as u64;
        ensure!(distinct == Some(orders), "{strategy}, bound {bound}: {distinct:?} orders, not {orders}");
        if !all.within(bound).any(Run::is_violation) {
            // With reduction, executions beyond the bound may all have the order of one within it.
            let all_orders = all.orders_within(u32::MAX) as u64;
            let complete = outcome.guarantee().map(|guarantee| guarantee.complete);
            let expected = strategy != Strategy::Icb && orders == all_orders;
            // Where an execution is ended at the limit of steps, there may be nothing that is covered.
            let is_long = complete.is_none() && all.within(bound).any(Run::is_long);
            ensure!(
                is_long || complete == Some(false) || complete == Some(expected),
                "{strategy}: bound {bound} is said to be all: {:?}",
                outcome.verdict
            );
        }
    }
    let fewest = all.runs.iter().filter(|run| run.is_violation()).map(|run| run.preemptions).min();
    let (outcome, _) = explore(checker(mode), program)?;
    let found = outcome.violation().map(|violation| violation.preemptions);
    ensure!(found == fewest, "violated with {found:?} preemptions, and by brute force {fewest:?}");
    let Some(violation) = outcome.violation() else {
        let is_long = all.runs.iter().any(Run::is_long);
        ensure!(outcome.holds() != is_long, "{:?}", outcome.verdict);
        if let Verdict::Holds(guarantee) = &outcome.verdict {
            let without = all.without(u32::MAX).into_iter().map(|one| one.assumption(mode.spurious));
            let yields = guarantee.bounds.yields.map(Assumption::fairness);
            let expected: Assumptions = without.chain(yields).collect();
            let assumed = &guarantee.assumptions;
            ensure!(*assumed == expected, "it assumes {assumed}, and by brute force {expected}");
        }
        return Ok(());
    };
    let run = all.runs.iter().find(|run| run.schedule == violation.schedule.0);
    let Some(run) = run else { return Err(format!("no execution: {}", violation.schedule)) };
    ensure!(run.outcome.end.is(Some(violation.kind)), "{}: {:?}", violation.kind, run.outcome);
    let token: Schedule = violation.schedule.to_string().parse().map_err(|error| format!("{error}"))?;
    let (again, _) = explore(checker(mode).replay(token), program)?;
    let again = again.violation().map(|again| (&again.message, &again.trace));
    ensure!(again == Some((&violation.message, &violation.trace)), "the replay differs: {again:?}");
    Ok(())
}

/// The outcomes in the log are those that brute force has within the bound. Runs that are repeated to confirm a
/// failure are in the log twice; so is the first that accesses a cell, which is repeated with clocks, and may
/// have gone on after a race. With reduction some runs are ended early: so many outcomes may be none.
fn same_outcomes(all: &Enumeration, bound: u32, seen: &Seen, unfinished: Option<usize>) -> Verified {
    let seen: BTreeSet<_> = seen.iter().collect();
    let expected: BTreeSet<_> = all.within(bound).map(|run| &run.outcome.registers).collect();
    let races = all.within(bound).any(|run| run.outcome.end == End::Race);
    let more = seen.len() - seen.intersection(&expected).count();
    ensure!(
        seen.is_superset(&expected) && more <= unfinished.unwrap_or(usize::from(races)),
        "outcomes {seen:?}, and by brute force {expected:?}"
    );
    Ok(())
}

fn same_row(all: &Enumeration, row: &CoverageRow) -> Verified {
    let expected = [
        Some(all.within(row.bound).count() as u64),
        Some(all.orders_within(row.bound) as u64),
        // A search that does not iterate knows the states of the whole only.
        row.states.map(|_| all.states_within(row.bound) as u64),
    ];
    let counted = [row.executions, row.distinct, row.states];
    ensure!(counted == expected, "at bound {}: {counted:?}, and by brute force {expected:?}", row.bound);
    Ok(())
}

/// Executions that brute force found, one by one.
fn replays(program: &Program, mode: Mode, all: &Enumeration) -> Verified {
    let every = all.runs.len() / 6 + 1;
    for run in all.runs.iter().step_by(every) {
        let checker = checker(mode).replay(Schedule(run.schedule.clone()));
        let (outcome, seen) = explore(checker, program)?;
        same_run(run, &outcome, &seen).map_err(|error| format!("{:?}: {error}", run.schedule))?;
    }
    Ok(())
}

fn same_run(run: &Run, outcome: &Outcome, seen: &[Vec<Vec<i64>>]) -> Verified {
    // One that does not end is looked at more closely.
    let is_long = matches!(run.outcome.end, End::Livelock | End::StepLimit);
    ensure!(seen.len() == 1 || is_long, "a replay ran {} times", seen.len());
    ensure!(seen[0] == run.outcome.registers, "{:?} and {:?}", seen[0], run.outcome);
    let violation = outcome.violation();
    let kind = violation.map(|violation| violation.kind);
    ensure!(run.outcome.end.is(kind), "{kind:?} and {:?}", run.outcome);
    if let Some(violation) = violation {
        let counted = (violation.preemptions, violation.trace.preemptions(), violation.trace.switches());
        let expected = (run.preemptions, run.preemptions, run.switches);
        ensure!(counted == expected, "preemptions, marks, switches: {counted:?} and {expected:?}");
    }
    Ok(())
}

fn verify_theme(theme: Theme, mode: Mode, programs: u64) {
    let times: u64 = std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut verified = 0;
    for seed in 0..programs * times {
        // Other programs than those that the engine's own tests begin with.
        let program = generate(theme, seed + 1_000_000);
        if program.has(|statement| matches!(statement, Statement::AssumeNot(_))) {
            continue;
        }
        let failure = |program: &Program| verify(program, mode).and_then(Result::err);
        match verify(&program, mode) {
            None => {}
            Some(Ok(())) => verified += 1,
            Some(Err(_)) => {
                let mut smallest = program;
                while let Some(next) = smaller(&smallest).into_iter().find(|next| failure(next).is_some()) {
                    smallest = next;
                }
                let why = failure(&smallest).unwrap_or_default();
                panic!("seed {seed} of {theme:?}, {mode:?}:\n{smallest}\n{why}");
            }
        }
    }
    println!("{theme:?}: {verified} of {} programs verified", programs * times);
    assert!(verified * 10 >= programs * times * 4, "enough programs must be small enough to enumerate");
}

#[test]
fn atomics() {
    verify_theme(Theme::Atomics, PLAIN, 200);
}

#[test]
fn locks() {
    verify_theme(Theme::Locks, PLAIN, 200);
}

#[test]
fn condvars() {
    verify_theme(Theme::Condvars, PLAIN, 300);
}

#[test]
fn threads() {
    verify_theme(Theme::Threads, PLAIN, 300);
}

#[test]
fn cells() {
    verify_theme(Theme::Cells, PLAIN, 200);
}

#[test]
fn cells_in_race_mode() {
    verify_theme(Theme::Cells, RACE_MODE, 200);
}

#[test]
fn readers() {
    verify_theme(Theme::Readers, PLAIN, 200);
}

#[test]
fn readers_in_race_mode() {
    verify_theme(Theme::Readers, RACE_MODE, 60);
}

#[test]
fn yields() {
    verify_theme(Theme::Yields, PLAIN, 200);
}

#[test]
fn spins() {
    verify_theme(Theme::Spins, PLAIN, 200);
}

/// A circle is told from a loop that counts.
#[test]
fn executions_without_an_end() {
    verify_theme(Theme::Endless, PLAIN, 200);
}

#[test]
fn mixed() {
    verify_theme(Theme::Mixed, PLAIN, 300);
}

#[test]
fn spurious_wakeups_and_failures() {
    for theme in [Theme::Atomics, Theme::Condvars, Theme::Threads, Theme::Mixed] {
        verify_theme(theme, Mode { spurious: 1, ..PLAIN }, 150);
        verify_theme(theme, Mode { spurious: 2, ..PLAIN }, 50);
    }
}

#[test]
fn a_closure_that_does_something_else_is_caught() {
    let mut caught = 0;
    for seed in 0..40 {
        let program = generate(Theme::Mixed, seed);
        let Some(all) = enumerate(&program, limits(PLAIN)) else { continue };
        // Another program, by one statement, for which what brute force says is not true.
        let others = smaller(&program).into_iter().filter(|other| {
            enumerate(other, limits(PLAIN)).is_some_and(|other| other.runs.len() != all.runs.len())
        });
        for other in others.take(2) {
            assert!(searches(&other, PLAIN, &all).is_err(), "{program}\n{other}");
            caught += 1;
        }
    }
    assert!(caught > 20, "{caught}");
}

//! Generated programs, run in C under control, against brute force over their statements: the same executions, partial
//! orders and states at every bound, and the same outcomes.
//!
//! `SELVEDGE_LONG=N` runs N times as many programs.

use std::path::Path;

use selvedge_core::{
    Assumption, Assumptions, CoverageRow, Decision, Outcome, Schedule, Verdict, ViolationKind,
};
use selvedge_native::NativeProgram;
use selvedge_stateless::strategy::{Bpor, Cost, Dpor, Iterative, Named, Optimal, Parameters};
use selvedge_stateless::{Coverage, Explorer, Settings, Strategy};
use selvedge_testgen::{End, Enumeration, Limits, Program, Statement, Theme, enumerate, generate};

use crate::common::{has, instrument};

const YIELDS: u32 = 1;
const MAX_STEPS: usize = 30;

fn settings() -> Settings {
    Settings {
        yields: Some(YIELDS),
        max_steps: MAX_STEPS,
        coverage: Coverage::States,
        keep_going: true,
        shorten: 0,
        ..Settings::default()
    }
}

/// How programs are run.
#[derive(Clone, Copy, Debug)]
struct Mode {
    race_mode: bool,
    spurious: u32,
}

const PLAIN: Mode = Mode { race_mode: false, spurious: 0 };
const RACE_MODE: Mode = Mode { race_mode: true, spurious: 0 };

fn native(interpreter: &Path, program: &Program, mode: Mode) -> NativeProgram {
    let native = NativeProgram::open(interpreter).unwrap().arguments([program.to_string()]);
    native.spurious(mode.spurious).race_mode(mode.race_mode).unwrap()
}

fn search(native: &NativeProgram, strategy: &mut dyn Strategy) -> Outcome {
    Explorer::new(native, settings()).unwrap().search(strategy, &mut |_| ()).unwrap()
}

fn same_row(all: &Enumeration, row: &CoverageRow, executions: bool, what: &str) {
    let counted = [row.executions.filter(|_| executions), row.distinct, row.states.filter(|_| executions)];
    let expected = [
        Some(all.within(row.bound).count() as u64).filter(|_| executions),
        Some(all.orders_within(row.bound) as u64),
        Some(all.states_within(row.bound) as u64).filter(|_| executions),
    ];
    assert_eq!(counted, expected, "{what}, bound {}", row.bound);
}

/// Checks one program; says whether it was small enough.
fn verify(interpreter: &Path, program: &Program, mode: Mode) -> bool {
    let Mode { race_mode, spurious } = mode;
    let limits = Limits {
        yields: Some(YIELDS),
        max_steps: MAX_STEPS,
        executions: 150,
        race_mode,
        one_place: true,
        readers_first: true,
        spurious,
        ..Limits::NONE
    };
    let Some(all) = enumerate(program, limits) else { return false };
    let native = native(interpreter, program, mode);
    let what = program.to_string();
    let outcome = search(&native, &mut Iterative::new(Cost::Preemptions, None));
    let bounds = outcome.rows.iter().map(|row| row.bound);
    assert!(bounds.eq(0..=all.most_preemptions()), "{what}: {:?}", outcome.rows);
    for row in &outcome.rows {
        same_row(&all, row, true, &what);
    }
    let fewest = all.runs.iter().filter(|run| run.is_violation()).map(|run| run.preemptions).min();
    assert_eq!(outcome.violation().map(|violation| violation.preemptions), fewest, "{what}");
    if let Verdict::Holds(guarantee) = &outcome.verdict {
        let without = all.without(u32::MAX).into_iter().map(|one| one.assumption(spurious));
        let yields = guarantee.bounds.yields.map(Assumption::fairness);
        let expected: Assumptions = without.chain(yields).collect();
        assert_eq!(guarantee.assumptions, expected, "{what}");
    }
    // With reduction: the orders, whatever it takes to reach them.
    let within = |strategy: Named, bound: u32| {
        strategy.algorithm(&Parameters { yields: Some(YIELDS), ..Parameters::bounded(bound) })
    };
    for strategy in [Named::CbPor, Named::Optimal] {
        let outcome = search(&native, within(strategy, 2).as_mut());
        let row = outcome.rows.last().unwrap_or_else(|| panic!("{what}, {strategy}: no rows"));
        same_row(&all, row, false, &what);
    }
    // The other strategies: a violation where there is one, and with as few preemptions.
    let most = all.most_preemptions() + 1;
    let strategies: [(&str, bool, Box<dyn Strategy>); 4] = [
        ("bpor", true, Box::new(Bpor::new(Some(most), true))),
        ("optimal within bounds", true, within(Named::Optimal, most)),
        ("optimal", false, Box::new(Optimal::new().fair(Some(YIELDS)))),
        ("dpor", false, Box::new(Dpor::new())),
    ];
    for (name, by_preemptions, mut strategy) in strategies {
        if name == "dpor" && all.fair_cut {
            continue; // it has no fair bound
        }
        let settings = Settings { keep_going: false, ..settings() };
        let outcome =
            Explorer::new(&native, settings).unwrap().search(strategy.as_mut(), &mut |_| ()).unwrap();
        let found = outcome.violation().map(|violation| violation.preemptions);
        assert_eq!(found.is_some(), fewest.is_some(), "{what}, {name}");
        if by_preemptions {
            assert_eq!(found, fewest, "{what}, {name}");
        }
    }
    // One by one: what the bodies remembered, and how it ended.
    let every = all.runs.len() / 4 + 1;
    for run in all.runs.iter().step_by(every) {
        let schedule = Schedule(run.schedule.clone());
        let settings = Settings { shorten: 0, ..settings() };
        let outcome = Explorer::new(&native, settings).unwrap().replay(&schedule).unwrap();
        let kind = outcome.violation().map(|violation| match violation.kind {
            // A deadlock for a known reason.
            ViolationKind::LostSignal => ViolationKind::Deadlock,
            kind => kind,
        });
        assert!(run.outcome.end.is(kind), "{what}: {kind:?} and {:?} by {schedule}", run.outcome);
        if run.outcome.end == End::Race {
            // It is the engine that sees a race; the program has gone on.
            continue;
        }
        let mut remembered = vec![Vec::new(); program.bodies.len()];
        for line in native.output().lines() {
            let numbers: Vec<i64> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
            if let [body, value] = numbers[..] {
                remembered[body as usize].push(value);
            }
        }
        assert_eq!(remembered, run.outcome.registers, "{what}, {:?}", run.schedule);
    }
    debug_assert!(all.runs.iter().all(|run| matches!(run.schedule.first(), Some(Decision::Thread(_)))));
    true
}

fn verify_theme(theme: Theme, mode: Mode, programs: u64) {
    if !has("gcc", "generated programs") {
        return;
    }
    let times: u64 = std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let interpreter = instrument(
        "generated/interpreter.c",
        &[&format!("-DTHEME={theme:?}{}{}", mode.race_mode, mode.spurious)],
    );
    let (mut verified, mut seed) = (0, 0);
    while verified < programs * times {
        let program = generate(theme, seed + 2_000_000);
        seed += 1;
        assert!(seed < programs * times * 100, "enough programs must be small enough to enumerate");
        // C has no parking.
        let parks = |statement: &Statement| {
            matches!(statement, Statement::Park | Statement::ParkTimeout | Statement::Unpark(_))
        };
        // What is accessed before there are threads is no step.
        let accesses = |statement: &&Statement| matches!(statement, Statement::Read(_) | Statement::Write(_));
        let spawns = |statement: &&Statement| matches!(statement, Statement::Spawn(_));
        let early =
            mode.race_mode && program.bodies[0].iter().take_while(|s| !spawns(s)).any(|s| accesses(&s));
        // It is seen that a loop which looks at memory waits: it yields.
        let looks = |statement: &Statement| matches!(statement, Statement::LookUntil(..));
        if !early && !program.has(parks) && !program.has(looks) && verify(&interpreter, &program, mode) {
            verified += 1;
        }
    }
}

#[test]
fn atomics() {
    verify_theme(Theme::Atomics, PLAIN, 20);
}

#[test]
fn locks() {
    verify_theme(Theme::Locks, PLAIN, 20);
}

#[test]
fn condvars() {
    verify_theme(Theme::Condvars, PLAIN, 30);
}

#[test]
fn threads() {
    verify_theme(Theme::Threads, PLAIN, 10);
}

#[test]
fn cells() {
    verify_theme(Theme::Cells, PLAIN, 20);
}

#[test]
fn cells_in_race_mode() {
    verify_theme(Theme::Cells, RACE_MODE, 20);
}

#[test]
fn readers() {
    verify_theme(Theme::Readers, PLAIN, 20);
}

#[test]
fn readers_in_race_mode() {
    verify_theme(Theme::Readers, RACE_MODE, 10);
}

#[test]
fn spins() {
    verify_theme(Theme::Spins, PLAIN, 20);
}

#[test]
fn executions_without_an_end() {
    verify_theme(Theme::Endless, PLAIN, 20);
}

#[test]
fn mixed() {
    verify_theme(Theme::Mixed, PLAIN, 30);
}

#[test]
fn spurious_wakeups_and_failures() {
    for theme in [Theme::Atomics, Theme::Condvars, Theme::Mixed] {
        verify_theme(theme, Mode { spurious: 1, ..PLAIN }, 15);
        verify_theme(theme, Mode { spurious: 2, ..PLAIN }, 5);
    }
}

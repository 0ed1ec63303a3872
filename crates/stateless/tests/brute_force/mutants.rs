//! The tests can fail: searches and programs that are wrong in one way each, and that the comparison with
//! brute force must tell from the right ones.

use selvedge_core::{Bounds, Decision, Measure};
use selvedge_stateless::{Choice, Finished, Point, Prefix, Strategy};
use selvedge_testgen::{Interpreter, Theme, generate};

use crate::compare::Case;
use crate::limits;

/// What is wrong with a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// Nothing.
    None,
    /// Where a switch is free, only the first thread is tried.
    DropsFreeSwitches,
    /// A free switch costs what a preemption does.
    ChargesFreeSwitches,
    /// Values other than the first are not tried.
    DropsValues,
    /// Every execution is run twice.
    RunsTwice,
    /// A preemption costs nothing.
    PreemptsForFree,
}

/// Every execution in the order of its cost: a slow ICB, with a flaw.
struct Flawed {
    flaw: Flaw,
    bound: u32,
    /// Beginnings to run, with what they cost.
    work: Vec<(u32, Vec<Decision>)>,
}

impl Flawed {
    fn new(flaw: Flaw) -> Self {
        Flawed { flaw, bound: 0, work: vec![(0, Vec::new())] }
    }
}

impl Strategy for Flawed {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        let Some(bound) = self.work.iter().map(|(cost, _)| *cost).min() else { return false };
        let index = self.work.iter().position(|(cost, _)| *cost == bound).expect("it is the least of them");
        self.bound = bound;
        prefix.decisions = self.work.swap_remove(index).1;
        prefix.expect = None;
        true
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        Choice::Take(point.without_preemption())
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        let record = execution.record;
        for index in execution.prefix..record.len() {
            let point = &record.points()[index];
            let taken = record.decisions()[index];
            let threads: Vec<_> = record.enabled(point).map(Decision::Thread).collect();
            let values = (0..point.arity).map(Decision::Value);
            for decision in threads.into_iter().chain(values).filter(|decision| *decision != taken) {
                let switches = point.running.map(Decision::Thread) != Some(decision);
                let value = matches!(decision, Decision::Value(_));
                let free = !point.preemptible && !value;
                if self.flaw == Flaw::DropsFreeSwitches && free || self.flaw == Flaw::DropsValues && value {
                    continue;
                }
                let charged = match self.flaw {
                    Flaw::ChargesFreeSwitches => switches && !value,
                    Flaw::PreemptsForFree => false,
                    _ => switches && point.preemptible,
                };
                let mut decisions = record.decisions()[..index].to_vec();
                decisions.push(decision);
                let cost = self.bound + u32::from(charged);
                if self.flaw == Flaw::RunsTwice {
                    self.work.push((cost, decisions.clone()));
                }
                self.work.push((cost, decisions));
            }
        }
    }

    fn bound(&self) -> Option<(Measure, u32)> {
        Some((Measure::Preemptions, self.bound))
    }

    fn exhausted(&self) -> Option<Bounds> {
        Some(Bounds { preemptions: Some(self.bound), ..Bounds::default() })
    }

    fn cut(&self) -> bool {
        false
    }

    fn in_order(&self) -> bool {
        true
    }
}

/// On how many of the first programs the comparison fails, of those that were compared.
fn failures(theme: Theme, flaw: Flaw) -> (usize, usize) {
    let cases = (0..40).filter_map(|seed| Case::new(&generate(theme, seed), limits("plain")));
    let results: Vec<_> =
        cases.filter(Case::is_whole).map(|case| case.icb_like(&mut Flawed::new(flaw)).is_err()).collect();
    (results.iter().filter(|failed| **failed).count(), results.len())
}

#[test]
fn a_search_without_a_flaw_passes() {
    for theme in [Theme::Atomics, Theme::Locks, Theme::Condvars, Theme::Threads, Theme::Readers] {
        let (failed, compared) = failures(theme, Flaw::None);
        assert_eq!(failed, 0, "{theme:?}");
        assert!(compared > 10);
    }
}

#[test]
fn every_flaw_is_caught() {
    for (theme, flaw) in [
        (Theme::Locks, Flaw::DropsFreeSwitches),
        (Theme::Locks, Flaw::ChargesFreeSwitches),
        (Theme::Readers, Flaw::DropsFreeSwitches),
        (Theme::Readers, Flaw::ChargesFreeSwitches),
        (Theme::Threads, Flaw::DropsFreeSwitches),
        (Theme::Threads, Flaw::ChargesFreeSwitches),
        (Theme::Threads, Flaw::DropsValues),
        (Theme::Atomics, Flaw::RunsTwice),
        (Theme::Atomics, Flaw::PreemptsForFree),
    ] {
        let (failed, compared) = failures(theme, flaw);
        assert!(failed * 10 >= compared, "{flaw:?}: only {failed} of {compared} {theme:?} programs show it");
    }
}

#[test]
fn a_program_that_misreports_its_accesses_is_caught() {
    let mut failed = 0;
    for seed in 0..40 {
        let Some(mut case) = Case::new(&generate(Theme::Atomics, seed), limits("plain")) else { continue };
        assert_eq!(case.icb(), Ok(()));
        case.interpreter = Interpreter { loads_write: true, ..case.interpreter };
        failed += usize::from(case.icb().is_err());
    }
    assert!(failed > 4, "reads that are taken for writes must split partial orders: {failed}");
}

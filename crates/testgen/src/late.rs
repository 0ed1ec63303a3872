//! Spurious events that come when they come, and are not decided before: a second meaning of them, for comparison.

use std::collections::{BTreeMap, BTreeSet};

use crate::brute::{Limits, Run, enumerate};
use crate::generate::{Theme, generate};
use crate::machine::{End, Machine, Outcome, Spurious};
use crate::program::Program;

/// What executions come to, each with the fewest preemptions of one that does, and the spurious events that are left out of
/// one, where a spurious event comes when it comes: a thread that waits may leave the wait at any time, and a weak exchange
/// fails when it is made. `None` when there are too many.
///
/// The machine that [`enumerate`] walks through decides before, as the library does: then nobody needs to be notified who
/// will not wait for it, and no choice is made twice. This is what the two must agree on.
fn enumerate_late(program: &Program, limits: Limits) -> Option<(BTreeMap<Outcome, u32>, BTreeSet<Spurious>)> {
    let mut late = Late { limits, found: BTreeMap::new(), without: BTreeSet::new(), nodes: 0 };
    let machine = Machine::new(program, limits.race_mode, 0);
    late.go(&machine, None, 0, [0; 2]).then_some((late.found, late.without))
}

struct Late {
    limits: Limits,
    found: BTreeMap<Outcome, u32>,
    without: BTreeSet<Spurious>,
    nodes: usize,
}

impl Late {
    /// Goes on in every way from where a thread took the last step, yielding by it or not, after so many preemptions and
    /// spurious events. Says whether it is done, rather than out of budget.
    fn go(
        &mut self,
        machine: &Machine<'_>,
        last: Option<(usize, bool)>,
        preemptions: u32,
        surprises: [u32; 2],
    ) -> bool {
        self.nodes += 1;
        if self.nodes > 100 * self.limits.executions {
            return false;
        }
        let enabled: Vec<usize> = (0..machine.threads()).filter(|thread| machine.enabled(*thread)).collect();
        let end = match machine.failure() {
            Some(end) => Some(end),
            None if enabled.is_empty() && machine.all_ended() => Some(End::Complete),
            // That a thread may wake for no reason promises nothing.
            None if enabled.is_empty() => Some(End::Deadlock),
            None => None,
        };
        if let Some(end) = end {
            let least = self.found.entry(machine.outcome(end)).or_insert(preemptions);
            *least = (*least).min(preemptions);
        }
        if machine.failure().is_some() {
            return true;
        }
        let preemptible = last
            .filter(|(thread, yielded)| !yielded && machine.enabled(*thread) && !machine.waits(*thread))
            .map(|(thread, _)| thread);
        let cost = |thread: usize| u32::from(preemptible.is_some_and(|running| running != thread));
        for (thread, kind) in machine.surprising() {
            if surprises[kind as usize] == self.limits.spurious {
                self.without.insert(kind);
                continue;
            }
            let mut surprises = surprises;
            surprises[kind as usize] += 1;
            let mut next = machine.clone();
            next.surprise(thread);
            if !self.go(&next, Some((thread, false)), preemptions + cost(thread), surprises) {
                return false;
            }
        }
        enabled.into_iter().all(|thread| {
            let values = machine.values(thread);
            (0..values.max(1)).all(|value| {
                let mut next = machine.clone();
                let done = next.step(thread, (values > 0).then_some(value));
                let last = Some((thread, done.yields()));
                self.go(&next, last, preemptions + cost(thread), surprises)
            })
        })
    }
}

/// What is decided before an operation comes to the same as what happens when it happens.
#[test]
fn to_decide_about_a_spurious_event_before_it_leaves_nothing_out() {
    // Programs in which such an event comes, and those of which the bound leaves one out.
    let (mut compared, mut named) = ([0; 3], 0);
    for theme in [Theme::Condvars, Theme::Threads, Theme::Atomics, Theme::Mixed] {
        for (seed, spurious) in (0..100).flat_map(|seed| (0..3).map(move |spurious| (seed, spurious))) {
            let program = generate(theme, seed);
            let limits = Limits { spurious, executions: 500, ..Limits::NONE };
            let Some(early) = enumerate(&program, limits) else { continue };
            let Some((late, without)) = enumerate_late(&program, limits) else { continue };
            let mut least = BTreeMap::new();
            for run in &early.runs {
                let entry = least.entry(run.outcome.clone()).or_insert(run.preemptions);
                *entry = (*entry).min(run.preemptions);
            }
            assert_eq!(least, late, "{program}, {spurious}");
            let comes = early.runs.iter().any(|run| run.surprises > 0);
            compared[spurious as usize] += usize::from(comes);
            // One that is never woken is a deadlock, which is no answer that something holds.
            if early.runs.iter().any(Run::is_violation) {
                continue;
            }
            let left_out = early.without(u32::MAX);
            // A failure that was decided on may come where the exchange fails anyway: it counts all the same.
            let told: BTreeSet<_> = left_out.intersection(&without).copied().collect();
            assert_eq!(told, without, "{program}, {spurious}");
            named += usize::from(!without.is_empty());
        }
    }
    assert!(compared[1] > 60 && compared[2] > 40 && named > 30, "{compared:?} {named}");
}

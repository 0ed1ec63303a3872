//! What every strategy must do, in terms of what brute force finds.

use std::collections::{BTreeMap, HashMap};

use selvedge_core::{Assumption, Assumptions, Bounds, Decision, Schedule, Verdict};
use selvedge_stateless::strategy::{Cost, Depth, Dfs, Iterative, Pct, Random, Replay};
use selvedge_stateless::{Settings, Strategy};
use selvedge_testgen::{End, Enumeration, Interpreter, Limits, Outcome, Program, Run, enumerate};

use crate::spy::{Search, Seen, search};

/// A program, how it is run, and what brute force says of it.
pub(crate) struct Case {
    pub(crate) interpreter: Interpreter,
    limits: Limits,
    pub(crate) all: Enumeration,
}

/// What a check found to be wrong.
pub(crate) type Verified = Result<(), String>;

macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*));
        }
    };
}

impl Case {
    /// Enumerates all executions of a program or, when there are too many, those with few preemptions.
    /// `None` when there are too many even of those.
    pub(crate) fn new(program: &Program, limits: Limits) -> Option<Case> {
        let Limits { race_mode, spurious, .. } = limits;
        let interpreter = Interpreter { race_mode, spurious, ..Interpreter::new(program.clone()) };
        [None, Some(2), Some(1), Some(0)].into_iter().find_map(|preemptions| {
            let limits = Limits { preemptions, ..limits };
            let all = enumerate(program, limits)?;
            Some(Case { interpreter: interpreter.clone(), limits, all })
        })
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.limits.preemptions.is_none()
    }

    fn at(&self, preemptions: u32) -> Enumeration {
        let limits = Limits { preemptions: Some(preemptions), ..self.limits };
        enumerate(&self.interpreter.program, limits).expect("a part of what was enumerated before")
    }

    fn settings(&self) -> Settings {
        Settings {
            yields: self.limits.yields,
            max_steps: self.limits.max_steps,
            keep_going: true,
            shorten: 0,
            ..Settings::default()
        }
    }

    pub(crate) fn search(&self, strategy: &mut dyn Strategy) -> Result<Search, String> {
        search(&self.interpreter, strategy, &self.settings())
    }

    /// ICB, strictly in the order of preemptions: the executions of each bound, each once; the rows; what is
    /// said of the whole.
    pub(crate) fn icb(&self) -> Verified {
        self.icb_like(&mut Iterative::new(Cost::Preemptions, self.limits.preemptions))
    }

    /// The same for any strategy that claims to do what ICB does.
    pub(crate) fn icb_like(&self, strategy: &mut dyn Strategy) -> Verified {
        let found = self.search(strategy)?;
        same_runs(&self.all, &found.seen)?;
        for seen in found.seen.iter().filter(|seen| !seen.pruned) {
            ensure!(
                seen.bound == Some(seen.preemptions),
                "an execution with {} preemptions was run at bound {:?}: {}",
                seen.preemptions,
                seen.bound,
                token(&seen.schedule)
            );
        }
        let last = match self.limits.preemptions {
            Some(most) if self.all.cut => most,
            _ => self.all.most_preemptions(),
        };
        let bounds: Vec<u32> = found.outcome.rows.iter().map(|row| row.bound).collect();
        ensure!(bounds.iter().copied().eq(0..=last), "rows of the bounds {bounds:?}, last should be {last}");
        for row in &found.outcome.rows {
            let pruned =
                found.seen.iter().filter(|seen| seen.pruned && seen.bound <= Some(row.bound)).count();
            let executions = self.all.within(row.bound).count() + pruned;
            let expected = (executions, self.all.orders_within(row.bound), self.all.states_within(row.bound));
            let counted = (row.executions, row.distinct, row.states);
            let counted = (counted.0.unwrap_or(0), counted.1.unwrap_or(0), counted.2.unwrap_or(0));
            let counted = (counted.0 as usize, counted.1 as usize, counted.2 as usize);
            ensure!(
                counted == expected,
                "executions, orders and states at bound {}: {counted:?}, and by brute force {expected:?}",
                row.bound
            );
        }
        self.orders(&found)?;
        if let Verdict::Inconclusive(gap) = &found.outcome.verdict {
            let covered = gap.covered.as_ref().and_then(|covered| covered.bounds.preemptions);
            let expected = self.fewest_of_long().checked_sub(1);
            ensure!(covered == expected, "covered {covered:?} instead of {expected:?}");
        }
        self.said(&found, Bounds { preemptions: Some(last), ..Bounds::default() }, !self.all.cut)
    }

    /// The terminal partial orders: as many as graphs, each first reached at the same bound.
    fn orders(&self, found: &Search) -> Verified {
        let mut least: BTreeMap<_, u32> = BTreeMap::new();
        for run in &self.all.runs {
            let entry = least.entry(&run.graph).or_insert(run.preemptions);
            *entry = (*entry).min(run.preemptions);
        }
        let mut least: Vec<u32> = least.into_values().collect();
        least.sort_unstable();
        ensure!(found.orders == least, "orders by preemptions: {:?}, and {least:?}", found.orders);
        Ok(())
    }

    /// The verdict: violated if anything goes wrong; otherwise what was exhausted.
    fn said(&self, found: &Search, bounds: Bounds, complete: bool) -> Verified {
        let violated = self.all.runs.iter().any(Run::is_violation);
        let long = self.all.runs.iter().any(Run::is_long);
        match &found.outcome.verdict {
            Verdict::Violated(_) => ensure!(violated, "violated, although nothing goes wrong"),
            Verdict::Holds(guarantee) => {
                ensure!(!violated, "holds, although something goes wrong");
                ensure!(!long, "holds, although an execution was ended at the limit of steps");
                ensure!(
                    guarantee.complete == complete,
                    "complete: {}, expected {complete}",
                    guarantee.complete
                );
                let yields = self.limits.yields.filter(|_| self.all.fair_cut);
                let expected = Bounds { yields, ..bounds };
                ensure!(guarantee.bounds == expected, "{:?} instead of {expected:?}", guarantee.bounds);
                let assumed = &guarantee.assumptions;
                let expected = self.assumptions(yields);
                ensure!(*assumed == expected, "it assumes {assumed} instead of {expected}");
            }
            Verdict::Inconclusive(gap) => {
                ensure!(long && !violated, "inconclusive: {}", gap.reason);
                ensure!(gap.reason.contains("has not ended after"), "{}", gap.reason);
            }
        }
        Ok(())
    }

    /// What is assumed: that none of what the limits have left out happens.
    fn assumptions(&self, yields: Option<u32>) -> Assumptions {
        let without = self.all.without(u32::MAX).into_iter().map(|one| one.assumption(self.limits.spurious));
        without.chain(yields.map(Assumption::fairness)).collect()
    }

    /// The fewest preemptions of an execution that is ended at the limit of steps.
    fn fewest_of_long(&self) -> u32 {
        let long = self.all.runs.iter().filter(|run| run.is_long());
        long.map(|run| run.preemptions).min().unwrap_or(u32::MAX)
    }

    /// Depth-first search: everything, or everything within a limit.
    pub(crate) fn dfs(&self) -> Verified {
        if self.is_whole() {
            let found = self.search(&mut Dfs::new(None))?;
            same_runs(&self.all, &found.seen)?;
            self.orders(&found)?;
            self.said(&found, Bounds::default(), true)?;
            let states = found.outcome.statistics.states;
            let expected = self.all.states.len() as u64;
            ensure!(states == Some(expected), "states {states:?}, and by brute force {expected}");
            let pruned = found.seen.iter().filter(|seen| seen.pruned).count();
            ensure!(pruned == 0, "DFS without a limit pruned");
            for row in &found.outcome.rows {
                let within = self.all.within(row.bound).count() as u64;
                ensure!(row.executions == Some(within), "row of {}: {:?}", row.bound, row.executions);
                let orders = self.all.orders_within(row.bound) as u64;
                ensure!(row.distinct == Some(orders), "row of {}: {:?}", row.bound, row.distinct);
            }
        }
        let top = self.limits.preemptions.unwrap_or(self.all.most_preemptions());
        for limit in 0..=top.min(3) {
            let part = self.at(limit);
            let found = self.search(&mut Dfs::new(Some(limit)))?;
            same_runs(&part, &found.seen).map_err(|error| format!("at limit {limit}: {error}"))?;
            let bounded = Case { interpreter: self.interpreter.clone(), limits: self.limits, all: part };
            bounded.orders(&found)?;
            let bounds = Bounds { preemptions: Some(limit), ..Bounds::default() };
            bounded.said(&found, bounds, !bounded.all.cut)?;
        }
        Ok(())
    }

    /// ICB with phases that may spend `csb` preemptions: at the end of phase i everything with at most
    /// (i + 1) · csb + i preemptions has been run.
    pub(crate) fn phases(&self, csb: u32) -> Verified {
        let mut strategy = Iterative::new(Cost::Preemptions, self.limits.preemptions).csb(csb);
        let found = self.search(&mut strategy)?;
        same_runs(&self.all, &found.seen)?;
        for (index, seen) in found.seen.iter().enumerate().skip(1) {
            let before = found.seen[index - 1].bound.unwrap_or(0);
            if seen.bound == Some(before) {
                continue;
            }
            let covered =
                found.seen[..index].iter().filter(|seen| !seen.pruned && seen.preemptions <= before);
            let (covered, expected) = (covered.count(), self.all.within(before).count());
            ensure!(
                covered == expected,
                "csb {csb}: {covered} of {expected} when the phase of {before} ended"
            );
            let next = before + csb + 1;
            let next = self.limits.preemptions.map_or(next, |most| next.min(most));
            ensure!(
                seen.bound == Some(next),
                "csb {csb}: the phase of {:?} after that of {before}",
                seen.bound
            );
        }
        for row in &found.outcome.rows {
            let expected = self.all.within(row.bound).count() as u64;
            let executions = row.executions.unwrap_or(0);
            ensure!(executions >= expected, "csb {csb}: the row of {} says {executions}", row.bound);
        }
        self.orders(&found)
    }

    /// Depth-bounded search: deep enough, it is depth-first search; less deep, it sees every beginning.
    pub(crate) fn depth(&self) -> Verified {
        if !self.is_whole() {
            return Ok(());
        }
        let deepest = self.all.runs.iter().map(|run| run.schedule.len()).max().unwrap_or(0) as u32;
        let found = self.search(&mut Depth::new(deepest, deepest))?;
        same_runs(&self.all, &found.seen)?;
        self.said(&found, Bounds { depth: Some(deepest), ..Bounds::default() }, true)?;
        let increment = deepest / 2 + 1;
        let found = self.search(&mut Depth::new(deepest + increment, increment))?;
        let last: Vec<Seen> = found
            .seen
            .iter()
            .filter(|seen| seen.bound > Some(increment) || deepest <= increment)
            .cloned()
            .collect();
        same_runs(&self.all, &last)?;
        let mut cut: Vec<Vec<Decision>> = Vec::new();
        for run in &self.all.runs {
            cut.push(run.schedule.iter().copied().take(increment as usize).collect());
        }
        cut.sort();
        cut.dedup();
        let first = found.seen.iter().filter(|seen| seen.bound == Some(increment));
        let mut first: Vec<_> = first.map(|seen| seen.schedule.clone()).collect();
        first.sort();
        ensure!(first == cut, "depth {increment}: {} beginnings, and {}", first.len(), cut.len());
        let bounds: Vec<u32> = found.outcome.rows.iter().map(|row| row.bound).collect();
        let expected = if deepest > increment { vec![increment, 2 * increment] } else { vec![increment] };
        let expected: Vec<u32> = expected.into_iter().map(|bound| bound.min(deepest + increment)).collect();
        ensure!(bounds == expected, "rows of the depths {bounds:?} instead of {expected:?}");
        Ok(())
    }

    /// Delay bounding: the executions of each number of delays, each once; so it is monotone, and reaches
    /// everything in the end.
    pub(crate) fn delays(&self) -> Verified {
        if !self.is_whole() {
            return Ok(());
        }
        let delays: HashMap<&[Decision], u32> =
            self.all.runs.iter().map(|run| (run.schedule.as_slice(), run.delays)).collect();
        let found = self.search(&mut Iterative::new(Cost::Delays, None))?;
        same_runs(&self.all, &found.seen)?;
        for seen in &found.seen {
            let expected = delays.get(seen.schedule.as_slice()).copied();
            ensure!(
                seen.bound == expected,
                "{expected:?} delays, run at {:?}: {}",
                seen.bound,
                token(&seen.schedule)
            );
        }
        for limit in 0..=2 {
            let found = self.search(&mut Iterative::new(Cost::Delays, Some(limit)))?;
            let expected = self.all.runs.iter().filter(|run| run.delays <= limit).count();
            ensure!(
                found.seen.len() == expected,
                "{} within {limit} delays, not {expected}",
                found.seen.len()
            );
            let all_within =
                found.seen.iter().all(|seen| delays.get(seen.schedule.as_slice()) <= Some(&limit));
            ensure!(all_within, "an execution with more than {limit} delays");
        }
        Ok(())
    }

    /// Samplers run executions, whole ones, and say that they rule nothing out.
    pub(crate) fn samples(&self, seed: u64) -> Verified {
        if !self.is_whole() || self.limits.yields.is_some() {
            return Ok(());
        }
        let runs = by_schedule(&self.all);
        let settings = Settings { max_executions: Some(12), ..self.settings() };
        let strategies: [Box<dyn Strategy>; 3] =
            [Box::new(Random::new(seed)), Box::new(Pct::new(seed, 2)), Box::new(Pct::new(seed, 3))];
        for mut strategy in strategies {
            let found = search(&self.interpreter, strategy.as_mut(), &settings)?;
            ensure!(found.seen.len() == 12, "{} samples", found.seen.len());
            for seen in &found.seen {
                let run = runs.get(seen.schedule.as_slice());
                ensure!(run.is_some(), "no execution: {}", token(&seen.schedule));
                ensure!(run.is_some_and(|run| run.preemptions == seen.preemptions), "preemptions miscounted");
            }
            ensure!(!found.outcome.holds(), "a sample holds");
        }
        Ok(())
    }

    /// The first violation has the fewest preemptions that any has; it replays from its token; and everything
    /// below it was run, no more.
    pub(crate) fn violations(&self) -> Verified {
        let worst = self.all.runs.iter().filter(|run| run.is_violation()).map(|run| run.preemptions).min();
        let settings = Settings { keep_going: false, shorten: 50, ..self.settings() };
        let mut icb = Iterative::new(Cost::Preemptions, self.limits.preemptions);
        let found = search(&self.interpreter, &mut icb, &settings)?;
        let violation = found.outcome.violation();
        ensure!(
            violation.map(|v| v.preemptions) == worst,
            "{:?} instead of {worst:?}",
            violation.map(|v| v.preemptions)
        );
        let Some((violation, least)) = violation.zip(worst) else { return Ok(()) };
        let below = violation.below.as_ref().and_then(|below| below.bounds.preemptions);
        ensure!(below == least.min(self.fewest_of_long()).checked_sub(1), "below {least}: {below:?}");
        self.counterexample(violation)?;
        for csb in [1, 2] {
            let mut phased = Iterative::new(Cost::Preemptions, self.limits.preemptions).csb(csb);
            let found = search(&self.interpreter, &mut phased, &settings)?;
            let Some(violation) = found.outcome.violation() else {
                return Err("csb hides a violation".into());
            };
            let below = violation.below.as_ref().and_then(|below| below.bounds.preemptions);
            ensure!(
                below < Some(least),
                "csb {csb}: said to be exhausted up to {below:?}, violated at {least}"
            );
            self.counterexample(violation)?;
        }
        if self.is_whole() {
            let found = search(&self.interpreter, &mut Dfs::new(None), &settings)?;
            let Some(violation) = found.outcome.violation() else { return Err("DFS finds nothing".into()) };
            self.counterexample(violation)?;
        }
        Ok(())
    }

    /// A counterexample is an execution that brute force knows, with the same end and the same preemptions;
    /// and its token replays.
    fn counterexample(&self, violation: &selvedge_core::Violation) -> Verified {
        let runs = by_schedule(&self.all);
        let Some(run) = runs.get(violation.schedule.0.as_slice()) else {
            ensure!(!self.is_whole(), "the counterexample is no execution: {}", violation.schedule);
            return Ok(());
        };
        let end = run.outcome.end;
        ensure!(end.is(Some(violation.kind)), "{} is {end:?} by brute force", violation.kind);
        let counted = (violation.preemptions, violation.trace.preemptions(), violation.switches);
        let expected = (run.preemptions, run.preemptions, run.switches);
        ensure!(counted == expected, "preemptions, marked preemptions, switches: {counted:?}, {expected:?}");
        let schedule: Schedule =
            violation.schedule.to_string().parse().map_err(|error| format!("{error}"))?;
        ensure!(schedule == violation.schedule, "the token parses to another schedule");
        let replayed = selvedge_stateless::replay(&self.interpreter, &schedule, &self.settings())
            .map_err(|error| error.to_string())?;
        let Some(again) = replayed.violation() else { return Err("the token replays to nothing".into()) };
        ensure!(
            (again.kind, &again.message, &again.trace)
                == (violation.kind, &violation.message, &violation.trace),
            "the token replays to another violation: {}",
            again.message
        );
        Ok(())
    }

    /// Two executions have the same hash exactly when they have the same graph; every execution replays to the
    /// end that it has by brute force.
    pub(crate) fn each_run(&self) -> Verified {
        let (mut graphs, mut hashes) = (HashMap::new(), HashMap::new());
        for run in &self.all.runs {
            let found = self.search(&mut Replay::new(Schedule(run.schedule.clone())))?;
            let kind = found.outcome.violation().map(|violation| violation.kind);
            let end = run.outcome.end;
            ensure!(end.is(kind), "{kind:?} instead of {end:?}: {}", token(&run.schedule));
            ensure!(found.seen[0].schedule == run.schedule, "another schedule: {}", token(&run.schedule));
            ensure!(found.seen[0].preemptions == run.preemptions, "preemptions: {}", token(&run.schedule));
            let hash = found.hashes[0];
            ensure!(*graphs.entry(hash).or_insert(&run.graph) == &run.graph, "two graphs with one hash");
            ensure!(*hashes.entry(&run.graph).or_insert(hash) == hash, "two hashes of one graph");
        }
        Ok(())
    }

    /// Executions with one graph have one outcome: the labels of the actions say all that matters.
    pub(crate) fn graph_determines_outcome(&self) -> Verified {
        let mut outcomes = HashMap::new();
        for run in &self.all.runs {
            let first = *outcomes.entry(&run.graph).or_insert(run);
            // At the limit of steps it depends on the order of the last ones whether all is as it was before.
            let end = |run: &Run| match run.outcome.end {
                End::Livelock | End::Complete if run.schedule.len() >= self.limits.max_steps => {
                    End::StepLimit
                }
                end => end,
            };
            let outcome = |run: &Run| Outcome { end: end(run), ..run.outcome.clone() };
            ensure!(
                outcome(first) == outcome(run),
                "one graph, two outcomes: {:?} by {} and {:?} by {}",
                first.outcome,
                token(&first.schedule),
                run.outcome,
                token(&run.schedule)
            );
        }
        Ok(())
    }
}

fn by_schedule(all: &Enumeration) -> HashMap<&[Decision], &Run> {
    all.runs.iter().map(|run| (run.schedule.as_slice(), run)).collect()
}

/// A schedule in words that are easier to follow than its token: `0 0 1 =2 1`.
fn token(schedule: &[Decision]) -> String {
    let words = schedule.iter().map(|decision| match decision {
        Decision::Thread(thread) => thread.to_string(),
        Decision::Value(value) => format!("={value}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Every execution that brute force found was run, once, with the same count of preemptions; and no other.
fn same_runs(all: &Enumeration, seen: &[Seen]) -> Verified {
    let mut expected: Vec<_> = all.runs.iter().map(|run| (&run.schedule, run.preemptions)).collect();
    let mut found: Vec<_> =
        seen.iter().filter(|seen| !seen.pruned).map(|seen| (&seen.schedule, seen.preemptions)).collect();
    expected.sort();
    found.sort();
    if expected == found {
        return Ok(());
    }
    if let Some(twice) = found.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("run twice: {}", token(twice[0].0)));
    }
    if let Some(missing) = expected.iter().find(|run| !found.contains(run)) {
        return Err(format!("missing, or miscounted, with {} preemptions: {}", missing.1, token(missing.0)));
    }
    let strange = found.iter().find(|run| !expected.contains(run)).expect("the lists differ");
    Err(format!("no such execution, with {} preemptions: {}", strange.1, token(strange.0)))
}

//! What a search has come to: counts, rows, guarantees, whether its budget is spent, and whether the program goes the same again.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use selvedge_core::{Assumption, Bounds, CoverageRow, Guarantee, Measure, Statistics};

use super::{End, Explorer, Progress};
use crate::coverage::Coverage;
use crate::deadline::Deadline;
use crate::memory;
use crate::program::{Error, Execution};
use crate::settings::Settings;
use crate::strategy::{Choice, Prefix, Strategy};

impl<E: Execution + ?Sized> Explorer<E> {
    pub(super) fn count(&mut self, end: &End, executions: u64) {
        let preemptions = self.ended.preemptions;
        let index = preemptions as usize;
        if index >= self.executions_by_preemptions.len() {
            self.executions_by_preemptions.resize(index + 1, 0);
        }
        self.executions_by_preemptions[index] += 1;
        self.steps += self.record.len() as u64;
        self.longest = self.longest.max(self.record.len());
        if self.settings.coverage > Coverage::Executions && !matches!(end, End::Pruned) {
            self.visited.order(self.ended.state, preemptions);
        }
        if self.settings.coverage >= Coverage::States {
            for &state in self.local_states.reached() {
                self.visited.local_state(state);
            }
            for &state in &self.reached {
                self.visited.state(state);
            }
            self.visited.grown(executions);
        }
    }

    pub(super) fn row(&self, measure: Measure, bound: u32, budget: &Budget) -> CoverageRow {
        let counted = self.settings.coverage;
        CoverageRow {
            bound,
            measure,
            executions: Some(budget.executions),
            distinct: if counted >= Coverage::Orders { self.visited.orders() } else { None },
            states: if counted >= Coverage::States { self.visited.states() } else { None },
            transitions: None,
            elapsed: budget.began.elapsed(),
            extra: self.local_state_count(),
        }
    }

    pub(super) fn local_state_count(&self) -> Vec<(Cow<'static, str>, u64)> {
        let counted = self.settings.coverage >= Coverage::LocalStates;
        let count = counted.then(|| ("local_states".into(), self.visited.local_states().count() as u64));
        count.into_iter().collect()
    }

    /// The rows that are known once a search has exhausted its bounds.
    pub(super) fn final_rows<S: Strategy + ?Sized>(
        &self,
        strategy: &S,
        rows: &mut Vec<CoverageRow>,
        budget: &Budget,
    ) {
        if let Some((measure, bound)) = strategy.bound() {
            rows.push(self.row(measure, bound, budget));
        } else if strategy.exhausted().is_some() {
            // Those of a strategy that did, and that this one has taken the place of, are among them.
            rows.clear();
            // A search that does not iterate still knows how many preemptions each execution had.
            let mut executions = 0;
            let last = self.executions_by_preemptions.len().saturating_sub(1) as u32;
            for (bound, count) in self.executions_by_preemptions.iter().enumerate() {
                executions += count;
                let mut row = self.row(Measure::Preemptions, bound as u32, budget);
                row.executions = Some(executions);
                row.distinct = row.distinct.and_then(|_| self.visited.orders_within(bound as u32));
                row.states = row.states.filter(|_| bound as u32 == last);
                rows.push(row);
            }
        }
    }

    pub(super) fn guarantee(&self, bounds: Bounds, complete: bool) -> Guarantee {
        let yields = self.settings.yields.filter(|_| self.fair_cut);
        let mut assumptions = self.assumptions.clone();
        if let Some(yields) = yields {
            assumptions.add(Assumption::fairness(yields));
        }
        Guarantee { bounds: Bounds { yields, ..bounds }, complete, assumptions }
    }

    /// What the bounds rule out that were exhausted before an execution was ended at the limit of steps.
    pub(super) fn covered(&self, rows: &[CoverageRow]) -> Option<Guarantee> {
        let finished = self.unended.as_ref().map_or(rows.len(), |unended| unended.rows);
        rows[..finished].last().map(|row| self.finished_bound(row))
    }

    /// What a bound that was exhausted rules out.
    pub(super) fn finished_bound(&self, row: &CoverageRow) -> Guarantee {
        let (bound, mut bounds) = (Some(row.bound), Bounds::default());
        match row.measure {
            Measure::Preemptions => bounds.preemptions = bound,
            Measure::Contexts => bounds.contexts = bound,
            Measure::Delays => bounds.delays = bound,
            Measure::Depth => bounds.depth = bound,
        }
        self.guarantee(bounds, false)
    }

    pub(super) fn statistics(&self, budget: &Budget) -> Statistics {
        let counted = self.settings.coverage >= Coverage::States;
        let repeated = self.runs - self.first_runs;
        let repeated = (repeated > 0).then_some((Statistics::REPEATED.into(), repeated));
        Statistics {
            elapsed: budget.began.elapsed(),
            executions: Some(budget.executions),
            steps: Some(self.steps),
            depth: Some(self.longest as u64),
            states: if counted { self.visited.states() } else { None },
            growth: self.visited.growth().to_vec(),
            extra: self.local_state_count().into_iter().chain(repeated).collect(),
            ..Statistics::default()
        }
    }

    /// Runs the first execution again, which must go as it went: a search of few executions might not find out otherwise that
    /// the program is not deterministic. A few times, unless that takes long: what is left to chance may go alike once.
    pub(super) fn goes_the_same(&mut self, first: &Prefix) -> Result<(), Error> {
        const TIMES: usize = 8;
        const LONG: Duration = Duration::from_millis(50);
        let (fair_cut, began) = (self.fair_cut, Instant::now());
        for _ in 0..TIMES {
            let end = self.run(first, &mut |_| Choice::Prune, None)?;
            self.fair_cut = fair_cut;
            if let End::Stopped(stop) = end {
                return Err(Error::Nondeterministic {
                    step: first.decisions.len(),
                    difference: format!("the first time nothing went wrong, and now: {}", stop.message),
                    location: stop.location,
                });
            }
            if began.elapsed() > LONG {
                break;
            }
        }
        Ok(())
    }
}

/// What a search may spend, and has spent.
pub(super) struct Budget {
    pub(super) began: Instant,
    pub(super) reported: Instant,
    pub(super) executions: u64,
    most_executions: Option<u64>,
    memory_limit: Option<u64>,
    /// The memory in use was not asked for yet.
    is_first: bool,
    pub(super) deadline: Deadline,
    /// When the clock was last read, and how many steps had been taken then.
    read: (Instant, u64),
    /// The executions are so slow that the clock is read after each.
    is_slow: bool,
}

impl Budget {
    /// To read the clock takes as long as some steps do: it is read once in so many.
    const STEPS: u64 = 256;
    /// The memory in use is first asked for after so many executions.
    const FIRST: u64 = 16;
    /// If these took longer than this, it is read after each execution.
    const SLOW: Duration = Duration::from_millis(20);

    /// That of a search that begins now.
    pub(super) fn new(settings: &Settings) -> Self {
        let began = Instant::now();
        Budget {
            began,
            reported: began,
            executions: 0,
            most_executions: settings.max_executions,
            memory_limit: settings.memory_limit,
            is_first: true,
            deadline: Deadline::new(settings.interrupt, settings.time_limit),
            read: (began, 0),
            is_slow: true,
        }
    }

    /// Why the search must stop, if it must, after so many steps.
    pub(super) fn exceeded(
        &mut self,
        steps: u64,
        bound: Option<(Measure, u32)>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Option<String> {
        if let Some(most) = self.most_executions
            && self.executions >= most
        {
            return Some(format!("the limit of {most} executions was reached"));
        }
        let (before, at) = self.read;
        if !self.is_slow && steps - at < Self::STEPS {
            return None;
        }
        if let Some(reason) = self.deadline.reached() {
            return Some(reason);
        }
        let now = Instant::now();
        self.is_slow = now - before > Self::SLOW;
        self.read = (now, steps);
        let is_due = now - self.reported >= Duration::from_millis(100);
        if let Some(limit) =
            self.memory_limit.filter(|_| is_due || self.is_first && self.executions >= Self::FIRST)
            && memory::resident().is_some_and(|resident| resident > limit)
        {
            return Some(format!("the memory limit of {} was reached", memory::size(limit)));
        }
        self.is_first &= self.executions < Self::FIRST;
        if is_due {
            self.reported = now;
            progress(&Progress { bound, executions: self.executions, elapsed: now - self.began });
        }
        None
    }
}

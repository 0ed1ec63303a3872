//! The one loop over executions.
//!
//! It runs what a strategy asks for, follows each execution with clocks and hashes, checks that a replayed
//! prefix behaves as it did before, keeps to the budgets, and turns what it has seen into a verdict.

mod ahead;
mod races;
mod results;

use std::time::Duration;

use selvedge_core::{
    Assumptions, Decision, Gap, Measure, Op, OpKind, Outcome, Schedule, Statistics, Step, ThreadId,
    ThreadSet, Verdict,
};

pub use self::ahead::Ran;
use self::ahead::TakenOver;
use self::results::Budget;
use crate::context_bound::ContextBound;
use crate::counterexample;
use crate::coverage::{Coverage, Visited};
use crate::deadline::Deadline;
use crate::fair::{Fair, Places, may_hold_back};
use crate::foresee::Foresight;
use crate::graph::{Graph, Races};
use crate::happens_before::{HappensBefore, StateHash};
use crate::livelock::{self, Long};
use crate::local_state::LocalStates;
use crate::observe::Observer;
use crate::program::{Error, Event, Execution, Plan, Program, Stop, StopKind};
use crate::race::RaceDetector;
use crate::record::{Before, PointRecord, Record};
use crate::settings::Settings;
use crate::strategy::{Choice, Finished, Lesson, Point, Prefix, Report, Strategy};

/// How a search is getting on.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What the strategy iterates over, and the bound that it is exploring.
    pub bound: Option<(Measure, u32)>,
    /// Executions so far.
    pub executions: u64,
    /// Time since the search began.
    pub elapsed: Duration,
}

/// Explores a program with a strategy until it is violated, exhausted, or out of budget. `progress` is
/// called a few times a second. To have the loop compiled for one kind of execution and strategy, make an
/// [`Explorer`] of that execution.
pub fn explore(
    program: &dyn Program,
    strategy: &mut dyn Strategy,
    settings: &Settings,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Outcome, Error> {
    Explorer::new(program, *settings)?.search(strategy, progress)
}

/// Runs one schedule, once, and says what came of it.
pub fn replay(program: &dyn Program, schedule: &Schedule, settings: &Settings) -> Result<Outcome, Error> {
    Explorer::new(program, *settings)?.replay(schedule)
}

/// How one execution ended.
#[derive(Debug)]
pub(crate) enum End {
    /// Every thread ended.
    Complete,
    /// The strategy or the fair bound ended it.
    Pruned,
    /// Something went wrong.
    Stopped(Box<Stop>),
    /// It had as many steps as it may have.
    Long,
}

/// So many steps may be spent on executions that are ended at the limit of steps: most often those that follow are, too.
const MOST_LONG: usize = 1 << 19;

/// What is known of executions that were ended at the limit of steps.
#[derive(Debug)]
struct Unended {
    /// What is known of the first.
    reason: String,
    /// How many bounds had been finished before it.
    rows: usize,
    /// How many there were.
    count: usize,
}

/// Where an execution ended.
#[derive(Clone, Debug, Default)]
struct Ended {
    preemptions: u32,
    state: StateHash,
    /// Whether a step of its own ended it.
    stopped: bool,
    /// If the strategy ended it: the point where it did, and the threads that could have been chosen there.
    at: Option<PointRecord>,
    enabled: ThreadSet,
}

/// Who decides how an execution goes on after its prefix.
pub(crate) type Chooser<'a> = &'a mut dyn FnMut(&Point<'_>) -> Choice;

/// A [`Chooser`], or a strategy that the loop is compiled for.
trait Choose {
    fn choose(&mut self, point: &Point<'_>) -> Choice;
}

impl Choose for dyn FnMut(&Point<'_>) -> Choice + '_ {
    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self(point)
    }
}

struct ByStrategy<'a, S: ?Sized>(&'a S);

impl<S: Strategy + ?Sized> Choose for ByStrategy<'_, S> {
    #[inline(always)]
    fn choose(&mut self, point: &Point<'_>) -> Choice {
        self.0.choose(point)
    }
}

/// Runs executions of one program, and keeps what is reused from one to the next.
pub struct Explorer<E: ?Sized = dyn Execution> {
    pub(crate) execution: Box<E>,
    pub(crate) settings: Settings,
    pub(crate) record: Record,
    /// What is left of that of the execution before.
    before: Before,
    pub(crate) context: ContextBound,
    happens_before: HappensBefore,
    races: RaceDetector,
    /// Whether the program was ever seen to access a tracked cell, where races are looked for. Until then clocks serve no
    /// purpose.
    has_cells: bool,
    /// Whether the current run has clocks.
    clocks: bool,
    fair: Fair,
    places: Places,
    /// The fair bound has held a thread back, or may have in an execution that was left out.
    fair_cut: bool,
    /// The graph of the last execution in which a thread yielded more often than the bound.
    yielding: Graph,
    /// That of the search.
    pub(crate) deadline: Deadline,
    /// What the executions so far take for granted, the fair bound apart.
    assumptions: Assumptions,
    allowed: ThreadSet,
    visited: Visited,
    /// The states that the current execution has reached after its prefix.
    reached: Vec<StateHash>,
    prefix_length: usize,
    /// How the last execution ended.
    ended: Ended,
    observer: Observer,
    foresight: Foresight,
    local_states: LocalStates,
    executions_by_preemptions: Vec<u64>,
    steps: u64,
    longest: usize,
    /// How often the program was run, and how many of the runs are executions that count.
    runs: u64,
    first_runs: u64,
    /// Of how many decisions of the last execution that was run what they led to was known from the one before.
    noted: usize,
    /// Whether the last execution was taken over.
    was_taken_over: bool,
    /// What a copy of the strategy has learnt from it, if anything.
    lesson: Lesson,
    unended: Option<Unended>,
    /// Set while runs are compared to find out where a program is not deterministic.
    pub(crate) comparing: bool,
}

impl<E: ?Sized> std::fmt::Debug for Explorer<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explorer").field("record", &self.record).finish_non_exhaustive()
    }
}

impl<'p> Explorer<dyn Execution + 'p> {
    /// Prepares to run a program.
    pub fn new(program: &'p dyn Program, settings: Settings) -> Result<Self, Error> {
        Ok(Explorer::with_execution(program.launch()?, settings))
    }
}

impl<E: Execution + ?Sized> Explorer<E> {
    /// Prepares to run a program of which an execution object was made already.
    pub fn with_execution(execution: Box<E>, settings: Settings) -> Self {
        Explorer {
            execution,
            settings,
            record: Record::default(),
            before: Before::default(),
            context: ContextBound::default(),
            happens_before: HappensBefore::default(),
            races: RaceDetector::default(),
            has_cells: false,
            clocks: false,
            fair: Fair::default(),
            places: Places::default(),
            yielding: Graph::default(),
            deadline: Deadline::default(),
            fair_cut: false,
            assumptions: Assumptions::default(),
            allowed: ThreadSet::default(),
            visited: Visited::default(),
            reached: Vec::new(),
            prefix_length: 0,
            ended: Ended::default(),
            observer: Observer::default(),
            foresight: Foresight::default(),
            local_states: LocalStates::default(),
            executions_by_preemptions: Vec::new(),
            steps: 0,
            longest: 0,
            runs: 0,
            first_runs: 0,
            noted: 0,
            was_taken_over: false,
            lesson: Lesson::default(),
            unended: None,
            comparing: false,
        }
    }

    /// Runs one schedule, once, and says what came of it.
    pub fn replay(&mut self, schedule: &Schedule) -> Result<Outcome, Error> {
        let mut budget = Budget::new(&self.settings);
        self.saw_cell();
        // What there is to count in one execution is its steps.
        self.settings.coverage = Coverage::Executions;
        let verdict = match counterexample::replay(self, schedule)? {
            Some(violation) => Verdict::Violated(Box::new(violation)),
            None => {
                let unended =
                    self.unended.take().map(|unended| format!("; {}", unended.reason)).unwrap_or_default();
                let reason = format!("the schedule was replayed, and nothing went wrong{unended}");
                Verdict::Inconclusive(Gap { reason, covered: None })
            }
        };
        budget.executions = 1;
        self.first_runs += 1;
        self.count(&End::Complete, 1);
        let mut statistics = self.statistics(&budget);
        statistics.extra.push((Statistics::REPLAYED.into(), 1));
        Ok(Outcome { verdict, rows: Vec::new(), statistics })
    }

    /// Whether what was found is to be thrown away; see [`Execution::is_outdated`].
    pub fn is_outdated(&self) -> bool {
        self.execution.is_outdated()
    }

    /// Explores until the program is violated, exhausted, or out of budget, or what counts as a step has
    /// [changed](Explorer::is_outdated).
    pub fn search<S: Strategy + ?Sized>(
        &mut self,
        strategy: &mut S,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Outcome, Error> {
        let mut budget = Budget::new(&self.settings);
        let (mut rows, mut first_violation) = (Vec::new(), None);
        let (mut prefix, mut first) = (Prefix::default(), Prefix::default());
        let mut bound = strategy.bound();
        self.observer.on = strategy.wants_pending();
        self.deadline = budget.deadline;
        strategy.heed(self.deadline);
        self.unended = None;
        let gap = loop {
            if !strategy.next_prefix(&mut prefix) {
                // A strategy that was told to end does not say whether it was done.
                break self.deadline.reached();
            }
            if let (Some((measure, now)), Some((_, before))) = (strategy.bound(), bound)
                && now != before
            {
                // Bounds that were passed over had nothing to run, unless a phase takes several at once.
                let done = if strategy.in_order() { before..now } else { before..before + 1 };
                rows.extend(done.map(|bound| self.row(measure, bound, &budget)));
                bound = strategy.bound();
            }
            if let Some(reason) = budget.exceeded(self.steps, bound, progress) {
                break Some(reason);
            }
            if self.is_taken_over() && self.execution.runs_ahead() {
                let Settings { yields, max_steps, coverage, allow_races, .. } = self.settings;
                let settings = Settings { yields, max_steps, coverage, allow_races, ..Settings::default() };
                self.execution.run_ahead(settings, &mut |wanted| strategy.ahead(wanted));
            }
            let end = self.search_once(&prefix, strategy).and_then(|end| self.judge(end, rows.len()));
            if self.execution.is_outdated() {
                break Some("the program has more steps than were counted".into());
            }
            if let Some(reason) = self.execution.was_cut_short() {
                break Some(cut_short(reason, &end));
            }
            let end = end?;
            budget.executions += 1;
            self.first_runs += u64::from(!self.was_taken_over);
            self.count(&end, budget.executions);
            if budget.executions == 1 {
                first = Prefix::of(self.record.decisions().to_vec());
                first.expect = self.record.points().last().map(|point| point.fingerprint);
            }
            self.look_for_held_back(&prefix, &end);
            let finished = self.finished(&prefix, &end);
            strategy.finished(&finished);
            if let End::Stopped(mut stop) = end {
                if let StopKind::Unsupported | StopKind::Different = stop.kind {
                    return Err(Error::of(*stop, self.record.points().len()));
                }
                if first_violation.is_none() {
                    // What is run again to explain a failure is not part of what the search has covered.
                    let (fair_cut, assumptions) = (self.fair_cut, self.assumptions.clone());
                    if let Report::Like(other) = strategy.report(&finished) {
                        // Whatever happens, what went wrong is not lost.
                        let itself = self.record.decisions().to_vec();
                        stop = self.first_that_fails([other, itself])?.unwrap_or(stop);
                    }
                    let message = stop.message.lines().next().unwrap_or_default().to_string();
                    let explained = counterexample::explain(self, *stop);
                    if let Some(reason) = self.execution.was_cut_short() {
                        break Some(format!(
                            "{reason}, before what had gone wrong could be shown: {message}"
                        ));
                    }
                    let mut violation = explained?;
                    (self.fair_cut, self.assumptions) = (fair_cut, assumptions);
                    violation.below = self.covered(&rows);
                    first_violation = Some(violation);
                }
                if !self.settings.keep_going {
                    break None;
                }
            }
            if let Some(unended) = self
                .unended
                .as_ref()
                .filter(|unended| unended.count.saturating_mul(self.settings.max_steps) >= MOST_LONG)
            {
                break Some(unended.reason.clone());
            }
        };
        if gap.is_none() && (first_violation.is_none() || self.settings.keep_going) {
            // Bounds at the end that had nothing to run.
            if let (Some((measure, last)), Some((_, before)), true) =
                (strategy.bound(), bound, strategy.in_order())
            {
                rows.extend((before..last).map(|bound| self.row(measure, bound, &budget)));
            }
        }
        let verdict = match (first_violation, gap, strategy.exhausted()) {
            (Some(violation), ..) => {
                if self.settings.keep_going {
                    self.final_rows(strategy, &mut rows, &budget);
                }
                Verdict::Violated(Box::new(violation))
            }
            (None, Some(reason), _) => Verdict::Inconclusive(Gap { reason, covered: self.covered(&rows) }),
            (None, None, None) => {
                let sampled = format!("{} executions were sampled", budget.executions);
                let reason = match &self.unended {
                    None => format!("{sampled}; a sample rules nothing out"),
                    Some(unended) => format!("{sampled}, and {}", unended.reason),
                };
                Verdict::Inconclusive(Gap { reason, covered: None })
            }
            (None, None, Some(bounds)) => {
                let same = self.goes_the_same(&first);
                if let Some(reason) = self.execution.was_cut_short() {
                    Verdict::Inconclusive(Gap { reason, covered: self.covered(&rows) })
                } else {
                    same?;
                    self.final_rows(strategy, &mut rows, &budget);
                    match &self.unended {
                        None => Verdict::Holds(self.guarantee(bounds, !strategy.cut())),
                        Some(unended) => {
                            let (reason, covered) = (unended.reason.clone(), self.covered(&rows));
                            Verdict::Inconclusive(Gap { reason, covered })
                        }
                    }
                }
            }
        };
        let notes = strategy.note().into_iter().collect();
        Ok(Outcome { verdict, rows, statistics: Statistics { notes, ..self.statistics(&budget) } })
    }

    /// What an execution comes to that was ended at the limit of steps: a livelock, if it goes in a circle.
    pub(crate) fn judge(&mut self, end: End, rows: usize) -> Result<End, Error> {
        if !matches!(end, End::Long) {
            return Ok(end);
        }
        let decisions = self.record.decisions().to_vec();
        Ok(match livelock::look(self, &decisions)? {
            Long::Livelock(stop) => End::Stopped(stop),
            Long::OfNoInterest => End::Complete,
            Long::Unknown(reason) => {
                self.unended.get_or_insert(Unended { reason, rows, count: 0 }).count += 1;
                End::Long
            }
        })
    }

    /// Finds out what a strategy that strays will most likely decide in the next execution, where that is of use.
    fn foresee<S: Strategy + ?Sized>(&mut self, prefix: &Prefix, strategy: &S) {
        if strategy.strays() && self.observer.on && self.execution.heeds_plans() {
            self.foresight.learn(&self.record);
            self.foresight.foresee(&prefix.decisions, &self.settings, |point| strategy.choose(point));
        }
    }

    /// What a strategy learns from the last execution.
    fn finished(&self, prefix: &Prefix, end: &End) -> Finished<'_> {
        Finished {
            record: &self.record,
            prefix: prefix.decisions.len().min(self.record.len()),
            preemptions: self.ended.preemptions,
            pruned: matches!(end, End::Pruned),
            stopped: self.ended.stopped,
            state: self.ended.state,
            lesson: self.was_taken_over.then_some(&self.lesson),
        }
    }

    /// Finds out whether the fair bound cuts off an execution that is left out because it has the graph of the last one.
    fn look_for_held_back(&mut self, prefix: &Prefix, end: &End) {
        let Some(bound) = self.settings.yields.filter(|_| self.observer.on && !self.fair_cut) else { return };
        let counted = || self.record.points().iter().filter(|point| point.op.counted).count();
        if (self.fair.applies() || self.was_taken_over) && counted() > bound as usize {
            let mut graph = std::mem::take(&mut self.yielding);
            graph.update(&self.finished(prefix, end), Races::Neither);
            self.fair_cut = may_hold_back(&graph, bound);
            self.yielding = graph;
        }
    }

    /// Runs one execution of a search, or takes over what was seen of it when it was run ahead of time.
    fn search_once<S: Strategy + ?Sized>(&mut self, prefix: &Prefix, strategy: &S) -> Result<End, Error> {
        self.prefix_length = prefix.decisions.len();
        let mut again = None;
        while self.is_taken_over()
            && let prefix = again.as_ref().unwrap_or(prefix)
            && let Some(mut ran) = self.execution.was_run(&plan(prefix, &self.settings))
        {
            let taken_over = self.take_over(&mut ran, prefix, strategy);
            self.execution.was_used(ran);
            match taken_over {
                TakenOver::Whole(end) => return Ok(end),
                TakenOver::Until(prefix) => again = Some(prefix),
                TakenOver::Not => break,
            }
        }
        self.search_live(again.as_ref().unwrap_or(prefix), strategy)
    }

    /// Whether the strategy learns from what is recorded of an execution, or something is counted in it.
    fn records<S: Strategy + ?Sized>(&self, strategy: &S) -> bool {
        strategy.learns() || self.settings.coverage > Coverage::Executions || self.observer.on
    }

    /// Runs one execution of a search. For a strategy that learns nothing from it, when nothing is counted
    /// either, only the decisions are recorded, until one goes wrong.
    fn search_live<S: Strategy + ?Sized>(&mut self, prefix: &Prefix, strategy: &S) -> Result<End, Error> {
        self.foresee(prefix, strategy);
        let mut choose = ByStrategy(strategy);
        if self.records(strategy) {
            return self.run_recording::<true, _>(prefix, &mut choose, None);
        }
        let end = self.run_recording::<false, _>(prefix, &mut choose, None)?;
        if !matches!(end, End::Stopped(_) | End::Long) {
            return Ok(end);
        }
        let again = Prefix::of(self.record.decisions().to_vec());
        self.run_once::<true, _>(&again, &mut choose, None)
    }

    /// Runs executions until something goes wrong in one.
    fn first_that_fails(&mut self, schedules: [Vec<Decision>; 2]) -> Result<Option<Box<Stop>>, Error> {
        for decisions in schedules {
            let prefix = Prefix::of(decisions);
            if let End::Stopped(stop) = self.run(&prefix, &mut |_| Choice::Prune, None)? {
                return Ok(Some(stop));
            }
        }
        Ok(None)
    }

    /// Runs one execution: the prefix, then as the chooser says. With `trace`, each step is described there.
    pub(crate) fn run(
        &mut self,
        prefix: &Prefix,
        choose: Chooser<'_>,
        trace: Option<&mut Vec<Step>>,
    ) -> Result<End, Error> {
        self.prefix_length = prefix.decisions.len();
        self.run_recording::<true, _>(prefix, choose, trace)
    }

    #[inline]
    fn run_recording<const RECORDS: bool, C: Choose + ?Sized>(
        &mut self,
        prefix: &Prefix,
        choose: &mut C,
        mut trace: Option<&mut Vec<Step>>,
    ) -> Result<End, Error> {
        let looked_for = (self.has_cells, self.races.mixes);
        let end = self.run_once::<RECORDS, _>(prefix, &mut *choose, trace.as_deref_mut());
        if self.has_cells && (self.has_cells, self.races.mixes) != looked_for && end.is_ok() {
            // The first access of its kind that was ever seen: run this again, with clocks.
            if let Some(trace) = trace.as_deref_mut() {
                trace.clear();
            }
            let again = Prefix::of(self.record.decisions().to_vec());
            return self.run_once::<RECORDS, _>(&again, choose, trace);
        }
        end
    }

    /// Has the record be that of another execution, and says how much of what is to be noted of it is known.
    fn begin_again(&mut self, prefix: &Prefix, keeps: bool) -> usize {
        let keeps = keeps && self.clocks == self.has_cells;
        self.record.begin_again(&prefix.decisions, keeps, self.observer.on, &mut self.before)
    }

    fn run_once<const RECORDS: bool, C: Choose + ?Sized>(
        &mut self,
        prefix: &Prefix,
        choose: &mut C,
        trace: Option<&mut Vec<Step>>,
    ) -> Result<End, Error> {
        let noted = self.begin_again(prefix, RECORDS && !self.comparing);
        self.noted = noted.min(prefix.decisions.len().saturating_sub(1));
        self.reached.clear();
        self.ended.at = None;
        self.context = ContextBound::default();
        self.happens_before.clear();
        self.clocks = self.has_cells;
        if self.clocks {
            self.races.clear();
        }
        self.fair.clear();
        self.places.clear();
        self.observer.clear();
        self.local_states.clear();
        self.execution.plan(&Plan {
            foreseen: &self.foresight.likely,
            ends: self.foresight.ends,
            is_told: trace.is_some(),
            ..plan(prefix, &self.settings)
        });
        self.foresight.forget();
        self.runs += 1;
        self.execution.restart()?;
        let end = self.steps::<RECORDS, _>(prefix, noted, choose, trace);
        self.was_taken_over = false;
        self.ended.preemptions = self.context.preemptions();
        self.ended.state = self.happens_before.hash();
        self.ended.stopped = self.observer.stopped;
        let at_end = self.execution.finish();
        self.execution.assume(&mut self.assumptions);
        match (end, at_end) {
            (Ok(End::Complete), Some(stop)) => Ok(End::Stopped(Box::new(stop))),
            // As far as it went it was run, and its last step ended it; that is all.
            (Ok(End::Stopped(stop)), _) if stop.kind == StopKind::Infeasible => Ok(End::Complete),
            (end, _) => end,
        }
    }

    /// The steps of one execution. Their decisions are recorded; with `RECORDS` also what else each could
    /// have been, and a fingerprint of the way there, and states are hashed and counted where that is asked
    /// for. What the first `noted` decisions of the prefix led to is in the record already: it must be the
    /// same again.
    fn steps<const RECORDS: bool, C: Choose + ?Sized>(
        &mut self,
        prefix: &Prefix,
        noted: usize,
        choose: &mut C,
        mut trace: Option<&mut Vec<Step>>,
    ) -> Result<End, Error> {
        let coverage = if RECORDS { self.settings.coverage } else { Coverage::Executions };
        let counts_states = coverage >= Coverage::States;
        let hashes = RECORDS && (coverage > Coverage::Executions || self.observer.on);
        // What is noted of steps includes what they add to the state.
        let notes_actions = RECORDS && self.observer.on;
        // It is taken from there as long as states are not counted: they are from the last step of the prefix on.
        let is_counted = counts_states && noted >= self.prefix_length;
        let known_actions = if notes_actions && !is_counted { noted } else { 0 };
        let counts_local_states = coverage >= Coverage::LocalStates;
        let mut fingerprint = 0_u64;
        // As long as this goes as the execution before did, it must look the same.
        let mut same = RECORDS && !self.comparing;
        let mut arity = 0;
        let mut current = ThreadId(0);
        let mut preempts = false;
        let mut next_step = 0;
        loop {
            let step = next_step;
            next_step += 1;
            let is_noted = RECORDS && step < noted;
            let mut preemptible = false;
            let running = self.context.running();
            let decision = if is_noted {
                let point = &self.record.points()[step];
                let same = point.fingerprint == fingerprint;
                preemptible = point.preemptible;
                let decision = self.record.decisions()[step];
                if !same || !self.is_possible(decision, arity) {
                    return Err(counterexample::first_difference(self, prefix, step, !same));
                }
                decision
            } else {
                let enabled = self.execution.enabled();
                let mut allowed = enabled;
                let mut held_back = false;
                if arity == 0 {
                    if RECORDS && self.observer.on {
                        let execution = &*self.execution;
                        if step > 0 && step == noted {
                            self.observer.resume(execution, current, &self.record);
                            self.happens_before.settle();
                        }
                        self.observer.at_point(execution, &self.happens_before, false, &mut self.record);
                    }
                    if enabled.is_empty() {
                        return Ok(self.nothing_enabled());
                    }
                    if step >= self.settings.max_steps {
                        return Ok(End::Long);
                    }
                    if let Some(bound) = self.settings.yields
                        && self.fair.applies()
                    {
                        held_back = self.fair.allow(enabled, bound, &mut self.allowed);
                        self.fair_cut |= held_back;
                        allowed = &self.allowed;
                    }
                    // A thread that the fair bound holds back cannot go on: to switch away from it is free.
                    preemptible = self.context.preemptible(allowed, self.execution.waiting());
                }
                // A value is chosen within a step that may have preempted already.
                let preemptions = self.context.preemptions() + u32::from(arity > 0 && preempts);
                let before = if same { self.before.get(step) } else { None };
                if let Some((went, expected)) = before
                    && expected != fingerprint
                {
                    let decisions = self.record.decisions().iter().copied().chain([went]).collect();
                    let prefix = Prefix::of(decisions);
                    return Err(counterexample::first_difference(self, &prefix, step, true));
                }
                let choice = PointRecord {
                    running,
                    preemptible,
                    arity,
                    preemptions,
                    held_back,
                    op: Op::default(),
                    fingerprint,
                    enabled_at: 0,
                    enabled_words: 0,
                };
                let decision = if let Some(&decision) = prefix.decisions.get(step) {
                    if RECORDS
                        && step + 1 == prefix.decisions.len()
                        && prefix.expect.is_some_and(|expected| expected != fingerprint)
                    {
                        return Err(counterexample::first_difference(self, prefix, step, true));
                    }
                    if !self.is_possible(decision, arity) {
                        return Err(counterexample::first_difference(self, prefix, step, false));
                    }
                    decision
                } else {
                    let point = Point {
                        step,
                        arity,
                        enabled: allowed,
                        held_back,
                        running,
                        preemptible,
                        preemptions,
                        decisions: self.record.decisions(),
                        record: &self.record,
                        state: self.happens_before.hash(),
                        foreseen: false,
                    };
                    match choose.choose(&point) {
                        Choice::Take(decision) => decision,
                        Choice::Prune => {
                            self.ended.at = Some(choice);
                            self.ended.enabled.copy_from(allowed);
                            return Ok(End::Pruned);
                        }
                    }
                };
                self.record.push(decision);
                same = before.is_some_and(|(went, _)| went == decision);
                if RECORDS {
                    if self.observer.on {
                        self.record.note_state(self.happens_before.hash());
                    }
                    self.record.push_point(choice, allowed);
                }
                decision
            };
            match decision {
                Decision::Thread(thread) => {
                    current = thread;
                    preempts = preemptible && running != Some(thread);
                    if RECORDS && self.observer.on && !is_noted {
                        self.observer.before_step(&*self.execution, thread);
                    }
                }
                Decision::Value(value) => {
                    fingerprint = stir(fingerprint, u64::from(value) << 8 | 0xFF);
                    if hashes {
                        self.happens_before.value(current, value);
                    }
                    if counts_local_states {
                        self.local_states.value(value);
                    }
                }
            }
            let (mut op, stop) = match self.execution.step(decision) {
                Event::Choose(n) => {
                    arity = n;
                    continue;
                }
                Event::Performed(op) => (op, None),
                Event::Stopped(op, stop) => (op, Some(stop)),
            };
            arity = 0;
            if op.yields() && self.places.yielded(current, self.execution.site()) {
                op.counted = true;
                self.fair.yielded(current);
            }
            if RECORDS {
                if !is_noted {
                    self.record.performed(op);
                }
                // What was done, and what the thread will do next: both must be the same when this is
                // replayed.
                fingerprint = stir(fingerprint, u64::from(current.0) << 48 | code(&op));
                fingerprint = stir(fingerprint, code(&self.execution.pending(current)));
            }
            self.context.stepped(current, &op, preempts);
            if hashes {
                if step < known_actions {
                    self.happens_before.step_again(current, &op, self.record.action(step));
                } else {
                    let action = self.happens_before.step(current, &op);
                    if notes_actions && !is_noted {
                        self.record.note_action(action);
                    }
                }
                if counts_states && step + 1 >= self.prefix_length {
                    self.reached.push(self.happens_before.hash());
                }
            }
            if counts_local_states {
                self.local_states.step(current, &op, &self.happens_before);
            }
            if RECORDS && let Some(trace) = trace.as_deref_mut() {
                trace.push(self.described(current, preempts));
            }
            let mut race = None;
            if self.clocks {
                race = self.follow(current, &op);
            } else if matches!(op.kind, OpKind::Read | OpKind::Write) {
                self.saw_cell();
            }
            if !self.execution.local_events().is_empty() {
                race = race.or(self.follow_local_events(current, hashes));
            }
            if let Some(stop) = race.or(stop) {
                if is_noted {
                    return Err(counterexample::first_difference(self, prefix, step, true));
                }
                self.observer.stopped = true;
                if hashes {
                    self.happens_before.stopped(current);
                }
                if RECORDS && self.observer.on {
                    let execution = &*self.execution;
                    self.observer.at_point(execution, &self.happens_before, true, &mut self.record);
                }
                return Ok(End::Stopped(stop));
            }
        }
    }

    /// Whether a decision can be made now.
    #[inline]
    fn is_possible(&self, decision: Decision, arity: u32) -> bool {
        match decision {
            Decision::Thread(thread) => arity == 0 && self.execution.enabled().contains(thread),
            Decision::Value(value) => value < arity,
        }
    }

    fn described(&self, thread: ThreadId, preemption: bool) -> Step {
        let description = self.execution.describe();
        Step {
            thread: thread.index(),
            op: description.text,
            value: description.value,
            location: description.location,
            preemption,
        }
    }

    fn nothing_enabled(&self) -> End {
        if self.execution.all_ended() {
            return End::Complete;
        }
        End::Stopped(Box::new(
            self.execution.in_flight().unwrap_or_else(|| counterexample::deadlock(self.execution.as_ref())),
        ))
    }

    /// The terminal partial orders that were reached, each with the fewest preemptions of an execution that
    /// reached it. For tests that compare searches.
    pub fn terminal_orders(&self) -> impl Iterator<Item = (StateHash, u32)> + '_ {
        self.visited.terminal_hashes()
    }

    /// The local states that were reached, where they are counted. For tests that compare searches.
    pub fn local_states(&self) -> impl Iterator<Item = StateHash> + '_ {
        self.visited.local_states()
    }

    /// How many executions there were with 0, 1, 2, ... preemptions.
    pub fn executions_by_preemptions(&self) -> &[u64] {
        &self.executions_by_preemptions
    }
}

/// How an execution is planned to go.
fn plan<'a>(prefix: &'a Prefix, settings: &Settings) -> Plan<'a> {
    Plan {
        decisions: &prefix.decisions,
        likely: &prefix.likely,
        onward: prefix.onward,
        yields: settings.yields,
        ..Plan::default()
    }
}

/// Why a search stops in the middle of an execution, with what is known of that.
fn cut_short(mut reason: String, end: &Result<End, Error>) -> String {
    let detail = match end {
        Ok(End::Stopped(stop)) if stop.kind == StopKind::Unsupported => {
            Error::Unsupported((**stop).clone()).to_string()
        }
        Err(Error::Launch(error)) => error.0.clone(),
        _ => String::new(),
    };
    if !detail.is_empty() {
        reason.push_str(&format!("; {detail}"));
    }
    reason
}

/// Mixes a word into a fingerprint.
#[inline]
fn stir(fingerprint: u64, word: u64) -> u64 {
    (fingerprint.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// An operation as a word.
#[inline]
fn code(op: &Op) -> u64 {
    let object = op.object.map_or(0, |object| object.index() as u64 + 1);
    object << 16 | (op.access as u64) << 8 | op.kind as u64
}

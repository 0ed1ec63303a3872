//! A check: one question to one network, over growing numbers of contexts.

use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use selvedge_core::{
    Bounds, CoverageRow, Gap, Guarantee, Measure, Outcome, Schedule, Statistics, Verdict, Violation,
    ViolationKind,
};

use crate::bdd::{Bdd, Capacity, Fallible, Full};
use crate::configurations::{Written, write};
use crate::context_bounded::{Context, Search, Watch};
use crate::converge::Converging;
use crate::encoding::Encoding;
use crate::fork::Slots;
use crate::goal;
use crate::interpreter::{Configuration, Interpreter};
use crate::marker::{Marker, markers};
use crate::network::{LabelId, Network};
use crate::replay::{Replayed, replay, rerun, top};
use crate::split::Splitting;
use crate::witness::{End, execution};
use crate::{Error, memory};

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// A label that is a violation, or a deadlock.
    #[default]
    Violation,
    /// A label with this name, `name` or `procedure.name`.
    Label(String),
    /// A configuration. Only for networks that create no threads.
    Configuration(Configuration),
}

/// How to look for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Contexts, at most.
    pub contexts: u32,
    /// How to split.
    pub splitting: Splitting,
    /// What is looked for.
    pub goal: Goal,
    /// Threads that may be created, at most.
    pub threads: u32,
    /// Bytes that the node store may take.
    pub memory: u64,
    /// Time, at most.
    pub time: Option<Duration>,
    /// Whether to try to show that the answer holds for every number of contexts.
    pub converge: bool,
    /// Configurations are counted up to this many.
    pub count: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            contexts: 4,
            splitting: Splitting::Lazy,
            goal: Goal::Violation,
            threads: 2,
            memory: 1 << 30,
            time: None,
            converge: true,
            count: 1000,
        }
    }
}

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of contexts that is being looked at.
    pub contexts: u32,
    /// View tuples taken from the worklist so far.
    pub tuples: u64,
    /// BDD nodes held now.
    pub nodes: u64,
    /// Time since the check began.
    pub elapsed: Duration,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The verdict and the coverage.
    pub outcome: Outcome,
    /// What became of each line that has a label.
    pub markers: Vec<Marker>,
    /// The splitting that was used.
    pub splitting: Splitting,
}

/// Why a search ended before its bound.
enum Ended {
    Violated(Box<Violation>),
    Gap(String),
}

/// Checks a network.
pub fn check(
    network: &Network,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, Error> {
    network.validate()?;
    let goal_labels = goal_labels(network, &options.goal)?;
    if let Goal::Configuration(configuration) = &options.goal {
        fits(network, configuration)?;
    }
    let mut run = Run::new(network, options, goal_labels);
    run.lowered.validate()?;
    let ended = match run.search(progress) {
        Ok(ended) => ended?,
        Err(Full) => Some(Ended::Gap(format!(
            "the BDD nodes did not fit into {} (raise --memory)",
            memory::describe(options.memory)
        ))),
    };
    Ok(run.report(ended))
}

/// Replays the schedule of a violation that an earlier check of the same network reported.
pub fn replay_schedule(network: &Network, options: &Options, schedule: &Schedule) -> Result<Report, Error> {
    network.validate()?;
    let goal_labels = goal_labels(network, &options.goal)?;
    let mut run = Run::new(network, options, goal_labels);
    let replayed = rerun(network, options.threads, schedule)?;
    let running = replayed.trace.steps.last().map_or(0, |step| step.thread);
    // The thread that ran last, or one that was there from the start.
    let threads = std::iter::once(running).chain(0..replayed.last.threads.len());
    let goal = threads.filter_map(|thread| top(&replayed.last, thread)).find(|&label| run.is_goal(label));
    let found = match goal {
        Some(label) => Found::Label(label),
        _ if run.is_deadlock(&replayed.last, running) => Found::Deadlock,
        _ if matches!(&options.goal, Goal::Configuration(wanted) if *wanted == replayed.last) => {
            Found::Configuration
        }
        _ => {
            let reason = "the schedule was replayed, and nothing went wrong".to_string();
            return Ok(run.report(Some(Ended::Gap(reason))));
        }
    };
    let violation = run.describe_violation(found, replayed, running);
    Ok(run.report(Some(Ended::Violated(Box::new(violation)))))
}

/// The labels that are looked for.
fn goal_labels(network: &Network, goal: &Goal) -> Result<Vec<bool>, Error> {
    let Goal::Label(name) = goal else {
        let looked_for = *goal == Goal::Violation;
        return Ok(network.labels.iter().map(|label| looked_for && label.violation.is_some()).collect());
    };
    let full = |label: &crate::network::Label| {
        format!("{}.{}", network.procedures[label.procedure.index()].name, label.name)
    };
    let found: Vec<bool> =
        network.labels.iter().map(|label| label.name == *name || full(label) == *name).collect();
    if found.contains(&true) {
        return Ok(found);
    }
    let mut known: Vec<String> =
        network.labels.iter().filter(|label| !label.name.contains(' ')).map(full).collect();
    known.sort_unstable();
    known.dedup();
    known.truncate(12);
    Err(Error::UnknownLabel { name: name.clone(), known })
}

/// Whether a configuration is one of a network's.
fn fits(network: &Network, configuration: &Configuration) -> Result<(), Error> {
    let fail = |message: &str| Err(Error::Configuration { message: message.into() });
    if network.forks() {
        return fail("the network creates threads, and configurations are not looked for then");
    }
    let values = |variables: &[crate::network::Variable], values: &[u64]| {
        variables.len() == values.len()
            && variables.iter().zip(values).all(|(variable, value)| value >> variable.width == 0)
    };
    if !values(&network.globals, &configuration.globals) {
        return fail("the globals differ in number or width");
    }
    if configuration.threads.len() != network.processes.len() {
        return fail("the number of processes differs");
    }
    for thread in &configuration.threads {
        if !values(&network.registers, &thread.registers) {
            return fail("the registers differ in number or width");
        }
        for frame in &thread.stack {
            let Some(label) = network.labels.get(frame.label.index()) else {
                return fail("a label does not exist");
            };
            if !values(&network.procedures[label.procedure.index()].locals, &frame.locals) {
                return fail("the locals of a frame differ in number or width");
            }
        }
    }
    Ok(())
}

/// Numbers by their JSON names.
fn named(numbers: Vec<(&'static str, u64)>) -> Vec<(Cow<'static, str>, u64)> {
    numbers.into_iter().map(|(name, number)| (name.into(), number)).collect()
}

/// A check under way.
struct Run<'a> {
    network: &'a Network,
    options: &'a Options,
    slots: Slots,
    lowered: Rc<Network>,
    goal_labels: Vec<bool>,
    began: Instant,
    rows: Vec<CoverageRow>,
    /// For each label of the network as it was given.
    reached: Vec<bool>,
    statistics: Vec<(&'static str, u64)>,
    converged: bool,
    overflown: bool,
}

/// What the watcher of a search keeps.
#[derive(Default)]
struct Seen {
    end: Option<(Found, End)>,
    late: bool,
    counted: HashSet<Configuration>,
    uncountable: bool,
}

/// What was found.
#[derive(Clone, Copy)]
enum Found {
    Label(LabelId),
    Deadlock,
    Configuration,
}

impl<'a> Run<'a> {
    fn new(network: &'a Network, options: &'a Options, goal_labels: Vec<bool>) -> Run<'a> {
        let (lowered, slots) = network.with_slots(options.threads);
        Run {
            network,
            options,
            slots,
            lowered: Rc::new(lowered),
            goal_labels,
            began: Instant::now(),
            rows: Vec::new(),
            reached: vec![false; network.labels.len()],
            statistics: Vec::new(),
            converged: false,
            overflown: false,
        }
    }

    fn is_goal(&self, label: LabelId) -> bool {
        self.goal_labels.get(label.index()).copied().unwrap_or(false)
    }

    /// Runs the search. Running out of nodes is an error here; what was finished before is in `self`.
    fn search(&mut self, progress: &mut dyn FnMut(Progress)) -> Fallible<Result<Option<Ended>, Error>> {
        let encoding = Encoding::new(
            self.lowered.clone(),
            Capacity::of_bytes(self.options.memory),
            self.options.converge,
        )?;
        let mut tuples = 0;
        let result = self.levels(&encoding, &mut tuples, progress);
        self.statistics = vec![
            ("view_tuples", tuples),
            ("bdd_nodes", encoding.store.peak() as u64),
            ("rules", self.lowered.rules.len() as u64),
            ("relations", encoding.relations() as u64),
        ];
        result
    }

    fn levels(
        &mut self,
        encoding: &Encoding,
        tuples: &mut u64,
        progress: &mut dyn FnMut(Progress),
    ) -> Fallible<Result<Option<Ended>, Error>> {
        let mut search = Search::new(encoding, self.options.splitting)?;
        let mut converging = if self.options.converge { Converging::new(encoding)? } else { None };
        let mut seen = Seen::default();
        let wants_deadlock =
            self.options.goal == Goal::Violation && self.lowered.labels.iter().any(|label| label.blocks);
        while search.level < self.options.contexts && !search.is_exhausted() && !self.converged {
            let finished = {
                let this = &*self;
                let stop_at = |label: LabelId| this.is_goal(label);
                let level = search.level + 1;
                search.advance(&stop_at, &mut |context| {
                    *tuples = context.expanded;
                    progress(Progress {
                        contexts: level,
                        tuples: context.expanded,
                        nodes: encoding.store.sample() as u64,
                        elapsed: this.began.elapsed(),
                    });
                    this.watch(encoding, context, wants_deadlock, &mut seen)
                })
            };
            self.note_reached(&search);
            if !finished? {
                if let Some((found, end)) = seen.end.take() {
                    return self.violation(&search, found, &end);
                }
                let limit = self.options.time.unwrap_or_default();
                return Ok(Ok(Some(Ended::Gap(format!("the time limit of {limit:?} was reached")))));
            }
            self.row(&search, &seen);
            self.overflown |= self
                .slots
                .overflow
                .iter()
                .any(|label| search.heads.iter().any(|heads| !heads[label.index()].is_false()));
            self.converged = search.is_exhausted();
            if !self.converged
                && let Some(converging) = &mut converging
            {
                self.converged = converging.level_finished(&search)?;
            }
        }
        if search.is_exhausted() {
            self.converged = true;
        }
        if self.overflown {
            return Ok(Ok(Some(Ended::Gap(format!(
                "an execution creates more than {} threads (raise --threads)",
                self.options.threads
            )))));
        }
        Ok(Ok(None))
    }

    fn watch(
        &self,
        encoding: &Encoding,
        context: &Context<'_>,
        wants_deadlock: bool,
        seen: &mut Seen,
    ) -> Fallible<Watch> {
        if let Some(label) = context.saturation.stopped_at {
            let is_it = |other: LabelId| other == label;
            if let Some((label, end)) = goal::label_reached(encoding, context, &is_it)? {
                seen.end = Some((Found::Label(label), end));
                return Ok(Watch::Stop);
            }
        }
        if wants_deadlock && let Some(end) = goal::deadlock(encoding, context, &self.slots)? {
            seen.end = Some((Found::Deadlock, end));
            return Ok(Watch::Stop);
        }
        if let Goal::Configuration(wanted) = &self.options.goal
            && let Some(end) = goal::configuration(encoding, context, wanted)?
        {
            seen.end = Some((Found::Configuration, end));
            return Ok(Watch::Stop);
        }
        if self.options.time.is_some_and(|limit| self.began.elapsed() > limit) {
            seen.late = true;
            return Ok(Watch::Stop);
        }
        if !seen.uncountable {
            const DEEP: usize = 16;
            let limit = self.options.count;
            let written = write(encoding, context, &self.slots, DEEP, limit, &mut seen.counted)?;
            if written != Written::All {
                seen.uncountable = true;
                seen.counted.clear();
            }
        }
        Ok(Watch::GoOn)
    }

    fn note_reached(&mut self, search: &Search<'_>) {
        for heads in &search.heads {
            for (reached, head) in self.reached.iter_mut().zip(heads) {
                *reached |= !head.is_false();
            }
        }
    }

    fn row(&mut self, search: &Search<'_>, seen: &Seen) {
        let encoding = search.encoding;
        let bits: usize = encoding.network.globals.iter().map(|global| global.width as usize).sum();
        let all = search.heads.iter().flatten().filter(|head| !head.is_false());
        let heads: f64 = all.map(|head: &Bdd| head.count(bits)).sum();
        let mut extra = vec![("view_tuples", search.expanded), ("bdd_nodes", encoding.store.peak() as u64)];
        if heads < 9e15 {
            extra.push(("heads", heads as u64));
        }
        self.rows.push(CoverageRow {
            bound: search.level,
            measure: Measure::Contexts,
            states: (!seen.uncountable).then_some(seen.counted.len() as u64),
            elapsed: self.began.elapsed(),
            extra: named(extra),
            ..CoverageRow::default()
        });
    }

    fn guarantee(&self) -> Option<Guarantee> {
        let last = self.rows.last()?.bound;
        let bounds = Bounds { contexts: Some(last), ..Bounds::default() };
        Some(Guarantee { bounds, complete: false })
    }

    fn violation(
        &mut self,
        search: &Search<'_>,
        found: Found,
        end: &End,
    ) -> Fallible<Result<Option<Ended>, Error>> {
        let fail = |message: &str| Ok(Err(Error::Replay { message: message.into() }));
        let Some(execution) = execution(search, end)? else {
            return fail("no execution leads to what the search found");
        };
        let replayed = match replay(self.network, &self.slots, &self.lowered, &execution) {
            Ok(replayed) => replayed,
            Err(error) => return Ok(Err(error)),
        };
        // The interpreter must see the violation where the search saw it.
        let last = &replayed.last;
        let seen = match found {
            Found::Label(label) => top(last, end.process) == Some(label),
            Found::Deadlock => self.is_deadlock(last, end.process),
            Found::Configuration => {
                matches!(&self.options.goal, Goal::Configuration(wanted) if wanted == last)
            }
        };
        if !seen {
            return fail("it ends elsewhere");
        }
        let violation = self.describe_violation(found, replayed, end.process);
        Ok(Ok(Some(Ended::Violated(Box::new(violation)))))
    }

    fn describe_violation(&mut self, found: Found, replayed: Replayed, process: usize) -> Violation {
        let (kind, message, label) = self.describe(found, &replayed, process);
        if let Found::Label(label) = found {
            self.reached[label.index()] = true;
        }
        Violation {
            kind,
            message,
            location: label.and_then(|label| self.network.label(label).location.clone()),
            preemptions: replayed.trace.preemptions(),
            switches: replayed.contexts - 1,
            contexts: Some(replayed.contexts),
            schedule: replayed.schedule,
            trace: replayed.trace,
            below: self.guarantee(),
        }
    }

    /// As [`goal::deadlock`] defines it, on a configuration.
    fn is_deadlock(&self, last: &Configuration, running: usize) -> bool {
        let Ok(interpreter) = Interpreter::new(self.network, self.options.threads) else { return false };
        let stands = |thread: usize| !interpreter.is_enabled(last, thread);
        let blocked = |thread: usize| {
            stands(thread) && top(last, thread).is_some_and(|label| self.network.label(label).blocks)
        };
        if !interpreter.may_switch(last) {
            return blocked(running);
        }
        (0..last.threads.len()).all(stands) && (0..last.threads.len()).any(blocked)
    }

    fn describe(
        &self,
        found: Found,
        replayed: &Replayed,
        process: usize,
    ) -> (ViolationKind, String, Option<LabelId>) {
        match found {
            Found::Label(label) => {
                let known = self.network.label(label);
                let message = match (&self.options.goal, &known.violation) {
                    (Goal::Violation, Some(message)) => message.clone(),
                    _ => format!("label {} is reached", known.name),
                };
                (ViolationKind::Assertion, message, Some(label))
            }
            Found::Deadlock => {
                let names = &replayed.trace.threads;
                let waits = |thread: usize| {
                    let label = top(&replayed.last, thread)?;
                    let known = self.network.label(label);
                    known.blocks.then(|| (format!("{} waits at {}", names[thread], known.name), label))
                };
                let waiting: Vec<_> = (0..names.len()).filter_map(waits).collect();
                let texts: Vec<_> = waiting.iter().map(|(text, _)| text.clone()).collect();
                let message = format!("deadlock: {}", texts.join(", "));
                (ViolationKind::Deadlock, message, waiting.first().map(|&(_, label)| label))
            }
            Found::Configuration => {
                let message = "the configuration is reached".to_string();
                (ViolationKind::Assertion, message, top(&replayed.last, process))
            }
        }
    }

    fn report(self, ended: Option<Ended>) -> Report {
        let elapsed = self.began.elapsed();
        let covered = self.guarantee();
        let violated = match &ended {
            Some(Ended::Violated(violation)) => violation.location.clone(),
            _ => None,
        };
        let markers = markers(self.network, &self.reached, violated.as_ref());
        let verdict = match ended {
            Some(Ended::Violated(violation)) => Verdict::Violated(violation),
            Some(Ended::Gap(reason)) => Verdict::Inconclusive(Gap { reason, covered }),
            None => match covered {
                Some(Guarantee { bounds, .. }) => {
                    Verdict::Holds(Guarantee { bounds, complete: self.converged })
                }
                None if self.converged => {
                    Verdict::Holds(Guarantee { bounds: Bounds::default(), complete: true })
                }
                None => Verdict::Inconclusive(Gap {
                    reason: "no contexts were asked for (give --contexts 1 or more)".into(),
                    covered: None,
                }),
            },
        };
        let statistics = Statistics {
            elapsed,
            peak_memory_bytes: memory::peak(),
            extra: named(self.statistics),
            ..Statistics::default()
        };
        Report {
            outcome: Outcome { verdict, rows: self.rows, statistics },
            markers,
            splitting: self.options.splitting,
        }
    }
}

//! A check: one question to one network, over growing numbers of contexts.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use selvedge_core::{
    Bounds, CoverageRow, Gap, Guarantee, Measure, Outcome, Schedule, Statistics, Verdict, Violation,
    ViolationKind,
};

use crate::bdd::{Capacity, Fallible, Unfinished};
use crate::configurations::{Heads, Written, write};
use crate::context_bounded::{Context, Search, Watch};
use crate::converge::Converging;
use crate::conversation::{Ending, Searcher, conversation};
use crate::encoding::{Block, Encoding};
use crate::fork::Slots;
use crate::goal;
use crate::interpreter::{Configuration, Interpreter};
use crate::marker::markers;
use crate::network::{LabelId, Network};
use crate::pattern::Pattern;
use crate::replay::{Replayed, replay, rerun, top};
use crate::split::Splitting;
use crate::witness::{End, execution};
use crate::{Error, memory};

/// What is looked for.
///
/// ```
/// use selvedge_symbolic::Goal;
/// assert_eq!(Goal::default(), Goal::Violation);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// A label that is a violation, or a deadlock.
    #[default]
    Violation,
    /// A label with this name, `name` or `procedure.name`.
    Label(String),
    /// A configuration that looks so.
    Configuration(Pattern),
}

/// The most created threads that a check takes: each of them is a process of its own, from the start.
pub const MOST_THREADS: u32 = 64;

/// How to look for it.
///
/// ```
/// use selvedge_symbolic::{Goal, Options, Splitting};
/// let options = Options { contexts: 6, goal: Goal::Label("main.END".into()), ..Options::default() };
/// assert_eq!((options.splitting, options.threads), (Splitting::Lazy, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Contexts, at most.
    pub contexts: u32,
    /// How to split.
    pub splitting: Splitting,
    /// What is looked for.
    pub goal: Goal,
    /// Threads that may be created, at most; no more than [`MOST_THREADS`].
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
    /// Where the network creates threads: whether an execution within the bounds that were finished creates more
    /// than [`Options::threads`], which was not followed further.
    pub threads_cut: Option<bool>,
}

/// Why a search ended before its bound.
enum Ended {
    Violated(Box<Violation>),
    Gap(String),
}

/// More BDD variables than this are refused: operations on BDDs recurse once a variable.
const MOST_VARIABLES: u64 = 1 << 18;

/// Stack that such a recursion takes for a variable, generously.
const STACK_PER_VARIABLE: usize = 1 << 10;

/// Stack that everything else takes.
const STACK: usize = 16 << 20;

/// Checks a network. `progress` is told how far the check is, and answers whether to go on.
///
/// The search runs on a thread of its own, with a stack for as many variables as there are. When `progress` says no or
/// the time is over, no further operation on BDDs begins; one that is under way then and takes long is not waited for.
///
/// # Errors
/// When the network is not well formed or too large, or what is looked for is not one of its labels or
/// configurations.
///
/// ```
/// # use selvedge_symbolic::network::*;
/// # let mut network = Network::default();
/// # network.procedures.push(Procedure { name: "p".into(), locals: Vec::new() });
/// # let entry = network.add_label("entry", ProcedureId(0));
/// # network.processes.push(Process { name: "only".into(), entry });
/// use selvedge_symbolic::{Options, check};
/// let report = check(&network, &Options::default(), &mut |progress| progress.contexts < 100)?;
/// assert!(report.outcome.holds());
/// # Ok::<(), selvedge_symbolic::Error>(())
/// ```
pub fn check(
    network: &Network,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, Error> {
    let variables = variables_needed(network, options)?;
    let stack = STACK + variables as usize * STACK_PER_VARIABLE;
    let nothing = Run::new(network, options)?.report(None);
    let (caller, mut searcher) = conversation(nothing);
    let (network, wanted) = (network.clone(), options.clone());
    let search = std::thread::Builder::new().name("symbolic search".into()).stack_size(stack);
    let search = search.spawn(move || check_here(&network, &wanted, &mut searcher));
    let search = search.map_err(|error| Error::NoThread { message: error.to_string() })?;
    match caller.listen(options.time, progress) {
        Ending::Over(covered) => match search.join() {
            Ok(Some(result)) => result,
            Ok(None) => Ok(covered.expect("only who was told to stop has no result")),
            Err(panic) => std::panic::resume_unwind(panic),
        },
        Ending::Stuck(covered) => Ok(covered),
    }
}

/// The BDD variables that a check needs, at most; an error if they are too many.
fn variables_needed(network: &Network, options: &Options) -> Result<u64, Error> {
    network.validate()?;
    let slots = if network.forks() { options.threads } else { 0 };
    if slots > MOST_THREADS {
        return Err(Error::TooManyThreads { wanted: slots });
    }
    let needed = Encoding::variables_needed(&network.with_slots(slots).0, options.converge);
    if needed > MOST_VARIABLES {
        return Err(Error::TooManyBits { needed, most: MOST_VARIABLES });
    }
    Ok(needed)
}

/// `None` if the search was stopped.
fn check_here(
    network: &Network,
    options: &Options,
    searcher: &mut Searcher,
) -> Option<Result<Report, Error>> {
    let mut run = match Run::new(network, options) {
        Ok(run) => run,
        Err(error) => return Some(Err(error)),
    };
    if let Err(error) = run.lowered.validate() {
        return Some(Err(error));
    }
    let ended = match run.search(searcher) {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => return Some(Err(error)),
        Err(Unfinished::Stopped) => return None,
        Err(Unfinished::Full) => Some(Ended::Gap(format!(
            "the BDD nodes did not fit into {} (raise --memory)",
            memory::describe(options.memory)
        ))),
    };
    Some(Ok(run.report(ended)))
}

/// Replays the schedule of a violation that an earlier check of the same network reported.
///
/// # Errors
/// When the schedule is not one of the network's.
///
/// ```
/// # use selvedge_symbolic::network::*;
/// # let mut network = Network::default();
/// # network.procedures.push(Procedure { name: "p".into(), locals: Vec::new() });
/// # let entry = network.add_label("entry", ProcedureId(0));
/// # network.processes.push(Process { name: "only".into(), entry });
/// use selvedge_symbolic::{Goal, Options, check, replay_schedule};
/// let options = Options { goal: Goal::Label("entry".into()), ..Options::default() };
/// let report = check(&network, &options, &mut |_| true)?;
/// let schedule = &report.outcome.violation().unwrap().schedule;
/// let again = replay_schedule(&network, &options, schedule)?;
/// assert!(again.outcome.violation().is_some());
/// # Ok::<(), selvedge_symbolic::Error>(())
/// ```
pub fn replay_schedule(network: &Network, options: &Options, schedule: &Schedule) -> Result<Report, Error> {
    let mut run = Run::new(network, options)?;
    let replayed = rerun(network, options.threads, schedule)?;
    let running = replayed.trace.steps.last().map_or(0, |step| step.thread);
    // The thread that ran last, or one that was there from the start.
    let threads = std::iter::once(running).chain(0..replayed.last.threads.len());
    let goal = threads.filter_map(|thread| top(&replayed.last, thread)).find(|&label| run.is_goal(label));
    let found = match goal {
        Some(label) => Found::Label(label),
        _ if run.is_deadlock(&replayed.last, running) => Found::Deadlock,
        _ if matches!(&options.goal, Goal::Configuration(wanted) if wanted.matches(&replayed.last)) => {
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
    let mut wanted = vec![false; network.labels.len()];
    let found = network.labels_called(name);
    if found.is_empty() {
        return Err(network.unknown_label(name));
    }
    found.into_iter().for_each(|label| wanted[label.index()] = true);
    Ok(wanted)
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
    fn new(network: &'a Network, options: &'a Options) -> Result<Run<'a>, Error> {
        network.validate()?;
        if network.forks() && options.threads > MOST_THREADS {
            return Err(Error::TooManyThreads { wanted: options.threads });
        }
        let goal_labels = goal_labels(network, &options.goal)?;
        if let Goal::Configuration(wanted) = &options.goal {
            wanted.fits(network, options.threads)?;
        }
        let (lowered, slots) = network.with_slots(options.threads);
        Ok(Run {
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
        })
    }

    fn is_goal(&self, label: LabelId) -> bool {
        self.goal_labels.get(label.index()).copied().unwrap_or(false)
    }

    /// Runs the search. Running out of nodes is an error here; what was finished before is in `self`.
    fn search(&mut self, searcher: &mut Searcher) -> Fallible<Result<Option<Ended>, Error>> {
        let encoding = Encoding::new(
            self.lowered.clone(),
            Capacity::of_bytes(self.options.memory),
            searcher.stop(),
            self.options.converge,
        )?;
        let mut tuples = 0;
        let result = self.levels(&encoding, &mut tuples, searcher);
        self.note_statistics(&encoding, tuples);
        result
    }

    fn note_statistics(&mut self, encoding: &Encoding, tuples: u64) {
        self.statistics = vec![
            ("view_tuples", tuples),
            ("bdd_nodes", encoding.store.peak() as u64),
            ("rules", self.lowered.rules.len() as u64),
            ("relations", encoding.relations() as u64),
        ];
    }

    fn levels(
        &mut self,
        encoding: &Encoding,
        tuples: &mut u64,
        searcher: &mut Searcher,
    ) -> Fallible<Result<Option<Ended>, Error>> {
        let mut search = Search::new(encoding, self.options.splitting)?;
        // A configuration is more than what is visible of it.
        let visible = self.options.converge
            && !matches!(&self.options.goal, Goal::Configuration(wanted) if !wanted.is_of_tops());
        let mut converging = if visible { Converging::new(encoding)? } else { None };
        // Writing out a configuration takes time in the bits of its globals, and there may be a thousand.
        const MOST_BITS: usize = 512;
        let uncountable = encoding.globals(Block::Now).len() > MOST_BITS;
        let mut seen = Seen { uncountable, ..Seen::default() };
        let wants_deadlock =
            self.options.goal == Goal::Violation && self.lowered.labels.iter().any(|label| label.blocks);
        while search.level < self.options.contexts && !search.is_exhausted() && !self.converged {
            let level = search.level + 1;
            let progress = |tuples: u64| Progress {
                contexts: level,
                tuples,
                nodes: encoding.store.sample() as u64,
                elapsed: self.began.elapsed(),
            };
            searcher.begins(progress(*tuples))?;
            let mut tell = |expanded| {
                *tuples = expanded;
                searcher.tell(|| progress(expanded));
            };
            let finished = search.advance(&|label| self.is_goal(label), &mut tell, &mut |context| {
                self.watch(encoding, context, wants_deadlock, &mut seen)
            });
            let finished = finished?;
            let heads = self.slots.heads(&search)?;
            self.note_reached(&heads);
            if !finished {
                let (found, end) = seen.end.take().expect("a context is cut short for what was found in it");
                return self.violation(&search, found, &end);
            }
            self.row(&search, &heads, &seen);
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
            self.note_statistics(encoding, *tuples);
            searcher.covered(self.report(None));
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
        let is_goal = |label: LabelId| self.is_goal(label);
        if let Some((label, end)) = goal::created_at(encoding, context, &self.slots, &is_goal)? {
            seen.end = Some((Found::Label(label), end));
            return Ok(Watch::Stop);
        }
        if wants_deadlock && let Some(end) = goal::deadlock(encoding, context, &self.slots)? {
            seen.end = Some((Found::Deadlock, end));
            return Ok(Watch::Stop);
        }
        if let Goal::Configuration(wanted) = &self.options.goal
            && let Some(end) = goal::configuration(encoding, context, &self.slots, wanted)?
        {
            seen.end = Some((Found::Configuration, end));
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

    fn note_reached(&mut self, heads: &Heads) {
        for &label in heads.iter().flat_map(BTreeMap::keys) {
            self.reached[label.index()] = true;
        }
    }

    fn row(&mut self, search: &Search<'_>, heads: &Heads, seen: &Seen) {
        let bits: usize = self.network.globals.iter().map(|global| global.width as usize).sum();
        let heads: f64 = heads.iter().flat_map(BTreeMap::values).map(|head| head.count(bits)).sum();
        let nodes = search.encoding.store.peak() as u64;
        let mut extra = vec![("view_tuples", search.expanded), ("bdd_nodes", nodes)];
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

    /// What the rows have covered, if there are any.
    fn guarantee(&self) -> Option<Guarantee> {
        let last = self.rows.last()?.bound;
        let threads = self.overflown.then_some(self.options.threads);
        Some(Guarantee {
            // Where contexts no longer matter and threads do, only those are named.
            bounds: Bounds {
                contexts: (!self.converged || threads.is_none()).then_some(last),
                threads,
                ..Bounds::default()
            },
            complete: self.converged && threads.is_none(),
            ..Guarantee::default()
        })
    }

    fn violation(
        &mut self,
        search: &Search<'_>,
        found: Found,
        end: &End,
    ) -> Fallible<Result<Option<Ended>, Error>> {
        let fail = |message: &str| Ok(Err(Error::Replay { message: message.into() }));
        let Some(execution) = execution(search, &self.slots, end)? else {
            return fail("no execution leads to what the search found");
        };
        let replayed = match replay(self.network, &self.slots, &self.lowered, &execution) {
            Ok(replayed) => replayed,
            Err(error) => return Ok(Err(error)),
        };
        // The interpreter must see the violation where the search saw it.
        let last = &replayed.last;
        let seen = match found {
            Found::Label(label) => (0..last.threads.len()).any(|thread| top(last, thread) == Some(label)),
            Found::Deadlock => self.is_deadlock(last, end.process),
            Found::Configuration => {
                matches!(&self.options.goal, Goal::Configuration(wanted) if wanted.matches(last))
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
        let stuck = |thread: usize| !interpreter.is_enabled(last, thread);
        let blocks = |thread: usize| top(last, thread).is_some_and(|label| self.network.label(label).blocks);
        let ends = |thread: usize| interpreter.rules_of(last, thread).is_empty();
        let stands = |thread: usize| stuck(thread) && (blocks(thread) || ends(thread));
        let blocked = |thread: usize| stuck(thread) && blocks(thread);
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

    fn report(&self, ended: Option<Ended>) -> Report {
        let elapsed = self.began.elapsed();
        let covered = self.guarantee();
        let violated = match &ended {
            Some(Ended::Violated(violation)) => violation.location.clone(),
            _ => None,
        };
        let lines = markers(self.network, &self.reached, violated.as_ref());
        let verdict = match ended {
            Some(Ended::Violated(violation)) => Verdict::Violated(violation),
            Some(Ended::Gap(reason)) => Verdict::Inconclusive(Gap { reason, covered }),
            None => match covered {
                Some(guarantee) => Verdict::Holds(guarantee),
                None => Verdict::Inconclusive(Gap {
                    reason: "no contexts were asked for (give --contexts 1 or more)".into(),
                    covered: None,
                }),
            },
        };
        let statistics = Statistics {
            elapsed,
            peak_memory_bytes: memory::peak(),
            lines,
            extra: named(self.statistics.clone()),
            ..Statistics::default()
        };
        Report {
            outcome: Outcome { verdict, rows: self.rows.clone(), statistics },
            threads_cut: self.network.forks().then_some(self.overflown),
        }
    }
}

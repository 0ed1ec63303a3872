//! Checking a model: search, counterexample, replay, verdict.

use std::path::Path;

use selvedge_core::{
    AssumptionKind, Assumptions, Bounds, CoverageRow, Gap, Guarantee, Location, Measure, Outcome, Remark,
    RemarkKind, Schedule, Statistics, Verdict, Violation, ViolationKind,
};
use selvedge_explicit::{Found, Progress, Report, Search, Stop, StoreKind, TransitionSystem as _, search};

use crate::ast::{Model, Seq, StmtKind};
use crate::clock::Clock;
use crate::error::Error;
use crate::lower::lower;
use crate::merge::merge;
use crate::options::{Claims, Options};
use crate::parser::parse_with;
use crate::print::Printer;
use crate::program::Program;
use crate::question::Question;
use crate::reading::{MOST_BYTES, Reading};
use crate::system::{System, Wrong};
use crate::trace::{Witness, spell_out, witness};
use crate::vm::Fault;

/// The result of checking a model.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The verdict, the coverage and the statistics.
    pub outcome: Outcome,
    /// Statements that no execution reached, as `process: place: statement`; of a finished search only.
    pub unreached: Vec<(String, Location, String)>,
    /// Statements that stored a value that did not fit, wherever the search or the replay came: as Spin's simulator
    /// warns. The value is cut, and the verdict is what it is.
    pub truncated: Vec<(Location, String)>,
    /// Violations met; more than one only with [`Options::all_errors`].
    pub errors: u64,
    /// For a store of hashes: the share of the states that were expected to be told apart.
    pub coverage: Option<f64>,
    /// The counterexample as Spin writes it, one statement a line.
    pub trail: Option<String>,
}

/// Reads the model in a file.
///
/// # Errors
/// When the file cannot be read or is not a model.
pub fn load(path: &Path, definitions: &[String]) -> Result<Model, Error> {
    load_with(path, &Reading { definitions, ..Reading::default() })
}

/// Reads the model in a file as [`load`] does, with all that can be chosen.
///
/// # Errors
/// When the file cannot be read or is not a model.
pub fn load_with(path: &Path, reading: &Reading<'_>) -> Result<Model, Error> {
    let text = crate::reading::text(path, MOST_BYTES)
        .map_err(|reason| Error::Read { file: path.display().to_string(), reason })?;
    let name =
        path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    parse_with(&text, &name, Some(path.parent().unwrap_or(Path::new("."))), reading)
}

/// Checks a model. `progress` is called now and then; the search ends when it returns `false`.
///
/// # Errors
/// When the model asks for what is not supported, or a counterexample does not replay.
///
/// ```
/// use selvedge_promela::{Options, check, parse};
///
/// let text = "byte x; active [2] proctype P() { byte t; t = x; x = t + 1; (x == 2) }";
/// let model = parse(text, "lost.pml", None, &[]).unwrap();
/// let checked = check(&model, &Options::default(), &mut |_| true).unwrap();
/// let violation = checked.outcome.violation().unwrap();
/// assert_eq!(violation.kind.name(), "invalid-end-state");
/// assert_eq!(violation.preemptions, 1);
/// ```
pub fn check(
    model: &Model,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Checked, Error> {
    let clock = Clock::start(options.started, options.time, progress);
    let go_on = || clock.go_on();
    let question = Question::of(model, options.claims, &options.property)?;
    question.allows(options)?;
    let watch = options.claims != Claims::Ignore;
    let mut program = match lower(question.model.clone(), question.claim, watch, &go_on) {
        Err(Error::Stopped) => return Ok(Checked::unsearched(&stopped(options, &clock))),
        program => program?,
    };
    if !options.store.has_room() || options.memory.is_some_and(|limit| options.store.bytes() > limit) {
        let reason =
            "there is not enough memory for the bit array that --store asks for; give a smaller SIZE";
        return Err(Error::Request(reason.to_string()));
    }
    let merged = options.merges() && !question.is_live() && merge(&mut program);
    let mut system = System::new(&program, &go_on);
    question.prepare(&mut system);
    let how = selvedge_explicit::Options { cycles: question.is_live(), ..options.explicit() };
    let report = search(&mut system, &how, &mut |now| clock.tell(now));
    // The clock began to run before the search did.
    let report = Report { elapsed: clock.elapsed(), ..report };
    let unreached = if report.complete { unreached(&program, &system) } else { Vec::new() };
    let truncated = truncated(&program, &system);
    let (errors, coverage) = (report.errors, report.coverage);
    let (verdict, witness) = verdict(&question, &program, &mut system, &report, options, merged, &clock)?;
    let trail = witness.map(|witness| crate::trail::write(&program, &witness));
    let remarks = remarks(&truncated, &unreached);
    let statistics = Statistics { remarks, ..statistics(&report) };
    let outcome = Outcome { verdict, rows: rows(&report), statistics };
    Ok(Checked { outcome, unreached, truncated, errors, coverage, trail })
}

impl Checked {
    /// The answer where a check was stopped before its search began, for a reason.
    pub fn unsearched(reason: &str) -> Self {
        let reason = format!("{reason} before the search began");
        let verdict = Verdict::Inconclusive(Gap { reason, covered: None });
        let outcome = Outcome { verdict, rows: Vec::new(), statistics: Statistics::default() };
        let (unreached, truncated) = (Vec::new(), Vec::new());
        Checked { outcome, unreached, truncated, errors: 0, coverage: None, trail: None }
    }
}

/// Runs one execution again: the one that a schedule describes.
///
/// # Errors
/// When the schedule does not fit the model, or shows no violation.
pub fn replay(model: &Model, options: &Options, schedule: &Schedule) -> Result<Checked, Error> {
    let mut always = |_| true;
    let clock = Clock::start(None, None, &mut always);
    let go_on = || clock.go_on();
    let question = Question::of(model, options.claims, &options.property)?;
    let watch = options.claims != Claims::Ignore;
    let program = lower(question.model.clone(), question.claim, watch, &go_on)?;
    let mut system = System::new(&program, &go_on);
    question.prepare(&mut system);
    let (problem, states) = crate::trace::run(&mut system, schedule)?;
    let found = selvedge_explicit::Found { problem, states, bound: None };
    let report = Report { found: Some(found), ..Report::default() };
    let options = Options { claims: options.claims, ..Options::default() };
    let (verdict, witness) = verdict(&question, &program, &mut system, &report, &options, false, &clock)?;
    let cuts = witness.iter().flat_map(|witness| &witness.cuts);
    let truncated: Vec<_> = cuts
        .map(|cut| (model.files.location(cut.at), format!("{} becomes {}", cut.value, cut.kept)))
        .collect();
    let trail = witness.map(|witness| crate::trail::write(&program, &witness));
    let statistics = Statistics { remarks: remarks(&truncated, &[]), ..Statistics::default() };
    let outcome = Outcome { verdict, rows: Vec::new(), statistics };
    Ok(Checked { outcome, unreached: Vec::new(), truncated, errors: 1, coverage: None, trail })
}

fn rows(report: &Report) -> Vec<CoverageRow> {
    let row = |row: &selvedge_explicit::Row| CoverageRow {
        bound: row.bound,
        measure: Measure::Preemptions,
        states: Some(row.states),
        transitions: Some(row.transitions),
        elapsed: row.elapsed,
        ..CoverageRow::default()
    };
    report.rows.iter().map(row).collect()
}

fn statistics(report: &Report) -> Statistics {
    Statistics {
        elapsed: report.elapsed,
        peak_memory_bytes: Some(report.memory),
        states: Some(report.states),
        transitions: Some(report.transitions),
        matched: Some(report.matched),
        depth: Some(report.depth),
        state_bytes: Some(report.state_bytes),
        ..Statistics::default()
    }
}

fn remarks(truncated: &[(Location, String)], unreached: &[(String, Location, String)]) -> Vec<Remark> {
    let cut = truncated.iter().map(|(location, text)| (RemarkKind::Truncated, location, text.clone()));
    let dead = unreached
        .iter()
        .map(|(process, location, text)| (RemarkKind::Unreached, location, format!("{process}: {text}")));
    cut.chain(dead).map(|(kind, at, text)| Remark { kind, location: at.clone(), text }).collect()
}

/// What was exhausted.
fn guarantee(report: &Report, question: &Question, options: &Options) -> Option<Guarantee> {
    let bounded = !question.is_live() && matches!(options.search, Search::Layered | Search::Bcs);
    let bounds = Bounds { preemptions: if bounded { report.finished } else { None }, ..Bounds::default() };
    let lossy = (options.store != StoreKind::Exact).then_some(AssumptionKind::LossyStore);
    let mut assumptions: Assumptions = lossy.into_iter().collect();
    question.left.iter().for_each(|left| assumptions.add(left.clone()));
    (report.complete || bounds.preemptions.is_some()).then_some(Guarantee {
        bounds,
        complete: report.complete,
        assumptions,
    })
}

fn verdict(
    question: &Question,
    program: &Program,
    system: &mut System<'_>,
    report: &Report,
    options: &Options,
    merged: bool,
    clock: &Clock<'_>,
) -> Result<(Verdict, Option<Witness>), Error> {
    if let Some(found) = &report.found {
        let wrong = system.wrong_of(found.problem);
        let beyond = match wrong {
            Wrong::Fault(Fault::Limit, _) => {
                Some("a state has too many processes or channels, or is too large")
            }
            Wrong::Fault(Fault::Long, _) => {
                Some("an atomic sequence or d_step takes so many statements that its end was not awaited")
            }
            _ => None,
        };
        if let Some(reason) = beyond {
            let reason = reason.to_string();
            return Ok((
                Verdict::Inconclusive(Gap { reason, covered: guarantee(report, question, options) }),
                None,
            ));
        }
        let shown = show(question, program, system, found, merged, clock);
        let witness = match shown {
            // Of what was not shown to its end nothing is said, whatever the reason looks like.
            Err(_) if system.is_stopped() || !clock.go_on() => {
                let reason =
                    format!("{} when a violation was found but not yet shown", stopped(options, clock));
                return Ok((Verdict::Inconclusive(Gap { reason, covered: None }), None));
            }
            shown => shown?,
        };
        let violation = violation(question, program, wrong, &witness, report, options);
        return Ok((Verdict::Violated(Box::new(violation)), Some(witness)));
    }
    let gap = |reason: String| {
        let covered = guarantee(report, question, options);
        Ok((Verdict::Inconclusive(Gap { reason, covered }), None))
    };
    if let Some(stop) = report.stopped {
        let stopped = match (stop, options.memory, options.depth) {
            (Stop::Time, ..) => stopped(options, clock),
            (Stop::Memory, Some(limit), _) => format!("the memory limit of {limit} bytes was reached"),
            (Stop::Memory, ..) => "there are more states than can be numbered".to_string(),
            (Stop::Depth, _, limit) => format!("paths longer than {} steps were cut", limit.unwrap_or(0)),
        };
        return gap(match report.unshown {
            None if report.unshown_cycle => format!("{stopped} when a cycle was found but not yet shown"),
            None => stopped,
            Some(bound) => {
                let plural = if bound == 1 { "" } else { "s" };
                format!(
                    "{stopped} when a violation with {bound} preemption{plural} was found but not yet shown"
                )
            }
        });
    }
    if let Some(coverage) = report.coverage {
        return gap(format!(
            "the states were remembered as hashes, and one may have been taken for another: expected coverage {:.4} %",
            coverage * 100.0
        ));
    }
    match guarantee(report, question, options) {
        Some(guarantee) => Ok((Verdict::Holds(guarantee), None)),
        None => gap("the search did not finish".to_string()),
    }
}

/// The counterexample, told in the model's own steps and replayed.
fn show(
    question: &Question,
    program: &Program,
    system: &mut System<'_>,
    found: &Found,
    merged: bool,
    clock: &Clock<'_>,
) -> Result<Witness, Error> {
    let go_on = || clock.go_on();
    if !merged {
        return witness(question, program, system, found, &go_on);
    }
    let whole = lower(program.model.clone(), None, false, &go_on)?;
    let mut single = System::new(&whole, &go_on);
    let found = spell_out(program, system, found, &mut single, &go_on)?;
    witness(question, &whole, &mut single, &found, &go_on)
}

/// Why a check that was told to stop did.
fn stopped(options: &Options, clock: &Clock<'_>) -> String {
    let limit = options.time.filter(|_| clock.is_over());
    limit.map_or("the search was interrupted".to_string(), |limit| {
        format!("the time limit of {} s was reached", limit.as_secs_f64())
    })
}

fn violation(
    question: &Question,
    program: &Program,
    wrong: Wrong,
    witness: &Witness,
    report: &Report,
    options: &Options,
) -> Violation {
    let (kind, message, location) = describe(question, program, wrong);
    let location = location.or_else(|| witness.trace.steps.last().and_then(|step| step.location.clone()));
    // What was finished before it was found has no more than a bound.
    let below = guarantee(report, question, options)
        .filter(|guarantee| guarantee.bounds.preemptions.is_some())
        .map(|guarantee| Guarantee { complete: false, ..guarantee });
    let message = if message.is_empty() { witness.explanation.clone() } else { message };
    Violation {
        kind,
        message,
        location,
        preemptions: witness.preemptions,
        switches: witness.switches,
        contexts: None,
        schedule: witness.schedule.clone(),
        trace: witness.trace.clone(),
        below: if options.all_errors { None } else { below },
    }
}

/// The kind of a violation, in words and with its place.
fn describe(
    question: &Question,
    program: &Program,
    wrong: Wrong,
) -> (ViolationKind, String, Option<Location>) {
    let files = &program.model.files;
    let place = |at: crate::error::Pos| (at.line > 0).then(|| files.location(at));
    let asked =
        question.formula.as_ref().filter(|_| !question.progress).map_or(Default::default(), |ltl| ltl.at);
    match wrong {
        Wrong::EndState => (ViolationKind::InvalidEndState, String::new(), None),
        Wrong::Claim if question.formula.is_some() => {
            (ViolationKind::Ltl, format!("{} is violated", question.subject()), place(asked))
        }
        Wrong::Claim => (ViolationKind::Ltl, "the never claim came to its end".to_string(), None),
        Wrong::Cycle => {
            let (kind, what) = match &question.formula {
                _ if question.progress => (
                    ViolationKind::NonProgressCycle,
                    "an execution goes on for ever without progress".to_string(),
                ),
                Some(_) => (ViolationKind::Ltl, format!("{} is violated", question.subject())),
                None => {
                    (ViolationKind::AcceptanceCycle, "an execution passes accept labels for ever".to_string())
                }
            };
            (kind, what, place(asked))
        }
        Wrong::Fault(fault, at) => {
            let (kind, message) = match fault {
                Fault::Assert(number) => {
                    let (text, at) = &program.asserts[number as usize];
                    return (ViolationKind::Assertion, format!("assertion violated: {text}"), place(*at));
                }
                Fault::Index(index, length) => (
                    ViolationKind::Assertion,
                    format!("array index {index} is out of range, the length is {length}"),
                ),
                Fault::DivisionByZero => (ViolationKind::Crash, "division by zero".to_string()),
                Fault::BadChannel => {
                    (ViolationKind::Crash, "a channel that was never initialised is used".to_string())
                }
                Fault::TooManyProcesses => (ViolationKind::Crash, "more than 255 processes".to_string()),
                Fault::BlockedStep => {
                    (ViolationKind::Crash, "a statement within a d_step blocks".to_string())
                }
                Fault::Endless => {
                    (ViolationKind::StepLimit, "an atomic sequence or d_step does not end".to_string())
                }
                Fault::Event => (
                    ViolationKind::Assertion,
                    "trace assertion violated: the trace does not have this message here".to_string(),
                ),
                Fault::Denied => (
                    ViolationKind::Assertion,
                    "trace assertion violated: the notrace was followed to its end".to_string(),
                ),
                Fault::Ambiguous => {
                    (ViolationKind::Crash, "the trace can go on in two ways with this message".to_string())
                }
                Fault::Fields(expected, found) => {
                    let plural = if expected == 1 { "" } else { "s" };
                    let message = format!(
                        "a message of this channel has {expected} field{plural}, the statement has {found}"
                    );
                    (ViolationKind::Assertion, message)
                }
                Fault::Polled => (
                    ViolationKind::Crash,
                    "a rendezvous channel cannot be polled: it never holds a message".to_string(),
                ),
                Fault::Offer => (
                    ViolationKind::Crash,
                    "a rendezvous send within a d_step: it cannot hand over".to_string(),
                ),
                Fault::Long => (ViolationKind::StepLimit, "a step is too long".to_string()),
                Fault::Stopped => (ViolationKind::StepLimit, "the search was told to stop".to_string()),
                Fault::Limit => (ViolationKind::StepLimit, "the state is too large".to_string()),
            };
            (kind, message, place(at))
        }
    }
}

/// Statements that stored a value that did not fit.
fn truncated(program: &Program, system: &System<'_>) -> Vec<(Location, String)> {
    let mut list = Vec::new();
    for process in program.model.procs.iter().chain(&program.model.claims) {
        let printer = Printer { model: &program.model, process };
        visit(&process.body, &mut |stmt| {
            if system.machine.cut[stmt.id.0 as usize] {
                list.push((program.model.files.location(stmt.at), printer.statement(&stmt.kind)));
            }
        });
    }
    list
}

/// Statements that were never executed.
fn unreached(program: &Program, system: &System<'_>) -> Vec<(String, Location, String)> {
    let mut seen: std::collections::HashMap<u32, bool> = std::collections::HashMap::new();
    for (number, trans) in program.trans.iter().enumerate() {
        *seen.entry(trans.stmt.0).or_insert(false) |= system.reached[number];
    }
    let mut list = Vec::new();
    for (number, process) in program.model.procs.iter().enumerate() {
        let printer = Printer { model: &program.model, process };
        let mut missing = Vec::new();
        visit(&process.body, &mut |stmt| {
            if seen.get(&stmt.id.0) == Some(&false) && !matches!(stmt.kind, StmtKind::Join) {
                missing.push((stmt.at, printer.statement(&stmt.kind)));
            }
        });
        let end = program.procs[number].places.iter().find(|place| place.is_end);
        let ends = end.map(|place| (place.first..place.last).any(|t| system.reached[t as usize]));
        if ends == Some(false) || ends.is_none() {
            missing.push((process.at, "-end-".to_string()));
        }
        let name = process.name.clone();
        list.extend(
            missing.into_iter().map(|(at, text)| (name.clone(), program.model.files.location(at), text)),
        );
    }
    list
}

/// Every statement of a sequence, those within others too.
pub(crate) fn visit(seq: &Seq, see: &mut impl FnMut(&crate::ast::Stmt)) {
    for stmt in seq {
        see(stmt);
        match &stmt.kind {
            StmtKind::If(options) | StmtKind::Do(options) => options.iter().for_each(|o| visit(o, see)),
            StmtKind::Atomic(s) | StmtKind::DStep(s) | StmtKind::Block(s) => visit(s, see),
            StmtKind::Unless(a, b) => {
                visit(a, see);
                visit(b, see);
            }
            _ => {}
        }
    }
}

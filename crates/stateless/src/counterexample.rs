//! From a failure to a counterexample that a person can follow: replayed, made simpler, and written down.

use selvedge_core::{Decision, Schedule, Step, ThreadId, Trace, Violation, ViolationKind};

use crate::explore::{End, Explorer};
use crate::program::{Error, Execution, Stop, StopKind};
use crate::race::Race;
use crate::strategy::{Choice, Context, GuideProgress, Guided, Prefix};

/// Replays the failure that the last execution ended in, makes it simpler, and writes it down.
pub(crate) fn explain<E: Execution + ?Sized>(
    explorer: &mut Explorer<E>,
    stop: Stop,
) -> Result<Violation, Error> {
    let StopKind::Violation(kind) = stop.kind else {
        return Err(Error::of(stop, explorer.record.points().len()));
    };
    let found = explorer.record.decisions().to_vec();
    // That it goes in a circle was found out by running it again, and it would not be one if it were shorter.
    let is_circle = kind == ViolationKind::Livelock;
    let simplest = if is_circle {
        found
    } else {
        confirm(explorer, &found, &stop)?;
        shorten(explorer, found, &stop)?
    };
    let mut steps = Vec::new();
    let prefix = Prefix::of(simplest);
    let end =
        explorer.run(&prefix, &mut |point| Choice::Take(point.without_preemption()), Some(&mut steps))?;
    let stop = match end {
        End::Stopped(again) => *again,
        End::Long if is_circle => stop,
        _ => return Err(vanished(explorer, &prefix.decisions)),
    };
    let mut violation = violation(kind, stop, explorer);
    violation.trace = Trace { threads: thread_names(explorer), steps, loop_start: None };
    Ok(violation)
}

/// Runs a schedule once, and says what came of it. Nothing is run twice, so that it can be watched in a
/// debugger, unless it is ended at the limit of steps.
pub(crate) fn replay<E: Execution + ?Sized>(
    explorer: &mut Explorer<E>,
    schedule: &Schedule,
) -> Result<Option<Violation>, Error> {
    let prefix = Prefix::of(schedule.0.clone());
    let mut steps = Vec::new();
    explorer.comparing = true;
    let end = explorer
        .run(&prefix, &mut |point| Choice::Take(point.without_preemption()), Some(&mut steps))
        .and_then(|end| explorer.judge(end, 0));
    explorer.comparing = false;
    let stop = match end {
        Err(Error::Nondeterministic { step, difference, .. }) => {
            return Err(Error::Replay { step, message: difference });
        }
        Err(error) => return Err(error),
        Ok(End::Stopped(stop)) => *stop,
        Ok(_) => return Ok(None),
    };
    let StopKind::Violation(kind) = stop.kind else { return Err(Error::of(stop, steps.len())) };
    let mut violation = violation(kind, stop, explorer);
    violation.trace = Trace { threads: thread_names(explorer), steps, loop_start: None };
    Ok(Some(violation))
}

fn thread_names<E: Execution + ?Sized>(explorer: &Explorer<E>) -> Vec<String> {
    (0..explorer.execution.thread_count())
        .map(|thread| explorer.execution.thread_name(ThreadId(thread as u32)))
        .collect()
}

/// Every counterexample is replayed, and fails the same way, before it is reported.
fn confirm<E: Execution + ?Sized>(
    explorer: &mut Explorer<E>,
    decisions: &[Decision],
    stop: &Stop,
) -> Result<(), Error> {
    let prefix = Prefix::of(decisions.to_vec());
    match explorer.run(&prefix, &mut |point| Choice::Take(point.without_preemption()), None)? {
        End::Stopped(again) if same_failure(stop, &again) => Ok(()),
        End::Stopped(again) => Err(Error::Nondeterministic {
            step: explorer.record.len().saturating_sub(1),
            difference: format!("it failed with \"{}\", and then with \"{}\"", stop.message, again.message),
            location: again.location,
        }),
        _ => Err(vanished(explorer, decisions)),
    }
}

fn vanished<E: Execution + ?Sized>(explorer: &Explorer<E>, decisions: &[Decision]) -> Error {
    Error::Nondeterministic {
        step: decisions.len().min(explorer.record.len()).saturating_sub(1),
        difference: "it failed, and then it did not".into(),
        location: None,
    }
}

/// How simple a counterexample is: fewest preemptions, then fewest switches, then fewest steps.
fn simplicity<E: Execution + ?Sized>(explorer: &Explorer<E>) -> (u32, u32, usize) {
    (explorer.context.preemptions(), explorer.context.switches(), explorer.record.len())
}

/// Looks for a simpler execution that fails the same way, by leaving contexts out, joining two contexts of
/// one thread, and ending contexts early, for as long as that helps and the budget lasts.
fn shorten<E: Execution + ?Sized>(
    explorer: &mut Explorer<E>,
    found: Vec<Decision>,
    stop: &Stop,
) -> Result<Vec<Decision>, Error> {
    let mut best = (simplicity(explorer), found);
    let mut budget = explorer.settings.shorten;
    'improve: loop {
        let guide = Guided::from_decisions(&best.1);
        for contexts in simpler(&guide.contexts) {
            if budget == 0 || explorer.deadline.has_come() {
                break 'improve;
            }
            budget -= 1;
            let candidate = Guided { contexts, values: guide.values.clone() };
            let mut progress = GuideProgress::default();
            let mut choose =
                |point: &crate::strategy::Point<'_>| Choice::Take(candidate.decide(point, &mut progress));
            let end = explorer.run(&Prefix::default(), &mut choose, None)?;
            if explorer.execution.was_cut_short().is_some() {
                break 'improve;
            }
            let simplicity = simplicity(explorer);
            if simplicity < best.0
                && let End::Stopped(again) = end
                && same_failure(stop, &again)
            {
                best = (simplicity, explorer.record.decisions().to_vec());
                continue 'improve;
            }
        }
        break;
    }
    Ok(best.1)
}

/// Lists of contexts that may be simpler than this one, the boldest changes first.
fn simpler(contexts: &[Context]) -> impl Iterator<Item = Vec<Context>> + '_ {
    let without = (0..contexts.len()).rev().map(move |index| {
        let mut shorter = contexts.to_vec();
        shorter.remove(index);
        shorter
    });
    let pairs = (0..contexts.len()).flat_map(move |early| {
        (early + 1..contexts.len())
            .filter(move |late| contexts[*late].thread == contexts[early].thread)
            .take(1)
            .map(move |late| (early, late))
    });
    let joined = pairs.flat_map(move |(early, late)| {
        let steps = contexts[early].steps + contexts[late].steps;
        [(early, late), (late, early)].map(|(keep, lose)| {
            let mut shorter = contexts.to_vec();
            shorter[keep].steps = steps;
            shorter.remove(lose);
            shorter
        })
    });
    let ended_early = (0..contexts.len()).filter(|&index| contexts[index].steps > 1).map(move |index| {
        let mut shorter = contexts.to_vec();
        shorter[index].steps -= 1;
        shorter
    });
    without.chain(joined).chain(ended_early)
}

/// The message for a run in which no thread can go on.
pub(crate) fn deadlock<E: Execution + ?Sized>(execution: &E) -> Stop {
    let mut message = String::from("deadlock: no thread can go on");
    let mut location = None;
    for thread in 0..execution.thread_count() {
        let thread = ThreadId(thread as u32);
        let why = execution.why_blocked(thread);
        if why.text.is_empty() {
            continue;
        }
        message.push_str(&format!("\n  {} {}", execution.thread_name(thread), why.text));
        if let Some(place) = &why.location {
            message.push_str(&format!(" (at {place})"));
        }
        location = location.or(why.location);
    }
    Stop { kind: StopKind::Violation(ViolationKind::Deadlock), message, location }
}

/// The message for two accesses that race.
pub(crate) fn data_race<E: Execution + ?Sized>(explorer: &Explorer<E>, race: &Race) -> Stop {
    let execution = &explorer.execution;
    let access = |epoch: &crate::race::Epoch, writes: bool| {
        let what = match writes {
            true if execution.frees(epoch.site) => "frees",
            true => "writes",
            false => "reads",
        };
        let place = execution.locate(epoch.site).map_or_else(String::new, |place| format!(" at {place}"));
        format!("{} {what} it{place}", execution.thread_name(epoch.thread))
    };
    let message = format!(
        "data race on {}: nothing orders these two accesses\n  {}\n  {}",
        execution.object_name(race.cell),
        access(&race.earlier, race.earlier_writes),
        access(&race.later, race.later_writes),
    );
    let location = execution.locate(race.later.site);
    Stop { kind: StopKind::Violation(ViolationKind::DataRace), message, location }
}

/// Called when a replayed prefix did not behave as it did before: runs it again to find the first step that
/// differs. `possible` says whether the decision at that step can be made at all.
pub(crate) fn first_difference<E: Execution + ?Sized>(
    explorer: &mut Explorer<E>,
    prefix: &Prefix,
    step: usize,
    possible: bool,
) -> Error {
    let impossible = || {
        let what = match prefix.decisions[step] {
            _ if possible => "something it did before is not what it did the first time".to_string(),
            Decision::Thread(thread) => format!("thread {thread} cannot run, although it could before"),
            Decision::Value(value) => {
                format!("there is no value {value} to choose, although there was before")
            }
        };
        Error::Nondeterministic { step, difference: what, location: None }
    };
    if explorer.comparing {
        return impossible();
    }
    explorer.comparing = true;
    explorer.execution.finish();
    let given = Prefix::of(prefix.decisions[..step].to_vec());
    let mut reference: Option<Vec<Step>> = None;
    let mut answer = None;
    for _ in 0..8 {
        let mut steps = Vec::new();
        // How a run ends does not matter here, only how it goes.
        let _ = explorer.run(&given, &mut |point| Choice::Take(point.without_preemption()), Some(&mut steps));
        match &reference {
            None => reference = Some(steps),
            Some(first) => {
                let same = first.iter().zip(&steps).take_while(|(a, b)| a == b).count();
                if let (Some(a), Some(b)) = (first.get(same), steps.get(same)) {
                    answer = Some(Error::Nondeterministic {
                        step: same,
                        difference: format!("first \"{}\", then \"{}\"", words(a, b), words(b, a)),
                        location: b.location.clone(),
                    });
                    break;
                }
            }
        }
    }
    explorer.comparing = false;
    answer.unwrap_or_else(impossible)
}

/// A step, and whose it is where another was somebody else's.
fn words(step: &Step, other: &Step) -> String {
    let mut text = step.op.clone();
    if step.thread != other.thread {
        text.push_str(&format!(" by thread {}", step.thread));
    }
    if let Some(value) = &step.value {
        text.push_str(&format!(" ({value})"));
    }
    if let Some(location) = &step.location {
        text.push_str(&format!(" at {location}"));
    }
    text
}

/// Whether two stops are the same failure: what went wrong and where, whatever the words say of values.
fn same_failure(a: &Stop, b: &Stop) -> bool {
    a.kind == b.kind && a.location == b.location
}

/// A violation in the making.
fn violation<E: ?Sized>(kind: ViolationKind, stop: Stop, explorer: &Explorer<E>) -> Violation {
    Violation {
        kind,
        message: stop.message,
        location: stop.location,
        preemptions: explorer.context.preemptions(),
        switches: explorer.context.switches(),
        contexts: None,
        schedule: Schedule(explorer.record.decisions().to_vec()),
        trace: selvedge_core::Trace::default(),
        below: None,
    }
}

//! Executions that have as many steps as they may have: whether they go in a circle, or are merely long.
//!
//! An execution goes in a *circle* if a state that it was in comes back, and every thread that could run in between has.
//! Then it can go on like that for ever, and no thread is treated unfairly. A value that was chosen in between could be
//! chosen otherwise the next time, so with one it is no circle.
//!
//! A state is what [`Execution::state`] shows of it. Where that is only the threads' own part, no step in between may have
//! changed what they share.

use selvedge_core::{
    Access, AssumptionKind, Assumptions, Decision, Op, OpKind, ThreadId, ThreadSet, ViolationKind,
};

use crate::explore::Explorer;
use crate::program::{Error, Event, Execution, LocalEvent, Onward, Plan, State, Stop, StopKind};

/// This many states before the last one are compared with it.
const COMPARED: usize = 32;

/// What an execution that was ended at the limit of steps comes to.
pub(crate) enum Long {
    /// It goes in a circle, and nothing comes of it.
    Livelock(Box<Stop>),
    /// It goes in a circle, and that is of no interest: an assumption is not met.
    OfNoInterest,
    /// It may end. What is known of it.
    Unknown(String),
}

/// A point of an execution, before one of its decisions.
#[derive(Default)]
struct At {
    /// A hash of what is cheap to know of the state, which is the same where the state is.
    outline: u64,
    enabled: ThreadSet,
    /// The thread of the step that follows, and what it does; none in the middle of a step.
    step: Option<(ThreadId, Op)>,
    /// Whether that step changes what threads share.
    changes: bool,
}

/// Looks at an execution of these decisions, which was ended at the limit of steps. It is run again, so that states need not be
/// looked at in those that end.
pub(crate) fn look<E: Execution + ?Sized>(
    explorer: &mut Explorer<E>,
    decisions: &[Decision],
) -> Result<Long, Error> {
    let execution = &mut *explorer.execution;
    let long = look_at(execution, decisions);
    execution.finish();
    long
}

fn look_at<E: Execution + ?Sized>(execution: &mut E, decisions: &[Decision]) -> Result<Long, Error> {
    let points = outlines(execution, decisions)?;
    if execution.was_cut_short().is_some() {
        return Ok(Long::Unknown(String::new()));
    }
    let unknown = describe(execution, &points, decisions.len());
    let candidates = candidates(&points);
    let Some(&first) = candidates.last() else { return Ok(Long::Unknown(unknown)) };
    execution.finish();
    let states = states(execution, decisions, first)?;
    let last = states.last().copied().flatten();
    let came_back = candidates.into_iter().find(|at| match (states[at - first], last) {
        (Some(State::Whole(before)), Some(State::Whole(now))) => before == now,
        (Some(State::Threads(before)), Some(State::Threads(now))) => {
            before == now && points[*at..].iter().all(|point| !point.changes)
        }
        _ => false,
    });
    let Some(since) = came_back else { return Ok(Long::Unknown(unknown)) };
    if execution.is_infeasible() {
        return Ok(Long::OfNoInterest);
    }
    let who = names(execution, &points[since..]);
    let goes = if who.len() == 1 { "goes" } else { "go" };
    let same = match last {
        Some(State::Whole(_)) => "everything is as it was before",
        // What a thread keeps on the heap is not looked at.
        _ => {
            "the stacks and Selvedge's types are as they were before. Memory on the heap was not looked at: if the loop \
             counts there and would end, raise the limit (Checker::max_steps)"
        }
    };
    let message = format!(
        "livelock: {} {goes} in a circle, and nothing comes of it: after {} steps {same}",
        who.join(" and "),
        decisions.len()
    );
    let location = execution.locate(execution.site());
    let kind = StopKind::Violation(ViolationKind::Livelock);
    Ok(Long::Livelock(Box::new(Stop { kind, message, location })))
}

/// Begins an execution of these decisions.
fn begin<E: Execution + ?Sized>(
    execution: &mut E,
    decisions: &[Decision],
    is_watched: bool,
) -> Result<(), Error> {
    execution.plan(&Plan { decisions, onward: Onward::Unknown, is_watched, ..Plan::default() });
    execution.restart()?;
    execution.local_events().clear();
    Ok(())
}

/// The points of an execution, the one at its end included. The execution is still under way then.
fn outlines<E: Execution + ?Sized>(execution: &mut E, decisions: &[Decision]) -> Result<Vec<At>, Error> {
    begin(execution, decisions, false)?;
    let mut points: Vec<At> = Vec::with_capacity(decisions.len() + 1);
    for decision in decisions {
        let mut at = match decision {
            Decision::Thread(_) => outline(execution),
            Decision::Value(_) => At::default(),
        };
        match execution.step(*decision) {
            Event::Choose(_) => {}
            Event::Performed(op) => {
                if let Decision::Thread(thread) = decision {
                    at.step = Some((*thread, op));
                }
                at.changes = changes(&op)
                    || execution.local_events().iter().any(|event| {
                        !matches!(event, LocalEvent::By(_) | LocalEvent::Read(..) | LocalEvent::Fence(_))
                    });
            }
            Event::Stopped(_, stop) => return Err(Error::of(*stop, points.len())),
        }
        execution.local_events().clear();
        points.push(at);
    }
    points.push(outline(execution));
    Ok(points)
}

/// Whether an operation may change what threads share, of which no more is known.
fn changes(op: &Op) -> bool {
    op.access == Access::Write || matches!(op.kind, OpKind::ReadLock | OpKind::ReadUnlock | OpKind::Choose)
}

fn outline<E: Execution + ?Sized>(execution: &E) -> At {
    let mut outline = execution.thread_count() as u64;
    let mut add = |word: u64| outline = (outline.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for thread in execution.enabled().iter() {
        let op = execution.pending(thread);
        let object = op.object.map_or(0, |object| object.index() as u64 + 1);
        add(u64::from(thread.0) << 8 | op.kind as u64);
        add(object);
    }
    At { outline, enabled: execution.enabled().clone(), ..At::default() }
}

/// The points whose states may be that of the last one, such that every thread that could run in between has: the last first.
fn candidates(points: &[At]) -> Vec<usize> {
    let Some((last, before)) = points.split_last() else { return Vec::new() };
    let (mut could, mut ran) = (last.enabled.clone(), ThreadSet::default());
    let mut found = Vec::new();
    for (index, point) in before.iter().enumerate().rev() {
        // In the middle of a step a value was chosen.
        let Some((thread, _)) = point.step else { break };
        point.enabled.iter().for_each(|thread| could.insert(thread));
        ran.insert(thread);
        if point.outline == last.outline && could.first_outside(&ran).is_none() {
            found.push(index);
            if found.len() == COMPARED {
                break;
            }
        }
    }
    found
}

/// The states at an execution's points from a certain one on, the one at its end included.
fn states<E: Execution + ?Sized>(
    execution: &mut E,
    decisions: &[Decision],
    first: usize,
) -> Result<Vec<Option<State>>, Error> {
    begin(execution, &decisions[..first], true)?;
    let mut states = Vec::new();
    for (index, decision) in decisions.iter().enumerate() {
        if index >= first {
            states.push(execution.state());
        }
        if let Event::Stopped(_, stop) = execution.step(*decision) {
            return Err(Error::of(*stop, index));
        }
        execution.local_events().clear();
    }
    states.push(execution.state());
    Ok(states)
}

/// The names of the threads that take steps there.
fn names<E: Execution + ?Sized>(execution: &E, points: &[At]) -> Vec<String> {
    let mut threads = ThreadSet::default();
    points.iter().filter_map(|point| point.step).for_each(|(thread, _)| threads.insert(thread));
    threads.iter().map(|thread| execution.thread_name(thread)).collect()
}

/// How many of the last steps are looked at to say why an execution may not end.
const TAIL: usize = 200;

/// Why an execution that does not go in a circle may not have ended, as a clause.
fn describe<E: Execution + ?Sized>(execution: &E, points: &[At], limit: usize) -> String {
    let tail = &points[points.len().saturating_sub(TAIL)..];
    let steps = || tail.iter().filter_map(|point| point.step);
    let names = names(execution, tail);
    let place = execution.locate(execution.site()).map_or_else(String::new, |place| format!(" at {place}"));
    let spins = |op: &Op| {
        matches!(op.kind, OpKind::Load | OpKind::Rmw | OpKind::CompareExchange | OpKind::TryLock)
            || matches!(op.kind, OpKind::TryReadLock | OpKind::Read | OpKind::IsFinished | OpKind::Receive)
    };
    let limit = format!("an execution has not ended after {limit} steps");
    let raise = "if it would end, raise the limit: Checker::max_steps in Rust, --max-steps of the command";
    let mut assumptions = Assumptions::default();
    execution.assume(&mut assumptions);
    let in_c = if assumptions.contains(AssumptionKind::UnseenMemory) {
        "sched_yield() in C (or compile it with `selvedge cc`: then it is seen that the loop waits)"
    } else {
        "sched_yield() in C"
    };
    if names.len() == 1
        && tail.iter().any(|point| point.enabled.len() > 1)
        && steps().all(|(_, op)| spins(&op))
    {
        return format!(
            "{limit}: {} spins without yielding{place}, and no other thread is given a chance to change what it looks at. \
             Yield in the loop: selvedge::hint::spin_loop() or selvedge::thread::yield_now() in Rust, {in_c}; {raise}",
            names[0],
        );
    }
    let yields = steps().any(|(_, op)| op.yields());
    let ran = match (names.as_slice(), yields) {
        ([name], false) => format!("{name} still runs"),
        ([name], true) => format!("{name} still runs and yields"),
        (names, false) => format!("{} still run", names.join(" and ")),
        (names, true) => format!("{} still run and yield", names.join(" and ")),
    };
    format!("{limit} ({ran}{place}); {raise}")
}

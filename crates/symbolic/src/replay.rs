//! Replaying an execution on the interpreter, and writing it down.
//!
//! The symbolic search found the execution on the network with slots; it is replayed here on the network as it
//! was given, where a fork makes a thread, one rule at a time.

use selvedge_core::{Decision, Schedule, Step, ThreadId, Trace};

use crate::Error;
use crate::encoding::{fresh_label, fresh_targets};
use crate::fork::Slots;
use crate::interpreter::{Configuration, Interpreter, Thread};
use crate::network::{Effect, Initial, LabelId, Network, RuleId, Variable};
use crate::witness::{Execution, free_values};

/// An execution that was replayed.
#[derive(Clone, Debug)]
pub(crate) struct Replayed {
    pub(crate) trace: Trace,
    pub(crate) schedule: Schedule,
    pub(crate) last: Configuration,
    pub(crate) contexts: u32,
}

/// A move of the network as it was given.
struct Given {
    thread: usize,
    rule: RuleId,
    inputs: Vec<u64>,
    free: Vec<u64>,
}

/// Replays an execution of the network with slots.
pub(crate) fn replay(
    network: &Network,
    slots: &Slots,
    lowered: &Network,
    execution: &Execution,
) -> Result<Replayed, Error> {
    let moves = given_moves(network, slots, lowered, execution);
    let first = Configuration {
        globals: execution.first.globals[..slots.globals].to_vec(),
        threads: execution.first.threads[..slots.processes].to_vec(),
    };
    perform(network, slots.waiting.len() as u32, first, moves)
}

/// Runs moves on the interpreter, and writes them down.
fn perform(
    network: &Network,
    created: u32,
    first: Configuration,
    moves: Vec<Given>,
) -> Result<Replayed, Error> {
    let interpreter = Interpreter::new(network, created)?;
    let fail = |message: String| Err(Error::Replay { message });
    if !interpreter.is_initial(&first) {
        return fail("it does not begin with a first configuration".into());
    }
    let mut trace = Trace::default();
    trace.threads.extend(network.processes.iter().map(|process| process.name.clone()));
    let mut decisions = begin(network, &first);
    let mut now = first;
    let (mut last_thread, mut contexts) = (None, 0);
    for (number, Given { thread, rule: id, inputs, free }) in moves.into_iter().enumerate() {
        let rule = network.rule(id);
        let switched = last_thread.is_some_and(|last| last != thread);
        if switched && !interpreter.may_switch(&now) {
            return fail(format!("move {number} switches where that is not allowed"));
        }
        let preemption = switched && last_thread.is_some_and(|last| interpreter.is_enabled(&now, last));
        let own = interpreter.rules_of(&now, thread);
        let Some(choice) = own.iter().position(|&other| other == id) else {
            return fail(format!("move {number} applies `{}` where it has no rule", rule.text));
        };
        let Some(next) = interpreter.fire(&now, thread, id, &inputs, &free) else {
            return fail(format!("move {number}, `{}`, is not possible", rule.text));
        };
        if let Effect::Fork { .. } = rule.effect {
            trace.threads.push(format!("thread {}", next.threads.len() - network.processes.len()));
        }
        decisions.push(Decision::Thread(ThreadId(thread as u32)));
        decisions.push(Decision::Value(choice as u32));
        decisions.extend(inputs.iter().chain(&free).map(|&value| Decision::Value(value as u32)));
        trace.steps.push(Step {
            thread,
            op: rule.text.clone(),
            value: Some(values(network, &next, thread)),
            location: network.label(rule.from).location.clone(),
            preemption,
        });
        if last_thread != Some(thread) {
            contexts += 1;
        }
        (last_thread, now) = (Some(thread), next);
    }
    Ok(Replayed { trace, schedule: Schedule(decisions), last: now, contexts: contexts.max(1) })
}

/// The values of the variables that may be anything at first.
fn begin(network: &Network, first: &Configuration) -> Vec<Decision> {
    let mut values = free_values(&network.globals, &first.globals);
    for (process, thread) in network.processes.iter().zip(&first.threads) {
        let locals = &network.procedure_of(process.entry).locals;
        values.extend(thread.stack.first().map_or(Vec::new(), |frame| free_values(locals, &frame.locals)));
    }
    values.into_iter().map(|value| Decision::Value(value as u32)).collect()
}

/// The moves in terms of the network as it was given. A child's first step goes away; what it chose for the
/// child's locals is chosen by the fork.
fn given_moves(network: &Network, slots: &Slots, lowered: &Network, execution: &Execution) -> Vec<Given> {
    let chosen_at_start = |slot: usize| {
        let process = slots.processes + slot;
        execution
            .contexts
            .iter()
            .filter(|(other, _)| *other == process)
            .flat_map(|(_, moves)| moves)
            .find(|made| slots.origin[made.rule.index()].is_none())
            .map(|made| made.free.clone())
    };
    let mut moves = Vec::new();
    let mut started = 0;
    for (process, made) in
        execution.contexts.iter().flat_map(|(process, moves)| moves.iter().map(move |m| (process, m)))
    {
        let Some(origin) = slots.origin[made.rule.index()] else { continue };
        let mut free = made.free.clone();
        if let Some(counter) = slots.started {
            let forks = lowered.rule(made.rule).assignments.iter().any(|assignment| {
                assignment.target == crate::network::Target::Place(crate::expression::Place::Global(counter))
            });
            if forks {
                free = chosen_at_start(started)
                    .unwrap_or_else(|| open_locals(network, origin, &execution.unmoved[started]));
                started += 1;
            }
        }
        moves.push(Given { thread: *process, rule: origin, inputs: made.inputs.clone(), free });
    }
    moves
}

/// Which locals of the frame that a rule makes may be anything.
fn open(network: &Network, id: RuleId) -> Vec<usize> {
    let rule = network.rule(id);
    let Some(label) = fresh_label(rule) else { return Vec::new() };
    let given: Vec<u32> = fresh_targets(rule).collect();
    let locals = network.procedure_of(label).locals.iter().enumerate();
    let is_open = |(index, local): (usize, &Variable)| {
        (local.initial == Initial::Any && !given.contains(&(index as u32))).then_some(index)
    };
    locals.filter_map(is_open).collect()
}

/// Of the locals of the frame that a rule makes, those that may be anything.
fn open_locals(network: &Network, id: RuleId, locals: &[u64]) -> Vec<u64> {
    open(network, id).into_iter().map(|index| locals.get(index).copied().unwrap_or(0)).collect()
}

/// Replays a schedule that an earlier check gave, on the interpreter alone.
pub(crate) fn rerun(network: &Network, created: u32, schedule: &Schedule) -> Result<Replayed, Error> {
    let interpreter = Interpreter::new(network, created)?;
    let mut decisions = schedule.0.iter().copied().peekable();
    let bad = || Error::Replay { message: "the schedule is not one of this program".into() };
    let next_value = |decisions: &mut dyn Iterator<Item = Decision>| match decisions.next() {
        Some(Decision::Value(value)) => Ok(u64::from(value)),
        _ => Err(bad()),
    };
    let values = |decisions: &mut dyn Iterator<Item = Decision>, count: usize| {
        (0..count).map(|_| next_value(decisions)).collect::<Result<Vec<_>, _>>()
    };
    let any = |variables: &[Variable]| variables.iter().filter(|v| v.initial == Initial::Any).count();
    let mut count = any(&network.globals);
    for process in &network.processes {
        count += any(&network.procedure_of(process.entry).locals);
    }
    let first = interpreter.initial_with(values(&mut decisions, count)?);
    let (mut now, mut moves) = (first.clone(), Vec::new());
    while let Some(decision) = decisions.next() {
        let Decision::Thread(thread) = decision else { return Err(bad()) };
        let thread = thread.index();
        let choice = values(&mut decisions, 1)?[0] as usize;
        let &rule = interpreter.rules_of(&now, thread).get(choice).ok_or_else(bad)?;
        let inputs = values(&mut decisions, network.rule(rule).inputs.len())?;
        let free = values(&mut decisions, open(network, rule).len())?;
        now = interpreter.fire(&now, thread, rule, &inputs, &free).ok_or_else(bad)?;
        moves.push(Given { thread, rule, inputs, free });
    }
    perform(network, created, first, moves)
}

/// The globals, the registers and the top frame's locals, by name.
fn values(network: &Network, configuration: &Configuration, thread: usize) -> String {
    let mut parts = Vec::new();
    let mut add = |variables: &[Variable], values: &[u64]| {
        for (variable, value) in variables.iter().zip(values) {
            if !variable.hidden {
                parts.push(format!("{}={value}", variable.name));
            }
        }
    };
    add(&network.globals, &configuration.globals);
    let Thread { registers, stack } = &configuration.threads[thread];
    add(&network.registers, registers);
    if let Some(frame) = stack.last() {
        add(&network.procedure_of(frame.label).locals, &frame.locals);
    }
    parts.join(" ")
}

/// The label on top of a process's stack.
pub(crate) fn top(configuration: &Configuration, thread: usize) -> Option<LabelId> {
    configuration.threads.get(thread).and_then(|thread| thread.stack.last()).map(|frame| frame.label)
}

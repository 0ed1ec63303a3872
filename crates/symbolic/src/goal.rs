//! What a search looks for: labels, deadlocks, configurations.

use std::collections::BTreeMap;

use crate::automaton::{Edges, Middle, State};
use crate::bdd::{Bdd, Fallible};
use crate::configurations::{at, cube_of};
use crate::context_bounded::Context;
use crate::encoding::{Block, Encoding};
use crate::fork::Slots;
use crate::interpreter::{Configuration, Thread};
use crate::network::LabelId;
use crate::provenance::Points;
use crate::witness::{End, Want};

/// The end of an execution that reaches a label in this context.
pub(crate) fn label_reached(
    encoding: &Encoding,
    context: &Context<'_>,
    is_goal: &dyn Fn(LabelId) -> bool,
) -> Fallible<Option<(LabelId, End)>> {
    let Some(label) =
        context.saturation.initial.keys().map(|&(label, _)| label).find(|&label| is_goal(label))
    else {
        return Ok(None);
    };
    let mut globals = encoding.store.falsity();
    for (&(other, _), relation) in &context.saturation.initial {
        if other == label {
            globals = globals.or(&relation.exists(&encoding.quantify.beside_globals)?)?;
        }
    }
    let mut wants = vec![Want::Anything; context.views.len()];
    wants[context.process] = Want::Head(BTreeMap::from([(label, encoding.store.truth())]), false);
    Ok(Some((label, End { node: context.node, process: context.process, globals, wants })))
}

/// How a process stands where it can take no step.
struct Standstill {
    /// Over `Start` and `Now`: some process state is at a standstill, of either kind.
    any: Bdd,
    /// Over `Start` and `Now`: some is blocked.
    blocked: Bdd,
    /// For a witness: labels with predicates over `Now`, registers and locals; of both kinds, and of blocked ones.
    heads: BTreeMap<LabelId, Bdd>,
    blocked_heads: BTreeMap<LabelId, Bdd>,
}

/// The end of an execution that reaches a deadlock in this context: every process has ended or is blocked, and
/// at least one is blocked. A process is blocked at a label that says so, where no rule applies. A process that
/// can take no step elsewhere is on a path that is not to be looked at, not in a deadlock. Where the running
/// process is blocked and no other may run, the others do not matter.
pub(crate) fn deadlock(encoding: &Encoding, context: &Context<'_>, slots: &Slots) -> Fallible<Option<End>> {
    let inside = context.globals.minus(&encoding.may_switch)?;
    let mut all = context.globals.clone();
    let mut some_blocked = encoding.store.falsity();
    let mut stands = Vec::new();
    for (process, view) in context.views.iter().enumerate() {
        let active = process == context.process;
        let (initial, empty) = if active {
            (&context.saturation.initial, &context.saturation.empty)
        } else {
            (&view.initial, &view.empty)
        };
        let mut stand = standstill(encoding, initial, empty, slots)?;
        if !active {
            stand.any = stand.any.or(&inside)?;
            stand.blocked = stand.blocked.minus(&inside)?;
        }
        all = all.and(&stand.any)?;
        if all.is_false() {
            return Ok(None);
        }
        some_blocked = some_blocked.or(&stand.blocked)?;
        stands.push(stand);
    }
    let found = all.and(&some_blocked)?;
    if found.is_false() {
        return Ok(None);
    }
    // One of the processes that are blocked has to be; which one, the first that can be decides.
    for blocked in 0..stands.len() {
        let globals = all.and(&stands[blocked].blocked)?;
        if globals.is_false() {
            continue;
        }
        let outside = globals.and(&encoding.may_switch)?;
        let nobody_else = outside.is_false();
        let want = |(process, stand): (usize, &Standstill)| {
            if process == blocked {
                Want::Head(stand.blocked_heads.clone(), false)
            } else if nobody_else {
                Want::Anything
            } else {
                Want::Head(stand.heads.clone(), true)
            }
        };
        let wants = stands.iter().enumerate().map(want).collect();
        let globals = if nobody_else { globals } else { outside };
        return Ok(Some(End { node: context.node, process: context.process, globals, wants }));
    }
    Ok(None)
}

fn standstill(encoding: &Encoding, initial: &Edges, empty: &Bdd, slots: &Slots) -> Fallible<Standstill> {
    let quantify = &encoding.quantify.beside_globals;
    let mut stand = Standstill {
        any: empty.exists(quantify)?,
        blocked: encoding.store.falsity(),
        heads: BTreeMap::new(),
        blocked_heads: BTreeMap::new(),
    };
    for (&(label, _), relation) in initial {
        let blocks = encoding.network.label(label).blocks;
        let ends = encoding.rules_by_label[label.index()].is_empty() || slots.waiting.contains(&label);
        if !blocks && !ends {
            continue;
        }
        let stuck = encoding.enabled(label)?.not()?;
        let here = relation.and(&stuck)?.exists(quantify)?;
        stand.any = stand.any.or(&here)?;
        stand.heads.insert(label, stuck.clone());
        if blocks {
            stand.blocked = stand.blocked.or(&here)?;
            stand.blocked_heads.insert(label, stuck);
        }
    }
    Ok(stand)
}

/// The end of an execution that reaches a configuration in this context.
pub(crate) fn configuration(
    encoding: &Encoding,
    context: &Context<'_>,
    wanted: &Configuration,
) -> Fallible<Option<End>> {
    let points = Points(encoding);
    let mut now = Vec::new();
    points.globals(&mut now, Block::Now, &wanted.globals);
    let mut starts = at(encoding, context.globals, &now)?;
    for (process, thread) in wanted.threads.iter().enumerate() {
        let accepted = if process == context.process {
            let saturation = context.saturation;
            let initial = crate::automaton::map_edges(&saturation.initial, |r| at(encoding, r, &now))?;
            accepts(encoding, &initial, &at(encoding, &saturation.empty, &now)?, &saturation.middle, thread)?
        } else {
            let view = &context.views[process];
            accepts(encoding, &view.initial, &view.empty, &view.middle, thread)?
        };
        starts = starts.and(&accepted)?;
        if starts.is_false() {
            return Ok(None);
        }
    }
    let globals = starts.and(&cube_of(encoding, &now)?)?;
    let wants = wanted.threads.iter().cloned().map(Want::Exactly).collect();
    Ok(Some(End { node: context.node, process: context.process, globals, wants }))
}

/// The values of `Start` with which an automaton accepts a process's registers and stack.
fn accepts(
    encoding: &Encoding,
    initial: &Edges,
    empty: &Bdd,
    middle: &BTreeMap<Middle, Edges>,
    thread: &Thread,
) -> Fallible<Bdd> {
    let points = Points(encoding);
    let mut registers = Vec::new();
    points.registers(&mut registers, &thread.registers);
    let Some((top, below)) = thread.stack.split_last() else { return at(encoding, empty, &registers) };
    let none = || encoding.store.falsity();
    // The states that have been reached, over `Start` and `Entry`.
    let mut states: BTreeMap<State, Bdd> = BTreeMap::new();
    let mut point = registers;
    points.locals(&mut point, top.label, &top.locals);
    for (&(label, to), relation) in initial {
        if label == top.label {
            let here = at(encoding, relation, &point)?;
            let all = states.remove(&to).unwrap_or_else(none).or(&here)?;
            states.insert(to, all);
        }
    }
    for frame in below.iter().rev() {
        let mut next: BTreeMap<State, Bdd> = BTreeMap::new();
        let mut point = Vec::new();
        points.locals(&mut point, frame.label, &frame.locals);
        for (state, reached) in states {
            let State::Middle(state) = state else { continue };
            for (&(label, to), relation) in middle.get(&state).into_iter().flatten() {
                if label != frame.label {
                    continue;
                }
                let here = at(encoding, relation, &point)?;
                let here = reached.and_exists(&here, &encoding.quantify.entry)?;
                let here = here.rename(&encoding.rename.below_to_entry)?;
                let all = next.remove(&to).unwrap_or_else(none).or(&here)?;
                next.insert(to, all);
            }
        }
        states = next;
    }
    Ok(states.remove(&State::Final).unwrap_or_else(none))
}

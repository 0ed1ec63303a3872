//! What a search looks for: labels, deadlocks, configurations.

use std::collections::{BTreeMap, BTreeSet};

use crate::automaton::{Automaton, Edges, Middle, State};
use crate::bdd::{Bdd, Fallible};
use crate::configurations::cube_of;
use crate::context_bounded::Context;
use crate::encoding::{Block, Encoding};
use crate::expression::Place;
use crate::fork::Slots;
use crate::network::LabelId;
use crate::pattern::{FramePattern, Pattern, ThreadPattern};
use crate::post_star::Saturation;
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
    let end = End { node: context.node, process: context.process, globals, wants, unmoved: Vec::new() };
    Ok(Some((label, end)))
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
        let mut unmoved = vec![BTreeMap::new(); slots.waiting.len()];
        for (slot, entries) in unmoved.iter_mut().enumerate() {
            for &entry in &slots.entries {
                let (stands, is_blocked) = standstill_at(encoding, entry)?;
                let must = if slots.processes + slot == blocked { is_blocked } else { stands };
                entries.insert(entry, if nobody_else { encoding.store.truth() } else { must });
            }
        }
        return Ok(Some(End { node: context.node, process: context.process, globals, wants, unmoved }));
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
        let (stands, blocked) = match slots.waiting.iter().position(|&waiting| waiting == label) {
            Some(slot) => unmoved_standstill(encoding, slots, slot)?,
            // Who creates one thread too many is not at a standstill: it would go on.
            None if slots.overflow.contains(&label) => continue,
            None => standstill_at(encoding, label)?,
        };
        let here = relation.and(&stands)?.exists(quantify)?;
        stand.any = stand.any.or(&here)?;
        stand.heads.insert(label, stands);
        let here = relation.and(&blocked)?.exists(quantify)?;
        stand.blocked = stand.blocked.or(&here)?;
        stand.blocked_heads.insert(label, blocked);
    }
    Ok(stand)
}

/// Where a process at a label is at a standstill, and where it is blocked; over `Now`, registers and locals.
fn standstill_at(encoding: &Encoding, label: LabelId) -> Fallible<(Bdd, Bdd)> {
    let none = encoding.store.falsity();
    let blocks = encoding.network.label(label).blocks;
    if !blocks && !encoding.rules_by_label[label.index()].is_empty() {
        return Ok((none.clone(), none));
    }
    let stuck = encoding.enabled(label)?.not()?;
    Ok((stuck.clone(), if blocks { stuck } else { none }))
}

/// The same of a process that waits in its slot: its thread does not exist, or is at its entry; over `Now`.
fn unmoved_standstill(encoding: &Encoding, slots: &Slots, slot: usize) -> Fallible<(Bdd, Bdd)> {
    let mut stands = encoding.enabled(slots.waiting[slot])?.not()?;
    let mut blocked = encoding.store.falsity();
    for (number, &entry) in slots.entries.iter().enumerate() {
        let first = slots.first_frame(encoding, slot, number)?;
        let (own_stands, own_blocked) = standstill_at(encoding, entry)?;
        stands = stands.or(&own_stands.and_exists(&first, &encoding.quantify.frame)?)?;
        blocked = blocked.or(&own_blocked.and_exists(&first, &encoding.quantify.frame)?)?;
    }
    Ok((stands, blocked))
}

/// The end of an execution that reaches, in this context, a configuration that looks like a pattern.
pub(crate) fn configuration(
    encoding: &Encoding,
    context: &Context<'_>,
    slots: &Slots,
    wanted: &Pattern,
) -> Fallible<Option<End>> {
    let points = Points(encoding);
    let mut known = Vec::new();
    points.some(&mut known, Place::Global, Block::Now, None, &wanted.globals);
    if let Some(started) = slots.started {
        let created = (wanted.threads.len() - slots.processes) as u64;
        points.set(&mut known, encoding.bits_of(Place::Global(started), Block::Now, None), created);
    }
    let known = cube_of(encoding, &known)?;
    let mut found = context.globals.and(&known)?;
    let mut ways = Vec::new();
    for process in 0..context.views.len() {
        let mut any = encoding.store.falsity();
        let mut own = Vec::new();
        for (when, thread) in slots.ways_to_stand(encoding, wanted, process)? {
            let accepted = if process == context.process {
                let Saturation { initial, empty, middle, .. } = context.saturation;
                accepts(encoding, initial, empty, middle, &thread, &known)?
            } else {
                let Automaton { initial, empty, middle, .. } = &*context.views[process];
                accepts(encoding, initial, empty, middle, &thread, &encoding.store.truth())?
            };
            let accepted = accepted.and(&when)?;
            any = any.or(&accepted)?;
            own.push((accepted, thread));
        }
        found = found.and(&any)?;
        if found.is_false() {
            return Ok(None);
        }
        ways.push(own);
    }
    // Any way that is possible for one process leaves one for each of the others.
    let mut wants = Vec::new();
    for own in ways {
        for (accepted, thread) in own {
            let here = found.and(&accepted)?;
            if !here.is_false() {
                found = here;
                wants.push(Want::Like(thread));
                break;
            }
        }
    }
    let mut unmoved = Vec::new();
    for thread in &wanted.threads[slots.processes..] {
        let mut entry = BTreeMap::new();
        if let [frame] = &thread.stack[..] {
            let mut point = Vec::new();
            points.some(&mut point, Place::Local, Block::Now, Some(frame.label), &frame.locals);
            entry.insert(frame.label, cube_of(encoding, &point)?);
        }
        unmoved.push(entry);
    }
    Ok(Some(End { node: context.node, process: context.process, globals: found, wants, unmoved }))
}

/// The values of the globals, over `Start` and for the running process `Now`, with which an automaton accepts a
/// process; `known` holds of them.
fn accepts(
    encoding: &Encoding,
    initial: &Edges,
    empty: &Bdd,
    middle: &BTreeMap<Middle, Edges>,
    thread: &ThreadPattern,
    known: &Bdd,
) -> Fallible<Bdd> {
    let points = Points(encoding);
    let mut point = Vec::new();
    points.some(&mut point, Place::Register, Block::Now, None, &thread.registers);
    let Some((top, below)) = thread.stack.split_last() else {
        return empty.and(known)?.and_exists(&cube_of(encoding, &point)?, &encoding.quantify.frame);
    };
    let none = || encoding.store.falsity();
    // The states that have been reached, over the globals and `Entry`.
    let mut states: BTreeMap<State, Bdd> = BTreeMap::new();
    points.some(&mut point, Place::Local, Block::Now, Some(top.label), &top.locals);
    let cube = cube_of(encoding, &point)?.and(known)?;
    for (&(label, to), relation) in initial {
        if label == top.label {
            let here = relation.and_exists(&cube, &encoding.quantify.frame)?;
            let all = states.remove(&to).unwrap_or_else(none).or(&here)?;
            states.insert(to, all);
        }
    }
    for frame in below.iter().rev() {
        let mut next: BTreeMap<State, Bdd> = BTreeMap::new();
        let mut point = Vec::new();
        points.some(&mut point, Place::Local, Block::Now, Some(frame.label), &frame.locals);
        let cube = cube_of(encoding, &point)?;
        for (state, reached) in states {
            let State::Middle(state) = state else { continue };
            for (&(label, to), relation) in middle.get(&state).into_iter().flatten() {
                if label != frame.label {
                    continue;
                }
                let here = relation.and_exists(&cube, &encoding.quantify.locals)?;
                let here = reached.and_exists(&here, &encoding.quantify.entry)?;
                let here = here.rename(&encoding.rename.below_to_entry)?;
                let all = next.remove(&to).unwrap_or_else(none).or(&here)?;
                next.insert(to, all);
            }
        }
        states = next;
    }
    let mut all = states.remove(&State::Final).unwrap_or_else(none);
    if thread.open {
        // From every other state there is a way down.
        for reached in states.values() {
            all = all.or(&reached.exists(&encoding.quantify.entry)?)?;
        }
    }
    Ok(all)
}

/// The end of an execution that has, in this context, created a thread whose entry is a goal. The thread has not
/// moved: in its slot it still waits.
pub(crate) fn created_at(
    encoding: &Encoding,
    context: &Context<'_>,
    slots: &Slots,
    is_goal: &dyn Fn(LabelId) -> bool,
) -> Fallible<Option<(LabelId, End)>> {
    for (number, &entry) in slots.entries.iter().enumerate() {
        if !is_goal(entry) {
            continue;
        }
        for slot in 0..slots.waiting.len() {
            let process = slots.processes + slot;
            if process == context.process {
                continue;
            }
            let waiting = slots.waiting[slot];
            let mut waits = encoding.store.falsity();
            for (&(label, _), relation) in &context.views[process].initial {
                if label == waiting {
                    waits = waits.or(&relation.exists(&encoding.quantify.beside_globals)?)?;
                }
            }
            let globals = context.globals.and(&waits)?.and(&slots.is_created(encoding, slot, number)?)?;
            if globals.is_false() {
                continue;
            }
            let mut wants = vec![Want::Anything; context.views.len()];
            wants[process] = Want::Head(BTreeMap::from([(waiting, encoding.store.truth())]), false);
            let end =
                End { node: context.node, process: context.process, globals, wants, unmoved: Vec::new() };
            return Ok(Some((entry, end)));
        }
    }
    Ok(None)
}

impl Slots {
    /// That a slot's thread has been created, with the entry of a number; over `Now`.
    pub(crate) fn is_created(&self, encoding: &Encoding, slot: usize, number: usize) -> Fallible<Bdd> {
        let started =
            encoding.bits_of(Place::Global(self.started.expect("there are slots")), Block::Now, None);
        let mut created = encoding.store.falsity();
        for count in slot as u64 + 1..=self.waiting.len() as u64 {
            created = created.or(&encoding.point(started, count)?)?;
        }
        let entry = encoding.bits_of(Place::Global(self.entry[slot]), Block::Now, None);
        created.and(&encoding.point(entry, number as u64)?)
    }

    /// That a slot's thread has been created with the entry of a number, and the frame with which it begins; over
    /// `Now` of globals, registers and locals.
    pub(crate) fn first_frame(&self, encoding: &Encoding, slot: usize, number: usize) -> Fallible<Bdd> {
        let entry = self.entries[number];
        let given: BTreeSet<u32> = self.given[&entry].iter().copied().collect();
        let mut all = self.is_created(encoding, slot, number)?.and(&encoding.clear_registers()?)?;
        all = all.and(&encoding.initial_locals(entry, &given)?)?;
        for &index in &given {
            let argument = Place::Global(self.arguments[slot][index as usize]);
            let argument = encoding.bits_of(argument, Block::Now, None);
            let local = encoding.bits_of(Place::Local(index), Block::Now, Some(entry));
            for (&local, &argument) in local.iter().zip(argument) {
                let store = &encoding.store;
                all = all.and(&store.variable(local).iff(&store.variable(argument))?)?;
            }
        }
        Ok(all)
    }

    /// How a process of the network with slots can stand for what a pattern says of it: what holds of the globals,
    /// over `Now`, and what the process looks like.
    fn ways_to_stand(
        &self,
        encoding: &Encoding,
        wanted: &Pattern,
        process: usize,
    ) -> Fallible<Vec<(Bdd, ThreadPattern)>> {
        let truth = encoding.store.truth();
        let Some(slot) = process.checked_sub(self.processes) else {
            return Ok(vec![(truth, wanted.threads[process].clone())]);
        };
        let waits = ThreadPattern {
            registers: vec![None; encoding.network.registers.len()],
            stack: vec![FramePattern { label: self.waiting[slot], locals: Vec::new() }],
            open: false,
        };
        let Some(thread) = wanted.threads.get(process) else { return Ok(vec![(truth, waits)]) };
        let mut ways = vec![(truth, thread.clone())];
        // Or it has been created and has not moved.
        let [frame] = &thread.stack[..] else { return Ok(ways) };
        let Some(number) = self.entries.iter().position(|&entry| entry == frame.label) else {
            return Ok(ways);
        };
        if thread.registers.iter().any(|register| register.is_some_and(|value| value != 0)) {
            return Ok(ways);
        }
        let mut point = Vec::new();
        Points(encoding).some(&mut point, Place::Local, Block::Now, Some(frame.label), &frame.locals);
        let first = self.first_frame(encoding, slot, number)?;
        let when = first.and_exists(&cube_of(encoding, &point)?, &encoding.quantify.frame)?;
        ways.push((when, waits));
        Ok(ways)
    }
}

//! What a search for a cheapest linearization asks of a graph again and again, kept from one execution to the next: what
//! a step needs of other threads beyond what the step before it needs, where a thread may have to stop, and which of its
//! steps touch an object.

use std::cell::{RefCell, RefMut};
use std::ops::RangeInclusive;

use selvedge_core::{Access, ObjectId, Op, OpKind};

use super::checkpoints::Checkpoints;
use super::surely;
use crate::gate::Gate;
use crate::graph::Graph;

/// The steps of a graph, thread by thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    lines: Vec<Line>,
    /// Where searches begin.
    checkpoints: RefCell<Checkpoints>,
}

#[derive(Clone, Debug, Default)]
struct Line {
    steps: Vec<Mark>,
    /// The threads of which a step needs more steps than the one before, and how many.
    needs: Vec<(u32, u32)>,
    stops: Vec<Stop>,
    /// The last of these that is [`Why::Free`].
    free: Option<u32>,
    /// The steps that wait for an object.
    waits: Vec<(u32, ObjectId)>,
    /// For each object the steps that touch it, and how.
    touches: Vec<Vec<(u32, Access)>>,
    /// The steps that touch a second object.
    also: Vec<(u32, ObjectId)>,
    /// The steps that yield.
    yields: Vec<u32>,
}

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Where what it needs begins in [`Line::needs`].
    needs_at: u32,
    /// An earlier step of the thread such that the thread, if it was switched to no later, can only be left at a cost until
    /// this one, and what wakes this one must come after the earlier one; or [`NONE`].
    repeats: u32,
    /// How many steps the thread had taken when it was last switched to.
    begun: u32,
    /// The object that it touches.
    object: Option<ObjectId>,
}

/// No step.
const NONE: u32 = u32::MAX;

/// Consecutive steps of a thread and a step before them: whoever leaves the thread before one of them, while it sleeps, pays
/// for it, if the thread was switched to no later than before that step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) first: u32,
    pub(crate) begun: u32,
}

/// A step before which a thread may have to be left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) number: u32,
    pub(super) why: Why,
}

/// Whether a thread that can take a step may as well do so at once. See [`Stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It may. The step needs more of other threads than the one before.
    Needs,
    /// It may if nobody can get to wait for this object before.
    Releases(ObjectId),
    /// Only if the thread cannot be left: the step may let others go on.
    LetsGoOn,
    /// The thread may be left for free.
    Free,
}

impl Marks {
    /// Makes them those of a graph, whose first `common` events it had when they were made last.
    pub(crate) fn update(&mut self, graph: &Graph, common: usize) {
        self.checkpoints.get_mut().truncate(common);
        self.lines.resize_with(graph.threads.len(), Line::default);
        for (thread, (marks, line)) in self.lines.iter_mut().zip(&graph.threads).enumerate() {
            let steps = line.events.len();
            if marks.steps.len() == steps && steps > 0 && (line.events[steps - 1] as usize) < common {
                continue;
            }
            let kept = line.events.partition_point(|event| (*event as usize) < common);
            marks.truncate(kept);
            marks.steps.reserve(steps - kept);
            for number in kept..steps {
                marks.push(graph, thread, number);
            }
            if let Some((_, gate)) = line.pending.get(steps) {
                marks.waits.extend(gate.object.map(|object| (steps as u32, object)));
            }
        }
    }

    /// Where searches within a bound begin.
    pub(super) fn checkpoints(&self, most: u32) -> RefMut<'_, Checkpoints> {
        let mut checkpoints = self.checkpoints.borrow_mut();
        checkpoints.within(most);
        checkpoints
    }

    /// Whether any thread yields.
    pub(crate) fn yields(&self) -> bool {
        self.lines.iter().any(|line| !line.yields.is_empty())
    }

    /// How often a thread yields in its first so many steps.
    pub(super) fn yielded(&self, thread: usize, steps: u32) -> u32 {
        self.lines[thread].yields.partition_point(|number| *number < steps) as u32
    }

    /// Whether all that a step needs beyond what the one before it needs has been taken.
    #[inline]
    pub(super) fn needs_only(&self, taken: &[u32], thread: usize, number: u32) -> bool {
        let line = &self.lines[thread];
        let begin = line.steps[number as usize].needs_at as usize;
        let next = line.steps.get(number as usize + 1);
        let end = next.map_or(line.needs.len(), |next| next.needs_at as usize);
        line.needs[begin..end].iter().all(|(other, steps)| *steps <= taken[*other as usize])
    }

    /// The first steps of a thread after so many of each that need nothing else, at most `most`; as indices of events.
    pub(crate) fn certain<'g>(
        &self,
        graph: &'g Graph,
        lengths: &[u32],
        thread: usize,
        most: usize,
    ) -> &'g [u32] {
        let first = lengths[thread] as usize;
        let events = graph.threads[thread].events.get(first..).unwrap_or_default();
        let events = &events[..events.len().min(most)];
        let mut numbers = lengths[thread]..;
        let certain = events.iter().zip(&mut numbers);
        &events[..certain.take_while(|(_, number)| self.needs_only(lengths, thread, *number)).count()]
    }

    /// The longest stretch among some steps of a thread that ends with the last of them. Each of its steps repeats one
    /// since the thread was switched to, or waits for nothing and comes after one, since then too, that nobody who is awake
    /// can come before: `nobody_before` says which is the last.
    pub(crate) fn stretch(
        &self,
        graph: &Graph,
        thread: usize,
        steps: RangeInclusive<u32>,
        nobody_before: impl Fn(u32) -> Option<u32>,
    ) -> Option<Stretch> {
        let line = &self.lines[thread];
        let mut begun = *steps.end();
        let since = line.steps[begun as usize].begun;
        let counts = |step: &u32| *step >= since && line.free.is_none_or(|free| free <= *step);
        let mut stretch = None;
        for first in steps.rev() {
            let mut repeated = line.steps[first as usize].repeats;
            if repeated == NONE || repeated < since {
                let waits = graph.threads[thread].pending[first as usize].1 != Gate::OPEN;
                match nobody_before(first).filter(counts) {
                    Some(step) if !waits => repeated = step,
                    _ => break,
                }
            }
            begun = begun.min(repeated);
            stretch = Some(Stretch { first, begun });
        }
        stretch
    }

    /// The steps of a thread, from one on, before which it may have to be left.
    #[inline]
    pub(super) fn stops(&self, thread: usize, from: u32) -> &[Stop] {
        let stops = &self.lines[thread].stops;
        &stops[stops.partition_point(|stop| stop.number < from)..]
    }

    /// The last of a thread's steps after the first one and before the second before which it may be left for free; or the
    /// first.
    pub(super) fn last_free(&self, thread: usize, first: u32, end: u32) -> u32 {
        let stops = self.stops(thread, first + 1).iter().take_while(|stop| stop.number < end);
        stops.filter(|stop| stop.why == Why::Free).last().map_or(first, |stop| stop.number)
    }

    /// The first step of a thread after one that waits for an object.
    pub(super) fn first_wait(&self, thread: usize, after: u32, object: ObjectId) -> Option<u32> {
        let waits = &self.lines[thread].waits;
        let mut waits = waits[waits.partition_point(|(number, _)| *number <= after)..].iter();
        waits.find(|(_, other)| *other == object).map(|(number, _)| *number)
    }

    /// The last of the first so many steps of a thread that surely conflicts with an operation.
    pub(crate) fn last_conflict(&self, op: &Op, thread: usize, length: u32) -> Option<u32> {
        let (writes, reads) = surely(op);
        let conflicts = |access| writes && access != Access::None || reads && access == Access::Write;
        self.last_touch(thread, length, op.object?, conflicts)
    }

    /// The last of the first so many steps of a thread that touches an object in a way that is asked for.
    #[inline]
    pub(crate) fn last_touch(
        &self,
        thread: usize,
        length: u32,
        object: ObjectId,
        how: impl Fn(Access) -> bool,
    ) -> Option<u32> {
        let touches = self.lines[thread].touches.get(object.index())?;
        let before = touches.partition_point(|(number, _)| *number < length);
        touches[..before].iter().rev().find(|(_, access)| how(*access)).map(|(number, _)| *number)
    }
}

impl Line {
    /// Forgets all but the first so many steps.
    fn truncate(&mut self, kept: usize) {
        if let Some(first) = self.steps.get(kept) {
            self.needs.truncate(first.needs_at as usize);
            for object in self.steps.drain(kept..).filter_map(|step| step.object) {
                self.touches[object.index()].pop();
            }
        }
        while let Some((_, object)) = self.also.pop_if(|(number, _)| *number as usize >= kept) {
            self.touches[object.index()].pop();
        }
        self.stops.truncate(self.stops.partition_point(|stop| (stop.number as usize) < kept));
        if self.free.is_some_and(|free| free as usize >= kept) {
            self.free = self.stops.iter().rev().find(|stop| stop.why == Why::Free).map(|stop| stop.number);
        }
        self.waits.truncate(self.waits.partition_point(|(number, _)| (*number as usize) < kept));
        self.yields.truncate(self.yields.partition_point(|number| (*number as usize) < kept));
    }

    /// Adds a thread's step with this number.
    fn push(&mut self, graph: &Graph, thread: usize, number: usize) {
        let line = &graph.threads[thread];
        let event = line.events[number] as usize;
        let begin = self.needs.len();
        if graph.joins(event) {
            let last = number.checked_sub(1).map(|last| graph.clock(line.events[last] as usize));
            let needs =
                graph.clock(event).iter().enumerate().filter(|(other, steps)| {
                    *other != thread && **steps != last.map_or(0, |last| last[*other])
                });
            self.needs.extend(needs.map(|(other, steps)| (other as u32, *steps)));
        }
        let (op, number) = (&graph.events[event].op, number as u32);
        let (announced, gate) = &line.pending[number as usize];
        let repeated = match announced.object {
            Some(object) if announced.also.is_none() => self.last_repeated(announced, object),
            _ => None,
        };
        if let Some(object) = op.object {
            self.touch(number, object, op.access);
        }
        if let Some(object) = op.also {
            self.touch(number, object, Access::Write);
            self.also.push((number, object));
        }
        if let Some(object) = gate.object {
            self.waits.push((number, object));
        }
        let yielded = number > 0 && self.yields.last() == Some(&(number - 1));
        if op.yields() {
            self.yields.push(number);
        }
        let why = if gate.timed || gate.needs_signal || yielded {
            Some(Why::Free)
        } else {
            match lets_go_on(op) {
                Some(Why::LetsGoOn) if gate.object.is_some() => Some(Why::Free),
                why => why.or((self.needs.len() > begin).then_some(Why::Needs)),
            }
        };
        if let Some(why) = why {
            self.stops.push(Stop { number, why });
        }
        if why == Some(Why::Free) {
            self.free = Some(number);
        }
        let waits_for_others = gate.object.is_some() && gate.object != announced.object;
        let paid = |repeated: &u32| !waits_for_others && self.free.is_none_or(|free| free <= *repeated);
        let repeats = repeated.filter(paid).unwrap_or(NONE);
        let before = self.steps.last().filter(|_| line.events[number as usize - 1] as usize + 1 == event);
        let begun = before.map_or(number, |before| before.begun);
        self.steps.push(Mark { needs_at: begin as u32, repeats, begun, object: op.object });
    }

    /// The last step such that what conflicts with an operation on an object conflicts with it too.
    fn last_repeated(&self, op: &Op, object: ObjectId) -> Option<u32> {
        let touches = self.touches.get(object.index())?;
        touches.iter().rev().find(|(_, access)| repeats(op, *access)).map(|(number, _)| *number)
    }

    /// Notes that a step touches an object.
    fn touch(&mut self, number: u32, object: ObjectId, access: Access) {
        if self.touches.len() <= object.index() {
            self.touches.resize_with(object.index() + 1, Vec::new);
        }
        self.touches[object.index()].push((number, access));
    }
}

/// Whether what conflicts with an operation conflicts with a step that has touched its object like this, too.
pub(super) fn repeats(next: &Op, access: Access) -> bool {
    access == Access::Write || access == next.access && access == Access::Read
}

/// Whether an operation may let others go on.
pub(super) fn lets_go_on(op: &Op) -> Option<Why> {
    use OpKind as Kind;
    match op.kind {
        Kind::Load | Kind::Store | Kind::Rmw | Kind::CompareExchange => None,
        Kind::Read | Kind::Write | Kind::Lock => None,
        Kind::Unlock => op.object.map(Why::Releases),
        _ => Some(Why::LetsGoOn),
    }
}

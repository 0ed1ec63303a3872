//! The fewest preemptions that anything beginning with a partial order can have.
//!
//! The context bound of Musuvathi and Qadeer (*Partial-Order Reduction for Context-Bounded State Exploration*,
//! MSR-TR-2007-12) may fall along an execution: what looks like a preemption may turn out to be none when the
//! thread's next steps can be moved to before the switch. Here a switch away from a thread that could go on is
//! counted only when its next step must come after it: the step is in the partial order, or it is the thread's
//! next operation and conflicts with something that comes after the switch. Counted like that the cost never
//! falls when steps are added, and does not exceed the context bound of any execution that begins with the
//! partial order: the schedule with the fewest preemptions, with the later steps left out, pays as much. When
//! every thread has ended the two are equal.
//!
//! Of a thread that sleeps more is known. Only executions are asked for in which something that conflicts with its
//! next step comes before that step, and is not in the partial order yet. So the thread must be left before its next
//! step, or somewhere since it was last switched to, unless what wakes it comes even before that. That it cannot if it
//! conflicts with one of the steps since then too, as when both write the same object; nor if every thread that could
//! go on first has steps in the partial order that come after one of these, is created by one, or conflicts with it. Then
//! the switch is counted.
//!
//! The search for a cheapest linearization is one over places: so many steps of each thread, and which thread was the
//! last. From one it goes on to where a thread may have to stop ([`marks`]), and it begins at the places that all partial
//! orders lead to which begin with the same events ([`checkpoints`]).

mod checkpoints;
mod marks;
mod places;

use selvedge_core::{Access, ObjectId, Op, OpKind, ThreadId, ThreadSet};

use self::checkpoints::{Checkpoint, Checkpoints};
pub(crate) use self::marks::{Marks, Stretch};
use self::marks::{Stop, Why, lets_go_on, repeats};
use self::places::{Places, Seen, begin_of, last_of};
use super::bound_conflicts::steps_before;
use crate::config::Status;
use crate::gate::Gate;
use crate::graph::Graph;

/// A prefix of a graph, perhaps with one more operation that was not performed there.
#[derive(Clone, Debug)]
pub(crate) struct PartialOrder<'g> {
    graph: &'g Graph,
    marks: &'g Marks,
    /// How many steps of each thread are in it, the additional one included.
    lengths: Vec<u32>,
    /// So many events of the graph, the first ones, are all in it.
    whole: usize,
    /// Whether it stands for all that begin with it.
    open: bool,
    /// The additional one: its thread, and how many steps of each thread must come before it.
    extra: Option<(usize, Op, Vec<u32>)>,
    /// The fair bound, if any thread has yielded.
    fair: Option<u32>,
    /// The threads whose next step will surely come after something that conflicts with it and is not in it.
    asleep: ThreadSet,
    /// One of them which may take more steps before that, and pays for being left if it was switched to after at most so
    /// many.
    stretch: Option<(usize, u32)>,
}

/// The memory of a search.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    place: Vec<u32>,
    /// Where to look next, at the present cost and at one preemption more.
    now: Places,
    next: Places,
    seen: Seen,
}

/// What counts as a preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    /// Every switch away from a thread that could go on.
    All,
    /// Only what every continuation has to pay too.
    Certain,
}

/// A search would have to look at too many states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooMany;

/// Searches give up past so many states: what is being asked for is then taken to be within the bound.
const MOST_STATES: usize = 1 << 18;

impl<'g> PartialOrder<'g> {
    /// The first so many steps of each thread, under a fair bound.
    pub(crate) fn new(graph: &'g Graph, marks: &'g Marks, lengths: Vec<u32>, yields: Option<u32>) -> Self {
        let fair = yields.filter(|_| marks.yields());
        PartialOrder {
            graph,
            marks,
            lengths,
            whole: 0,
            open: false,
            extra: None,
            fair,
            asleep: ThreadSet::default(),
            stretch: None,
        }
    }

    /// How often a thread has yielded there, and the fair bound.
    fn yielded(&self, taken: &[u32], thread: usize) -> Option<(u32, u32)> {
        Some((self.marks.yielded(thread, taken[thread]), self.fair?))
    }

    /// Whether the fair bound holds a thread back there.
    fn held_back(&self, taken: &[u32], thread: usize) -> bool {
        self.yielded(taken, thread).is_some_and(|(count, bound)| {
            count > bound
                && (0..taken.len()).any(|other| {
                    let behind =
                        self.yielded(taken, other).is_some_and(|(less, _)| count - less.min(count) > bound);
                    behind && self.graph.status(taken, ThreadId(other as u32)) != Status::Blocked
                })
        })
    }

    /// With one more step of a thread: the next that it is about to take.
    pub(crate) fn and(mut self, thread: usize) -> Self {
        let graph = self.graph;
        let line = &graph.threads[thread];
        let taken = self.lengths[thread] as usize;
        let op = line.pending.get(taken).map_or(Op::default(), |(op, _)| *op);
        let before = taken.checked_sub(1).map(|last| line.events[last]).or(line.creator);
        // What comes before the last conflicting step of a thread comes before this one.
        let others = (0..self.lengths.len()).filter(|other| *other != thread);
        let conflicts = others.filter_map(|other| {
            let number = self.last_conflict(&op, other, self.lengths[other])?;
            Some(graph.threads[other].events[number as usize])
        });
        let clock = self.join(before.into_iter().chain(conflicts));
        self.lengths[thread] += 1;
        self.extra = Some((thread, op, clock));
        self
    }

    /// Where the first so many events of the graph are all in it.
    pub(crate) fn from(mut self, events: usize) -> Self {
        self.whole = events;
        self
    }

    /// Where the next step of these threads will come after something that is not in it.
    pub(crate) fn asleep(mut self, threads: ThreadSet) -> Self {
        self.asleep = threads;
        self
    }

    /// Where a thread that sleeps goes on for up to a whole stretch, of which it has none of the steps. What this costs is
    /// no more than what it costs wherever the thread stops in the stretch. Say that it does so after some of these steps,
    /// and leave these out of a linearization. Nothing else that is in the partial order comes after them; so nobody else
    /// pays more. The thread itself, where it was left before or after some of them, has paid for it, if it was switched to
    /// early enough: that it has to wait for an object is out of the question, since it has just had it or waits for none,
    /// and that what wakes it comes first is too, since it conflicts with what the thread did since then, or nobody who is
    /// awake can come before that.
    pub(crate) fn stretching(mut self, thread: ThreadId, stretch: Stretch) -> Self {
        self.asleep.insert(thread);
        self.stretch = Some((thread.index(), stretch.begun));
        self
    }

    /// With the last step of a thread as the additional one: it needs only what it depends on, and the step that
    /// it raced with, and not, like a step that ends an execution, everything.
    pub(crate) fn up_to(mut self, thread: usize, raced: Option<usize>) -> Self {
        let graph = self.graph;
        let line = &graph.threads[thread];
        let number = self.lengths[thread] as usize - 1;
        let step = line.events[number];
        let op = graph.events[step as usize].op;
        let before = number.checked_sub(1).map(|last| line.events[last]).or(line.creator);
        let conflicts = (0..step).filter(|event| {
            raced == Some(*event as usize) || graph.events[*event as usize].op.conflicts_with(&op)
        });
        let clock = self.join(before.into_iter().chain(conflicts));
        self.extra = Some((thread, op, clock));
        self
    }

    /// What must come before any of these events, themselves included.
    fn join(&self, events: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut clock = vec![0; self.lengths.len()];
        for event in events {
            for (mine, theirs) in clock.iter_mut().zip(self.graph.clock(event as usize)) {
                *mine = (*mine).max(*theirs);
            }
        }
        clock
    }

    fn is_extra(&self, thread: usize, number: u32) -> bool {
        self.extra.as_ref().is_some_and(|(extra, ..)| *extra == thread) && number + 1 == self.lengths[thread]
    }

    /// Whether a thread's next step is in the partial order, and all that must come before it has been taken.
    fn available(&self, taken: &[u32], thread: usize) -> bool {
        let number = taken[thread];
        if number >= self.lengths[thread] {
            return false;
        }
        let Some(clock) = self.extra_clock(thread, number) else {
            return self.marks.needs_only(taken, thread, number);
        };
        // That it depends on what lets the thread go on is not known of the additional one.
        let waits = |(_, gate): &(Op, Gate)| *gate != Gate::OPEN;
        needs_only(taken, thread, clock)
            && !(self.graph.threads[thread].pending.get(number as usize).is_some_and(waits)
                && self.status(taken, thread) == Status::Blocked)
    }

    /// What must come before a step, if it is the additional one.
    fn extra_clock(&self, thread: usize, number: u32) -> Option<&[u32]> {
        let (.., clock) = self.extra.as_ref().filter(|_| self.is_extra(thread, number))?;
        Some(clock)
    }

    /// Whether a switch away from the thread of a place is a preemption.
    fn preempts(&self, place: &[u32], thread: usize, charge: Charge) -> bool {
        let taken = &place[..self.lengths.len()];
        let line = &self.graph.threads[thread];
        let number = taken[thread] as usize;
        let extra_taken = self.is_extra(thread, taken[thread].wrapping_sub(1));
        if extra_taken {
            return false; // What comes after it is not known.
        }
        let may_be_held_back = match charge {
            Charge::All => self.held_back(taken, thread),
            Charge::Certain => self.yielded(taken, thread).is_some_and(|(count, bound)| count > bound),
        };
        if may_be_held_back {
            return false;
        }
        let last = number.checked_sub(1).map(|last| &self.graph.events[line.events[last] as usize].op);
        if last.is_some_and(Op::yields) {
            return false;
        }
        if charge == Charge::Certain && taken[thread] == self.lengths[thread] {
            let Some((op, gate)) = line.pending.get(number) else { return false };
            // What the additional operation does to the word that the gate tests is not known.
            let unknown = self.extra.as_ref().is_some_and(|(extra, other, _)| {
                taken[*extra] == self.lengths[*extra] && other.conflicts_with(op)
            });
            let mut others = (0..taken.len()).filter(|other| *other != thread);
            let later = !unknown && others.any(|other| self.comes_later(op, gate, other, taken[other]));
            let sleeps = || {
                self.asleep.contains(ThreadId(thread as u32))
                    && !gate.needs_signal
                    && gate.object.is_none_or(|gate| op.object == Some(gate))
                    && match self.stretch {
                        Some((other, begun)) if other == thread => begin_of(place) <= begun,
                        _ => !self.may_be_woken_before(taken, thread, begin_of(place), op),
                    }
            };
            if !later && !sleeps() {
                return false;
            }
        }
        let waits_for_nothing = |(_, gate): &(Op, Gate)| gate.object.is_none() && !gate.needs_signal;
        let ended = line.ended && number == line.events.len();
        if !ended && line.pending.get(number).is_some_and(waits_for_nothing) {
            return true;
        }
        self.status(taken, thread) == Status::Enabled
    }

    /// What can become of a thread after so many steps of each.
    fn status(&self, taken: &[u32], thread: usize) -> Status {
        // The events before the first of these have been taken, and none from the second on.
        let (mut first, mut end) = (self.graph.events.len() as u32, 0);
        for (line, taken) in self.graph.threads.iter().zip(taken) {
            let (done, to_come) = line.events.split_at((*taken as usize).min(line.events.len()));
            first = to_come.first().map_or(first, |event| first.min(*event));
            end = done.last().map_or(end, |event| end.max(*event + 1));
        }
        self.graph.status_between(first..end, taken, ThreadId(thread as u32))
    }

    /// The last of the first so many steps of a thread that surely conflicts with an operation, all of them performed.
    fn last_conflict(&self, op: &Op, thread: usize, length: u32) -> Option<u32> {
        self.marks.last_conflict(op, thread, length)
    }

    /// Whether one of a thread's steps from this one on surely conflicts with an operation, and tests what its gate does.
    fn comes_later(&self, op: &Op, gate: &Gate, thread: usize, from: u32) -> bool {
        let end = self.lengths[thread];
        if from == end {
            return false;
        }
        let performed = end - u32::from(self.is_extra(thread, end - 1));
        if gate.object.is_none() || gate.object == op.object {
            return self.last_conflict(op, thread, performed).is_some_and(|number| number >= from)
                || performed < end && surely_conflicts(op, &self.op(thread, performed).0, false);
        }
        (from..end).any(|number| {
            let (other, performed) = self.op(thread, number);
            let tested = gate.object.is_none_or(|gate| other.touches().any(|(object, _)| object == gate));
            tested && surely_conflicts(op, &other, performed)
        })
    }

    /// Whether something that is not in it can come before a thread was switched to, after so many steps, or where it
    /// could be left for free since. If not, the thread has to be left where it would have gone on.
    fn may_be_woken_before(&self, taken: &[u32], thread: usize, begin: u32, next: &Op) -> bool {
        let end = taken[thread];
        let Some(last) = end.checked_sub(1) else { return true };
        let begin = if self.fair.is_some() { last } else { self.marks.last_free(thread, begin, end) };
        // What conflicts with the next one conflicts with one of these too.
        let touch = |object| self.marks.last_touch(thread, end, object, |access| repeats(next, access));
        let touch = next.object.and_then(touch);
        if next.also.is_none() && touch.is_some_and(|touch| touch >= begin) {
            return false;
        }
        let events = &self.graph.threads[thread].events[begin as usize..end as usize];
        (0..taken.len()).any(|other| {
            let line = &self.graph.threads[other];
            if other == thread
                || taken[other] != self.lengths[other]
                || self.asleep.contains(ThreadId(other as u32))
            {
                return false;
            }
            if taken[other] > 0 && self.is_extra(other, taken[other] - 1) {
                return true;
            }
            let number = taken[other] as usize;
            let Some((op, _)) = line.pending.get(number) else { return false };
            let created = |creator| other > 0 && events.contains(&creator);
            if line.ended && number == line.events.len() || line.creator.is_some_and(created) {
                return false;
            }
            if self.last_conflict(op, thread, end).is_some_and(|conflict| conflict >= begin) {
                return false;
            }
            let unknown = self.extra.as_ref().is_some_and(|(_, extra, _)| extra.conflicts_with(op));
            // What a stretch lets go on is not known.
            unknown || self.stretch.is_some() || self.status(&self.lengths, other) != Status::Blocked
        })
    }

    /// A step's operation, and whether it was performed.
    fn op(&self, thread: usize, number: u32) -> (Op, bool) {
        match &self.extra {
            Some((_, op, _)) if self.is_extra(thread, number) => (*op, false),
            _ => {
                let event = self.graph.threads[thread].events[number as usize];
                (self.graph.events[event as usize].op, true)
            }
        }
    }

    /// Whether it can be linearized with at most so many preemptions that every continuation has to pay too. In the order
    /// in which its steps were taken, or are planned, it has this many; if these are so few that every thread that sleeps
    /// can be left once more, nothing needs to be searched for.
    pub(crate) fn within(&self, preemptions: u32, most: u32, scratch: &mut Scratch) -> bool {
        let is_cheap = preemptions + self.asleep.len() as u32 <= most && self.may_take_extra();
        debug_assert!(
            !is_cheap || self.cost(most, scratch).is_some(),
            "the steps in their order cost at least as much"
        );
        is_cheap || self.cost(most, scratch).is_some()
    }

    /// Whether the additional step, if there is one, can be taken after all others.
    fn may_take_extra(&self) -> bool {
        let Some((thread, ..)) = &self.extra else { return true };
        let mut taken = self.lengths.clone();
        taken[*thread] -= 1;
        let pending = self.graph.threads[*thread].pending.get(taken[*thread] as usize);
        pending.is_some_and(|(_, gate)| gate.is_open()) || self.status(&taken, *thread) != Status::Blocked
    }

    /// The fewest preemptions that every continuation has to pay too, if these are at most so many, and the thread of
    /// the last step where they are paid.
    pub(crate) fn cost(&self, most: u32, scratch: &mut Scratch) -> Option<(u32, Option<usize>)> {
        if self.fair.is_some() {
            return self.search(most, scratch, None, None);
        }
        let checkpoints = &mut *self.marks.checkpoints(most);
        let nearest = self.nearest_checkpoint(most, scratch, checkpoints);
        let cost = self.search(most, scratch, nearest, None);
        debug_assert_eq!(
            cost.map(|cost| cost.0),
            self.search(most, scratch, None, None).map(|cost| cost.0),
            "a checkpoint makes no difference"
        );
        cost
    }

    /// The last checkpoint that is all in it, if there is one.
    fn nearest_checkpoint<'c>(
        &self,
        most: u32,
        scratch: &mut Scratch,
        checkpoints: &'c mut Checkpoints,
    ) -> Option<&'c Checkpoint> {
        while let Some(events) = checkpoints.next(self.whole) {
            let order = PartialOrder {
                lengths: steps_before(self.graph, events),
                open: true,
                extra: None,
                fair: None,
                asleep: ThreadSet::default(),
                stretch: None,
                ..*self
            };
            let mut checkpoint = Checkpoint::new(order.lengths.len());
            order.search(most, scratch, checkpoints.nearest(events), Some(&mut checkpoint));
            checkpoints.push(checkpoint);
        }
        checkpoints.nearest(self.whole)
    }

    /// See [`cost`](Self::cost); from a checkpoint, or, where it stands for all that begin with it, to one.
    fn search(
        &self,
        most: u32,
        scratch: &mut Scratch,
        from: Option<&Checkpoint>,
        mut to: Option<&mut Checkpoint>,
    ) -> Option<(u32, Option<usize>)> {
        let threads = self.lengths.len();
        let Scratch { place, now, next, seen } = scratch;
        place.clear();
        place.resize(threads + 2, 0);
        now.clear(threads);
        next.clear(threads);
        seen.clear(threads);
        if from.is_none() {
            now.push(place);
        }
        let mut left = None;
        for round in 0..=most {
            let affordable = round < most;
            from.into_iter().for_each(|from| from.copy_to(round, now));
            while now.pop(place) {
                let last = last_of(place);
                if let Some(last) = last {
                    place[last] += self.goes_on_for(&place[..threads], last, affordable);
                }
                let taken = &place[..threads];
                if let Some(checkpoint) = &mut to
                    && (*taken == self.lengths || !self.is_settled(taken))
                {
                    if seen.insert(place) && !checkpoint.push(round, place) {
                        return None;
                    }
                    continue;
                }
                if *taken == self.lengths {
                    let sleeps = last.is_some_and(|last| {
                        self.asleep.contains(ThreadId(last as u32))
                            && self.preempts(place, last, Charge::Certain)
                    });
                    if !sleeps {
                        return Some((round, last));
                    }
                    left = last;
                    continue;
                }
                if seen.len() > MOST_STATES {
                    return Some((0, None));
                }
                if seen.insert(place) {
                    self.moves(place, Charge::Certain, affordable, |thread, costs| {
                        let places = if costs { &mut *next } else { &mut *now };
                        let begin = if last == Some(thread) { begin_of(place) } else { place[thread] };
                        places.push_after(place, thread, begin);
                    });
                }
            }
            if left.is_some() && affordable {
                return Some((round + 1, left));
            }
            std::mem::swap(now, next);
        }
        None
    }

    /// Whether a search goes on from here alike, whatever follows: each thread that has taken all of its steps waits, or
    /// has to wait for one that conflicts with its next.
    fn is_settled(&self, taken: &[u32]) -> bool {
        (0..taken.len()).all(|thread| {
            let later = |(op, gate): &(Op, Gate)| {
                let mut others = (0..taken.len()).filter(|other| *other != thread);
                others.any(|other| self.comes_later(op, gate, other, taken[other]))
            };
            taken[thread] < self.lengths[thread]
                || self.graph.threads[thread].pending.get(taken[thread] as usize).is_some_and(later)
                || self.status(taken, thread) == Status::Blocked
        })
    }

    /// How many more steps a thread that has just taken one may as well take: it can, to leave it before would cost
    /// something, and none of them lets anybody else go on. Such a step can be moved here from wherever it is later: that
    /// the thread is left after it instead costs no more, and where it was there is a switch less. Where leaving it is not
    /// affordable, it does not matter whom the steps let go on.
    fn goes_on_for(&self, taken: &[u32], thread: usize, affordable: bool) -> u32 {
        let (first, end) = (taken[thread], self.lengths[thread]);
        if self.fair.is_some() || first >= end {
            return 0;
        }
        let goes_on = |number: u32, why: Why| match why {
            Why::Needs => true,
            Why::LetsGoOn => !affordable,
            Why::Free => false,
            Why::Releases(object) => {
                let mut others = (0..taken.len()).filter(|other| *other != thread);
                !affordable
                    || !others
                        .any(|other| self.may_get_to_wait(taken[other], other, (thread, number), object))
            }
        };
        let performed = end - u32::from(self.is_extra(thread, end - 1));
        for Stop { number, why } in self.marks.stops(thread, first) {
            if *number >= performed {
                break;
            }
            if !self.marks.needs_only(taken, thread, *number) || !goes_on(*number, *why) {
                return number - first;
            }
        }
        if let Some(clock) = self.extra_clock(thread, performed) {
            let line = &self.graph.threads[thread];
            let open = line.pending[performed as usize].1 == Gate::OPEN;
            let last = line.events[performed as usize - 1] as usize;
            let why = lets_go_on(&self.op(thread, performed).0).unwrap_or(Why::Needs);
            let yielded = self.graph.events[last].op.yields();
            if !open || yielded || !needs_only(taken, thread, clock) || !goes_on(performed, why) {
                return performed - first;
            }
        }
        end - first
    }

    /// Whether a thread that has taken so many steps can take more, before one of another, after which it waits for an
    /// object.
    fn may_get_to_wait(
        &self,
        taken: u32,
        thread: usize,
        (other, number): (usize, u32),
        object: ObjectId,
    ) -> bool {
        let line = &self.graph.threads[thread];
        let end = self.lengths[thread];
        let comes_to = |last: u32| {
            last == taken || self.graph.clock(line.events[last as usize - 1] as usize)[other] <= number
        };
        if self.open && comes_to(end) && self.may_go_on_before(thread, (other, number)) {
            return true;
        }
        if taken == end {
            return false;
        }
        // What comes after the additional one is not known.
        if self.is_extra(thread, end - 1) && comes_to(end - 1) {
            return true;
        }
        self.marks.first_wait(thread, taken, object).is_some_and(|wait| wait <= end && comes_to(wait))
    }

    /// Whether a thread may take more than its steps before one of another.
    fn may_go_on_before(&self, thread: usize, (other, number): (usize, u32)) -> bool {
        let end = self.lengths[thread];
        let Some((op, _)) = self.graph.threads[thread].pending.get(end as usize) else { return false };
        let last = self.last_conflict(op, other, self.lengths[other]);
        last.is_none_or(|last| last < number) && self.status(&self.lengths, thread) != Status::Blocked
    }

    /// A linearization with the fewest preemptions, if these are at most so many: of all of it, or with
    /// [`up_to`](Self::up_to) of as much as it takes to get there.
    pub(crate) fn cheapest(&self, most: u32) -> Result<Option<Vec<usize>>, TooMany> {
        let threads = self.lengths.len();
        let arrived = |taken: &[u32]| match &self.extra {
            Some((thread, ..)) => taken[*thread] == self.lengths[*thread],
            None => taken == self.lengths,
        };
        let mut place = vec![0; threads + 2];
        // Places, each with the one before it.
        let (mut places, mut before) = (Places::default(), vec![0]);
        let (mut seen, mut now, mut next) = (Seen::default(), vec![0], Vec::new());
        places.clear(threads);
        seen.clear(threads);
        places.push(&place);
        for _ in 0..=most {
            while let Some(index) = now.pop() {
                place.copy_from_slice(places.get(index));
                if arrived(&place[..threads]) {
                    let mut order = Vec::new();
                    let mut at = index;
                    while let Some(thread) = last_of(places.get(at)) {
                        order.push(thread);
                        at = before[at];
                    }
                    order.reverse();
                    return Ok(Some(order));
                }
                if seen.len() > MOST_STATES {
                    return Err(TooMany);
                }
                if seen.insert(&place) {
                    self.moves(&place, Charge::All, true, |thread, costs| {
                        let indices = if costs { &mut next } else { &mut now };
                        indices.push(places.len());
                        places.push_after(&place, thread, 0);
                        before.push(index);
                    });
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
        Ok(None)
    }

    /// The threads that can take one more step, each with whether that costs a preemption, which may be too much; what
    /// should be tried first comes last.
    fn moves(&self, place: &[u32], charge: Charge, affordable: bool, mut to: impl FnMut(usize, bool)) {
        let (taken, last) = (&place[..self.lengths.len()], last_of(place));
        let mut preempts = None;
        for thread in (0..taken.len()).filter(|thread| Some(*thread) != last) {
            if !self.available(taken, thread) || charge == Charge::All && self.held_back(taken, thread) {
                continue;
            }
            let preempts =
                *preempts.get_or_insert_with(|| last.is_some_and(|last| self.preempts(place, last, charge)));
            if preempts && !affordable {
                break;
            }
            to(thread, preempts);
        }
        if let Some(last) = last
            && self.available(taken, last)
            && !(charge == Charge::All && self.held_back(taken, last))
        {
            to(last, false);
        }
    }
}

/// Whether all that must come before a step of a thread, and is not its own, has been taken.
fn needs_only(taken: &[u32], thread: usize, clock: &[u32]) -> bool {
    let mut needs = clock.iter().zip(taken).enumerate();
    needs.all(|(other, (needed, taken))| other == thread || needed <= taken)
}

/// Whether an operation surely writes its object; and whether it surely reads or writes it; whatever it turns out to do.
fn surely(op: &Op) -> (bool, bool) {
    use OpKind as Kind;
    let writes =
        matches!(op.kind, Kind::Store | Kind::Rmw | Kind::Lock | Kind::Unlock | Kind::Wait | Kind::Unpark);
    let reads =
        matches!(op.kind, Kind::Load | Kind::CompareExchange | Kind::TryLock | Kind::Wake | Kind::Join);
    (writes, writes || reads)
}

/// Whether an operation that a thread is about to do conflicts with a step, whatever it turns out to do.
pub(crate) fn surely_conflicts(op: &Op, step: &Op, performed: bool) -> bool {
    let (writes, reads) = surely(op);
    step.touches().enumerate().any(|(slot, (object, access))| {
        let known = performed || slot == 1;
        let (step_writes, step_reads) =
            if known { (access == Access::Write, access != Access::None) } else { surely(step) };
        op.object == Some(object) && (writes && step_reads || reads && step_writes)
    })
}

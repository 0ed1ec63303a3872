//! Preemptions that are certain: what every execution that leads to a state must have had, as far as it follows from the
//! graph alone.
//!
//! Each one that is counted is of a thread that stood in one of some places, and no two have a place in common. These
//! are: where a thread stands now, if another has run since and nothing could have kept it from going on; and where it
//! stood when it must have been interrupted between two of its steps. There it may have waited for a lock, if that is
//! what it took next; then another thread was left while it held the lock, and the places where that one stood
//! meanwhile are among those that are counted once.

use selvedge_core::{Access, Op, OpKind};

use super::{Forced, Lattice, each};
use crate::gate::Gate;
use crate::graph::Graph;

/// Where a thread stands after some of its steps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stand {
    /// The event of its last step.
    pub(super) last: u32,
    /// How often it has yielded.
    pub(super) yields: u32,
    /// Its last step yielded.
    pub(super) yielded: bool,
    /// Its next step waits for nothing.
    pub(super) open: bool,
    /// It has no next step.
    pub(super) ended: bool,
    /// Whoever runs next preempts it, whatever the others have done.
    left: bool,
    /// So often it has been preempted for certain before its last step, and those steps are so many.
    preempted: u32,
    counted: u32,
    /// From so many steps on it could have gone on wherever it stood before its last step, whatever the others
    /// have done.
    free_from: u32,
    /// So many of its steps happened before something that happened before its last one.
    seen: u32,
    /// Whoever runs next preempts it as long as this object is open to it and has been written no more than so
    /// often.
    unless: Option<(u32, u32)>,
    /// The preemptions that were counted may be some of this thread's, before so many of its steps.
    instead: Option<Instead>,
}

/// A thread that may have been preempted, before so many of its steps, in place of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instead {
    thread: u8,
    until: u32,
}

/// What must not be counted of a thread's preemptions again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// Those before so many of its steps.
    until: u32,
    /// The thread that they were counted for, if there is one.
    by: Option<u8>,
}

/// Whether a thread has taken the last step or will take the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    Last,
    Next,
}

impl Stand {
    /// So often the thread has been preempted at least, if another runs next.
    #[inline]
    pub(super) fn least(&self) -> u32 {
        self.preempted + u32::from(self.left)
    }

    /// Goes on after a step, not its first. A preemption is certain where the thread must have been interrupted
    /// since the last one that was counted, and could have gone on wherever that was. Where it may have waited for
    /// a lock, the one that held it was preempted instead; `holder` says who that is, if it is certain.
    fn follow(
        &mut self,
        graph: &Graph,
        number: usize,
        before: &Stand,
        fair: bool,
        holder: impl FnOnce() -> Option<Instead>,
    ) {
        let event = &graph.events[self.last as usize];
        let thread = event.thread.index();
        let mut alone = true;
        if event.joins {
            let (clock, earlier) = (graph.clock(self.last as usize), graph.clock(before.last as usize));
            for (other, (now, then)) in clock.iter().zip(earlier).enumerate() {
                if now > then && other != thread {
                    alone = false;
                    let between = graph.threads[other].events[*now as usize - 1];
                    self.seen = self.seen.max(graph.clock(between as usize)[thread]);
                }
            }
        }
        if !before.left {
            let gate = &graph.threads[thread].pending[number - 1].1;
            let waits = |(object, access)| access == Access::Write && gate.waits_for(object);
            let plain = before.is_free(fair) && !gate.needs_signal && !gate.timed;
            // If it is alone, what it waited for was as it was all the time since its step before.
            if !(plain && alone && event.op.touches().any(waits)) {
                if plain
                    && self.seen >= self.uncounted()
                    && let Some(holder) = holder()
                {
                    self.preempted += 1;
                    self.counted = number as u32;
                    self.instead = Some(holder);
                }
                self.free_from = number as u32;
            }
        }
        if self.seen >= self.uncounted() {
            self.preempted += 1;
            self.counted = number as u32;
        }
    }

    /// A preemption that has not been counted is certain when something comes after so many of the thread's steps
    /// and before its last one. At least 1, once it has taken one.
    #[inline]
    fn uncounted(&self) -> u32 {
        self.free_from.max(self.counted)
    }

    /// Whether nothing but what it waits for can keep it from going on, or make a switch free.
    #[inline]
    fn is_free(&self, fair: bool) -> bool {
        // The fair bound may hold back a thread that has yielded.
        !self.yielded && (self.yields == 0 || !fair)
    }
}

impl Lattice {
    /// Notes where a thread stands after a step that it has just taken. Says how often it has been preempted at least,
    /// if another runs next.
    pub(super) fn load_stand(&mut self, graph: &Graph, thread: usize) -> u32 {
        let fair = self.yields.is_some();
        let number = self.taken[thread] as usize;
        let before = *self.stand_before(thread);
        let mut stand = before;
        stand.last = graph.threads[thread].events[number - 1];
        stand.yielded = graph.events[stand.last as usize].op.yields();
        stand.yields += u32::from(stand.yielded);
        stand.counted = stand.counted.max(self.counted[thread].until);
        if number == 1 {
            stand.free_from = 1;
        } else {
            let instead = before.instead;
            stand.follow(graph, number, &before, fair, || self.holder(graph, thread, instead));
            if let Some(Instead { thread: other, until }) = stand.instead
                && stand.counted == number as u32
            {
                let counted = &mut self.counted[usize::from(other)];
                self.counted_before.push((stand.last, other, *counted));
                *counted = Counted { until: counted.until.max(until), by: Some(thread as u8) };
            }
        }
        self.stand_at(graph, thread, stand)
    }

    #[inline]
    fn stand_before(&self, thread: usize) -> &Stand {
        self.stands[thread].last().expect("it stood somewhere before its step")
    }

    /// Who must have been preempted if a thread waited for the lock that it has just taken, where it is one thread that
    /// nothing could have kept from going on while it had the lock, and that none of its preemptions at that time has
    /// been counted of.
    fn holder(&self, graph: &Graph, thread: usize, instead: Option<Instead>) -> Option<Instead> {
        let own = graph.threads[thread].events[self.taken[thread] as usize - 1];
        let is_of = |op: &Op, object| op.object == Some(object) && op.also.is_none();
        let op = &graph.events[own as usize].op;
        let lock = op.object.filter(|lock| op.kind == OpKind::Lock && is_of(op, *lock))?;
        let object = &self.objects[lock.index()];
        if object.unwritten != 0 {
            return None;
        }
        let mut holder = None;
        let (mut from, mut until) = (0, 0);
        let mut released = None;
        for write in object.writes.iter().rev().skip_while(|write| **write >= own) {
            let event = &graph.events[*write as usize];
            let other = event.thread.index();
            if other == thread {
                break;
            }
            if !is_of(&event.op, lock) || *holder.get_or_insert(other) != other {
                return None;
            }
            let steps = event.number + 1;
            match (event.op.kind, released.take()) {
                (OpKind::Unlock, None) => {
                    until = until.max(steps);
                    released = Some(steps);
                }
                (OpKind::Lock, Some(released)) => {
                    let inside = &self.stands[other][steps as usize..released as usize];
                    if !inside.iter().all(|stand| stand.left) {
                        return None;
                    }
                    from = steps;
                }
                _ => return None,
            }
        }
        let holder = holder.filter(|_| released.is_none())?;
        let stands = &self.stands[holder];
        let is_counted = self.stand_before(holder).preempted > stands[from as usize].preempted;
        let counted_by = self.counted[holder].by;
        let is_free = !is_counted
            && counted_by.is_none_or(|by| usize::from(by) == thread)
            && instead.is_none_or(|instead| usize::from(instead.thread) == holder);
        is_free.then_some(Instead { thread: holder as u8, until })
    }

    /// Adds where a thread stands, with what it waits for there. Says the same.
    #[inline]
    pub(super) fn stand_at(&mut self, graph: &Graph, thread: usize, mut stand: Stand) -> u32 {
        let line = &graph.threads[thread];
        let fair = self.yields.is_some();
        let number = self.taken[thread] as usize;
        let ended = line.ended && number == line.events.len();
        let gate = line.pending.get(number).map(|(_, gate)| gate).filter(|_| !ended);
        let free = number > 0 && stand.is_free(fair);
        let is_open = gate.is_some_and(Gate::is_open);
        // A thread that has not begun may not exist yet.
        stand.open = is_open && number > 0;
        stand.ended = gate.is_none();
        stand.left = stand.open && free;
        stand.unless = None;
        if let Some(gate) = gate
            && !is_open
            && free
            && !gate.needs_signal
            && !gate.timed
            && let Some(object) = gate.object
        {
            let past = graph.clock(stand.last as usize);
            let object = object.index();
            let writes = self.objects.get(object).map_or(&[][..], |object| &object.writes);
            let seen = writes.partition_point(|write| graph.contains(past, *write));
            stand.unless = Some((object as u32, seen as u32));
        }
        self.masks.set(thread, &stand);
        self.has_yields |= stand.yields > 0;
        self.stands[thread].push(stand);
        stand.least()
    }

    /// At least so many preemptions are in an execution that leads here and in which this thread has the last
    /// step, or takes the next one; when they are more than the budget, there may be more that are certain.
    #[inline]
    pub(crate) fn preempted(&self, graph: &Graph, thread: usize, runs: Runs, budget: u32) -> u32 {
        let own = self.stand(thread);
        let mut least = self.least - u32::from(own.left);
        if least > budget {
            return least;
        }
        // When it will run next it may have been interrupted where it stands now, too.
        if runs == Runs::Last || own.left {
            let mut from = own.uncounted();
            for (stands, taken) in self.stands.iter().zip(&self.taken) {
                if let Some(instead) = stands[*taken as usize].instead
                    && usize::from(instead.thread) == thread
                {
                    from = from.max(instead.until);
                }
            }
            if from <= self.taken[thread] && self.has_heir(self.stands[thread][from as usize].last) {
                least += 1;
            }
        }
        for other in each(self.masks.waiting & !(1 << thread)) {
            let stand = self.stand(other);
            if let Some((object, writes)) = stand.unless {
                let object = &self.objects[object as usize];
                if object.actions.writes == writes && object.unwritten == 0 {
                    let gate = &graph.threads[other].pending[self.taken[other] as usize].1;
                    least += u32::from(gate.allows(object.word));
                }
            }
        }
        least
    }

    /// So many preemptions at least has an execution that goes on from here with the next event, with which the one at
    /// hand has had so many; and whether that one had to.
    pub(super) fn weigh(&self, graph: &Graph, index: usize, run: u32) -> (u32, Forced) {
        let Some(last) = self.steps.last() else { return (0, Forced::No) };
        let thread = graph.events[index].thread.index();
        // The execution at hand has been here with the last step of this thread; another one, of any of the frontier.
        let price = if run == u32::MAX { 0 } else { run.saturating_sub(last.costs.run) };
        let mut least = last.costs.least + price;
        let mut one_way = graph.choices(index).is_empty();
        for other in each(last.frontier & !(1 << last.thread)) {
            let budget = self.most.unwrap_or(least);
            let mut cost = self.preempted(graph, other, Runs::Last, budget);
            one_way &= self.most.is_some() && cost > budget;
            if cost + 1 == least && other != thread {
                cost += (self.allowed(graph).1 >> other & 1) as u32;
            }
            least = least.min(cost);
        }
        if !one_way {
            return (least, Forced::No);
        }
        let (allowed, preemptible) = self.allowed(graph);
        let others = allowed & !(1 << thread);
        let switch = last.costs.least + (preemptible >> last.thread & 1) as u32;
        let forced = match self.most {
            _ if others == 0 => Forced::Alone,
            Some(most) if others >> last.thread & 1 == 0 && switch > most => Forced::Bound,
            _ => Forced::No,
        };
        (least, forced)
    }
}

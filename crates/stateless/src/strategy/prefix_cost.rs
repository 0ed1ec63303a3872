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
//! step, unless what wakes it comes even before its last one. That it cannot if it conflicts with the last step too, as
//! when both write the same object; nor if every thread that could go on first has steps in the partial order that
//! come after the last one, or conflicts with it. Otherwise the switch is counted.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use selvedge_core::{Access, ObjectId, Op, OpKind, ThreadId, ThreadSet};

use crate::config::Status;
use crate::gate::Gate;
use crate::graph::{Graph, ThreadLine};

/// A prefix of a graph, perhaps with one more operation that was not performed there.
#[derive(Clone, Debug)]
pub(crate) struct PartialOrder<'g> {
    graph: &'g Graph,
    /// How many steps of each thread are in it, the additional one included.
    lengths: Vec<u32>,
    /// The additional one: its thread, and how many steps of each thread must come before it.
    extra: Option<(usize, Op, Vec<u32>)>,
    /// The fair bound, and how often each thread has yielded in its first so many steps; if any has.
    fair: Option<(u32, Vec<Vec<u32>>)>,
    /// The threads whose next step will surely come after something that conflicts with it and is not in it.
    asleep: ThreadSet,
}

/// What counts as a preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    /// Every switch away from a thread that could go on.
    All,
    /// Only what every continuation has to pay too.
    Certain,
}

/// Where a linearization is, as one number: how many steps of each thread it has, and the thread of the last.
#[derive(Debug, Default)]
struct Packing {
    /// Where each thread's number begins.
    shifts: Vec<u32>,
    /// How many bits the last thread has; 0 stands for none.
    last: u32,
}

impl Packing {
    /// For at most so many steps of each thread; `None` if that does not fit.
    fn new(lengths: &[u32]) -> Option<Packing> {
        let bits = |most: u32| u32::BITS - most.leading_zeros();
        let last = bits(lengths.len() as u32);
        let mut end = last;
        let mut begin = |length: &u32| {
            end += bits(*length);
            end - bits(*length)
        };
        let shifts = lengths.iter().map(&mut begin).collect();
        (end < u128::BITS).then_some(Packing { shifts, last })
    }

    fn taken(&self, code: u128, lengths: &[u32], taken: &mut [u32]) {
        for ((taken, shift), length) in taken.iter_mut().zip(&self.shifts).zip(lengths) {
            let mask = u32::MAX.checked_shr(length.leading_zeros()).unwrap_or(0);
            *taken = (code >> shift) as u32 & mask;
        }
    }

    fn last(&self, code: u128) -> Option<usize> {
        (code as usize & ((1 << self.last) - 1)).checked_sub(1)
    }

    /// The number of a place.
    fn code(&self, taken: &[u32], last: Option<usize>) -> u128 {
        let steps = taken.iter().zip(&self.shifts).map(|(taken, shift)| u128::from(*taken) << shift);
        steps.sum::<u128>() + last.map_or(0, |last| last as u128 + 1)
    }

    /// After one more step of a thread.
    fn and(&self, code: u128, thread: usize) -> u128 {
        let steps = code >> self.last << self.last;
        steps + (1 << self.shifts[thread]) + thread as u128 + 1
    }
}

/// States that were looked at. They are small numbers, and nobody chooses them to collide.
type Seen = HashSet<u128, BuildHasherDefault<Mixer>>;

#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only whole numbers are hashed")
    }

    fn write_u128(&mut self, code: u128) {
        let word = (code as u64) ^ ((code >> 64) as u64).rotate_left(29);
        let product = u128::from(word ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

/// A search would have to look at too many states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooMany;

/// Searches give up past so many states: what is being asked for is then taken to be within the bound.
const MOST_STATES: usize = 1 << 18;

impl<'g> PartialOrder<'g> {
    /// The first so many steps of each thread, under a fair bound.
    pub(crate) fn new(graph: &'g Graph, lengths: Vec<u32>, yields: Option<u32>) -> Self {
        let yields = yields.filter(|_| graph.events.iter().any(|event| event.op.yields()));
        let counts = |line: &ThreadLine| {
            let steps = line.events.iter().map(|event| u32::from(graph.events[*event as usize].op.yields()));
            let counts = steps.scan(0, |count, one| {
                *count += one;
                Some(*count)
            });
            std::iter::once(0).chain(counts).collect()
        };
        let fair = yields.map(|yields| (yields, graph.threads.iter().map(counts).collect()));
        PartialOrder { graph, lengths, extra: None, fair, asleep: ThreadSet::default() }
    }

    /// How often a thread has yielded there, and the fair bound.
    fn yielded(&self, taken: &[u32], thread: usize) -> Option<(u32, u32)> {
        let (bound, counts) = self.fair.as_ref()?;
        let counts = &counts[thread];
        Some((counts[(taken[thread] as usize).min(counts.len() - 1)], *bound))
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
        let others =
            graph.threads.iter().zip(&self.lengths).enumerate().filter(|(other, _)| *other != thread);
        let steps = others.flat_map(|(_, (line, length))| line.events.iter().take(*length as usize)).copied();
        let conflicts = steps.filter(|event| surely_conflicts(&op, &graph.events[*event as usize].op, true));
        let clock = self.join(before.into_iter().chain(conflicts));
        self.lengths[thread] += 1;
        self.extra = Some((thread, op, clock));
        self
    }

    /// Where the next step of these threads will come after something that is not in it.
    pub(crate) fn asleep(mut self, threads: ThreadSet) -> Self {
        self.asleep = threads;
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
        let clock = match &self.extra {
            Some((_, _, clock)) if self.is_extra(thread, number) => clock.as_slice(),
            _ => self.graph.clock(self.graph.threads[thread].events[number as usize] as usize),
        };
        clock.iter().zip(taken).enumerate().all(|(other, (needed, taken))| other == thread || needed <= taken)
    }

    /// Whether a switch away from a thread is a preemption there.
    fn preempts(&self, taken: &[u32], thread: usize, charge: Charge) -> bool {
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
            let sleeps = self.asleep.contains(ThreadId(thread as u32))
                && !gate.needs_signal
                && gate.object.is_none_or(|gate| op.object == Some(gate))
                && !self.may_be_woken_before(taken, thread, op);
            let later = (0..taken.len()).filter(|other| *other != thread).any(|other| {
                (taken[other]..self.lengths[other]).any(|number| {
                    let (op_there, performed) = self.op(other, number);
                    let tested = gate.object.is_none_or(|gate| op_there.touches().any(|(o, _)| o == gate));
                    tested && surely_conflicts(op, &op_there, performed)
                })
            });
            // What the additional operation does to the word that the gate tests is not known.
            let unknown = self.extra.as_ref().is_some_and(|(extra, other, _)| {
                taken[*extra] == self.lengths[*extra] && other.conflicts_with(op)
            });
            if !sleeps && (!later || unknown) {
                return false;
            }
        }
        let waits_for_nothing = |(_, gate): &(Op, Gate)| gate.object.is_none() && !gate.needs_signal;
        let ended = line.ended && number == line.events.len();
        if !ended && line.pending.get(number).is_some_and(waits_for_nothing) {
            return true;
        }
        self.graph.status(taken, ThreadId(thread as u32)) == Status::Enabled
    }

    /// Whether something that is not in it can come before the last step of a thread, which has been taken.
    fn may_be_woken_before(&self, taken: &[u32], thread: usize, next: &Op) -> bool {
        let Some(last) = taken[thread].checked_sub(1) else { return true };
        let (last_op, performed) = self.op(thread, last);
        // What conflicts with the next one conflicts with the last one too.
        let same = performed
            && next.also.is_none()
            && last_op.touches().any(|(object, access)| {
                next.object == Some(object)
                    && (access == Access::Write || access == next.access && access == Access::Read)
            });
        if same {
            return false;
        }
        let last_event = self.graph.threads[thread].events.get(last as usize);
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
            if line.ended && number == line.events.len() || line.creator.as_ref() == last_event && other > 0 {
                return false;
            }
            if surely_conflicts(op, &last_op, performed) {
                return false;
            }
            let unknown = self.extra.as_ref().is_some_and(|(_, extra, _)| extra.conflicts_with(op));
            unknown || self.graph.status(&self.lengths, ThreadId(other as u32)) != Status::Blocked
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

    /// Whether it can be linearized with at most so many preemptions that every continuation has to pay too.
    pub(crate) fn within(&self, most: u32) -> bool {
        self.cost(most).is_some()
    }

    /// The fewest preemptions that every continuation has to pay too, if these are at most so many, and the thread of
    /// the last step where they are paid.
    pub(crate) fn cost(&self, most: u32) -> Option<(u32, Option<usize>)> {
        let packing = Packing::new(&self.lengths).unwrap_or_default();
        if packing.shifts.is_empty() {
            return Some((0, None));
        }
        let mut taken = vec![0; self.lengths.len()];
        let (mut seen, mut now, mut next) = (Seen::default(), vec![0], Vec::new());
        let mut left = None;
        for round in 0..=most {
            while let Some(state) = now.pop() {
                let last = packing.last(state);
                packing.taken(state, &self.lengths, &mut taken);
                if let Some(last) = last {
                    while self.must_go_on(&taken, last) {
                        taken[last] += 1;
                    }
                }
                if taken == self.lengths {
                    let sleeps = |last: usize| {
                        self.asleep.contains(ThreadId(last as u32))
                            && self.preempts(&taken, last, Charge::Certain)
                    };
                    if !last.is_some_and(sleeps) {
                        return Some((round, last));
                    }
                    left = last;
                    continue;
                }
                if seen.len() > MOST_STATES {
                    return Some((0, None));
                }
                let state = packing.code(&taken, last);
                if seen.insert(state) {
                    let affordable = round < most;
                    self.moves(&taken, last, Charge::Certain, affordable, |thread, costs| {
                        let states = if costs { &mut next } else { &mut now };
                        states.push(packing.and(state, thread));
                    });
                }
            }
            if left.is_some() && round < most {
                return Some((round + 1, left));
            }
            std::mem::swap(&mut now, &mut next);
        }
        None
    }

    /// Whether a thread that has just taken a step may as well take its next: it can, to leave it would cost something,
    /// and the step lets nobody else go on. Then the step can be moved here from wherever it is later: that the thread
    /// is left after it instead costs no more, and where it was there is a switch less.
    fn must_go_on(&self, taken: &[u32], thread: usize) -> bool {
        use OpKind as Kind;
        let number = taken[thread];
        if number >= self.lengths[thread] || self.fair.is_some() {
            return false;
        }
        let line = &self.graph.threads[thread];
        let gate = line.pending[number as usize].1;
        let last = line.events[number as usize - 1] as usize;
        let op = self.op(thread, number).0;
        let lets_nobody_go_on = match op.kind {
            Kind::Load | Kind::Store | Kind::Rmw | Kind::CompareExchange => true,
            Kind::Read | Kind::Write | Kind::Lock => true,
            Kind::Unlock => {
                !(0..taken.len()).any(|other| self.may_get_to_wait(taken, other, thread, op.object))
            }
            _ => false,
        };
        lets_nobody_go_on
            && !gate.timed
            && !gate.needs_signal
            && !self.graph.events[last].op.yields()
            && self.available(taken, thread)
    }

    /// Whether a thread can take steps, before the next one of another, after which it waits for an object.
    fn may_get_to_wait(&self, taken: &[u32], thread: usize, other: usize, object: Option<ObjectId>) -> bool {
        let line = &self.graph.threads[thread];
        let (first, end) = (taken[thread] as usize, self.lengths[thread] as usize);
        if thread == other || first == end {
            return false;
        }
        let end = end.min(line.events.len());
        let before_other = |event: &u32| self.graph.clock(*event as usize)[other] <= taken[other];
        let possible = line.events[first..end].iter().take_while(|event| before_other(event)).count();
        // The steps after which it waits are among these; what comes after the additional one is not known.
        let unknown = self.is_extra(thread, (first + possible) as u32);
        unknown
            || (first + 1..=first + possible)
                .any(|number| line.pending.get(number).is_some_and(|(_, gate)| gate.object == object))
    }

    /// A linearization with the fewest preemptions, if these are at most so many: of all of it, or with
    /// [`up_to`](Self::up_to) of as much as it takes to get there.
    pub(crate) fn cheapest(&self, most: u32) -> Result<Option<Vec<usize>>, TooMany> {
        let packing = Packing::new(&self.lengths).ok_or(TooMany)?;
        let arrived = |taken: &[u32]| match &self.extra {
            Some((thread, ..)) => taken[*thread] == self.lengths[*thread],
            None => taken == self.lengths,
        };
        let mut taken = vec![0; self.lengths.len()];
        // States, each with the one before it.
        let mut states: Vec<(u128, usize)> = vec![(0, 0)];
        let (mut seen, mut now, mut next) = (Seen::default(), vec![0], Vec::new());
        for _ in 0..=most {
            while let Some(index) = now.pop() {
                let (state, _) = states[index];
                packing.taken(state, &self.lengths, &mut taken);
                if arrived(&taken) {
                    let mut threads = Vec::new();
                    let mut at = index;
                    while let Some(thread) = packing.last(states[at].0) {
                        threads.push(thread);
                        at = states[at].1;
                    }
                    threads.reverse();
                    return Ok(Some(threads));
                }
                if seen.len() > MOST_STATES {
                    return Err(TooMany);
                }
                if seen.insert(state) {
                    self.moves(&taken, packing.last(state), Charge::All, true, |thread, costs| {
                        let indices = if costs { &mut next } else { &mut now };
                        indices.push(states.len());
                        states.push((packing.and(state, thread), index));
                    });
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
        Ok(None)
    }

    /// The threads that can take one more step, each with whether that costs a preemption, which may be too much; what
    /// should be tried first comes last.
    fn moves(
        &self,
        taken: &[u32],
        last: Option<usize>,
        charge: Charge,
        affordable: bool,
        mut to: impl FnMut(usize, bool),
    ) {
        let preempts = last.is_some_and(|last| self.preempts(taken, last, charge));
        let others = (0..taken.len()).filter(|thread| Some(*thread) != last && (affordable || !preempts));
        for thread in others.chain(last).filter(|thread| self.available(taken, *thread)) {
            if charge == Charge::Certain || !self.held_back(taken, thread) {
                to(thread, preempts && Some(thread) != last);
            }
        }
    }
}

/// Whether an operation that a thread is about to do conflicts with a step, whatever it turns out to do.
fn surely_conflicts(op: &Op, step: &Op, performed: bool) -> bool {
    use OpKind as Kind;
    let writes = |op: &Op| {
        matches!(op.kind, Kind::Store | Kind::Rmw | Kind::Lock | Kind::Unlock | Kind::Wait | Kind::Unpark)
    };
    let reads = |op: &Op| {
        writes(op)
            || matches!(op.kind, Kind::Load | Kind::CompareExchange | Kind::TryLock | Kind::Wake | Kind::Join)
    };
    step.touches().enumerate().any(|(slot, (object, access))| {
        let known = performed || slot == 1;
        let step_writes = if known { access == Access::Write } else { writes(step) };
        let step_reads = if known { access != Access::None } else { reads(step) };
        op.object == Some(object) && (writes(op) && step_reads || reads(op) && step_writes)
    })
}

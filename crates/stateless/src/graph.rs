//! The happens-before graph of a finished execution, with its edges: vector clocks, and for each step the
//! steps of other threads that it depends on.

use selvedge_core::{Access, Decision, Op, ThreadId, ThreadSet};

use crate::config::{Status, Words};
use crate::gate::Gate;
use crate::record::Record;
use crate::strategy::Finished;

/// One step of an execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) thread: ThreadId,
    /// How many steps the thread had taken before.
    pub(crate) number: u32,
    /// What it did.
    pub(crate) op: Op,
    /// The decision that chose the thread.
    pub(crate) point: u32,
}

/// A thread of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadLine {
    pub(crate) name: u64,
    /// Its steps, as indices of events.
    pub(crate) events: Vec<u32>,
    /// What it is about to do after so many steps.
    pub(crate) pending: Vec<(Op, Gate)>,
    /// The step within which it was created; `None` for the first thread.
    pub(crate) creator: Option<u32>,
    /// Its last step ended it.
    pub(crate) ended: bool,
}

/// A happens-before graph. Its memory is kept from one execution to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) events: Vec<Event>,
    pub(crate) threads: Vec<ThreadLine>,
    /// For each event, how many steps of each thread happened before it, itself included.
    clocks: Vec<u32>,
    width: usize,
    objects: Vec<ObjectLine>,
    pub(crate) words: Words,
    /// The event that each decision belongs to.
    pub(crate) event_of: Vec<u32>,
    pub(crate) races: Vec<Race>,
    /// The values that steps chose, each among how many; and where those of each event end.
    choices: Vec<(u32, u32)>,
    choices_at: Vec<u32>,
    /// The threads that could have been chosen instead of each event's.
    enabled_before: Vec<ThreadSet>,
    /// Clocks of operations that were not performed.
    extra: Vec<u32>,
}

/// The accesses to an object so far.
#[derive(Clone, Debug, Default)]
struct ObjectLine {
    /// What happened before the last write, and before any access.
    writes: Vec<u32>,
    accesses: Vec<u32>,
    /// Each thread's accesses, as events, and whether they write.
    steps: Vec<Vec<(u32, bool)>>,
}

/// Which races to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Races {
    /// None.
    No,
    /// In every state, for every thread's next operation, the most recent dependent step of each other
    /// thread.
    All,
    /// Of these only those in the transitive reduction of the order that can change places.
    Reduced,
}

/// Two operations whose order could be the other way round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    /// The first of them.
    pub(crate) event: u32,
    /// The thread whose next operation at some later state is the second.
    pub(crate) thread: ThreadId,
    /// Where the clock of the second is.
    second: Option<u32>,
}

/// Marks a clock that belongs to no event.
const EXTRA: u32 = 1 << 31;

impl Graph {
    /// Makes this the graph of an execution, and collects its races.
    pub(crate) fn build(&mut self, execution: &Finished<'_>, mode: Races) {
        let record = execution.record;
        self.clear(record);
        self.note_pending(record, 0, mode);
        let mut changes = record.changes().iter().peekable();
        let mut signals = record.signals().iter().peekable();
        let mut point = 0;
        for index in 0..record.len() {
            match record.decisions()[index] {
                Decision::Thread(_) => point = index,
                Decision::Value(value) => self.choices.push((value, record.points()[index].arity)),
            }
            self.event_of.push(self.events.len() as u32);
            if matches!(record.decisions().get(index + 1), Some(Decision::Value(_))) {
                continue;
            }
            let Decision::Thread(thread) = record.decisions()[point] else {
                unreachable!("a value belongs to a step")
            };
            let number = self.threads[thread.index()].events.len() as u32;
            let op = record.points()[index].op;
            let event = Event { thread, number, op, point: point as u32 };
            if mode == Races::Reduced {
                self.enabled_before.push(record.enabled(&record.points()[point]).collect());
            }
            self.choices_at.push(self.choices.len() as u32);
            let number = self.events.len() as u32;
            while let Some((_, object, difference)) = changes.next_if(|change| change.0 as usize == index) {
                self.words.changed(*object as usize, number, *difference);
            }
            while let Some((_, thread)) = signals.next_if(|signal| signal.0 as usize == index) {
                let taken = self.threads[thread.index()].events.len() as u32;
                self.words.signalled(*thread, number, taken);
            }
            self.push(event, index + 1 == record.len() && execution.stopped, mode);
            self.note_pending(record, index + 1, mode);
        }
        if mode == Races::Reduced {
            for thread in 0..self.width {
                let line = &self.threads[thread];
                if let (Some(&(op, _)), false) = (line.pending.get(line.events.len()), line.ended) {
                    self.reduced_races(ThreadId(thread as u32), &op, None);
                }
            }
        }
    }

    fn clear(&mut self, record: &Record) {
        self.events.clear();
        self.enabled_before.clear();
        self.clocks.clear();
        self.event_of.clear();
        self.objects.clear();
        self.width = record.threads();
        self.threads.resize_with(self.width, ThreadLine::default);
        for (index, line) in self.threads.iter_mut().enumerate() {
            line.name = record.name(ThreadId(index as u32));
            line.events.clear();
            line.pending.clear();
            line.ended = false;
            line.creator = None;
        }
        self.choices.clear();
        self.choices_at.clear();
        self.races.clear();
        self.extra.clear();
        self.words.clear(record);
    }

    fn note_pending(&mut self, record: &Record, step: usize, mode: Races) {
        for (index, pending) in record.pending(step).iter().enumerate() {
            for object in pending.gate.object.into_iter().chain(pending.op.object).chain(pending.op.also) {
                self.words.initial(object.index(), record);
            }
            let line = &mut self.threads[index];
            if line.pending.is_empty() && index > 0 {
                line.creator = self.events.len().checked_sub(1).map(|event| event as u32);
            }
            if line.pending.len() == line.events.len() {
                line.pending.push((pending.op, pending.gate));
                if mode == Races::All && !line.ended {
                    self.all_races(ThreadId(index as u32), &pending.op);
                }
            }
        }
    }

    /// The most recent dependent step of each other thread (Algorithm 2, line 6).
    fn all_races(&mut self, thread: ThreadId, op: &Op) {
        for other in (0..self.width).filter(|other| *other != thread.index()) {
            if let Some(event) = self.last_dependent(other, op, |_| true) {
                self.races.push(Race { event, thread, second: None });
            }
        }
    }

    /// A thread's last step that an operation depends on.
    fn last_dependent(&self, thread: usize, op: &Op, accept: impl Fn(u32) -> bool) -> Option<u32> {
        op.touches()
            .filter(|(_, access)| *access != Access::None)
            .filter_map(|(object, access)| {
                let line = self.objects.get(object.index())?;
                let mut steps = line.steps[thread].iter().rev();
                steps.find(|(event, writes)| (*writes || access == Access::Write) && accept(*event))
            })
            .map(|(event, _)| *event)
            .max()
    }

    /// Whether a thread's operation with this clock could go on if it came before an earlier event and all
    /// that depends on that.
    fn reversible(&self, event: u32, thread: ThreadId, taken: u32, clock: &[u32]) -> bool {
        let mut state: Vec<u32> = (0..self.width)
            .map(|other| {
                let line = &self.threads[other].events;
                let up_to = line.partition_point(|other| *other < event);
                let needed = clock[other] as usize;
                let after = line[up_to..]
                    .partition_point(|other| !self.happens_before(event as usize, *other as usize));
                up_to.max(needed.min(up_to + after)) as u32
            })
            .collect();
        state[thread.index()] = taken;
        self.status(&state, thread) != Status::Blocked
    }

    /// The dependent steps that nothing stands between: those that could change places with the thread's
    /// next operation. `second` is the event of that operation, if it was performed.
    fn reduced_races(&mut self, thread: ThreadId, op: &Op, second: Option<usize>) {
        let before =
            self.threads[thread.index()].events.iter().rev().find(|event| Some(**event as usize) != second);
        let before = before.copied().or(self.threads[thread.index()].creator);
        let begin = self.races.len();
        let clock = match second {
            Some(second) => self.clock(second).to_vec(),
            None => self.clock_of(op, before),
        };
        for other in (0..self.width).filter(|other| *other != thread.index()) {
            let taken = match second {
                Some(second) => self.events[second].number,
                None => self.threads[thread.index()].events.len() as u32,
            };
            let accept = |event: u32| self.reversible(event, thread, taken, &clock);
            if let Some(event) = self.last_dependent(other, op, accept)
                && !before.is_some_and(|before| self.happens_before(event as usize, before as usize))
            {
                self.races.push(Race { event, thread, second: None });
            }
        }
        let found = self.races[begin..].to_vec();
        let between = |race: &Race| {
            found.iter().any(|other| {
                other.event != race.event && self.happens_before(race.event as usize, other.event as usize)
            })
        };
        let mut kept: Vec<Race> = found.iter().filter(|race| !between(race)).copied().collect();
        let clock = match second {
            Some(second) => second as u32,
            None if kept.is_empty() => return self.races.truncate(begin),
            None => {
                self.extra.extend_from_slice(&clock);
                EXTRA | (self.extra.len() / self.width - 1) as u32
            }
        };
        for race in &mut kept {
            race.second = Some(clock);
        }
        self.races.truncate(begin);
        self.races.extend(kept);
    }

    /// How many steps the second thread of a race of the reduction had taken before its operation.
    pub(crate) fn second_number(&self, race: &Race) -> usize {
        match race.second {
            Some(second) if second & EXTRA == 0 => self.events[second as usize].number as usize,
            _ => self.threads[race.thread.index()].events.len(),
        }
    }

    /// How many steps of each thread happened before the second operation of a race.
    fn second_clock(&self, race: &Race) -> Option<&[u32]> {
        race.second.map(|second| match second & EXTRA {
            0 => self.clock(second as usize),
            _ => {
                let base = (second & !EXTRA) as usize * self.width;
                &self.extra[base..base + self.width]
            }
        })
    }

    /// The threads that can go first when a race is turned round: those whose first step among the steps
    /// after the race's first event that do not depend on it, and the second operation, depends on no other
    /// of them. Empty when only the second operation could, and could not have gone on.
    pub(crate) fn initials(&self, race: &Race) -> Vec<ThreadId> {
        let first = race.event as usize;
        let last = match race.second {
            Some(second) if second & EXTRA == 0 => second as usize,
            _ => self.events.len(),
        };
        let independent: Vec<Option<usize>> = (0..self.width)
            .map(|thread| {
                let line = &self.threads[thread].events;
                let at = line.partition_point(|event| *event as usize <= first);
                line.get(at)
                    .map(|event| *event as usize)
                    .filter(|event| *event < last && !self.happens_before(first, *event))
            })
            .collect();
        let second = self.second_clock(race);
        (0..self.width)
            .filter(|&thread| {
                let clock = match independent[thread] {
                    Some(event) => Some(self.clock(event)),
                    None if thread == race.thread.index() => second,
                    None => return false,
                };
                let other = |other: usize| {
                    independent[other].is_some_and(|event| {
                        clock.is_some_and(|clock| clock[other] > self.events[event].number)
                    })
                };
                let enabled = independent[thread].is_some()
                    || self.enabled_before[first].contains(ThreadId(thread as u32));
                enabled && !(0..self.width).any(|index| index != thread && other(index))
            })
            .map(|thread| ThreadId(thread as u32))
            .collect()
    }

    /// What would happen before an operation, were it performed now.
    fn clock_of(&self, op: &Op, before: Option<u32>) -> Vec<u32> {
        let mut clock = before.map_or(vec![0; self.width], |before| self.clock(before as usize).to_vec());
        for (object, access) in op.touches().filter(|(_, access)| *access != Access::None) {
            let Some(line) = self.objects.get(object.index()) else { continue };
            let past = if access == Access::Write { &line.accesses } else { &line.writes };
            for (mine, theirs) in clock.iter_mut().zip(past) {
                *mine = (*mine).max(*theirs);
            }
        }
        clock
    }

    fn push(&mut self, event: Event, after_all: bool, mode: Races) {
        let thread = event.thread;
        if mode == Races::Reduced {
            self.add(event, after_all);
            let index = self.events.len() - 1;
            self.reduced_races(thread, &event.op, Some(index));
            self.access(index);
        } else {
            self.add(event, after_all);
            let index = self.events.len() - 1;
            self.access(index);
            if mode == Races::All {
                for other in (0..self.width).filter(|other| *other != thread.index()) {
                    let line = &self.threads[other];
                    if let (Some((op, _)), false) = (line.pending.get(line.events.len()), line.ended)
                        && op.conflicts_with(&event.op)
                    {
                        let thread = ThreadId(other as u32);
                        self.races.push(Race { event: index as u32, thread, second: None });
                    }
                }
            }
        }
    }

    /// Adds an event with its clock.
    fn add(&mut self, event: Event, after_all: bool) {
        let index = self.events.len();
        let width = self.width;
        let base = self.clocks.len();
        self.clocks.resize(base + width, 0);
        let line = &mut self.threads[event.thread.index()];
        let before = line.events.last().copied().or(line.creator);
        line.events.push(index as u32);
        line.ended = event.op.kind == selvedge_core::OpKind::End;
        if let Some(before) = before {
            let from = before as usize * width;
            self.clocks.copy_within(from..from + width, base);
        }
        for (object, access) in event.op.touches() {
            if access == Access::None {
                continue;
            }
            self.object(object.index());
            let line = &self.objects[object.index()];
            let past = if access == Access::Write { &line.accesses } else { &line.writes };
            for (mine, theirs) in self.clocks[base..].iter_mut().zip(past) {
                *mine = (*mine).max(*theirs);
            }
        }
        if after_all {
            for thread in 0..width {
                self.clocks[base + thread] = self.threads[thread].events.len() as u32;
            }
        }
        self.clocks[base + event.thread.index()] = event.number + 1;
        self.events.push(event);
    }

    /// Adds an event to the accesses of its objects.
    fn access(&mut self, index: usize) {
        let event = self.events[index];
        for (object, access) in event.op.touches().filter(|(_, access)| *access != Access::None) {
            let line = &mut self.objects[object.index()];
            let clock = &self.clocks[index * self.width..(index + 1) * self.width];
            let writes = access == Access::Write;
            for (mine, theirs) in line.accesses.iter_mut().zip(clock) {
                *mine = (*mine).max(*theirs);
            }
            line.steps[event.thread.index()].push((index as u32, writes));
            if writes {
                line.writes.copy_from_slice(clock);
            }
        }
    }

    fn object(&mut self, object: usize) {
        while self.objects.len() <= object {
            self.objects.push(ObjectLine {
                writes: vec![0; self.width],
                accesses: vec![0; self.width],
                steps: vec![Vec::new(); self.width],
            });
        }
    }

    /// The values that an event's step chose, each among how many.
    pub(crate) fn choices(&self, event: usize) -> &[(u32, u32)] {
        let begin = event.checked_sub(1).map_or(0, |before| self.choices_at[before] as usize);
        &self.choices[begin..self.choices_at[event] as usize]
    }

    /// How many steps of each thread happened before an event, itself included.
    pub(crate) fn clock(&self, event: usize) -> &[u32] {
        &self.clocks[event * self.width..(event + 1) * self.width]
    }

    /// Whether an event happened before another, or is the same.
    pub(crate) fn happens_before(&self, first: usize, second: usize) -> bool {
        let event = &self.events[first];
        self.clock(second)[event.thread.index()] > event.number
    }
}

#[cfg(test)]
impl Graph {
    /// A graph of local steps with given edges, for tests: thread 0 takes one step, which creates the others
    /// and ends; then come these events, each a thread and the (thread, steps) pairs that it depends on.
    pub(crate) fn from_edges(threads: usize, events: &[(usize, Vec<(usize, u32)>)]) -> Self {
        let line = |thread: usize| ThreadLine {
            name: (thread as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            pending: vec![(Op::default(), Gate::OPEN)],
            creator: (thread > 0).then_some(0),
            ..ThreadLine::default()
        };
        let mut graph =
            Graph { threads: (0..threads).map(line).collect(), width: threads, ..Graph::default() };
        graph.words.signals_for(threads);
        for (thread, after) in std::iter::once(&(0, Vec::new())).chain(events) {
            let index = graph.events.len();
            let number = graph.threads[*thread].events.len() as u32;
            let id = ThreadId(*thread as u32);
            graph.events.push(Event { thread: id, number, op: Op::default(), point: index as u32 });
            graph.choices_at.push(0);
            let mut clock = vec![0; threads];
            let before = graph.threads[*thread].events.last().copied();
            let creator = graph.threads[*thread].creator;
            let others = after.iter().map(|(other, steps)| graph.threads[*other].events[*steps as usize - 1]);
            for event in before.into_iter().chain(creator).chain(others) {
                for (mine, theirs) in clock.iter_mut().zip(graph.clock(event as usize)) {
                    *mine = (*mine).max(*theirs);
                }
            }
            clock[*thread] = number + 1;
            graph.clocks.extend(clock);
            graph.threads[*thread].events.push(index as u32);
            graph.threads[*thread].pending.push((Op::default(), Gate::OPEN));
        }
        for line in &mut graph.threads {
            line.ended = true;
        }
        graph
    }
}

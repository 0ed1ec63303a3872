//! The happens-before graph of a finished execution, with its edges: vector clocks, and for each step the
//! steps of other threads that it depends on.

mod trail;

use selvedge_core::{Access, Decision, ObjectId, Op, OpKind, ThreadId};

pub(crate) use self::trail::Trail;

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
    /// How many objects were known before it.
    objects: u32,
    /// More happened before it than before its thread's last one, and that.
    pub(crate) joins: bool,
    /// Those of the first 64 threads, as bits, whose race with it is among [`Graph::races`] or was.
    raced: u64,
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

/// A happens-before graph. Its memory is kept from one execution to the next, and so is what two executions
/// that follow each other have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// The decisions that it was made from.
    decisions: Vec<Decision>,
    /// Whether the last event ended the execution, and so depends on everything.
    pub(crate) stopped: bool,
    pub(crate) events: Vec<Event>,
    pub(crate) threads: Vec<ThreadLine>,
    /// For each event, how many steps of each thread happened before it, itself included.
    clocks: Vec<u32>,
    /// How many words a clock has: at least as many as there are threads.
    stride: usize,
    /// What events did to objects, in their order.
    touches: Vec<Touch>,
    /// For each object and thread, the last of these, as an index, or [`NONE`].
    last: Vec<u32>,
    /// For each object, the last of these that wrote it, as an index, or [`NONE`].
    last_write: Vec<u32>,
    pub(crate) words: Words,
    /// The event that each decision belongs to.
    pub(crate) event_of: Vec<u32>,
    /// The races that the last execution has and the one before it did not have.
    pub(crate) races: Vec<Race>,
    /// The same for [`Races::Reduced`].
    pub(crate) reduced: Vec<Race>,
    /// The values that steps chose, each among how many; and where those of each event end.
    choices: Vec<(u32, u32)>,
    choices_at: Vec<u32>,
    /// The threads that could have been chosen instead of each event's, as words of a bit set.
    enabled_before: Vec<u64>,
    /// Clocks of operations that were not performed.
    extra: Vec<u32>,
    scratch: Scratch,
}

/// Memory that is used again and again.
#[derive(Clone, Debug, Default)]
struct Scratch {
    clock: Vec<u32>,
    state: Vec<u32>,
    races: Vec<Race>,
}

/// An access of an event to an object. The others are indices, or [`NONE`].
#[derive(Clone, Copy, Debug)]
struct Touch {
    event: u32,
    /// The thread's access to the object before this one.
    before: u32,
    /// The thread's last access up to this one that wrote the object.
    write: u32,
    /// The last access of any thread before this one that wrote the object.
    write_before: u32,
}

/// No access.
const NONE: u32 = u32::MAX;

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
    /// Both, apart.
    Both,
}

impl Races {
    fn all(self) -> bool {
        matches!(self, Races::All | Races::Both)
    }

    fn reduced(self) -> bool {
        matches!(self, Races::Reduced | Races::Both)
    }
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

impl Race {
    /// A step and the next operation of another thread.
    pub(crate) fn between(event: u32, thread: ThreadId) -> Self {
        Race { event, thread, second: None }
    }
}

/// Marks a clock that belongs to no event.
const EXTRA: u32 = 1 << 31;

impl Graph {
    /// Makes this the graph of an execution, and collects those of its races that the one before did not
    /// have. Only what the two do not have in common costs time. Says how many events they have in common.
    pub(crate) fn update(&mut self, execution: &Finished<'_>, mode: Races) -> usize {
        let record = execution.record;
        let threads = record.threads();
        if threads > self.stride {
            self.clear();
            self.stride = threads + 1;
            self.last.clear();
            self.last_write.clear();
        }
        let begin = self.keep_common(record.decisions());
        let common = self.events.len();
        self.races.clear();
        self.reduced.clear();
        self.extra.clear();
        self.threads.resize_with(threads, ThreadLine::default);
        for (index, line) in self.threads.iter_mut().enumerate() {
            line.name = record.name(ThreadId(index as u32));
        }
        self.words.threads(threads);
        self.decisions.extend_from_slice(&record.decisions()[begin..]);
        if begin == 0 {
            self.note_pending(record, 0, mode);
        }
        let changes = record.changes();
        let mut changes = &changes[changes.partition_point(|change| (change.0 as usize) < begin)..];
        let signals = record.signals();
        let mut signals = &signals[signals.partition_point(|signal| (signal.0 as usize) < begin)..];
        let (mut point, mut thread) = (0, ThreadId(0));
        let decisions = record.decisions();
        for (index, made) in record.points().iter().enumerate().skip(begin) {
            match decisions[index] {
                Decision::Thread(chosen) => (point, thread) = (index, chosen),
                Decision::Value(value) => self.choices.push((value, made.arity)),
            }
            self.event_of.push(self.events.len() as u32);
            if matches!(decisions.get(index + 1), Some(Decision::Value(_))) {
                continue;
            }
            let number = self.threads[thread.index()].events.len() as u32;
            let op = made.op;
            let objects = self.words.known();
            let event = Event { thread, number, op, point: point as u32, objects, joins: false, raced: 0 };
            if mode.reduced() {
                self.note_enabled(record, point);
            }
            self.choices_at.push(self.choices.len() as u32);
            let number = self.events.len() as u32;
            while let Some(((at, object, difference), rest)) = changes.split_first()
                && *at as usize == index
            {
                self.words.changed(*object as usize, number, *difference);
                changes = rest;
            }
            while let Some(((at, thread), rest)) = signals.split_first()
                && *at as usize == index
            {
                let taken = self.threads[thread.index()].events.len() as u32;
                self.words.signalled(*thread, number, taken);
                signals = rest;
            }
            self.push(event, index + 1 == record.len() && execution.stopped, mode);
            self.note_pending(record, index + 1, mode);
        }
        self.stopped = execution.stopped;
        if mode.reduced() {
            for thread in 0..threads {
                let line = &self.threads[thread];
                if let (Some(&(op, _)), false) = (line.pending.get(line.events.len()), line.ended) {
                    self.reduced_races(ThreadId(thread as u32), &op, None);
                }
            }
        }
        common
    }

    /// Forgets the execution that it was made from.
    pub(crate) fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps the events that an execution with these decisions begins with too. Says with which decision the
    /// next event begins.
    fn keep_common(&mut self, decisions: &[Decision]) -> usize {
        let mut common =
            self.decisions.iter().zip(decisions).take_while(|(ours, theirs)| ours == theirs).count();
        if self.stopped {
            common = common.min(self.decisions.len().saturating_sub(1));
        }
        // A step that could still have chosen a value has not been seen to its end.
        if let Some(Decision::Value(_)) = decisions.get(common) {
            common = common.saturating_sub(1);
        }
        let kept = self.event_of.get(common).map_or(self.events.len(), |event| *event as usize);
        let begin = self.events.get(kept).map_or(common, |event| event.point as usize);
        self.truncate(kept);
        begin
    }

    /// Forgets all but the first so many events.
    fn truncate(&mut self, kept: usize) {
        let begin = self.events.get(kept).map_or(self.decisions.len(), |event| event.point as usize);
        for index in (kept..self.events.len()).rev() {
            let event = self.events[index];
            let first = event.op.object.filter(|_| event.op.access != Access::None);
            for object in event.op.also.into_iter().chain(first) {
                let touch = self.touches.pop().expect("an event's accesses are noted");
                self.last[object.index() * self.stride + event.thread.index()] = touch.before;
                self.last_write[object.index()] = touch.write_before;
            }
            self.threads[event.thread.index()].events.pop();
        }
        let objects = self.events.get(kept).map(|event| event.objects);
        self.words.truncate(kept as u32, if kept == 0 { Some(0) } else { objects });
        self.events.truncate(kept);
        self.clocks.truncate(kept * self.stride);
        self.enabled_before.truncate(kept * self.stride.div_ceil(64));
        self.choices_at.truncate(kept);
        self.choices.truncate(self.choices_at.last().map_or(0, |end| *end as usize));
        self.decisions.truncate(begin);
        self.event_of.truncate(begin);
        for line in &mut self.threads {
            let exists = match line.creator {
                Some(creator) => (creator as usize) < kept,
                None => kept > 0 && !line.pending.is_empty(),
            };
            if exists {
                line.pending.truncate(line.events.len() + 1);
                let last = line.events.last().map(|last| self.events[*last as usize].op.kind);
                line.ended = last == Some(OpKind::End);
            } else {
                line.pending.clear();
                line.creator = None;
                line.ended = false;
            }
        }
    }

    fn note_enabled(&mut self, record: &Record, point: usize) {
        let enabled = record.enabled_words(&record.points()[point]);
        for word in 0..self.stride.div_ceil(64) {
            self.enabled_before.push(enabled.get(word).copied().unwrap_or(0));
        }
    }

    /// Whether a thread could have been chosen instead of an event's.
    fn was_enabled(&self, event: usize, thread: usize) -> bool {
        let word = self.enabled_before[event * self.stride.div_ceil(64) + thread / 64];
        word >> (thread % 64) & 1 == 1
    }

    /// Notes what the thread that has just taken a step, and threads that are new, will do next.
    fn note_pending(&mut self, record: &Record, step: usize, mode: Races) {
        for pending in record.pending(step) {
            let index = pending.thread.index();
            let objects = pending.gate.object.max(pending.op.object).max(pending.op.also);
            if let Some(last) = objects {
                self.words.initial(last.index(), record);
            }
            let line = &mut self.threads[index];
            if line.pending.is_empty() && index > 0 {
                line.creator = self.events.len().checked_sub(1).map(|event| event as u32);
            }
            if line.pending.len() == line.events.len() {
                line.pending.push((pending.op, pending.gate));
                if mode.all() && !line.ended {
                    self.all_races(ThreadId(index as u32), &pending.op);
                }
            }
        }
    }

    /// The most recent dependent step of each other thread (Algorithm 2, line 6).
    fn all_races(&mut self, thread: ThreadId, op: &Op) {
        let first = op.object.filter(|_| op.access != Access::None);
        if first.or(op.also).is_none() {
            return;
        }
        for other in (0..self.threads.len()).filter(|other| *other != thread.index()) {
            let last = |object: Option<ObjectId>, access| {
                let touch = *self.last.get(object?.index() * self.stride + other)?;
                let touch = self.touches.get(touch as usize)?;
                let touch =
                    if access == Access::Read { self.touches.get(touch.write as usize)? } else { touch };
                Some(touch.event)
            };
            if let Some(event) = last(first, op.access).max(last(op.also, Access::Write)) {
                self.note_race(event, thread);
            }
        }
    }

    /// Notes a race, once.
    fn note_race(&mut self, event: u32, thread: ThreadId) {
        let raced = &mut self.events[event as usize].raced;
        let bit = 1_u64.checked_shl(thread.0).unwrap_or(0);
        if *raced & bit == 0 {
            *raced |= bit;
            self.races.push(Race::between(event, thread));
        }
    }

    /// A thread's last step that an operation depends on and that is accepted; `None` ends the search.
    fn last_dependent(
        &self,
        thread: usize,
        op: &Op,
        mut accept: impl FnMut(u32) -> Option<bool>,
    ) -> Option<u32> {
        let mut last = None;
        for (object, access) in op.touches().filter(|(_, access)| *access != Access::None) {
            let mut at = self.last.get(object.index() * self.stride + thread).copied().unwrap_or(NONE);
            while at != NONE {
                if access == Access::Read {
                    at = self.touches[at as usize].write;
                    if at == NONE {
                        break;
                    }
                }
                let touch = self.touches[at as usize];
                match accept(touch.event) {
                    Some(false) => at = touch.before,
                    Some(true) => {
                        last = last.max(Some(touch.event));
                        break;
                    }
                    None => break,
                }
            }
        }
        last
    }

    /// Whether a thread's operation with this clock could go on if it came before an earlier event and all
    /// that depends on that.
    fn reversible(
        &self,
        event: u32,
        thread: ThreadId,
        taken: u32,
        clock: &[u32],
        state: &mut Vec<u32>,
    ) -> bool {
        let pending = self.threads[thread.index()].pending.get(taken as usize);
        if pending.is_some_and(|(_, gate)| *gate == Gate::OPEN) {
            return true;
        }
        state.clear();
        state.extend((0..self.threads.len()).map(|other| {
            let line = &self.threads[other].events;
            let up_to = line.partition_point(|other| *other < event);
            let needed = clock[other] as usize;
            let after =
                line[up_to..].partition_point(|other| !self.happens_before(event as usize, *other as usize));
            up_to.max(needed.min(up_to + after)) as u32
        }));
        state[thread.index()] = taken;
        self.status_from(event, state, thread) != Status::Blocked
    }

    /// The dependent steps that nothing stands between: those that could change places with the thread's
    /// next operation. `second` is the event of that operation, if it was performed.
    fn reduced_races(&mut self, thread: ThreadId, op: &Op, second: Option<usize>) {
        let line = &self.threads[thread.index()];
        let taken_before = line.events.len() - usize::from(second.is_some());
        let before = line.events[..taken_before].last().copied().or(line.creator);
        let Scratch { mut clock, mut state, races: mut found } = std::mem::take(&mut self.scratch);
        found.clear();
        clock.clear();
        let taken = match second {
            Some(second) => {
                clock.extend_from_slice(self.clock(second));
                self.events[second].number
            }
            None => {
                self.clock_of(op, before, &mut clock);
                taken_before as u32
            }
        };
        for other in (0..self.threads.len()).filter(|other| *other != thread.index()) {
            // Steps that happened before this thread's last one cannot change places with its next, and nor
            // can those before them.
            let ordered = before.map_or(0, |before| self.clock(before as usize)[other]);
            if clock[other] == ordered {
                continue;
            }
            let accept = |event: u32| {
                if self.events[event as usize].number < ordered {
                    return None;
                }
                Some(self.reversible(event, thread, taken, &clock, &mut state))
            };
            if let Some(event) = self.last_dependent(other, op, accept) {
                found.push(Race::between(event, thread));
            }
        }
        let mut reduced = std::mem::take(&mut self.reduced);
        let begin = reduced.len();
        let between = |race: &Race| {
            found.iter().any(|other| {
                other.event != race.event && self.happens_before(race.event as usize, other.event as usize)
            })
        };
        reduced.extend(found.iter().filter(|race| !between(race)));
        if reduced.len() > begin {
            let clock = match second {
                Some(second) => second as u32,
                None => {
                    self.extra.extend_from_slice(&clock);
                    EXTRA | (self.extra.len() / self.stride - 1) as u32
                }
            };
            reduced[begin..].iter_mut().for_each(|race| race.second = Some(clock));
        }
        self.reduced = reduced;
        self.scratch = Scratch { clock, state, races: found };
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
                let base = (second & !EXTRA) as usize * self.stride;
                &self.extra[base..base + self.stride]
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
        let independent: Vec<Option<usize>> = (0..self.threads.len())
            .map(|thread| {
                let line = &self.threads[thread].events;
                let at = line.partition_point(|event| *event as usize <= first);
                line.get(at)
                    .map(|event| *event as usize)
                    .filter(|event| *event < last && !self.happens_before(first, *event))
            })
            .collect();
        let second = self.second_clock(race);
        (0..self.threads.len())
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
                let enabled = independent[thread].is_some() || self.was_enabled(first, thread);
                enabled && !(0..self.threads.len()).any(|index| index != thread && other(index))
            })
            .map(|thread| ThreadId(thread as u32))
            .collect()
    }

    /// What would happen before an operation, were it performed now.
    pub(crate) fn clock_of(&self, op: &Op, before: Option<u32>, clock: &mut Vec<u32>) {
        clock.clear();
        match before {
            Some(before) => clock.extend_from_slice(self.clock(before as usize)),
            None => clock.resize(self.stride, 0),
        }
        for (object, access) in op.touches() {
            self.past(object.index(), access, |event| join(clock, self.clock(event)));
        }
    }

    fn push(&mut self, event: Event, after_all: bool, mode: Races) {
        let joined = self.add(event, after_all);
        let index = self.events.len() - 1;
        if mode.reduced() && joined {
            self.reduced_races(event.thread, &event.op, Some(index));
        }
        self.access(index);
        if mode.all() {
            for other in (0..self.threads.len()).filter(|other| *other != event.thread.index()) {
                let line = &self.threads[other];
                if let (Some((op, _)), false) = (line.pending.get(line.events.len()), line.ended)
                    && op.conflicts_with(&event.op)
                {
                    self.note_race(index as u32, ThreadId(other as u32));
                }
            }
        }
    }

    /// Adds an event with its clock. Says whether more happened before it than before its thread's last one.
    fn add(&mut self, event: Event, after_all: bool) -> bool {
        let index = self.events.len();
        let thread = event.thread.index();
        let line = &mut self.threads[thread];
        let before = line.events.last().copied().or(line.creator);
        line.events.push(index as u32);
        line.ended = event.op.kind == OpKind::End;
        let Graph { clocks, stride, touches, last, last_write, events, threads, .. } = self;
        let stride = *stride;
        let base = clocks.len();
        match before {
            Some(before) => {
                let before = before as usize * stride;
                clocks.extend_from_within(before..before + stride);
            }
            None => clocks.resize(base + stride, 0),
        }
        let (past, clock) = clocks.split_at_mut(base);
        let mut joined = after_all;
        let mut comes_after = |touch: u32| {
            let earlier = touches[touch as usize].event as usize;
            let earlier_event = &events[earlier];
            if earlier_event.number >= clock[earlier_event.thread.index()] {
                joined = true;
                join(clock, &past[earlier * stride..(earlier + 1) * stride]);
            }
        };
        for (object, access) in event.op.touches() {
            let object = object.index();
            let Some(&write) = last_write.get(object) else { continue };
            match access {
                Access::None => {}
                Access::Read if write == NONE => {}
                Access::Read => comes_after(write),
                Access::Write => {
                    let all = &last[object * stride..(object + 1) * stride];
                    all.iter().filter(|touch| **touch != NONE).for_each(|touch| comes_after(*touch));
                }
            }
        }
        if after_all {
            for (mine, line) in clock.iter_mut().zip(threads) {
                *mine = line.events.len() as u32;
            }
        }
        clock[thread] = event.number + 1;
        events.push(Event { joins: joined || event.number == 0, ..event });
        joined
    }

    /// Adds an event to the accesses of its objects.
    fn access(&mut self, index: usize) {
        let event = self.events[index];
        for (object, access) in event.op.touches().filter(|(_, access)| *access != Access::None) {
            let object = object.index();
            if self.last_write.len() <= object {
                self.last_write.resize(object + 1, NONE);
                self.last.resize((object + 1) * self.stride, NONE);
            }
            let this = self.touches.len() as u32;
            let last = &mut self.last[object * self.stride + event.thread.index()];
            let (before, write_before) = (*last, self.last_write[object]);
            *last = this;
            let write = if access == Access::Write {
                self.last_write[object] = this;
                this
            } else if before == NONE {
                NONE
            } else {
                self.touches[before as usize].write
            };
            self.touches.push(Touch { event: index as u32, before, write, write_before });
        }
    }

    /// The accesses to an object that another, of this kind, comes after; of those that come after each other,
    /// the last.
    #[inline]
    fn past(&self, object: usize, access: Access, mut each: impl FnMut(usize)) {
        let Some(&write) = self.last_write.get(object) else { return };
        let last = match access {
            Access::None => &[],
            Access::Read => std::slice::from_ref(&write),
            Access::Write => &self.last[object * self.stride..(object + 1) * self.stride],
        };
        for &touch in last.iter().filter(|touch| **touch != NONE) {
            each(self.touches[touch as usize].event as usize);
        }
    }

    /// The values that an event's step chose, each among how many.
    #[inline]
    pub(crate) fn choices(&self, event: usize) -> &[(u32, u32)] {
        if self.choices.is_empty() {
            return &[];
        }
        let begin = event.checked_sub(1).map_or(0, |before| self.choices_at[before] as usize);
        &self.choices[begin..self.choices_at[event] as usize]
    }

    /// How many steps of each thread happened before an event, itself included.
    pub(crate) fn clock(&self, event: usize) -> &[u32] {
        &self.clocks[event * self.stride..(event + 1) * self.stride]
    }

    /// Whether an event happened before another, or is the same.
    pub(crate) fn happens_before(&self, first: usize, second: usize) -> bool {
        let event = &self.events[first];
        self.clock(second)[event.thread.index()] > event.number
    }
}

/// Makes a clock the later of itself and another, thread by thread.
fn join(clock: &mut [u32], other: &[u32]) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
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
            Graph { threads: (0..threads).map(line).collect(), stride: threads, ..Graph::default() };
        graph.words.threads(threads);
        for (thread, after) in std::iter::once(&(0, Vec::new())).chain(events) {
            let index = graph.events.len();
            let number = graph.threads[*thread].events.len() as u32;
            let id = ThreadId(*thread as u32);
            graph.events.push(Event {
                thread: id,
                number,
                op: Op::default(),
                point: index as u32,
                objects: 0,
                joins: true,
                raced: 0,
            });
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

//! The happens-before graph of a finished execution, with its edges: vector clocks, and for each step the
//! steps of other threads that it depends on.

mod races;

use selvedge_core::{Access, Decision, ObjectId, Op, OpKind, ThreadId};

pub(crate) use self::races::{Race, Races};
use crate::config::Words;
use crate::gate::Gate;
use crate::record::{Pending, Record, in_common};
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
    /// How many words a clock has: at least as many as there are threads, and a multiple of [`CHUNK`].
    stride: usize,
    /// What events did to objects, in their order.
    touches: Vec<Touch>,
    /// For each object a row, of `stride + 1`: for each thread the last of these, as an index, or [`NONE`]; and at
    /// the end of the row the last that wrote the object.
    last: Vec<u32>,
    pub(crate) words: Words,
    /// What each thread but the one that runs is about to do, where races with that are collected; nothing, if it has
    /// ended.
    next: Vec<Op>,
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
    /// What races are turned round with.
    moved: Vec<u32>,
    scratch: Scratch,
}

/// Memory that is used again and again.
#[derive(Clone, Debug, Default)]
struct Scratch {
    clock: Vec<u32>,
    races: Vec<Race>,
    independent: Vec<Option<usize>>,
}

/// An access of an event to an object. The last three are indices, or [`NONE`].
#[derive(Clone, Copy, Debug)]
struct Touch {
    event: u32,
    /// The event's thread, and how many steps that had taken before.
    thread: u32,
    number: u32,
    /// Where the object's row begins in [`Graph::last`].
    row: u32,
    /// The thread's access to the object before this one.
    before: u32,
    /// The thread's last access up to this one that wrote the object.
    write: u32,
    /// The last access of any thread before this one that wrote the object.
    write_before: u32,
}

/// No access.
const NONE: u32 = u32::MAX;

/// So many words of a clock are copied at once.
const CHUNK: usize = 4;

/// What is known as long as one thread takes all the steps, and no thread is new. Accesses are bits: see [`bit`].
#[derive(Debug, Default)]
struct Run {
    thread: Option<ThreadId>,
    /// Its last event, if it is of this run.
    last: Option<u32>,
    /// What it has done.
    touched: u64,
    /// What it was about to do, so that the races of that are noted.
    wanted: u64,
    /// What no other thread is about to conflict with.
    alone: u64,
}

/// A bit for what an operation does to its object, if it has one and that is one of the first; 0 otherwise. For each
/// object there is one for reads, and above it one for writes.
#[inline(always)]
fn bit(op: &Op) -> u64 {
    const { assert!(Access::None as u64 == 0 && Access::Read as u64 == 1 && Access::Write as u64 == 2) };
    match op.object {
        Some(object) if object.index() < 32 && op.also.is_none() => {
            (op.access as u64) << (object.index() * 2)
        }
        _ => 0,
    }
}

/// The bits for reads.
const READS: u64 = u64::MAX / 3;

impl ThreadLine {
    /// What it is about to do; nothing, if it has ended.
    fn next(&self) -> Op {
        match self.pending.get(self.events.len()) {
            Some((op, _)) if !self.ended => *op,
            _ => Op::default(),
        }
    }
}

impl Graph {
    /// Makes this the graph of an execution, and collects those of its races that the one before did not
    /// have. Only what the two do not have in common costs time. Says how many events they have in common.
    pub(crate) fn update(&mut self, execution: &Finished<'_>, mode: Races) -> usize {
        let record = execution.record;
        let threads = record.threads();
        if threads > self.stride {
            self.clear();
            self.stride = threads.next_multiple_of(CHUNK);
            self.last.clear();
        }
        let begin = self.keep_common(execution);
        let common = self.events.len();
        self.races.clear();
        self.reduced.clear();
        self.extra.clear();
        self.moved.clear();
        self.threads.resize_with(threads, ThreadLine::default);
        for (index, line) in self.threads.iter_mut().enumerate() {
            line.name = record.name(ThreadId(index as u32));
        }
        self.next.clear();
        if mode.all() {
            self.next.extend(self.threads.iter().map(ThreadLine::next));
        }
        self.words.threads(threads);
        self.words.begin_with(record);
        self.decisions.extend_from_slice(&record.decisions()[begin..]);
        self.stopped = execution.stopped;
        // One thing after the other: that takes fewer instructions than all of it for each step.
        self.add_events(record, begin);
        self.note_pending(record, common);
        self.note_changes(record, begin);
        if mode.reduced() {
            self.note_enabled(record, common);
        }
        self.order(record, common, mode);
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

    /// Keeps the events that an execution begins with too. Says with which decision the next event begins.
    fn keep_common(&mut self, execution: &Finished<'_>) -> usize {
        let decisions = execution.record.decisions();
        let common = in_common(&self.decisions, self.stopped, decisions, execution.stopped);
        let kept = match self.decisions.len() {
            all if common == all => self.events.len(),
            _ => self.event_of(common),
        };
        let begin = self.events.get(kept).map_or(common, |event| event.point as usize);
        self.truncate(kept);
        begin
    }

    /// Forgets all but the first so many events.
    fn truncate(&mut self, kept: usize) {
        let begin = self.events.get(kept).map_or(self.decisions.len(), |event| event.point as usize);
        let touches = self.touches.partition_point(|touch| (touch.event as usize) < kept);
        for touch in self.touches.drain(touches..).rev() {
            let row = &mut self.last[touch.row as usize..touch.row as usize + self.stride + 1];
            row[touch.thread as usize] = touch.before;
            row[self.stride] = touch.write_before;
        }
        self.words.truncate(kept as u32);
        self.events.truncate(kept);
        self.clocks.truncate(kept * self.stride);
        self.enabled_before.truncate(kept * self.stride.div_ceil(64));
        self.choices_at.truncate(kept);
        self.choices.truncate(self.choices_at.last().map_or(0, |end| *end as usize));
        self.decisions.truncate(begin);
        for line in &mut self.threads {
            line.events.truncate(line.events.partition_point(|event| (*event as usize) < kept));
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

    /// The decisions before an event.
    pub(crate) fn decisions_before(&self, event: usize) -> &[Decision] {
        &self.decisions[..self.events.get(event).map_or(self.decisions.len(), |event| event.point as usize)]
    }

    /// The event that a decision belongs to.
    fn event_of(&self, decision: usize) -> usize {
        // Where no values are chosen, each decision has its event.
        match self.events.get(decision) {
            Some(event) if event.point as usize == decision => decision,
            _ => self.events.partition_point(|event| event.point as usize <= decision) - 1,
        }
    }

    /// Adds the events from this decision on.
    fn add_events(&mut self, record: &Record, begin: usize) {
        let (decisions, points) = (record.decisions(), record.points());
        let (mut point, mut thread) = (0, ThreadId(0));
        for index in begin..points.len() {
            match decisions[index] {
                Decision::Thread(chosen) => (point, thread) = (index as u32, chosen),
                Decision::Value(value) => {
                    // The events before this one have no more choices.
                    self.choices_at.resize(self.events.len(), self.choices.len() as u32);
                    self.choices.push((value, points[index].arity));
                }
            }
            if let Some(Decision::Value(_)) = decisions.get(index + 1) {
                continue;
            }
            let line = &mut self.threads[thread.index()].events;
            let number = line.len() as u32;
            line.push(self.events.len() as u32);
            self.events.push(Event { thread, number, op: points[index].op, point, raced: 0 });
        }
        self.choices_at.resize(self.events.len(), self.choices.len() as u32);
        for line in &mut self.threads {
            let last = line.events.last().map(|last| self.events[*last as usize].op.kind);
            line.ended = last == Some(OpKind::End);
        }
    }

    /// Notes what threads are about to do after the events from this one on; and before the first of all.
    fn note_pending(&mut self, record: &Record, first: usize) {
        let pending = record.all_pending().0;
        let (mut begin, mut events) = (0, 0);
        if first > 0 {
            (begin, events) = (self.pending_until(record, first), first + 1);
        }
        while events <= self.events.len() {
            let end = self.pending_until(record, events);
            while begin < end {
                let Pending { thread, op, gate } = &pending[begin];
                begin += 1;
                let objects = |object: Option<ObjectId>| object.map_or(0, |object| object.index() + 1);
                let objects = objects(op.object).max(objects(op.also)).max(objects(gate.object));
                if objects > self.words.known() {
                    self.words.initial(objects, events as u32, record);
                }
                let line = &mut self.threads[thread.index()];
                if line.pending.is_empty() && thread.0 > 0 {
                    line.creator = events.checked_sub(1).map(|event| event as u32);
                }
                line.pending.push((*op, *gate));
            }
            events += 1;
        }
    }

    /// Where what threads are about to do after so many events ends in the record.
    #[inline]
    fn pending_until(&self, record: &Record, events: usize) -> usize {
        let (pending, pending_at) = record.all_pending();
        let step = self.events.get(events).map_or(self.decisions.len(), |event| event.point as usize);
        pending_at.get(step + 1).map_or(pending.len(), |at| *at as usize)
    }

    /// Notes what the steps from this decision on changed, and whom they signalled.
    fn note_changes(&mut self, record: &Record, begin: usize) {
        let changes = record.changes();
        for &(at, object, difference) in
            &changes[changes.partition_point(|change| (change.0 as usize) < begin)..]
        {
            self.words.changed(object as usize, self.event_of(at as usize) as u32, difference);
        }
        let signals = record.signals();
        for &(at, thread) in &signals[signals.partition_point(|signal| (signal.0 as usize) < begin)..] {
            let event = self.event_of(at as usize) as u32;
            // A thread that signals itself waits only after that step.
            let taken = self.threads[thread.index()].events.partition_point(|other| *other <= event);
            self.words.signalled(thread, event, taken as u32);
        }
    }

    /// Works out what happened before the events from this one on, and collects their races.
    #[inline(never)]
    fn order(&mut self, record: &Record, first: usize, mode: Races) {
        let pending = record.all_pending().0;
        let mut noted = 0;
        if mode.all() && first > 0 {
            noted = self.pending_until(record, first);
        } else if mode.all() {
            noted = self.pending_until(record, 0);
            pending[..noted].iter().for_each(|pending| self.new_thread(pending));
        }
        let mut run = Run::default();
        for event in first..self.events.len() {
            let Event { thread, number, op, .. } = self.events[event];
            if run.thread != Some(thread) {
                self.begin_run(thread, event, &mut run);
            }
            let done = bit(&op);
            let joined = self.follow(event, thread, number, &op, done, &mut run);
            if mode.reduced() && joined {
                self.reduced_races(thread, &op, Some(event));
            }
            if !mode.all() {
                continue;
            }
            if run.alone & done == 0 {
                run.alone |= self.races_with(event as u32, &op, done);
            }
            let until = self.pending_until(record, event + 1);
            while noted < until {
                let pending = &pending[noted];
                noted += 1;
                if pending.thread != thread {
                    self.new_thread(pending);
                    run.alone = 0;
                    continue;
                }
                let wanted = bit(&pending.op);
                if run.wanted & wanted == 0 && op.kind != OpKind::End {
                    run.wanted |= wanted;
                    self.all_races(thread, &pending.op);
                }
            }
        }
    }

    /// Notes which threads could have been chosen, for the events from this one on.
    fn note_enabled(&mut self, record: &Record, first: usize) {
        let Some(begin) = self.events.get(first).map(|event| &record.points()[event.point as usize]) else {
            return;
        };
        let words = record.enabled_words_from(begin);
        if self.stride <= 64 && words.len() == self.events.len() - first {
            // Each event has its word.
            self.enabled_before.extend_from_slice(words);
            return;
        }
        for event in &self.events[first..] {
            let enabled = record.enabled_words(&record.points()[event.point as usize]);
            for word in 0..self.stride.div_ceil(64) {
                self.enabled_before.push(enabled.get(word).copied().unwrap_or(0));
            }
        }
    }

    /// From this event on another thread runs.
    fn begin_run(&mut self, thread: ThreadId, event: usize, run: &mut Run) {
        if !self.next.is_empty() {
            if let Some(before) = run.thread {
                let Event { number, op, .. } = self.events[event - 1];
                let next = self.threads[before.index()].pending.get(number as usize + 1);
                let next = next.filter(|_| op.kind != OpKind::End).map_or(Op::default(), |(op, _)| *op);
                self.next[before.index()] = next;
            }
            self.next[thread.index()] = Op::default();
        }
        *run = Run { thread: Some(thread), ..Run::default() };
    }

    /// Adds an event's clock and its accesses. Says whether more happened before it than before its thread's last one.
    #[inline]
    fn follow(
        &mut self,
        event: usize,
        thread: ThreadId,
        number: u32,
        op: &Op,
        bit: u64,
        run: &mut Run,
    ) -> bool {
        let after_all = self.stopped && event + 1 == self.events.len();
        let Graph { clocks, stride, threads, .. } = self;
        let before = match run.last {
            Some(last) => Some(last),
            None => {
                let line = &threads[thread.index()];
                (number as usize).checked_sub(1).map(|last| line.events[last]).or(line.creator)
            }
        };
        run.last = Some(event as u32);
        let event = event as u32;
        let base = clocks.len();
        match before {
            Some(before) => {
                let before = before as usize * *stride;
                let (mut chunk, end) = (before, before + *stride);
                while chunk < end {
                    let words: &[u32; CHUNK] =
                        clocks[chunk..].first_chunk().expect("a clock has whole chunks");
                    let words = *words;
                    clocks.extend_from_slice(&words);
                    chunk += CHUNK;
                }
            }
            None => clocks.resize(base + *stride, 0),
        }
        if after_all {
            for (mine, line) in clocks[base..].iter_mut().zip(&*threads) {
                *mine = line.events.len() as u32;
            }
        }
        clocks[base + thread.index()] = number + 1;
        let mut joined = after_all;
        if let Some(object) = op.object
            && op.access != Access::None
        {
            // Nothing is new to a thread that did the same in this run.
            let known = run.touched & bit != 0;
            run.touched |= bit | bit >> 1 & READS;
            joined |= self.touch(object.index(), op.access, event, thread, number, known);
        }
        if let Some(object) = op.also {
            joined |= self.touch_also(object.index(), event, thread, number);
        }
        joined
    }

    /// Adds an access of the event that is being added. Says whether more happened before it than was known; it is
    /// `known` if that cannot be.
    #[inline(always)]
    fn touch(
        &mut self,
        object: usize,
        access: Access,
        event: u32,
        thread: ThreadId,
        number: u32,
        known: bool,
    ) -> bool {
        let Graph { clocks, stride, touches, last, threads, .. } = self;
        let stride = *stride;
        let row = object * (stride + 1);
        if last.len() <= row {
            last.resize(row + stride + 1, NONE);
        }
        let last = &mut last[row..row + stride + 1];
        let base = clocks.len() - stride;
        let mut joined = false;
        let (before, write_before) = (last[thread.index()], last[stride]);
        let this = touches.len() as u32;
        let mut write = if before == NONE { NONE } else { touches[before as usize].write };
        if access == Access::Write {
            if !known {
                for (touch, other) in last[..threads.len()].iter().zip(base..) {
                    if *touch != NONE
                        && let touch = &touches[*touch as usize]
                        && touch.number >= clocks[other]
                    {
                        joined = true;
                        join_event(clocks, stride, touch.event);
                    }
                }
            }
            last[stride] = this;
            write = this;
        } else if !known
            && write_before != NONE
            && let touch = &touches[write_before as usize]
            && touch.number >= clocks[base + touch.thread as usize]
        {
            joined = true;
            join_event(clocks, stride, touch.event);
        }
        last[thread.index()] = this;
        let (thread, row) = (thread.0, row as u32);
        touches.push(Touch { event, thread, number, row, before, write, write_before });
        joined
    }

    /// The same for the second object of an operation, which few have.
    #[cold]
    fn touch_also(&mut self, object: usize, event: u32, thread: ThreadId, number: u32) -> bool {
        self.touch(object, Access::Write, event, thread, number, false)
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

/// Makes the last of these clocks the later of itself and an event's.
#[inline(never)]
fn join_event(clocks: &mut [u32], stride: usize, event: u32) {
    let (past, clock) = clocks.split_at_mut(clocks.len() - stride);
    join(clock, &past[event as usize * stride..(event as usize + 1) * stride]);
}

/// Makes a clock the later of itself and another, thread by thread.
fn join(clock: &mut [u32], other: &[u32]) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

//! How the graph of an execution is made, step by step, from what was recorded.

use selvedge_core::{Access, OpKind};

use super::certain::{Counted, Stand};
use super::script::{Move, Run, Script};
use super::{Costs, Lattice, Line, NOBODY, NONE, Object, Step, Threads, Touch};
use crate::happens_before::{action_hash, alone_hash, stop_hash, value_hash};
use crate::record::{Pending, in_common};
use crate::strategy::Finished;

impl Lattice {
    /// Makes the graph that of an execution, which is within this bound, if there is one; the prefix is all of it. Says
    /// how many steps it has in common with the one before.
    pub(crate) fn update(&mut self, execution: &Finished<'_>, most: Option<u32>) -> usize {
        let decisions = execution.record.decisions();
        let common = in_common(&self.decisions, self.stopped, decisions);
        let kept = self.steps.partition_point(|step| step.decisions as usize <= common);
        let script = self.script(execution, kept);
        self.decisions.truncate(common);
        self.decisions.extend_from_slice(&decisions[common..]);
        self.load(kept, most, script);
        kept
    }

    /// The steps of an execution but for the first so many, which are loaded.
    pub(crate) fn script<'a>(&self, execution: &Finished<'a>, kept: usize) -> Run<'a> {
        Run::starting(execution, kept.checked_sub(1).map_or(0, |last| self.steps[last].decisions as usize))
    }

    /// Forgets the graph.
    pub(crate) fn clear(&mut self) {
        self.decisions.clear();
        self.unload(0);
    }

    /// Makes the graph that of an execution, which is within this bound, if there is one. Its first steps are loaded, so
    /// many, and the script goes on from there.
    pub(crate) fn load<'a>(&mut self, kept: usize, most: Option<u32>, mut script: impl Script<'a>) {
        self.most = most;
        self.unload(kept);
        self.stale.get_or_insert(kept);
        let mut initials = script.initials();
        for index in 0.. {
            let Some(initial) = initials.next().or((index < self.objects.len()).then_some(0)) else { break };
            let object = self.object(index);
            object.word = object.word.wrapping_add(initial.wrapping_sub(object.initial));
            object.initial = initial;
        }
        drop(initials);
        self.calm = false;
        if kept == 0 {
            for pending in script.first() {
                self.add_thread(pending, NONE, script.name(pending.thread));
            }
        }
        // What can go on may depend on the words that objects begin with.
        self.look_again(self.masks.waiting);
        while let Some(step) = script.next(&mut self.choices) {
            self.load_step(&step, &script);
        }
    }

    pub(super) fn object(&mut self, index: usize) -> &mut Object {
        if index >= self.objects.len() {
            self.objects.resize_with(index + 1, Object::default);
        }
        &mut self.objects[index]
    }

    /// Adds a thread that has been created.
    fn add_thread(&mut self, pending: &Pending, creator: u32, name: u64) {
        let thread = self.taken.len();
        debug_assert_eq!(thread, pending.thread.index(), "threads are numbered as they are created");
        self.taken.push(0);
        self.covered.push(0);
        self.counted.push(Counted::default());
        if thread >= self.stride {
            self.widen();
        }
        if thread >= self.lines.len() {
            self.lines.resize_with(thread + 1, Line::default);
        }
        let line = &mut self.lines[thread];
        line.name = name;
        line.creator = creator;
        line.stands.clear();
        line.gates.clear();
        line.signals.clear();
        let mut stand = Stand::new();
        if !pending.gate.is_open() {
            self.wait_at(thread, &mut stand, &pending.gate, false);
        }
        self.lines[thread].stands.push(stand);
        self.masks.set(thread, &stand);
        self.look_again(1 << thread);
    }

    /// Makes room for more threads in clocks.
    #[cold]
    fn widen(&mut self) {
        let width = self.taken.len().next_power_of_two().max(4);
        let rows = self.clocks.chunks_exact(self.stride.max(1));
        let rest = std::iter::repeat_n(&0, width - self.stride);
        let clocks: Vec<u32> = rows.flat_map(|row| row.iter().chain(rest.clone())).copied().collect();
        self.clocks = clocks;
        if self.clocks.is_empty() {
            self.clocks.resize(width, 0);
        }
        self.stride = width;
    }

    /// Adds the next step.
    fn load_step<'a>(&mut self, step: &Move<'a>, script: &impl Script<'a>) {
        let index = self.steps.len();
        let thread = step.thread.index();
        let number = self.taken[thread];
        let ordinal = u64::from(number) + 1;
        let line = &self.lines[thread];
        let name = line.name;
        let mut row = line.stands[number as usize].row;
        let before = self.steps.last().map_or(0, |last| last.choices as usize);
        let chooses = before < self.choices.len();
        let (least, forced) = self.weigh(thread, step.run, !chooses);

        if let Some(last) = step.op.object.max(step.op.also)
            && last.index() >= self.objects.len()
        {
            self.object(last.index());
        }
        let mut touches = [Touch::default(); 2];
        let (mut touched, mut owned, mut waited) = (0, true, false);
        let mut touch = |slot: usize, object: usize, writes: bool| {
            let object = &self.objects[object];
            owned &= usize::from(object.owner) == thread || object.touches.is_empty();
            waited |= writes && object.waiters != 0;
            action_hash(name, ordinal, &step.op, slot, object.writes + u32::from(writes))
        };
        let mut slot = 0;
        if let Some(object) = step.op.object {
            if step.op.access != Access::None {
                let writes = step.op.access == Access::Write;
                let action = touch(0, object.index(), writes);
                touches[0] = Touch { action, object: object.index() as u32, writes, ..Touch::default() };
                touched = 1;
            }
            slot = 1;
        }
        if let Some(object) = step.op.also {
            let action = touch(slot, object.index(), true);
            touches[touched] =
                Touch { action, object: object.index() as u32, writes: true, ..Touch::default() };
            touched += 1;
        }
        let mut joins = 0;
        if !owned || number == 0 || step.stops {
            (row, joins) = self.join(thread, row, &touches[..touched], step.stops);
        }
        let mut alone = 0;
        if touched == 0 {
            alone = alone_hash(name, ordinal, &step.op);
        }
        if chooses {
            for &(value, _) in &self.choices[before..] {
                alone ^= value_hash(name, ordinal - 1, value);
            }
        }
        if step.stops {
            alone ^= stop_hash(name, ordinal);
        }
        for touch in &mut touches[..touched] {
            let object = &mut self.objects[touch.object as usize];
            (touch.owner, touch.last_write) = (object.owner, object.last_write);
            // After a read others may have read that this thread knows nothing of.
            let was_written = object.touches.last().is_none_or(|touch| touch & 1 == 1);
            if touch.writes || was_written {
                object.owner = thread as u8;
            } else if usize::from(object.owner) != thread {
                object.owner = NOBODY;
            }
            object.touches.push((index as u32) << 1 | u32::from(touch.writes));
            if touch.writes {
                object.last_write = index as u32;
                object.writes += 1;
                object.written += 1;
            }
        }
        let begin = self.changes.len() as u32;
        let (mut wakes, mut affects): (Threads, Threads) = (0, 0);
        for &(_, object, difference) in step.changes {
            self.changes.push((object, difference));
            let written = touches[..touched].iter().any(|touch| touch.object == object && touch.writes);
            let object = &mut self.objects[object as usize];
            object.word = object.word.wrapping_add(difference);
            object.unwritten += u32::from(!written);
            affects |= object.waiters;
        }
        for &(_, signalled) in step.signals {
            let taken = self.taken[signalled.index()];
            self.lines[signalled.index()].signals.push((index as u32, taken));
            wakes |= 1 << signalled.0;
        }
        let mut own = None;
        for next in step.next {
            if next.thread == step.thread {
                own = Some(&next.gate).filter(|_| step.op.kind != OpKind::End);
            } else if next.thread.index() >= self.taken.len() {
                wakes |= 1 << next.thread.0;
            }
        }
        self.steps.push(Step {
            after: step.after,
            alone,
            touches,
            touched: touched as u8,
            thread: thread as u8,
            forced,
            kind: step.op.kind,
            joins,
            wakes,
            single: step.op.also.is_none(),
            quiet: step.changes.is_empty(),
            number,
            decisions: step.decisions,
            changes: (begin, self.changes.len() as u32),
            choices: self.choices.len() as u32,
            costs: Costs { least, run: step.run },
        });
        self.taken[thread] = number + 1;
        self.length += 1;
        self.hash = step.after;
        self.stopped = step.stops;
        self.masks.frontier |= 1 << thread;
        if joins != 0 {
            self.cover(row, joins);
        }
        let same = self.load_stand(thread, row, joins, step.op.yields(), own);
        self.calm = same && joins == 0 && wakes == 0 && !waited && !chooses && step.changes.is_empty();
        if affects | wakes != 0 {
            self.look_again(affects | wakes);
        }
        if step.next.len() > 1 {
            for pending in step.next {
                if pending.thread.index() >= self.taken.len() {
                    self.add_thread(pending, index as u32, script.name(pending.thread));
                }
            }
        }
    }

    /// The clock of a thread's next step, which touches these objects, and the threads of which more happened before it
    /// than before its last one, whose clock is given.
    #[inline(never)]
    fn join(&mut self, thread: usize, row: u32, touches: &[Touch], stops: bool) -> (u32, Threads) {
        let (stride, threads) = (self.stride, self.taken.len());
        let begin = self.clocks.len();
        let Lattice { clocks, steps, lines, objects, taken, .. } = self;
        let before = row as usize * stride;
        let line = &lines[thread];
        // Takes over what has happened before a step, and that.
        let after = |clocks: &mut Vec<u32>, earlier: u32| {
            let step = &steps[earlier as usize];
            let other = usize::from(step.thread);
            let clock = if clocks.len() > begin { begin } else { before };
            if other == thread || step.number < clocks[clock + other] {
                return;
            }
            if clocks.len() == begin {
                clocks.extend_from_within(before..before + stride);
            }
            let (past, clock) = clocks.split_at_mut(begin);
            let theirs = lines[other].stands[step.number as usize + 1].row as usize * stride;
            for (mine, theirs) in clock.iter_mut().zip(&past[theirs..theirs + threads]) {
                *mine = (*mine).max(*theirs);
            }
            clock[other] = clock[other].max(step.number + 1);
        };
        if taken[thread] == 0 && line.creator != NONE {
            after(clocks, line.creator);
        }
        for touch in touches {
            let object = &objects[touch.object as usize];
            if touch.writes {
                let since = object.touches.iter().rev().take_while(|touch| **touch & 1 == 0);
                since.for_each(|touch| after(clocks, *touch >> 1));
            }
            if object.last_write != NONE {
                after(clocks, object.last_write);
            }
        }
        if stops {
            if clocks.len() == begin {
                clocks.extend_from_within(before..before + stride);
            }
            clocks[begin..begin + threads].copy_from_slice(taken);
        }
        if clocks.len() == begin {
            return (row, 0);
        }
        clocks[begin + thread] = 0;
        let (past, clock) = clocks.split_at(begin);
        let more = clock.iter().zip(&past[before..]).enumerate().filter(|(_, (now, then))| now > then);
        let joins = more.fold(0, |set, (other, _)| set | 1 << other);
        ((begin / stride) as u32, joins)
    }

    /// Forgets all but the first so many steps, which become the prefix. The execution has been where it is.
    fn unload(&mut self, kept: usize) {
        if kept == self.steps.len() && kept > 0 {
            self.walk_to(kept);
            return;
        }
        self.retrace(kept);
        if self.stale.is_some_and(|stale| stale > kept) {
            self.rehash(kept);
            self.stale = Some(kept);
        }
        for step in self.steps[kept..].iter().rev() {
            for touch in step.touches().iter().rev() {
                let object = &mut self.objects[touch.object as usize];
                object.touches.pop();
                (object.owner, object.last_write) = (touch.owner, touch.last_write);
                object.writes -= u32::from(touch.writes);
            }
            for &(object, _) in step.changes(&self.changes) {
                self.objects[object as usize].unwritten -= u32::from(!step.writes(object));
            }
        }
        self.steps.truncate(kept);
        self.changes.truncate(self.steps.last().map_or(0, |step| step.changes.1 as usize));
        self.choices.truncate(self.steps.last().map_or(0, |step| step.choices as usize));
        self.stopped = false;
        while let Some((_, thread, counted)) = self.counted_before.pop_if(|before| before.0 as usize >= kept)
        {
            self.counted[usize::from(thread)] = counted;
        }
        let exists = |line: &&Line| kept > 0 && (line.creator == NONE || (line.creator as usize) < kept);
        let threads = self.lines[..self.taken.len()].iter().take_while(exists).count();
        self.taken.truncate(threads);
        self.covered.truncate(threads);
        self.counted.truncate(threads);
        let mut rows = 0;
        for (line, taken) in self.lines.iter_mut().zip(&self.taken) {
            line.stands.truncate(*taken as usize + 1);
            let stand = &line.stands[*taken as usize];
            line.gates.truncate(stand.gates as usize);
            line.signals.truncate(line.signals.partition_point(|signal| (signal.0 as usize) < kept));
            rows = rows.max(stand.row as usize);
        }
        self.clocks.truncate((rows + 1) * self.stride);
        self.arrive();
    }
}

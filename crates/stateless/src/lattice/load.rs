//! How the graph of an execution is made, step by step, from what was recorded.

use selvedge_core::{Access, OpKind, ThreadId};

use super::certain::{Counted, Stand};
use super::script::{Move, Run, Script};
use super::{ANYBODY, Change, Costs, Lattice, Line, More, NONE, Object, Step, Threads, Touch, Touched};
use crate::happens_before::{action_hash, alone_hash, stop_hash, value_hash, whole};
use crate::record::{Pending, in_common};
use crate::strategy::Finished;

impl Lattice {
    /// Makes the graph that of an execution, which is within this bound, if there is one; the prefix is all of it.
    pub(crate) fn update(&mut self, execution: &Finished<'_>, most: Option<u32>) {
        self.make(execution, most, |script| script);
    }

    /// The same, but the graph may be [cut](Lattice::is_cut).
    pub(crate) fn update_to_last_choice(&mut self, execution: &Finished<'_>, most: Option<u32>) {
        self.make(execution, most, Run::with_ending);
    }

    fn make<'a>(&mut self, execution: &Finished<'a>, most: Option<u32>, script: impl Fn(Run<'a>) -> Run<'a>) {
        let decisions = execution.record.decisions();
        let common = in_common(&self.decisions, self.stopped, decisions, execution.stopped);
        let kept = self.steps.partition_point(|step| step.decisions as usize <= common);
        self.decisions.truncate(common);
        self.decisions.extend_from_slice(&decisions[common..]);
        self.load(kept, most, script(self.script(execution, kept)));
        if std::mem::take(&mut self.mistaken) {
            // Those who have waited for something are known from now on.
            self.load(0, most, script(self.script(execution, 0)));
            debug_assert!(!self.mistaken, "nothing is taken for granted twice");
        }
    }

    /// The steps of an execution but for the first so many, which are loaded.
    fn script<'a>(&self, execution: &Finished<'a>, kept: usize) -> Run<'a> {
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
        (self.is_cut, self.floating) = (false, 0);
        while self.load_step(&mut script) {
            let Step { thread, costs, .. } = self.steps[self.steps.len() - 1];
            if script.is_in_ending(ThreadId(thread.into()))
                && self.is_only_way(thread.into(), script.floating(0).is_some())
            {
                self.is_cut = true;
                while let Some(step) = script.floating(self.floating) {
                    // To take them here leaves a thread that could go on; and no execution has gone this way.
                    let (run, after, decisions) = (costs.run + 1, self.hash_with(&step), u32::MAX);
                    self.load_move(&Move { run, after, decisions, ..step }, &script);
                    self.floating += 1;
                }
                break;
            }
            self.load_run(&mut script);
        }
    }

    /// The state after a step that reads one object.
    fn hash_with(&self, step: &Move<'_>) -> u128 {
        let all =
            step.op.object.and_then(|object| self.objects.get(object.index())).map_or(0, |object| object.all);
        self.hash ^ whole(all) ^ whole(all ^ step.action.unwrap_or(0))
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

    /// Adds the next steps, as long as they are of one thread that knows all that each depends on, and others are as certainly
    /// left as before.
    #[inline(always)]
    fn load_run<'a>(&mut self, script: &mut impl Script<'a>) {
        let [.., before, last] = &self.steps[..] else { return };
        if self.may_hold_back() {
            return;
        }
        let (thread, mut costs) = (last.thread, last.costs);
        let (id, own) = (ThreadId(thread.into()), 1 << thread);
        // Whether all that another thread could have done instead is as it was before the last step.
        let mut as_before = self.calm && before.thread == thread;
        let Some(mut run) = self.plain_run(id.index()) else { return };
        let name = self.lines[id.index()].name;
        while let Some(next) = script.plain(id)
            && let Some(entry) = self.objects.get(next.object)
        {
            let last = *entry.last();
            if !self.knows(id.index(), &last, next.writes)
                || next.writes
                    && entry.waiters & self.masks.unless & !own != 0
                    && self.disturbs(id.index(), next.object)
                || !self.goes_on(&mut run, &next)
            {
                return;
            }
            let forced = if as_before {
                let forced = self.forced(id.index(), costs.least);
                debug_assert_eq!(
                    (costs.least, forced, self.one_way),
                    self.weigh(id.index(), costs.run, true)
                );
                forced
            } else {
                // To go on with the thread of the last step preempts nobody.
                let (least, forced, one_way) = self.weigh(id.index(), costs.run, true);
                (costs.least, self.one_way, self.calm) = (least, one_way, true);
                forced
            };
            let index = self.steps.len() as u32;
            let number = self.taken[usize::from(thread)];
            let hash =
                || action_hash(name, u64::from(number) + 1, next.op, 0, last.writes + u32::from(next.writes));
            let action = next.action.unwrap_or_else(hash);
            debug_assert_eq!(action, hash(), "the engine has added the same");
            let touch = Touch { action, object: next.object as u32, writes: next.writes };
            let entry = &mut self.objects[next.object];
            entry.touch(&last, index, thread, &touch);
            let changes = self.changes.len() as u32;
            if next.changes {
                self.changes.push(Change {
                    object: next.object as u32,
                    writes: true,
                    difference: next.difference,
                });
                entry.word = entry.word.wrapping_add(next.difference);
                let affects = entry.waiters & self.masks.waiting & !own;
                if affects != 0 {
                    self.look_again(affects);
                    self.calm = affects & self.masks.frontier == 0;
                }
            }
            self.taken[usize::from(thread)] = number + 1;
            self.length += 1;
            self.hash = next.after;
            self.stand_there(&run, index, next.gate);
            self.steps.push(Step {
                after: next.after,
                touch,
                thread,
                forced,
                kind: next.op.kind,
                calm: self.calm,
                changed: next.changes.into(),
                changes,
                more: NONE,
                number,
                decisions: next.decisions,
                costs,
                joins: 0,
            });
            as_before = self.calm;
            script.pass(&next);
        }
    }

    /// Adds the next step, if there is one.
    #[inline(never)]
    fn load_step<'a>(&mut self, script: &mut impl Script<'a>) -> bool {
        let Some(next) = script.next(&mut self.choices) else { return false };
        self.load_move(&next, script);
        true
    }

    /// Adds a step.
    #[inline(always)]
    fn load_move<'a>(&mut self, next: &Move<'a>, script: &impl Script<'a>) {
        let index = self.steps.len() as u32;
        let thread = next.thread.index();
        let number = self.taken[thread];
        let (least, forced, one_way) = self.weigh(thread, next.run, next.choices == 0);
        self.one_way = one_way;
        let mut row = self.stand(thread).row;
        let mut step = Step {
            after: next.after,
            touch: Touch::NO,
            thread: thread as u8,
            forced,
            kind: next.op.kind,
            calm: false,
            changed: next.changes.len() as u8,
            changes: self.changes.len() as u32,
            more: NONE,
            number,
            decisions: next.decisions,
            costs: Costs { least, run: next.run },
            joins: 0,
        };
        let plain = next.op.also.is_none()
            && next.next.len() == 1
            && next.choices == 0
            && number > 0
            && next.op.access != Access::None
            && next.signals.is_empty()
            && !next.stops;
        let writes = next.op.access == Access::Write;
        let (mut affects, mut calm, mut pressed) = (0, false, (0, false));
        match next.op.object {
            Some(object)
                if plain
                    && let Some(entry) = self.objects.get(object.index())
                    && self.knows(thread, entry.last(), writes) =>
            {
                calm = !(next.op.yields() || writes && self.disturbs(thread, object.index()));
                pressed = self.pressed(thread);
                step.touch = self.touch(next, 0, object.index(), writes);
            }
            _ => (row, affects) = self.load_more(&mut step, next),
        }
        for &(_, object, difference) in next.changes {
            let change = Change { object, writes: self.writes(&step, object), difference };
            self.changes.push(change);
            let object = &mut self.objects[object as usize];
            debug_assert_eq!(object.last().step, index, "what a step changes it touches");
            object.word = object.word.wrapping_add(difference);
            if !change.writes {
                self.mistaken |= object.stir(difference);
            }
            affects |= object.waiters;
            calm &= change.writes;
        }
        calm &= affects & self.masks.waiting & self.masks.frontier & !(1 << thread) == 0;
        let joins = step.joins;
        self.steps.push(step);
        self.taken[thread] = number + 1;
        self.length += 1;
        self.hash = next.after;
        self.stopped = next.stops;
        self.masks.frontier |= 1 << thread;
        if joins != 0 {
            self.cover(row, joins);
        }
        let own = next.next.iter().find(|pending| pending.thread == next.thread);
        let gate = own.map(|own| &own.gate).filter(|_| next.op.kind != OpKind::End);
        let held = self.may_be_held_back(next);
        self.load_stand(thread, row, joins, &next.op, held, gate);
        if affects != 0 {
            self.look_again(affects);
        }
        self.calm = calm && self.pressed(thread) == pressed;
        self.steps[index as usize].calm = self.calm;
        if next.next.len() > 1 {
            for pending in next.next {
                if pending.thread.index() >= self.taken.len() {
                    self.add_thread(pending, index, script.name(pending.thread));
                }
            }
        }
    }

    /// Whether the fair bound may hold a thread back right after its step. Before the step it did not, so that all who could run
    /// then have yielded nearly as often. It must be somebody whom the step has let go on.
    #[inline]
    fn may_be_held_back(&mut self, next: &Move<'_>) -> bool {
        let Some(before) = self.lines[next.thread.index()].stands.last() else { return false };
        self.yields.is_some_and(|bound| before.yields > bound) && self.lets_others_go_on(next)
    }

    /// Whether a step may let another thread go on. Of those that are not loaded yet it is taken for granted that they do not wait
    /// for what nobody has waited for so far.
    fn lets_others_go_on(&mut self, next: &Move<'_>) -> bool {
        if !next.signals.is_empty() || next.next.len() > 1 {
            return true;
        }
        for &(_, object, _) in next.changes {
            let object = &mut self.objects[object as usize];
            if object.waiters != 0 {
                return true;
            }
            object.is_ignored = true;
        }
        false
    }

    /// Whether a thread knows all that was done to an object that its next access depends on.
    #[inline(always)]
    fn knows(&self, thread: usize, last: &Touched, writes: bool) -> bool {
        usize::from(last.owner) == thread
            || last.owner == ANYBODY
            || !writes && self.knows_write(thread, last.last_write)
    }

    /// Whether a thread knows of a write, or there is none.
    fn knows_write(&self, thread: usize, write: u32) -> bool {
        self.steps.get(write as usize).is_none_or(|write| {
            let by = usize::from(write.thread);
            by == thread || write.number < self.clock(self.stand(thread).row)[by]
        })
    }

    /// Notes what the next step of a thread does to an object.
    fn touch(&mut self, next: &Move<'_>, slot: usize, object: usize, writes: bool) -> Touch {
        let (index, thread) = (self.steps.len() as u32, next.thread.index());
        let (name, number) = (self.lines[thread].name, u64::from(self.taken[thread]) + 1);
        let entry = &mut self.objects[object];
        let last = *entry.last();
        let hash = || action_hash(name, number, &next.op, slot, last.writes + u32::from(writes));
        let is_first = slot == 0 && next.op.object.is_some();
        let action = next.action.filter(|_| is_first).unwrap_or_else(hash);
        debug_assert_eq!(action, hash(), "the engine has added the same");
        let touch = Touch { action, object: object as u32, writes };
        entry.touch(&last, index, thread as u8, &touch);
        touch
    }

    /// Notes what a step does to any number of objects and to other threads, and what else it adds to the hash. Says which
    /// clock it has, and which threads it has signalled or created.
    #[inline(never)]
    fn load_more(&mut self, step: &mut Step, next: &Move<'_>) -> (u32, Threads) {
        let (index, thread) = (self.steps.len() as u32, next.thread.index());
        if let Some(last) = next.op.object.max(next.op.also) {
            self.object(last.index());
        }
        let (object, also) = (next.op.object.filter(|_| next.op.access != Access::None), next.op.also);
        let writes = next.op.access == Access::Write;
        let touches = [object.map(|object| (object.index(), writes)), also.map(|also| (also.index(), true))];
        let row = self.stand(thread).row;
        let (row, joins) = self.join(thread, row, touches.into_iter().flatten(), next.stops);
        step.joins = joins;
        if let Some(object) = object {
            step.touch = self.touch(next, 0, object.index(), writes);
        }
        let end = self.choices.len() as u32;
        let mut more = More {
            alone: 0,
            also: Touch::NO,
            is_double: also.is_some(),
            step: index,
            wakes: 0,
            choices: (end - next.choices, end),
        };
        if let Some(also) = also {
            let slot = next.op.object.iter().len();
            more.also = self.touch(next, slot, also.index(), true);
        }
        let (name, ordinal) = (self.lines[thread].name, u64::from(step.number) + 1);
        if object.is_none() && also.is_none() {
            more.alone = alone_hash(name, ordinal, &next.op);
        }
        for &(value, _) in &self.choices[more.choices.0 as usize..] {
            more.alone ^= value_hash(name, ordinal - 1, value);
        }
        if next.stops {
            more.alone ^= stop_hash(name, ordinal);
        }
        for &(_, signalled) in next.signals {
            // A thread that signals itself waits only after this step of its.
            let own = u32::from(signalled == next.thread);
            let taken = self.taken[signalled.index()] + own;
            self.lines[signalled.index()].signals.push((index, taken));
            more.wakes |= 1 << signalled.0;
        }
        for pending in next.next.iter().filter(|pending| pending.thread.index() >= self.taken.len()) {
            more.wakes |= 1 << pending.thread.0;
        }
        if more.alone != 0 || more.wakes != 0 || also.is_some() || next.choices > 0 {
            step.more = self.more.len() as u32;
            self.more.push(more);
        }
        (row, more.wakes)
    }

    /// The clock of a thread's next step, which touches these objects, and the threads of which more happened before it
    /// than before its last one, whose clock is given.
    fn join(
        &mut self,
        thread: usize,
        row: u32,
        touches: impl Iterator<Item = (usize, bool)>,
        stops: bool,
    ) -> (u32, Threads) {
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
        for (object, writes) in touches {
            let object = &objects[object];
            if writes {
                let since = object.touches.iter().rev().take_while(|touch| !touch.is_write());
                since.for_each(|touch| after(clocks, touch.step));
            }
            if object.last().last_write != NONE {
                after(clocks, object.last().last_write);
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
        self.rewrite_words(kept);
        for change in self.changes.drain(self.changes_until(kept)..) {
            self.objects[change.object as usize].unwritten -= u32::from(!change.writes);
        }
        for object in &mut self.objects {
            object.keep(kept as u32);
        }
        for (line, taken) in self.lines.iter().zip(&mut self.taken) {
            *taken = line.stands[1..].partition_point(|stand| (stand.last as usize) < kept) as u32;
        }
        (self.length, self.hash) = (kept, self.hash_after(kept));
        self.steps.truncate(kept);
        while self.more.pop_if(|more| more.step as usize >= kept).is_some_and(|more| {
            self.choices.truncate(more.choices.0 as usize);
            true
        }) {}
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
        self.most_yields = 0;
        let mut rows = 0;
        for (line, taken) in self.lines.iter_mut().zip(&self.taken) {
            line.stands.truncate(*taken as usize + 1);
            let stand = &line.stands[*taken as usize];
            line.gates.truncate(stand.gates as usize);
            line.signals.truncate(line.signals.partition_point(|signal| (signal.0 as usize) < kept));
            rows = rows.max(stand.row as usize);
            self.most_yields = self.most_yields.max(stand.yields);
        }
        self.clocks.truncate((rows + 1) * self.stride);
        self.arrive();
    }
}

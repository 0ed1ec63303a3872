//! Preemptions that are certain: what every execution that leads to a state must have had, as far as it follows from the
//! graph alone.
//!
//! Each one that is counted is of a thread that stood in one of some places, and no two have a place in common. These
//! are: where a thread stands now, if another has run since and nothing could have kept it from going on; and where it
//! stood when it must have been interrupted between two of its steps. There it may have waited for a lock, if that is
//! what it took next; then another thread was left while it held the lock, and the places where that one stood
//! meanwhile are among those that are counted once. If it had itself touched the lock just before, it could go on
//! then, and it was left where it stands or since that touch: these places are counted once too. A thread that has
//! yielded is kept from going on by the fair bound only if its own last step has let somebody else go on.

use selvedge_core::{ObjectId, Op, OpKind};

use super::script::Plain;
use super::{Forced, Lattice, Line, NONE, Object, Step, Threads, Touched, each};
use crate::gate::Gate;

/// Where a thread stands after some of its steps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stand {
    /// Its last step.
    pub(super) last: u32,
    /// The clock of that.
    pub(super) row: u32,
    /// How often it has yielded.
    pub(super) yields: u32,
    /// How many gates it has stood at, this one included if it is one.
    pub(super) gates: u32,
    pub(super) flags: u8,
    /// The preemptions that were counted may be some of this thread's, before so many of its steps.
    instead: u8,
    until: u32,
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
    unless: (u32, u32),
}

/// A thread that may have been preempted, before so many of its steps, in place of another.
#[derive(Clone, Copy, Debug)]
struct Instead {
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

/// A thread that goes on without learning anything new.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainRun {
    thread: usize,
    /// Where it stands, but for its last step.
    stand: Stand,
    /// No preemption has become certain if it could have gone on all the time.
    is_quiet: bool,
}

impl Stand {
    /// Whoever runs next preempts it, whatever the others have done.
    const LEFT: u8 = 1;
    /// Its next step waits for nothing.
    const OPEN: u8 = 1 << 1;
    /// Its next step waits for something, or it may not exist yet.
    const WAITS: u8 = 1 << 2;
    /// What it waits for is among the gates of its line.
    const GATED: u8 = 1 << 3;
    /// Its last step yielded.
    const YIELDED: u8 = 1 << 4;
    /// There is something in `unless`.
    const UNLESS: u8 = 1 << 5;
    /// There is a thread in `instead`.
    const INSTEAD: u8 = 1 << 6;
    /// The fair bound may hold it back where it stands.
    const HELD: u8 = 1 << 7;

    /// Where a thread stands that has not begun. It may not exist yet.
    pub(super) fn new() -> Self {
        Stand { flags: Stand::WAITS, ..Stand::default() }
    }

    #[inline]
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(super) fn left(&self) -> bool {
        self.has(Stand::LEFT)
    }

    #[inline]
    pub(super) fn open(&self) -> bool {
        self.has(Stand::OPEN)
    }

    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.has(Stand::WAITS)
    }

    #[inline]
    pub(super) fn yielded(&self) -> bool {
        self.has(Stand::YIELDED)
    }

    #[inline]
    pub(super) fn has_unless(&self) -> bool {
        self.has(Stand::UNLESS)
    }

    #[inline]
    pub(super) fn has_instead(&self) -> bool {
        self.has(Stand::INSTEAD)
    }

    #[inline]
    fn instead(&self) -> Option<Instead> {
        self.has_instead().then_some(Instead { thread: self.instead, until: self.until })
    }

    /// What it waits for, on its line.
    #[inline]
    pub(super) fn gate<'a>(&self, line: &'a Line) -> &'a Gate {
        if self.has(Stand::GATED) { &line.gates[self.gates as usize - 1] } else { &Gate::OPEN }
    }

    /// So often the thread has been preempted at least, if another runs next.
    #[inline]
    pub(super) fn least(&self) -> u32 {
        self.preempted + u32::from(self.left())
    }

    /// A preemption that has not been counted is certain when something comes after so many of the thread's steps
    /// and before its last one. At least 1, once it has taken one.
    #[inline]
    fn uncounted(&self) -> u32 {
        self.free_from.max(self.counted)
    }

    /// Whether nothing but what it waits for can keep it from going on, or make a switch free.
    #[inline]
    fn is_free(&self) -> bool {
        !self.has(Stand::YIELDED | Stand::HELD)
    }
}

impl Lattice {
    /// A thread that goes on from where it stands, as long as none of its preemptions becomes certain.
    #[inline]
    pub(super) fn plain_run(&self, thread: usize) -> Option<PlainRun> {
        let stand = self.stand(thread);
        let is_quiet = stand.seen < stand.uncounted();
        (self.counted[thread].until <= stand.counted).then_some(PlainRun { thread, stand: *stand, is_quiet })
    }

    /// Goes on with a step that depends on nothing new. Says whether whoever runs next preempts the thread after it as where
    /// it stood before, and no preemption becomes certain with the step.
    #[inline(always)]
    pub(super) fn goes_on(&self, run: &mut PlainRun, next: &Plain<'_>) -> bool {
        let PlainRun { thread, stand, is_quiet } = run;
        // Where it waited it was left as certainly as after the step only if what it waited for is as it was.
        let waited = || {
            let is_that = stand.has_unless() && stand.unless.0 as usize == next.object;
            next.writes && is_that && self.is_as_it_was(*thread)
        };
        if !(stand.left() || *is_quiet && waited()) {
            return false;
        }
        let flags = stand.flags & Stand::INSTEAD;
        let gate = next.gate;
        if gate.is_open() {
            stand.flags = flags | Stand::OPEN | Stand::LEFT;
            return true;
        }
        let Some(awaited) = gate.object.filter(|_| !gate.hears_signals() && !gate.timed) else {
            return false;
        };
        let awaited = awaited.index();
        let Some(entry) = self.objects.get(awaited) else { return false };
        if awaited == next.object && next.writes {
            stand.flags = flags | Stand::WAITS | Stand::GATED | Stand::LEFT;
            stand.gates += 1;
            return gate.allows(entry.word.wrapping_add(next.difference));
        }
        if usize::from(entry.last().owner) != *thread || entry.sways(gate) {
            return false;
        }
        stand.gates += 1;
        stand.flags = flags | Stand::WAITS | Stand::GATED | Stand::UNLESS;
        stand.unless = (awaited as u32, entry.written);
        true
    }

    /// Notes that a thread that goes on stands there now, after this step.
    #[inline(always)]
    pub(super) fn stand_there(&mut self, run: &PlainRun, last: u32, gate: &Gate) {
        let own = 1 << run.thread;
        let line = &mut self.lines[run.thread];
        let stand = Stand { last, ..run.stand };
        line.stands.push(stand);
        let (left, was_left) = (stand.left(), self.masks.left & own != 0);
        if left != was_left {
            self.least = self.least + u32::from(left) - u32::from(was_left);
            self.masks.left ^= own;
            self.masks.unless ^= own;
        }
        let Some(awaited) = gate.object else {
            self.masks.waiting &= !own;
            return;
        };
        self.masks.waiting |= own;
        line.gates.push(*gate);
        let entry = &mut self.objects[awaited.index()];
        self.mistaken |= entry.wait(own);
        if !gate.allows(entry.word) {
            self.masks.enabled &= !own;
            self.calm = false;
        }
    }

    /// Whether the next step of the thread that took the last one has to be taken, if what is certain of the others is as it
    /// was before that.
    #[inline(always)]
    pub(super) fn forced(&self, thread: usize, least: u32) -> Forced {
        let own = 1 << thread;
        let others = (self.masks.enabled | self.masks.timed) & !own;
        match self.most {
            _ if !self.one_way => Forced::No,
            _ if others | self.masks.frontier & !own == 0 => Forced::Only,
            _ if others == 0 => Forced::Alone,
            Some(most) if least >= most => Forced::Bound,
            _ => Forced::No,
        }
    }

    /// Notes where a thread stands after the step that was loaded last, which has this clock and depends on more of these
    /// threads than the one before; whether the fair bound may hold the thread back there; and what it waits for now, if it has
    /// not ended.
    pub(super) fn load_stand(
        &mut self,
        thread: usize,
        row: u32,
        joins: Threads,
        op: &Op,
        held: bool,
        gate: Option<&Gate>,
    ) {
        let number = self.taken[thread];
        let before = self.lines[thread].stands[number as usize - 1];
        let mut stand = Stand { last: self.steps.len() as u32 - 1, row, ..before };
        stand.counted = stand.counted.max(self.counted[thread].until);
        if number == 1 {
            stand.free_from = 1;
        } else if joins != 0 || !before.left() {
            self.follow(thread, joins, &before, &mut stand);
        }
        stand.flags &= Stand::INSTEAD;
        if op.yields() {
            stand.flags |= Stand::YIELDED;
            stand.yields += u32::from(op.counted);
            self.most_yields = self.most_yields.max(stand.yields);
        }
        if held {
            stand.flags |= Stand::HELD;
        }
        let free = stand.is_free();
        match gate {
            Some(gate) if gate.is_open() => stand.flags |= Stand::OPEN | if free { Stand::LEFT } else { 0 },
            Some(gate) => self.wait_at(thread, &mut stand, gate, free),
            None => {}
        }
        self.lines[thread].stands.push(stand);
        self.least = self.least - before.least() + stand.least();
        if stand.flags != before.flags || stand.waits() {
            self.masks.set(thread, &stand);
        }
        if stand.waits() {
            self.look_again(1 << thread);
        }
    }

    /// How often a thread was certainly preempted before its last step, and whether it is if another runs next.
    #[inline]
    pub(super) fn pressed(&self, thread: usize) -> (u32, bool) {
        let left = (self.masks.left | self.masks.unless & self.masks.enabled) >> thread & 1 == 1;
        (
            self.stand(thread).preempted,
            left && (self.masks.left >> thread & 1 == 1 || self.is_as_it_was(thread)),
        )
    }

    /// Whether a thread that writes an object now takes away that another is certainly preempted.
    #[inline]
    pub(super) fn disturbs(&self, thread: usize, object: usize) -> bool {
        let Some(entry) = self.objects.get(object) else { return false };
        each(entry.waiters & self.masks.unless & !(1 << thread))
            .any(|other| self.stand(other).unless.0 as usize == object && self.is_as_it_was(other))
    }

    /// Whether what a thread waits for has not been written since it stands there.
    #[inline]
    fn is_as_it_was(&self, thread: usize) -> bool {
        let stand = self.stand(thread);
        let (object, writes) = stand.unless;
        let object = &self.objects[object as usize];
        object.written == writes && (object.unwritten == 0 || !object.sways(stand.gate(&self.lines[thread])))
    }

    /// Goes on after a step, not its first. A preemption is certain where the thread must have been interrupted
    /// since the last one that was counted, and could have gone on wherever that was. Where it may have waited for
    /// a lock, the one that held it was preempted instead, if it is certain who that is.
    fn follow(&mut self, thread: usize, joins: Threads, before: &Stand, stand: &mut Stand) {
        let number = self.taken[thread];
        for other in each(joins) {
            let between = self.lines[other].stands[self.clock(stand.row)[other] as usize].row;
            stand.seen = stand.seen.max(self.clock(between)[thread]);
        }
        if !before.left() {
            let gate = before.gate(&self.lines[thread]);
            let plain = before.is_free() && !gate.hears_signals() && !gate.timed;
            let step = &self.steps[stand.last as usize];
            // If it is alone, what it waited for was as it was all the time since its step before.
            let waited = || {
                gate.object.map(ObjectId::index).is_some_and(|object| {
                    let reads = step.touch.object == object as u32 && !self.objects[object].sways(gate);
                    reads || self.writes(step, object as u32)
                })
            };
            if !(plain && joins == 0 && waited()) {
                if plain
                    && stand.seen >= stand.uncounted()
                    && let Some(holder) = self.holder(thread, stand.last, before.instead())
                {
                    stand.preempted += 1;
                    stand.counted = number;
                    stand.flags |= Stand::INSTEAD;
                    (stand.instead, stand.until) = (holder.thread, holder.until);
                }
                stand.free_from = number;
            }
        }
        if stand.seen >= stand.uncounted() {
            stand.preempted += 1;
            stand.counted = number;
        }
        if let Some(Instead { thread: other, until }) = stand.instead()
            && stand.counted == number
        {
            let counted = &mut self.counted[usize::from(other)];
            self.counted_before.push((stand.last, other, *counted));
            *counted = Counted { until: counted.until.max(until), by: Some(thread as u8) };
        }
    }

    /// Who must have been preempted if a thread waited for the lock that it has just taken, where it is one thread that
    /// nothing could have kept from going on while it had the lock, and that none of its preemptions at that time has
    /// been counted of.
    fn holder(&self, thread: usize, own: u32, instead: Option<Instead>) -> Option<Instead> {
        let step = &self.steps[own as usize];
        let is_single = |step: &Step| self.more.get(step.more as usize).is_none_or(|more| !more.is_double);
        let lock = step.touch.object;
        if lock == NONE || step.kind != OpKind::Lock || !is_single(step) {
            return None;
        }
        let object = &self.objects[lock as usize];
        if object.unwritten != 0 {
            return None;
        }
        let mut holder = None;
        let (mut from, mut until) = (0, 0);
        let mut released = None;
        for write in object.writes().skip_while(|write| *write >= own) {
            let step = &self.steps[write as usize];
            let other = usize::from(step.thread);
            if other == thread {
                break;
            }
            // To wait for a signal gives the lock up, and to wake up takes it again.
            let is_waiting = matches!(step.kind, OpKind::Wait | OpKind::Wake);
            if !(is_single(step) || is_waiting) || *holder.get_or_insert(other) != other {
                return None;
            }
            let steps = step.number + 1;
            match (step.kind, released.take()) {
                (OpKind::Unlock | OpKind::Wait, None) => {
                    until = until.max(steps);
                    released = Some(steps);
                }
                (OpKind::Lock | OpKind::Wake, Some(released)) => {
                    let inside = &self.lines[other].stands[steps as usize..released as usize];
                    if !inside.iter().all(Stand::left) {
                        return None;
                    }
                    from = steps;
                }
                _ => return None,
            }
        }
        let holder = holder.filter(|_| released.is_none())?;
        let stands = &self.lines[holder].stands;
        let is_counted = self.stand(holder).preempted > stands[from as usize].preempted;
        let counted_by = self.counted[holder].by;
        let is_free = !is_counted
            && counted_by.is_none_or(|by| usize::from(by) == thread)
            && instead.is_none_or(|instead| usize::from(instead.thread) == holder);
        is_free.then_some(Instead { thread: holder as u8, until })
    }

    /// Notes that a thread waits where it stands; if it is free, nothing but that can keep it from going on.
    pub(super) fn wait_at(&mut self, thread: usize, stand: &mut Stand, gate: &Gate, free: bool) {
        self.lines[thread].gates.push(*gate);
        stand.gates += 1;
        stand.flags |= Stand::WAITS | Stand::GATED;
        let Some(object) = gate.object.map(ObjectId::index) else { return };
        let mistaken = self.object(object).wait(1 << thread);
        self.mistaken |= mistaken;
        if !free || gate.hears_signals() || gate.timed {
            return;
        }
        let entry = &self.objects[object];
        if gate.allows(entry.word) && self.is_left_since(thread, stand, entry, gate) {
            stand.flags |= Stand::LEFT;
            return;
        }
        let mut seen = entry.last().writes;
        if usize::from(entry.last().owner) != thread {
            let clock = self.clock(stand.row);
            let is_new = |write: &u32| {
                let step = &self.steps[*write as usize];
                let by = usize::from(step.thread);
                by != thread && step.number >= clock[by]
            };
            seen -= entry.writes().take_while(is_new).count() as u32;
        }
        stand.flags |= Stand::UNLESS;
        stand.unless = (object as u32, seen);
    }

    /// Whether a thread has certainly been preempted where it stands, or a little before, if another runs next. When it touched
    /// the object itself for the last time it could have gone on then. If it no longer can, then another thread has changed that
    /// since, and it was preempted for that one, because nothing made a switch free on the way. Locks that it has taken or given
    /// up meanwhile would blur what it was preempted in.
    fn is_left_since(&self, thread: usize, stand: &Stand, object: &Object, gate: &Gate) -> bool {
        const LONGEST: u32 = 8;
        let step = |touch: &Touched| self.steps.get(touch.step as usize);
        let is_own = |touch: &Touched| step(touch).is_some_and(|step| usize::from(step.thread) == thread);
        let sways = object.sways(gate);
        let mut touches = object.touches.iter().rev();
        let Some(own) = touches.find(|touch| sways || touch.is_write() || is_own(touch)).and_then(step)
        else {
            return false;
        };
        let (from, number) = (own.number + 1, self.taken[thread]);
        if usize::from(own.thread) != thread
            || sways && !object.last().is_write()
            || number - from > LONGEST
            || stand.counted > from
        {
            return false;
        }
        let stands = &self.lines[thread].stands[from as usize..];
        let steps = stands.iter().skip(1).chain([stand]).take((number - from) as usize);
        stands.iter().all(Stand::left)
            && steps.map(|stand| &self.steps[stand.last as usize]).all(|step| {
                use OpKind::{CompareExchange, Load, Local, NotifyAll, NotifyOne, Read, Rmw, Store, Write};
                matches!(
                    step.kind,
                    Load | Store | Rmw | CompareExchange | Read | Write | NotifyOne | NotifyAll | Local
                )
            })
    }

    /// At least so many preemptions are in an execution that leads here and in which this thread has the last
    /// step, or takes the next one; when they are more than the budget, there may be more that are certain.
    #[inline]
    pub(crate) fn preempted(&self, thread: usize, runs: Runs, budget: u32) -> u32 {
        let left = self.masks.left >> thread & 1 == 1;
        let mut least = self.least - u32::from(left);
        if least > budget {
            return least;
        }
        // When it will run next it may have been interrupted where it stands now, too.
        if runs == Runs::Last || left {
            least += u32::from(self.was_interrupted(thread));
        }
        for other in each(self.masks.unless & self.masks.enabled & !(1 << thread)) {
            least += u32::from(self.is_as_it_was(other));
        }
        least
    }

    /// Whether a thread was certainly preempted once more than is counted of it, if its last step comes last here.
    #[inline]
    fn was_interrupted(&self, thread: usize) -> bool {
        let covered = self.covered[thread];
        if covered == 0 {
            return false;
        }
        let mut from = self.stand(thread).uncounted();
        for other in each(self.masks.instead) {
            let stand = self.stand(other);
            if usize::from(stand.instead) == thread {
                from = from.max(stand.until);
            }
        }
        from <= covered
    }

    /// Whether every execution within the bound that leads to a state with all that is here and more of this thread, or of
    /// threads that go on after it, comes by here. In another one the last step of another thread would come after some of
    /// that. The preemptions are counted that are certain then, whatever the thread does from here on: where it stands now
    /// it need not have been left. Where other steps float, to leave the thread for them must be beyond the bound too.
    pub(super) fn is_only_way(&self, thread: usize, floats: bool) -> bool {
        let others = self.masks.frontier & !(1 << thread);
        let certain = self.least - self.masks.left.count_ones();
        let is_beyond = |certain: u32| self.most.is_some_and(|most| certain > most);
        self.most_yields == 0
            && (!floats || is_beyond(certain + 1))
            && each(others).all(|other| is_beyond(certain + u32::from(self.was_interrupted(other))))
    }

    /// So many preemptions at least has an execution that goes on from here with the next step of a thread, with which
    /// the one at hand has had so many; whether that one had to, unless it has chosen a value; and whether there was no
    /// other way to come here within the bound.
    pub(super) fn weigh(&self, thread: usize, run: u32, mut one_way: bool) -> (u32, Forced, bool) {
        let Some(last) = self.steps.last() else { return (0, Forced::No, false) };
        // The execution at hand has been here with the last step of this thread; another one, of any of the frontier.
        let mut least = last.costs.least + run - last.costs.run;
        for other in each(self.masks.frontier & !(1 << last.thread)) {
            let budget = self.most.unwrap_or(least);
            let mut cost = self.preempted(other, Runs::Last, budget);
            one_way &= self.most.is_some() && cost > budget;
            if cost + 1 == least && other != thread {
                cost += (self.allowed().1 >> other & 1) as u32;
            }
            least = least.min(cost);
        }
        if !one_way {
            return (least, Forced::No, false);
        }
        let (allowed, preemptible) = self.allowed();
        let others = allowed & !(1 << thread);
        let switch = last.costs.least + (preemptible >> last.thread & 1) as u32;
        let forced = match self.most {
            _ if others | self.masks.frontier & !(1 << last.thread) == 0 => Forced::Only,
            _ if others == 0 => Forced::Alone,
            Some(most) if others >> last.thread & 1 == 0 && switch > most => Forced::Bound,
            _ => Forced::No,
        };
        (least, forced, true)
    }
}

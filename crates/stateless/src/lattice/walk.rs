//! The walk over the prefixes of a graph: steps are taken back and added again, one by one, several of a thread at once,
//! or along the execution.

use std::ops::Range;

use super::certain::Runs;
use super::{Can, Change, Forced, Lattice, Masks, NONE, Object, Step, Threads, Touch, each};
use crate::happens_before::whole;

/// A step that was taken back, and what was true before.
#[derive(Clone, Debug)]
pub(crate) struct Removed {
    pub(crate) event: usize,
    hash: u128,
    least: u32,
    masks: Masks,
    /// What the objects added to the hash.
    adds: [u128; 2],
}

/// States of the execution that were passed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// The last of them, as a hash, in which the bound left no choice, and the thread whose step was taken there.
    pub(crate) by_bound: Option<(u128, usize)>,
    /// There is another way to come to one after that, beyond the bound.
    pub(crate) open: bool,
}

/// Steps of a thread that were taken back at once, and what was true before.
#[derive(Clone, Debug)]
pub(crate) struct Slid {
    thread: usize,
    taken: u32,
    hash: u128,
    least: u32,
    masks: Masks,
}

impl Object {
    /// Takes something back that was done to it, or adds it again; what it adds to the hash is not worked out.
    #[inline]
    fn retrace<const ADD: bool>(&mut self, touch: &Touch) {
        let writes = u32::from(touch.writes);
        self.written = if ADD { self.written + writes } else { self.written - writes };
        self.all ^= touch.action;
        self.is_added = false;
    }

    /// Takes the last thing back that was done to it. Says what it added to the hash before.
    #[inline]
    fn take_back(&mut self, touch: &Touch) -> u128 {
        let adds = if self.is_added { self.adds } else { whole(self.all) };
        self.all ^= touch.action;
        (self.adds, self.is_added) = (whole(self.all), true);
        self.written -= u32::from(touch.writes);
        adds
    }

    /// Adds it again; what it adds to the hash then is known.
    #[inline]
    fn add(&mut self, touch: &Touch, adds: u128) {
        self.all ^= touch.action;
        self.adds = adds;
        self.written += u32::from(touch.writes);
    }
}

impl Lattice {
    /// Takes the last step of a thread of the frontier back.
    #[inline]
    pub(crate) fn remove(&mut self, thread: usize) -> Removed {
        let taken = self.taken[thread] as usize;
        self.taken[thread] -= 1;
        self.length -= 1;
        let stands = &self.lines[thread].stands;
        let (stand, before) = (&stands[taken], &stands[taken - 1]);
        let event = stand.last as usize;
        let step = &self.steps[event];
        let mut removed =
            Removed { event, hash: self.hash, least: self.least, masks: self.masks, adds: [0; 2] };
        self.least = self.least - stand.least() + before.least();
        let mut hash = self.hash;
        let mut affected = 0;
        if step.touch.object != NONE {
            let object = &mut self.objects[step.touch.object as usize];
            removed.adds[0] = object.take_back(&step.touch);
            hash ^= removed.adds[0] ^ object.adds;
        }
        if let Some(more) = self.more.get(step.more as usize) {
            hash ^= more.alone;
            affected = more.wakes;
            if more.also.object != NONE {
                let object = &mut self.objects[more.also.object as usize];
                removed.adds[1] = object.take_back(&more.also);
                hash ^= removed.adds[1] ^ object.adds;
            }
        }
        debug_assert!(
            event != self.length || removed.hash != step.after || hash == self.hash_after(event),
            "the step before led there"
        );
        self.hash = hash;
        for &Change { object, difference, .. } in step.changes(&self.changes) {
            let object = &mut self.objects[object as usize];
            object.word = object.word.wrapping_sub(difference);
            affected |= object.waiters;
        }
        if stand.flags != before.flags || before.waits() {
            self.masks.set(thread, before);
            affected |= 1 << thread;
        }
        if step.joins != 0 {
            let (row, joins) = (stand.row, step.joins);
            self.uncover(row, joins);
        }
        let is_last = self.taken[thread] > self.covered[thread];
        self.masks.frontier = self.masks.frontier & !(1 << thread) | Threads::from(is_last) << thread;
        if affected & self.masks.waiting != 0 {
            self.look_again(affected);
        }
        removed
    }

    /// Adds a step again that was taken back last.
    #[inline]
    pub(crate) fn put_back(&mut self, thread: usize, removed: &Removed) {
        self.taken[thread] += 1;
        self.length += 1;
        self.least = removed.least;
        self.hash = removed.hash;
        let step = &self.steps[removed.event];
        if step.touch.object != NONE {
            self.objects[step.touch.object as usize].add(&step.touch, removed.adds[0]);
        }
        if let Some(more) = self.more.get(step.more as usize)
            && more.also.object != NONE
        {
            self.objects[more.also.object as usize].add(&more.also, removed.adds[1]);
        }
        for &Change { object, difference, .. } in step.changes(&self.changes) {
            let word = &mut self.objects[object as usize].word;
            *word = word.wrapping_add(difference);
        }
        if step.joins != 0 {
            let (row, joins) = (self.stand(thread).row, step.joins);
            self.cover(row, joins);
        }
        self.masks = removed.masks;
    }

    /// Takes the last steps of a thread back that a state was come to by, as long as there is nothing else to do there, and
    /// no other way to come there is within the bound. Says how many.
    pub(crate) fn slide_back(&mut self, thread: usize) -> Option<Slid> {
        let own = 1 << thread;
        let idle = (self.masks.enabled | self.masks.timed) & !own == 0;
        if !idle || self.may_hold_back() || !self.steps[self.last_event(thread) as usize].calm {
            return None;
        }
        let most = self.most?;
        let is_beyond = |other: usize| self.preempted(other, Runs::Last, most) > most;
        if !each(self.masks.frontier & !own).all(is_beyond) {
            return None;
        }
        let slid =
            Slid { thread, taken: self.taken[thread], hash: self.hash, least: self.least, masks: self.masks };
        let last = self.covered[thread] + 1;
        let mut taken = slid.taken;
        while taken > last {
            let step = &self.steps[self.lines[thread].stands[taken as usize].last as usize];
            let changes = step.changes(&self.changes);
            let others = self.masks.waiting & !own;
            if !step.calm
                || changes.iter().any(|change| self.objects[change.object as usize].waiters & others != 0)
            {
                break;
            }
            let object = &mut self.objects[step.touch.object as usize];
            let adds = object.take_back(&step.touch);
            self.hash ^= adds ^ object.adds;
            for change in changes {
                let word = &mut self.objects[change.object as usize].word;
                *word = word.wrapping_sub(change.difference);
            }
            taken -= 1;
        }
        if taken == slid.taken {
            return None;
        }
        self.length -= (slid.taken - taken) as usize;
        self.taken[thread] = taken;
        let stands = &self.lines[thread].stands;
        let (stand, before) = (&stands[slid.taken as usize], stands[taken as usize]);
        self.least = self.least - stand.least() + before.least();
        self.masks.set(thread, &before);
        // It can go on, because it did.
        self.masks.enabled |= own;
        debug_assert!(self.can_go_on(thread) == Can::Now, "it went on");
        debug_assert!(
            each(self.masks.frontier & !own).all(|other| self.preempted(other, Runs::Last, most) > most)
        );
        Some(slid)
    }

    /// Adds the steps again that were taken back.
    pub(crate) fn slide_on(&mut self, slid: &Slid) {
        let stands = &self.lines[slid.thread].stands;
        for stand in &stands[self.taken[slid.thread] as usize + 1..=slid.taken as usize] {
            let step = &self.steps[stand.last as usize];
            self.objects[step.touch.object as usize].retrace::<true>(&step.touch);
            for change in step.changes(&self.changes) {
                let word = &mut self.objects[change.object as usize].word;
                *word = word.wrapping_add(change.difference);
            }
        }
        self.length += (slid.taken - self.taken[slid.thread]) as usize;
        self.taken[slid.thread] = slid.taken;
        (self.hash, self.least, self.masks) = (slid.hash, slid.least, slid.masks);
    }

    /// Notes that a step with this clock is there, which depends on more of these threads than the one before.
    #[inline]
    pub(super) fn cover(&mut self, row: u32, joins: Threads) {
        let clock = &self.clocks[row as usize * self.stride..];
        for other in each(joins) {
            let (now, covered) = (clock[other], &mut self.covered[other]);
            if now > *covered {
                *covered = now;
                self.masks.frontier &= !(Threads::from(now == self.taken[other]) << other);
            }
        }
    }

    /// Notes that a step with this clock is not there any more, which depended on more of these threads than the one
    /// before.
    pub(super) fn uncover(&mut self, row: u32, joins: Threads) {
        let stride = self.stride;
        for other in each(joins) {
            if self.clocks[row as usize * stride + other] < self.covered[other] {
                continue;
            }
            let mut covered = 0;
            for (line, taken) in self.lines.iter().zip(&self.taken) {
                let row = line.stands[*taken as usize].row as usize;
                covered = covered.max(self.clocks[row * stride + other]);
            }
            self.covered[other] = covered;
            self.masks.frontier |= Threads::from(self.taken[other] > covered) << other;
        }
    }

    /// Goes back from where the execution was, as long as it had to take the step that it took.
    pub(crate) fn go_back(&mut self) -> Passed {
        debug_assert!(self.is_on_path(), "the execution was here");
        let mut passed = Passed { by_bound: None, open: false };
        let mut length = self.length;
        while let Some(step) = self.steps[..length].last() {
            match step.forced {
                Forced::No => break,
                Forced::Bound if passed.by_bound.is_none() => {
                    passed.by_bound = Some((self.hash_after(length - 1), step.thread.into()));
                }
                Forced::Alone => passed.open |= passed.by_bound.is_none(),
                Forced::Only | Forced::Bound => {}
            }
            length -= 1;
        }
        self.walk_to(length);
        passed
    }

    /// Goes to where the execution was after so many steps, from where it was too.
    pub(crate) fn walk_to(&mut self, length: usize) {
        if length != self.length {
            self.retrace(length);
            self.arrive();
        }
    }

    /// The same for what is counted along the execution.
    pub(super) fn retrace(&mut self, length: usize) {
        debug_assert!(self.is_on_path(), "the execution was here");
        self.rewrite_words(length);
        if length > self.length {
            self.retrace_steps::<true>(self.length..length);
        } else {
            self.retrace_steps::<false>(length..self.length);
        }
        (self.length, self.hash) = (length, self.hash_after(length));
    }

    /// Adds these steps of the execution, or takes them back.
    fn retrace_steps<const ADD: bool>(&mut self, steps: Range<usize>) {
        for step in &self.steps[steps] {
            let taken = &mut self.taken[usize::from(step.thread)];
            *taken = if ADD { *taken + 1 } else { *taken - 1 };
            if step.touch.object != NONE {
                self.objects[step.touch.object as usize].retrace::<ADD>(&step.touch);
            }
            if step.more != NONE
                && let also = &self.more[step.more as usize].also
                && also.object != NONE
            {
                self.objects[also.object as usize].retrace::<ADD>(also);
            }
        }
    }

    /// Makes the words of objects what they were after so many steps of the execution, which was here.
    pub(super) fn rewrite_words(&mut self, length: usize) {
        let (here, there) = (self.changes_until(self.length), self.changes_until(length));
        let add = here < there;
        for change in &self.changes[here.min(there)..here.max(there)] {
            let word = &mut self.objects[change.object as usize].word;
            let difference = change.difference;
            *word = if add { word.wrapping_add(difference) } else { word.wrapping_sub(difference) };
        }
    }

    /// How many changes of words the first so many steps of the execution make.
    #[inline]
    pub(super) fn changes_until(&self, length: usize) -> usize {
        self.steps.get(length).map_or(self.changes.len(), |step| step.changes as usize)
    }

    /// Works out what follows from where the threads stand.
    pub(super) fn arrive(&mut self) {
        self.covered.fill(0);
        let (mut least, mut masks) = (0, Masks::default());
        for (thread, (line, taken)) in self.lines.iter().zip(&self.taken).enumerate() {
            let stand = &line.stands[*taken as usize];
            least += stand.least();
            masks.add(thread, stand);
            // The first clock is that of a thread that has not begun.
            if stand.row != 0 {
                let clock = &self.clocks[stand.row as usize * self.stride..];
                for (covered, now) in self.covered.iter_mut().zip(clock) {
                    *covered = (*covered).max(*now);
                }
            }
        }
        for (thread, (taken, covered)) in self.taken.iter().zip(&self.covered).enumerate() {
            masks.frontier |= Threads::from(taken > covered) << thread;
        }
        (self.least, self.masks) = (least, masks);
        self.look_again(masks.waiting);
    }

    /// What it costs to come here, and to go on with a thread, by the steps that are here in the order of the execution,
    /// but for the last run of steps of a thread of the frontier, which comes last; if that is within the budget.
    pub(crate) fn cost_in_order(&mut self, last: usize, next: usize, budget: u32) -> Option<u32> {
        if self.may_hold_back() {
            return None;
        }
        let end = self.latest(self.masks.frontier).map_or(0, |last| self.last_event(last) as usize + 1);
        let mut run = self.last_event(last) as usize + 1;
        if run == end {
            run = 0;
        } else if let Some(covered) = self.covered[last].checked_sub(1) {
            // If something depends on a step of its last run, then that cannot be put last.
            let covered = self.lines[last].stands[covered as usize + 1].last as usize;
            if self.steps[covered..run].iter().all(|step| usize::from(step.thread) == last) {
                return None;
            }
        }
        let mut undone = std::mem::take(&mut self.undone);
        self.taken_before.clone_from(&self.taken);
        let (mut left, mut next, mut cost) = (self.length, next, 0);
        while run > 0 && usize::from(self.steps[run - 1].thread) == last && cost <= budget {
            run -= 1;
            cost += self.undo(run, next, budget, &mut undone);
            (left, next) = (left - 1, last);
        }
        // As long as something before this step is not here.
        let mut step = end;
        while left < step && cost <= budget {
            step -= 1;
            let Step { thread, number, .. } = self.steps[step];
            if number < self.taken[usize::from(thread)] {
                cost += self.undo(step, next, budget, &mut undone);
                (left, next) = (left - 1, thread.into());
            }
        }
        if let Some(last) = left.checked_sub(1).map(|last| &self.steps[last]).filter(|_| cost <= budget) {
            cost += last.costs.run + self.price(last.thread.into(), next);
        }
        std::mem::swap(&mut self.taken, &mut self.taken_before);
        for step in undone.drain(..) {
            for &Change { object, difference, .. } in self.steps[step as usize].changes(&self.changes) {
                let word = &mut self.objects[object as usize].word;
                *word = word.wrapping_add(difference);
            }
        }
        self.undone = undone;
        (cost <= budget).then_some(cost)
    }

    /// What it costs to go on with another thread than the one that took the last step, where nobody is held back.
    #[inline(always)]
    fn price(&self, last: usize, next: usize) -> u32 {
        let preempts = last != next && self.can_go_on(last) == Can::Now && !self.stand(last).yielded();
        u32::from(preempts)
    }

    /// Takes a step back, as far as who can go on depends on it. Says what it costs to go on with a thread after it; more than
    /// the budget if it could not have been taken.
    #[inline(always)]
    fn undo(&mut self, step: usize, next: usize, budget: u32, undone: &mut Vec<u32>) -> u32 {
        let Step { thread, changed, .. } = self.steps[step];
        let thread = usize::from(thread);
        let price = self.price(thread, next);
        self.taken[thread] -= 1;
        if changed != 0 {
            for &Change { object, difference, .. } in self.steps[step].changes(&self.changes) {
                let word = &mut self.objects[object as usize].word;
                *word = word.wrapping_sub(difference);
            }
            undone.push(step as u32);
        }
        if self.can_go_on(thread) == Can::Not { budget + 1 } else { price }
    }
}

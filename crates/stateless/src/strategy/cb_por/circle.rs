//! What a search and its copies, which run ahead of it on other cores, tell each other.
//!
//! What the search has run the copies need not run, so that they are told which states it marks, as soon as it does. What a
//! copy marks rests on executions that the search may never ask for, and is told to nobody; it goes with the execution, as a
//! [lesson](super::lesson). What it costs to arrive in a
//! state does not depend on who asks, and to work that out is most of what there is to do where there are more than two
//! threads; so this is told both ways.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::super::context_cost::{ContextCost, News as Told};
use super::help::{Job, wait_until};
use super::lesson::Stand;
use super::{Lesson, Walk};
use crate::lattice::Trail;

/// A search and its copies.
#[derive(Debug, Default)]
pub(super) struct Circle {
    /// What the search is told.
    search: Inbox,
    copies: Mutex<Vec<Weak<Inbox>>>,
    /// How many there have been.
    count: AtomicUsize,
    /// What copies knew that have gone: the next one need not be told it all again.
    left: Mutex<Vec<Left>>,
    /// What copies can help with when the search goes on to the next bound.
    job: Mutex<Option<Arc<Job>>>,
}

/// What a copy has left behind.
#[derive(Debug)]
struct Left {
    bound: Option<u32>,
    walk: Walk,
    /// What came to be known since.
    inbox: Arc<Inbox>,
}

/// What one is told and has not heard yet.
#[derive(Debug, Default)]
struct Inbox {
    has_news: AtomicBool,
    news: Mutex<News>,
    /// For a copy: how many threads had a number when it was made. With more, numbers may stand for others.
    numbers: usize,
    /// The number of the copy.
    copy: usize,
}

#[derive(Debug, Default)]
struct News {
    states: Vec<Told>,
    /// What marks are of, and how many threads have a number.
    bound: Option<u32>,
    numbers: usize,
}

/// More is not kept for one that does not listen.
const MOST: usize = 1 << 16;

/// One of a circle.
#[derive(Debug, Default)]
pub(super) struct Member {
    circle: Arc<Circle>,
    /// What it is told, if it is a copy.
    copy: Option<Arc<Inbox>>,
    /// What was told or heard last, for its memory.
    states: Vec<Told>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is done under the lock leaves it half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Member {
    /// One for a copy of this one, with what it knows to begin with.
    pub(super) fn copy(&self, walk: &Walk, bound: Option<u32>) -> (Self, Walk) {
        let numbers = walk.marks.cost.numbers();
        let is_understood = self.understands(&walk.marks.cost);
        let left = is_understood.then(|| {
            let mut left = lock(&self.circle.left);
            left.retain(|left| left.bound == bound && left.inbox.numbers == numbers);
            left.pop()
        });
        let (inbox, walk) = match left.flatten() {
            Some(left) => (left.inbox, left.walk),
            None => {
                let numbers = if is_understood { numbers } else { usize::MAX };
                let copy = self.circle.count.fetch_add(1, Ordering::Relaxed);
                let inbox = Arc::new(Inbox { numbers, copy, ..Inbox::default() });
                lock(&self.circle.copies).push(Arc::downgrade(&inbox));
                (inbox, walk.clone())
            }
        };
        (Member { circle: self.circle.clone(), copy: Some(inbox), states: Vec::new() }, walk)
    }

    /// A copy goes: what it knows is left to another.
    pub(super) fn leave(&mut self, walk: &mut Walk, bound: Option<u32>) {
        if self.understands(&walk.marks.cost)
            && let Some(inbox) = self.copy.take()
        {
            let walk = std::mem::replace(walk, Walk::new(None, bound, false));
            lock(&self.circle.left).push(Left { bound, walk, inbox });
        }
    }

    /// Whether it has not given numbers to threads that the search may have given to others.
    fn understands(&self, cost: &ContextCost) -> bool {
        self.copy.as_ref().is_none_or(|inbox| inbox.numbers == cost.numbers())
    }

    /// Whether it is a copy.
    pub(super) fn is_copy(&self) -> bool {
        self.copy.is_some()
    }

    /// Marks something in a graph; if it is a copy, and understood, so that others can learn from it.
    pub(super) fn teach(
        &self,
        walk: &mut Walk,
        lesson: &mut Lesson,
        mark: impl FnOnce(&mut Walk, &mut Lesson),
    ) {
        let Some(copy) = self.copy.as_ref().filter(|_| self.understands(&walk.marks.cost)) else {
            return mark(walk, lesson);
        };
        lesson.is_of(&self.circle, copy.copy);
        let before = walk.marks.begin_lesson(lesson);
        mark(walk, lesson);
        let numbers = walk.marks.cost.numbers();
        walk.marks.end_lesson(before, lesson, numbers);
    }

    /// Has copies help with terminal graphs, if there are any and it is worth it.
    pub(super) fn share(&self, terminals: &Arc<Trail>, all: bool, stand: Stand) -> Option<Arc<Job>> {
        let left = lock(&self.circle.left).len();
        let copies = lock(&self.circle.copies).iter().filter(|copy| copy.strong_count() > 0).count();
        let job = Arc::new(Job::new(terminals, all, stand, copies.saturating_sub(left))?);
        *lock(&self.circle.job) = Some(job.clone());
        Some(job)
    }

    /// That is done.
    pub(super) fn is_done(&self, job: Arc<Job>) {
        job.end();
        lock(&self.circle.job).take();
    }

    /// A copy waits for something to help with on the way to the bound after this one, but not for longer than this.
    pub(super) fn wait_to_help(&self, bound: Option<u32>, patience: Duration) -> Option<Arc<Job>> {
        let mut job = None;
        wait_until(patience, || {
            job = lock(&self.circle.job).clone().filter(|job| job.stand.bound > bound);
            job.is_some()
        });
        job
    }

    /// Whether a lesson is one for it.
    pub(super) fn is_taught(&self, lesson: &Lesson, cost: &ContextCost) -> bool {
        self.understands(cost) && lesson.is_for(&self.circle, cost.numbers())
    }

    /// Tells the others what was found out, but for the one that has said so.
    pub(super) fn tell(&mut self, cost: &mut ContextCost, bound: Option<u32>, teacher: Option<usize>) {
        if !self.understands(cost) {
            return cost.keep_news(false);
        }
        let is_told = |copy: &Inbox| Some(copy.copy) != teacher;
        if !self.is_copy() && teacher.is_some() {
            let copies = lock(&self.circle.copies);
            if !copies.iter().filter_map(Weak::upgrade).any(|copy| is_told(&copy)) {
                return cost.drop_news();
            }
        }
        self.states.clear();
        cost.take_news(&mut self.states);
        if self.states.is_empty() {
            return;
        }
        let numbers = cost.numbers();
        if self.copy.is_some() {
            self.states.retain(Told::has_costs);
            self.circle.search.add(&self.states, bound, numbers);
            return;
        }
        lock(&self.circle.copies).retain(|copy| {
            let Some(copy) = copy.upgrade() else { return false };
            if copy.numbers == numbers && is_told(&copy) {
                copy.add(&self.states, bound, numbers);
            }
            true
        });
    }

    /// Hears what the others have found out.
    pub(super) fn hear(&mut self, cost: &mut ContextCost, bound: Option<u32>) {
        let inbox = self.copy.as_deref().unwrap_or(&self.circle.search);
        if !inbox.has_news.load(Ordering::Relaxed) || !self.understands(cost) {
            return;
        }
        let mut news = lock(&inbox.news);
        inbox.has_news.store(false, Ordering::Relaxed);
        self.states.clear();
        std::mem::swap(&mut news.states, &mut self.states);
        let marks = self.copy.is_some() && news.bound == bound;
        let is_understood = news.numbers == cost.numbers();
        drop(news);
        if is_understood {
            cost.hear(&self.states, marks);
        }
    }
}

impl Inbox {
    fn add(&self, states: &[Told], bound: Option<u32>, numbers: usize) {
        let mut news = lock(&self.news);
        if (news.bound, news.numbers) != (bound, numbers) || news.states.len() > MOST {
            news.states.clear();
            (news.bound, news.numbers) = (bound, numbers);
        }
        news.states.extend_from_slice(states);
        self.has_news.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::{Lattice, Written};

    /// What is known where there are so many threads, with names from a number on.
    fn walk(threads: usize, names: u64) -> Walk {
        let mut walk = Walk::new(None, Some(2), false);
        meet(&mut walk, threads, names);
        walk.marks.cost.keep_news(true);
        walk
    }

    /// Gives numbers to threads, and says what they are called.
    fn meet(walk: &mut Walk, threads: usize, names: u64) -> Vec<u64> {
        let mut state = Lattice::default();
        state.load(0, None, Written::new(threads, names, &[]).script());
        walk.marks.cost.begin(&state);
        state.names().collect()
    }

    #[test]
    fn copies_are_told_what_is_marked_and_the_search_is_not() {
        let (mut search, mut known) = (Member::default(), walk(2, 0));
        let (mut copy, mut copied) = search.copy(&known, Some(2));
        known.marks.cost.mark(7);
        search.tell(&mut known.marks.cost, Some(2), None);
        copy.hear(&mut copied.marks.cost, Some(2));
        assert!(copied.marks.cost.is_marked(7));
        copied.marks.cost.mark(8);
        copy.tell(&mut copied.marks.cost, Some(2), None);
        search.hear(&mut known.marks.cost, Some(2));
        assert!(!known.marks.cost.is_marked(8));
        // Marks are of a bound.
        known.marks.cost.mark(9);
        search.tell(&mut known.marks.cost, Some(3), None);
        copy.hear(&mut copied.marks.cost, Some(2));
        assert!(!copied.marks.cost.is_marked(9));
    }

    #[test]
    fn what_a_copy_knew_is_left_to_the_next() {
        let (mut search, mut known) = (Member::default(), walk(2, 0));
        let (mut first, mut copied) = search.copy(&known, Some(2));
        copied.marks.cost.mark(7);
        first.leave(&mut copied, Some(2));
        known.marks.cost.mark(8);
        search.tell(&mut known.marks.cost, Some(2), None);
        let (mut second, mut copied) = search.copy(&known, Some(2));
        second.hear(&mut copied.marks.cost, Some(2));
        assert!(copied.marks.cost.is_marked(7) && copied.marks.cost.is_marked(8));
        second.leave(&mut copied, Some(2));
        // Within another bound it is of no use.
        let (_, copied) = search.copy(&known, Some(3));
        assert!(!copied.marks.cost.is_marked(7));
    }

    #[test]
    fn whoever_has_given_other_numbers_to_threads_is_not_understood() {
        let (mut search, mut known) = (Member::default(), walk(2, 0));
        let (mut copy, mut copied) = search.copy(&known, Some(2));
        // Each meets another thread, which is the third for both.
        meet(&mut known, 3, 0);
        meet(&mut copied, 3, 100);
        known.marks.cost.mark(7);
        search.tell(&mut known.marks.cost, Some(2), None);
        copy.hear(&mut copied.marks.cost, Some(2));
        assert!(!copied.marks.cost.is_marked(7));
        copied.marks.cost.mark(8);
        copy.tell(&mut copied.marks.cost, Some(2), None);
        assert!(lock(&copy.circle.search.news).states.is_empty());
        // Nor is a copy of it.
        let (mut second, mut known_to_it) = copy.copy(&copied, Some(2));
        search.tell(&mut known.marks.cost, Some(2), None);
        second.hear(&mut known_to_it.marks.cost, Some(2));
        assert!(!known_to_it.marks.cost.is_marked(7));
        copy.leave(&mut copied, Some(2));
        let (_, copied) = search.copy(&known, Some(2));
        assert!(copied.marks.cost.is_marked(7), "the next one begins afresh");
    }

    /// Something that a member marks, and what that leads to.
    fn lesson(member: &Member, walk: &mut Walk) -> Lesson {
        let mut lesson = Lesson::default();
        member.teach(walk, &mut lesson, |walk, _| {
            walk.marks.cost.mark(7);
            (walk.marks.cut, walk.marks.open, walk.marks.exhausted) = (true, true, true);
        });
        lesson
    }

    #[test]
    fn what_a_copy_marks_is_taken_over_where_as_much_was_known() {
        let (search, mut known) = (Member::default(), walk(2, 0));
        let names = meet(&mut known, 2, 0);
        let (copy, mut copied) = search.copy(&known, Some(2));
        let lesson = lesson(&copy, &mut copied);
        assert!(search.is_taught(&lesson, &known.marks.cost));
        let mut other = known.clone();
        assert!(known.marks.heed(&lesson, &names));
        assert!(known.marks.cost.is_marked(7));
        assert!(known.marks.cut && known.marks.open && known.marks.exhausted);
        // Once more there is nothing to learn, so it is not what would be learnt.
        assert!(!known.marks.heed(&lesson, &names));
        // Nor for other threads, within another bound, or where there is no room.
        assert!(!other.marks.heed(&lesson, &[1, 2]));
        other.marks.bound = Some(3);
        assert!(!other.marks.heed(&lesson, &names));
        (other.marks.bound, other.marks.most_states) = (Some(2), 1);
        assert!(!other.marks.heed(&lesson, &names));
        other.marks.most_states = 2;
        assert!(other.marks.heed(&lesson, &names));
    }

    #[test]
    fn a_lesson_is_for_the_same_search() {
        let (search, mut known) = (Member::default(), walk(2, 0));
        let (copy, mut copied) = search.copy(&known, Some(2));
        assert!(!Member::default().is_taught(&lesson(&copy, &mut copied), &known.marks.cost));
        assert!(!search.is_taught(&lesson(&search, &mut known), &known.marks.cost), "it teaches nobody");
        let mut forgotten = lesson(&copy, &mut copied);
        forgotten.clear();
        assert!(!search.is_taught(&forgotten, &known.marks.cost));
        // With more threads, numbers may stand for others.
        meet(&mut known, 3, 0);
        assert!(!search.is_taught(&lesson(&copy, &mut copied), &known.marks.cost));
        meet(&mut copied, 3, 100);
        assert!(!search.is_taught(&lesson(&copy, &mut copied), &known.marks.cost));
    }

    #[test]
    fn who_has_taught_something_is_not_told() {
        let (mut search, mut known) = (Member::default(), walk(2, 0));
        let (first, mut copied) = search.copy(&known, Some(2));
        let teacher = Some(lesson(&first, &mut copied).teacher);
        let has_news = |member: &Member| member.copy.as_ref().unwrap().has_news.load(Ordering::Relaxed);
        known.marks.cost.mark(7);
        search.tell(&mut known.marks.cost, Some(2), teacher);
        assert!(!has_news(&first));
        let (second, _) = search.copy(&known, Some(2));
        known.marks.cost.mark(8);
        search.tell(&mut known.marks.cost, Some(2), teacher);
        assert!(!has_news(&first) && has_news(&second));
        known.marks.cost.mark(9);
        search.tell(&mut known.marks.cost, Some(2), None);
        assert!(has_news(&first));
    }
}

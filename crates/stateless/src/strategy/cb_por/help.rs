//! The way from one bound to the next, on several cores.
//!
//! Terminal graphs that are open are marked anew, one after the other. Copies of the search have nothing to do meanwhile, since
//! there is nothing to run yet. So each of them marks the graphs of a part, from somewhere on, and says what it has learnt
//! from each. The search goes through all of them in their order, so that what it knows then is the same; where a copy has
//! been there before it, it [takes that over](super::lesson) if it can. It waits for nobody, but for who is still in the middle of
//! a graph when it is done: a copy that it comes near to goes on farther ahead.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Lesson;
use super::circle::lock;
use super::lesson::Stand;
use crate::lattice::Trail;

/// What is to be done.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) terminals: Arc<Trail>,
    /// Whether graphs are marked that are not open.
    pub(super) all: bool,
    /// How the search stands when it begins.
    pub(super) stand: Stand,
    parts: Box<[Part]>,
    /// How many parts have somebody.
    taken: AtomicUsize,
    /// Where the search is.
    at: AtomicUsize,
    /// It is done.
    ends: AtomicBool,
}

/// A part of it.
#[derive(Debug)]
struct Part {
    begin: usize,
    lessons: Mutex<VecDeque<(usize, Lesson)>>,
}

/// Fewer graphs are not worth it.
const FEW: usize = 16;
/// The search is so near to a graph that it comes there first.
const NEAR: usize = 2;
/// So many bytes of lessons there are at most in a part.
const MOST_TAUGHT: usize = 64 << 20;

/// Looks for something, for so long. It is not slept: what is waited for comes within less than it takes to be woken. But others
/// may need the core.
pub(super) fn wait_until(patience: Duration, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() && began.elapsed() < patience {
        (0..32).for_each(|_| std::hint::spin_loop());
        std::thread::yield_now();
    }
}

impl Job {
    /// Before the search comes to the next bound it has less to do than takes so long.
    pub(super) const SOON: Duration = Duration::from_millis(2);
    /// If it has nothing to run within a bound, it comes to the next one before so long.
    pub(super) const AT_ONCE: Duration = Duration::from_micros(50);

    /// One for so many copies, if it is worth it.
    pub(super) fn new(terminals: &Arc<Trail>, all: bool, stand: Stand, copies: usize) -> Option<Self> {
        let length = terminals.len();
        let part = |number| Part { begin: length * number / (copies + 1), lessons: Mutex::default() };
        (copies > 0 && length >= FEW).then(|| Job {
            terminals: terminals.clone(),
            all,
            stand,
            parts: (1..=copies).map(part).collect(),
            taken: AtomicUsize::new(0),
            at: AtomicUsize::new(0),
            ends: AtomicBool::new(false),
        })
    }

    /// The search comes to a graph: what somebody has learnt from it, if anybody has been there.
    pub(super) fn lesson(&self, index: usize) -> Option<Lesson> {
        self.at.store(index, Ordering::Relaxed);
        let part = self.parts.iter().rfind(|part| part.begin <= index)?;
        let mut lessons = lock(&part.lessons);
        while lessons.front().is_some_and(|(of, _)| *of < index) {
            lessons.pop_front();
        }
        lessons.front().filter(|(of, _)| *of == index)?;
        lessons.pop_front().map(|(_, lesson)| lesson)
    }

    /// The search is done.
    pub(super) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Waits until the search is done, but not for ever: it may have failed.
    pub(super) fn wait(&self) {
        wait_until(Duration::from_secs(1), || self.ends.load(Ordering::Relaxed));
    }

    /// A part that nobody has yet.
    pub(super) fn take_part(&self) -> Option<Taken<'_>> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        let part = self.parts.get(number)?;
        let end = self.parts.get(number + 1).map_or(self.terminals.len(), |next| next.begin);
        Some(Taken { job: self, part, begin: part.begin, end, taught: 0 })
    }
}

/// A part that somebody does.
#[derive(Debug)]
pub(super) struct Taken<'j> {
    job: &'j Job,
    part: &'j Part,
    /// From this graph on.
    begin: usize,
    end: usize,
    /// The size of the lessons so far.
    taught: usize,
}

impl Taken<'_> {
    /// Whether a graph is to be marked; asked of one after the other.
    pub(super) fn has(&mut self, index: usize) -> bool {
        let at = self.job.at.load(Ordering::Relaxed);
        if at + NEAR > self.begin {
            self.begin = at + NEAR.max(self.end.saturating_sub(at) / 2);
        }
        (self.begin..self.end).contains(&index)
            && self.taught < MOST_TAUGHT
            && !self.job.ends.load(Ordering::Relaxed)
    }

    /// This was learnt from a graph.
    pub(super) fn teach(&mut self, index: usize, lesson: Lesson) {
        self.begin = index + 1;
        self.taught += lesson.size();
        lock(&self.part.lessons).push_back((index, lesson));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(length: usize, copies: usize) -> Option<Job> {
        let mut terminals = Trail::default();
        let written = crate::lattice::Written::new(2, 0, &[]);
        (0..length).for_each(|_| terminals.push(0, 2, written.script()));
        Job::new(&Arc::new(terminals), false, Stand::default(), copies)
    }

    #[test]
    fn what_was_learnt_from_a_graph_is_found_where_the_search_comes_to_it() {
        assert!(job(FEW - 1, 1).is_none() && job(FEW, 0).is_none());
        let job = job(30, 2).expect("it is worth it");
        let (mut first, mut second) = (job.take_part().unwrap(), job.take_part().unwrap());
        assert!(job.take_part().is_none());
        let learn = |part: &mut Taken<'_>| {
            let all = (0..30).filter(|index| {
                let has = part.has(*index);
                if has {
                    part.teach(*index, Lesson { numbers: 100 + index, ..Lesson::default() });
                }
                has
            });
            all.collect::<Vec<_>>()
        };
        assert_eq!(learn(&mut second), (20..30).collect::<Vec<_>>());
        // The search is in the first part already: what is near is left to it.
        assert!(job.lesson(13).is_none());
        assert_eq!(learn(&mut first), (16..20).collect::<Vec<_>>());
        for index in 14..30 {
            let lesson = job.lesson(index).map(|lesson| lesson.numbers);
            // One is passed over.
            assert_eq!(lesson, (index >= 16).then_some(100 + index));
        }
        let third = self::job(30, 1).expect("it is worth it");
        let mut part = third.take_part().unwrap();
        assert!(part.has(20));
        part.teach(20, Lesson::default());
        assert!(third.lesson(21).is_none() && third.lesson(20).is_none());
        third.end();
        assert!(!part.has(28));
    }
}

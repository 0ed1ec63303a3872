//! What a copy of the search has learnt from an execution, for the search to take over.
//!
//! To learn from an execution is to look at states: at what is known of them, which says at which others to look, and what
//! is known then. What it costs to arrive there matters too, but is so whoever asks. So if as much is known in the search,
//! of all states that a copy has looked at, as was known to the copy, then what the copy found out is what the search would
//! find out. To see that takes less than to look again.

use std::sync::{Arc, Weak};

use super::super::context_cost::LookedAt;
use super::circle::Circle;
use crate::lattice::Threads;

/// What a copy of a strategy has learnt from an execution, and what that rests on. See [`Strategy::teach`].
///
/// ```
/// use selvedge_stateless::strategy::Lesson;
/// assert_eq!(Lesson::default().size(), size_of::<Lesson>());
/// ```
///
/// [`Strategy::teach`]: crate::Strategy::teach
#[derive(Clone, Debug, Default)]
pub struct Lesson {
    /// The search that the copy is one of, and how many threads had a number there; none, if nothing was learnt.
    pub(super) circle: Weak<Circle>,
    pub(super) numbers: usize,
    /// The copy, which need not be told.
    pub(super) teacher: usize,
    /// How the search stood.
    pub(super) stand: Stand,
    pub(super) states: Vec<LookedAt>,
    /// What became of the marks.
    pub(super) cut: bool,
    pub(super) open: bool,
    pub(super) exhausted: bool,
    /// For Algorithm 1: the number of the first decision whose state had not been visited; and of each from there on, the
    /// threads that an execution can afford to choose there.
    pub(super) visited: usize,
    pub(super) cheaper: Vec<Threads>,
}

/// What decides what is made of a graph, beside what is known of states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stand {
    pub(super) bound: Option<u32>,
    /// There is another bound to come.
    pub(super) more: bool,
    /// Something is kept for that.
    pub(super) lasts: bool,
}

impl Lesson {
    /// How many bytes it takes, about.
    ///
    /// ```
    /// assert!(selvedge_stateless::strategy::Lesson::default().size() < 1_000);
    /// ```
    pub fn size(&self) -> usize {
        size_of::<Lesson>() + size_of_val(&self.states[..]) + size_of_val(&self.cheaper[..])
    }

    /// Makes it one from which nothing is learnt.
    pub(crate) fn clear(&mut self) {
        self.numbers = 0;
        self.states.clear();
        self.cheaper.clear();
    }

    /// Makes it the same as another one. The memory is kept.
    pub(crate) fn copy_from(&mut self, other: &Lesson) {
        // That is most often so already, and then no memory is written that other cores read.
        if !self.circle.ptr_eq(&other.circle) {
            self.circle = other.circle.clone();
        }
        self.states.clone_from(&other.states);
        self.cheaper.clone_from(&other.cheaper);
        (self.numbers, self.teacher, self.stand) = (other.numbers, other.teacher, other.stand);
        (self.cut, self.open, self.exhausted) = (other.cut, other.open, other.exhausted);
        self.visited = other.visited;
    }

    /// Has it be one of a search, by one of its copies.
    pub(super) fn is_of(&mut self, circle: &Arc<Circle>, teacher: usize) {
        if !std::ptr::eq(self.circle.as_ptr(), Arc::as_ptr(circle)) {
            self.circle = Arc::downgrade(circle);
        }
        self.teacher = teacher;
    }

    /// Whether there is something to be learnt from it for one of the same search, with so many numbers.
    pub(super) fn is_for(&self, circle: &Arc<Circle>, numbers: usize) -> bool {
        self.numbers == numbers && numbers > 0 && std::ptr::eq(self.circle.as_ptr(), Arc::as_ptr(circle))
    }
}

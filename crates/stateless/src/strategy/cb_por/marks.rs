//! H: the states behind which everything within the bound has been run, and what follows from a terminal graph for its
//! prefixes, which is `Mark` of Algorithm 2. The deviations are numbered in [`cb_por`](super).

use selvedge_core::{Decision, ThreadId};

use super::super::context_cost::{ContextCost, Here, NEVER};
use super::lesson::{Lesson, Stand};
use crate::coverage::HashedSet;
use crate::lattice::{Lattice, Removed, Slid, Threads, each};

/// The part of H that is looked up.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    /// What states cost; marked are those from which every terminal state within the bound has been
    /// reached.
    pub(super) cost: ContextCost,
    pub(super) most_states: usize,
    /// The number of decisions of the longest execution so far, where memory is limited to its square.
    pub(super) longest: Option<usize>,
    pub(super) bound: Option<u32>,
    pub(super) cut: bool,
    /// How to come back to where the walk over states began; empty but for its memory.
    back: Vec<Back>,
    /// Whether there is another bound to come.
    pub(super) more: bool,
    /// Of the graph that was marked last there is something to be marked within a higher bound that does not follow from
    /// what lasts.
    pub(super) open: bool,
    /// The state that every execution begins in is exhausted.
    pub(super) exhausted: bool,
    /// States have been forgotten, and what lasts with them.
    pub(super) forgotten: bool,
}

/// A way back.
#[derive(Clone, Debug)]
enum Back {
    /// By the step of a thread that was taken back.
    Over(usize, Removed),
    /// By several that were taken back at once.
    Along(Slid),
    /// Along the execution, to where it was after so many steps.
    To(usize),
}

/// So many times the square of the length of an execution is remembered [in square memory](super::CbPor::in_square_memory).
/// What a search asks for is mostly near what was run last: of the programs of `benches/peers` none needs more.
const SQUARES: usize = 32;

impl Marks {
    /// None, within a bound, if there is one; there may be more bounds to come.
    pub(super) fn new(bound: Option<u32>, more: bool) -> Self {
        Marks {
            cost: ContextCost::default(),
            most_states: usize::MAX,
            longest: None,
            bound,
            cut: false,
            back: Vec::new(),
            more,
            open: false,
            exhausted: false,
            forgotten: false,
        }
    }

    /// Whether a step from a state is within the bound.
    pub(super) fn within(&mut self, state: &mut Lattice, here: &mut Here, thread: usize) -> bool {
        self.most().is_none_or(|most| self.cost.of_step(state, here, thread, most) <= most)
    }

    pub(super) fn most(&self) -> Option<u32> {
        self.bound.map(|most| most.min(NEVER - 2))
    }

    /// How much of anything may be remembered.
    pub(super) fn squares(&self) -> usize {
        self.longest.map_or(usize::MAX, |longest| longest.saturating_mul(longest).saturating_mul(SQUARES))
    }

    /// An execution with no more preemptions than this that has the whole graph.
    pub(super) fn cheapest(&mut self, state: &mut Lattice, mut most: u32) -> Option<Vec<Decision>> {
        state.walk_to(state.steps());
        let mut removed: Vec<(usize, Removed)> = Vec::new();
        while state.len() > 0 {
            let mut here = self.cost.look(state);
            let next = removed.last().map(|(thread, _)| *thread);
            let last = each(here.frontier).find_map(|last| {
                let price = u32::from(next.is_some_and(|next| next != last) && here.preempts(last));
                let left = most.checked_sub(price)?;
                (self.cost.of_arrival(state, &mut here, last, left) <= left).then_some((last, left))
            });
            let Some((last, left)) = last else { break };
            most = left;
            removed.push((last, state.remove(last)));
        }
        let is_whole = state.len() == 0;
        let mut decisions = Vec::new();
        for (thread, removed) in removed.iter().rev() {
            decisions.push(Decision::Thread(ThreadId(*thread as u32)));
            decisions.extend(state.choices(removed.event).iter().map(|(value, _)| Decision::Value(*value)));
            state.put_back(*thread, removed);
        }
        is_whole.then_some(decisions)
    }

    /// Forgets states that were not looked at for long if there are too many. Not those that are prefixes of the graph at
    /// hand: to the states of the last execution the search comes back, and whether these are done depends on the others.
    fn make_room(&mut self, state: &mut Lattice) {
        let most = self.most_states.min(self.squares());
        self.cost.limit_costs(most / 4);
        if self.cost.young() > most / 2 {
            let mut kept = HashedSet::default();
            self.cost.keep_prefixes(state, &mut kept, most / 4);
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.cost.forget();
        (self.forgotten, self.open) = (true, true);
    }

    /// What decides what is made of a graph, beside what is known of states.
    pub(super) fn stand(&self) -> Stand {
        // Where memory is short there is no room for what lasts, and what is forgotten is needed again.
        let lasts = !self.forgotten && self.longest.is_none();
        Stand { bound: self.bound, more: self.more, lasts }
    }

    /// Takes over what a copy of the search has made of a graph of threads with these names, if it can be.
    pub(super) fn heed(&mut self, lesson: &Lesson, names: &[u64]) -> bool {
        let most = self.most_states.min(self.squares());
        // What is to be forgotten depends on the graph.
        let has_room = self.cost.young() + lesson.states.len() <= most / 2;
        if lesson.stand != self.stand()
            || !has_room
            || !self.cost.is_of(names)
            || !self.cost.look_like(&lesson.states)
        {
            return false;
        }
        self.cost.limit_costs(most / 4);
        self.open = lesson.open;
        self.cut |= lesson.cut;
        self.exhausted |= lesson.exhausted;
        true
    }

    /// Whether others are the same, as far as a lesson goes.
    pub(super) fn is_like(&mut self, other: &mut Marks, lesson: &Lesson) -> bool {
        let of = |marks: &Marks| (marks.open, marks.cut, marks.exhausted, marks.stand(), marks.cost.young());
        of(self) == of(other)
            && self.cost.is_as_after(&lesson.states)
            && other.cost.is_as_after(&lesson.states)
    }

    /// From now on it is noted what states are looked at, and what comes of it, for a lesson. What has come of what was before.
    pub(super) fn begin_lesson(&mut self, lesson: &mut Lesson) -> (bool, bool) {
        let before = (self.cut, self.exhausted);
        (self.cut, self.exhausted) = (false, false);
        self.cost.note_looks(std::mem::take(&mut lesson.states));
        before
    }

    /// That is the lesson, for those with so many numbers, unless it cannot be said.
    pub(super) fn end_lesson(&mut self, before: (bool, bool), lesson: &mut Lesson, numbers: usize) {
        if let Some(states) = self.cost.take_looks() {
            (lesson.numbers, lesson.states, lesson.stand) = (numbers, states, self.stand());
            (lesson.cut, lesson.open, lesson.exhausted) = (self.cut, self.open, self.exhausted);
        }
        self.cut |= before.0;
        self.exhausted |= before.1;
    }

    /// Puts a terminal state, all of its graph, into H, and every state from which nothing new can be reached.
    pub(super) fn mark_all(&mut self, state: &mut Lattice) {
        self.cost.begin(state);
        self.make_room(state);
        let lasts = self.stand().lasts;
        self.open = !lasts;
        let mut exhausted = self.more && lasts;
        if state.is_cut() {
            if state.floating() > 0 {
                // Within the next bound there may be other ways.
                (self.open, exhausted) = (self.open | exhausted, false);
            }
            // With each number of these every way on leads to the same terminal state.
            while state.floating() > 0 {
                let here = self.cost.look(state);
                if !self.cost.is_marked_here(&here) {
                    self.mark(state, here, false);
                    self.return_to(state, 0);
                }
                state.walk_to(state.len() - 1);
            }
            // What comes after has one beginning, which is here; beyond the bound there may be others.
            self.open |= exhausted && state.frontier() != 1 << state.last_run();
            if let Some((before, exhausted)) = self.go_back(state, exhausted) {
                self.mark(state, before, exhausted);
            }
        } else {
            let here = self.cost.look(state);
            if !self.cost.is_marked_here(&here) {
                self.mark(state, here, exhausted);
            }
        }
        // Nothing is done any more but to load what comes next, and that begins anywhere on the path.
        if state.is_on_path() {
            self.back.clear();
        }
        self.return_to(state, 0);
    }

    /// Puts a state into H, and then every predecessor from which nothing new can be reached. A state that one step
    /// leads to within the bound is as good as marked when that step is; it needs no place in the table. The walk ends
    /// where it comes to, and the way back is noted. If there is another bound to come, it is said whether the state is
    /// exhausted: everything behind it has been run, whatever it costs.
    fn mark(&mut self, state: &mut Lattice, mut here: Here, mut exhausted: bool) {
        while !self.cost.effort.is_over() {
            let within = self.arrivals_within(state, &mut here);
            if !within.is_power_of_two() || self.cost.is_kept(&here) {
                self.cost.mark_here(&mut here);
            }
            self.open |= exhausted && here.frontier != within;
            let Some(last) = state.latest(within) else {
                self.exhausted |= exhausted && state.len() == 0;
                break;
            };
            let others = within & !(1 << last);
            if others != 0 && self.cost.young() > self.most_states {
                // Already the prefixes of this one graph are too many.
                self.forget();
            }
            for other in each(others) {
                let removed = state.remove(other);
                let mut before = self.cost.look(state);
                if let Some(exhausted) = self.settles(state, &mut before, removed.event, exhausted) {
                    let begin = self.back.len();
                    self.mark(state, before, exhausted);
                    self.return_to(state, begin);
                }
                state.put_back(other, &removed);
            }
            let settled = if here.was_run(last) {
                self.go_back(state, exhausted)
            } else {
                if others == 0 {
                    self.back.extend(state.slide_back(last).map(Back::Along));
                }
                self.take_back(state, last, exhausted)
            };
            let Some(settled) = settled else { break };
            (here, exhausted) = settled;
        }
    }

    /// Goes back from where the execution was to before the last step that it did not have to take. Says as [`Marks::settles`]
    /// does what follows for the state there.
    fn go_back(&mut self, state: &mut Lattice, mut exhausted: bool) -> Option<(Here, bool)> {
        let length = state.len();
        let passed = state.go_back();
        self.cut |= passed.by_bound.is_some();
        if exhausted {
            self.open |= passed.open;
            if let Some((before, thread)) = passed.by_bound {
                self.open |= !self.cost.lasts_from(before, thread);
                exhausted = false;
            }
        }
        if state.len() < length {
            self.back.push(Back::To(length));
        }
        self.take_back(state, state.last_run(), exhausted)
    }

    /// Takes the last step of a thread back. Says as [`Marks::settles`] does what follows for the state before it.
    fn take_back(&mut self, state: &mut Lattice, last: usize, exhausted: bool) -> Option<(Here, bool)> {
        let removed = state.remove(last);
        let mut before = self.cost.look(state);
        let settled = self.settles(state, &mut before, removed.event, exhausted);
        self.back.push(Back::Over(last, removed));
        settled.map(|exhausted| (before, exhausted))
    }

    /// Goes back to where the walk over states was when the way there was so long.
    fn return_to(&mut self, state: &mut Lattice, begin: usize) {
        while self.back.len() > begin {
            match self.back.pop() {
                Some(Back::Over(last, removed)) => state.put_back(last, &removed),
                Some(Back::To(length)) => state.walk_to(length),
                Some(Back::Along(slid)) => state.slide_on(&slid),
                None => {}
            }
        }
    }

    /// The threads by whose last steps a state can be reached within the bound, as some execution does.
    #[inline]
    fn arrivals_within(&mut self, state: &mut Lattice, here: &mut Here) -> Threads {
        let Some(most) = self.most() else { return here.frontier };
        let (mut within, mut unknown): (Threads, Threads) = (0, 0);
        for last in each(here.frontier) {
            match self.cost.known_arrival(state, here, last, most) {
                Some(cost) => within |= Threads::from(cost <= most) << last,
                None => unknown |= 1 << last,
            }
        }
        if within == 0 && unknown.is_power_of_two() {
            return unknown;
        }
        for last in each(unknown) {
            let cost = self.cost.of_arrival(state, here, last, most);
            within |= Threads::from(cost <= most) << last;
        }
        within
    }

    /// Notes that the step of an event leads from a state into H, to one that may be exhausted. Says whether the state
    /// is to be put into H too, because every step from it leads there or exceeds the bound, and whether it is exhausted then.
    fn settles(
        &mut self,
        state: &mut Lattice,
        here: &mut Here,
        event: usize,
        mut exhausted: bool,
    ) -> Option<bool> {
        if self.cost.is_marked_here(here) {
            return None;
        }
        let thread = state.step(event).0.index();
        let leads_on = self.cost.all_values_lead_on(state, event);
        let others = self.cost.unmarked(state, here) & !(Threads::from(leads_on) << thread);
        let settled = !each(others).any(|thread| self.within(state, here, thread));
        self.cut |= settled && others != 0;
        if exhausted {
            exhausted = self.last(state, here, event, thread);
        }
        if !settled && leads_on {
            self.cost.step_leads_on(state, here, thread);
        }
        settled.then_some(exhausted)
    }

    /// Notes that the step of an event leads from a state to an exhausted one. Says whether the state is exhausted too.
    fn last(&mut self, state: &Lattice, here: &mut Here, event: usize, thread: usize) -> bool {
        if !state.choices(event).is_empty() {
            // What is known of values does not last.
            self.open = true;
            return false;
        }
        let exhausted = self.cost.is_exhausted(here, thread);
        // Where there is no other step this is seen again at once.
        let is_kept = exhausted && here.allowed == 1 << thread || self.cost.lasts(here, thread);
        self.open |= !is_kept;
        exhausted
    }
}

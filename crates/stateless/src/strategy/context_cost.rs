//! The context bound of a state: the fewest preemptions of any execution that leads to it.
//!
//! Musuvathi, Qadeer: *Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12),
//! sections 2 and 3.2: CB(s, t) by recursion over the frontier of s, each value computed once and kept for
//! the whole search.
//!
//! Deviations:
//! 1. A switch is free also after a thread that yielded, waits with a time limit, or is held back by the
//!    fair bound; and a step that the fair bound rules out costs more than any bound.
//! 2. What is asked is only whether a cost is within a budget. So what is kept of it is two numbers that it
//!    lies between; and an execution that was run is an answer for the states that it was in: what it had, and what
//!    every other one that leads there must have had, step by step. For other states the order of the execution is
//!    asked first.
//! 3. A thread that was left where nothing could have blocked it was preempted there, and so was one that must
//!    have been interrupted between two of its steps; if it could have waited for a lock there, then the one that held
//!    the lock was. A state with more of these than the budget has is not looked into.
//! 4. Not every value is kept: once the table is large, of the states that a search only goes through one in eight has a
//!    place there, and the others are worked out again when they are asked for. So are those of states of which nothing else
//!    is known, once these are too many.
//!
//! What rarely occurs (many threads, high bounds) has no place in the [table of states](states) and is kept apart.

mod shared;
mod states;

use std::collections::HashMap;

use selvedge_core::ThreadId;

pub(crate) use self::shared::LookedAt;
pub(crate) use self::states::News;
use self::states::{ARRIVALS, At, Costs, States, THREADS};
use super::effort::Effort;
use crate::coverage::{HashedMap, HashedSet};
use crate::happens_before::{mix, value_hash};
use crate::lattice::{Costs as Spent, Lattice, Runs, Threads, each};

/// More than any bound.
pub(crate) const NEVER: u32 = u16::MAX as u32;

/// The states that were looked at, what is known of the costs of arriving there, and which of them are marked.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContextCost {
    states: States,
    /// Steps to marked states by threads that have no place in the table, and choices of values that lead there;
    /// see [`step`].
    steps: Steps,
    /// The costs that have no place in the table: the least and the most.
    costs: HashedMap<(u16, u16)>,
    /// A number for each name of a thread that was ever seen, the same in all executions.
    numbers: HashMap<u64, u32>,
    /// The names and the numbers of the threads of the graph at hand.
    names: Vec<u64>,
    number_of: Vec<u32>,
    /// Whether each thread of the graph at hand is its number.
    same: bool,
    /// The states of which something was found out that others are told, where there are any.
    news: Option<Vec<u128>>,
    /// The states that were looked at, where that is noted.
    looked_at: Option<Vec<LookedAt>>,
    /// How often something had to be worked out.
    searches: u64,
    pub(crate) effort: Effort,
}

/// A state that is being looked at.
#[derive(Clone, Debug)]
pub(crate) struct Here {
    hash: u128,
    /// Where it is in the table, if it is there.
    at: Option<At>,
    /// The threads whose last step nothing depends on.
    pub(crate) frontier: Threads,
    /// The threads that can be chosen.
    pub(crate) allowed: Threads,
    preemptible: Threads,
    /// If the execution was here: the thread that took the last step, and what that costs.
    run: Option<(u8, Spent)>,
}

impl Here {
    /// Whether the execution was here with the step of a thread.
    #[inline]
    pub(crate) fn was_run(&self, last: usize) -> bool {
        self.run.is_some_and(|(thread, _)| usize::from(thread) == last)
    }

    /// Whether a switch away from a thread that has just come here preempts it.
    pub(crate) fn preempts(&self, last: usize) -> bool {
        self.preemptible >> last & 1 == 1
    }
}

/// The steps from a state that lead to marked ones.
#[derive(Debug)]
pub(crate) struct Marked<'c> {
    costs: &'c ContextCost,
    state: u128,
    into: u16,
}

/// Steps in two generations, as [states] are.
#[derive(Clone, Debug, Default)]
struct Steps {
    young: HashedSet,
    old: HashedSet,
}

impl Steps {
    #[inline]
    fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }

    fn contains(&self, step: u128) -> bool {
        self.young.contains(&step) || self.old.contains(&step)
    }

    /// Whether it is there; has it be young.
    fn renew(&mut self, step: u128) -> bool {
        if self.old.remove(&step) {
            self.young.insert(step);
        }
        self.young.contains(&step)
    }

    /// Forgets those that are not young.
    fn forget(&mut self) {
        self.old.clear();
        std::mem::swap(&mut self.old, &mut self.young);
    }

    fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

/// How a search has come where it is.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// By the steps of the execution in their order, as far as they are there; that order costs too much.
    in_order: bool,
    /// So many steps there was no other way.
    length: u32,
}

impl Way {
    /// Of so many states that the search had to go through, one gets a place in the table.
    const UNKNOWN: u32 = 8;
    /// As long as there are no more in it than so many, which are at hand, each gets one.
    const AT_HAND: usize = 1 << 14;
}

/// A step from a state by the thread with this name; with 0, or a value that it chooses plus 1.
#[inline]
fn step(state: u128, name: u64, value: u32) -> u128 {
    state ^ mix(name, u64::from(value))
}

/// The values that the step of an event chooses from a state, the last first: where it does so, and among how many.
fn values_of(
    state: &Lattice,
    event: usize,
    choices: &[(u32, u32)],
) -> impl Iterator<Item = (u128, u32, u32)> {
    let (thread, number) = state.step(event);
    let (name, actions) = (state.name(thread.index()), u64::from(number));
    choices.iter().enumerate().rev().map(move |(index, &(value, arity))| {
        let chosen = choices[..index].iter().map(|(value, _)| value_hash(name, actions, *value));
        (chosen.fold(state.hash, |hash, value| hash ^ value), value, arity)
    })
}

impl Marked<'_> {
    /// Whether the next step of a thread leads to a marked state.
    #[inline]
    pub(crate) fn has(&self, thread: ThreadId, name: u64) -> bool {
        match self.costs.number(thread, name) {
            Some(number) if number < THREADS => self.into >> number & 1 == 1,
            Some(_) => self.costs.steps.contains(step(self.state, name, 0)),
            None => false,
        }
    }

    /// The threads, of those with these names, whose next steps lead to marked states, if that is seen at once.
    #[inline]
    pub(crate) fn threads(&self, names: &[u64]) -> Option<Threads> {
        let all = self.costs.same && names.len() <= THREADS as usize && self.costs.names == names;
        all.then_some(self.into.into())
    }

    /// Whether every step leads to a marked state with which the thread of this name chooses a value.
    pub(crate) fn has_value(&self, name: u64, value: u32) -> bool {
        self.costs.steps.contains(step(self.state, name, value + 1))
    }
}

impl ContextCost {
    /// How many states of which more is known than costs were looked at since some were last forgotten, or how many steps are
    /// kept apart, if that is more.
    #[inline]
    pub(crate) fn young(&self) -> usize {
        self.states.young().max(self.steps.young.len())
    }

    /// Forgets what is known of costs alone, if it is more than so much.
    #[inline]
    pub(crate) fn limit_costs(&mut self, most: usize) {
        if self.states.spare().max(self.costs.len()) > most {
            self.states.forget_costs();
            self.costs.clear();
        }
    }

    /// Forgets the states that were not looked at since this was last done.
    pub(crate) fn forget(&mut self) {
        self.looked_at = None;
        self.states.forget();
        self.steps.forget();
        self.costs.clear();
    }

    /// Looks at the prefixes of a graph, so that they are not forgotten: at no more than so many, and first at those that
    /// the execution was in.
    pub(crate) fn keep_prefixes(&mut self, state: &mut Lattice, kept: &mut HashedSet, most: usize) {
        let mut frontier = state.frontier();
        while let Some(last) = state.latest(frontier)
            && kept.len() < most
        {
            frontier &= !(1 << last);
            let removed = state.remove(last);
            self.keep_step(state, removed.event);
            if kept.insert(state.hash) {
                if let Some(at) = self.states.get(state.hash) {
                    self.states.look_at(at);
                }
                self.keep_prefixes(state, kept, most);
            }
            state.put_back(last, &removed);
        }
    }

    /// The same for what is kept apart of the step of an event from a state.
    fn keep_step(&mut self, state: &Lattice, event: usize) {
        let name = state.name(state.step(event).0.index());
        self.steps.renew(step(state.hash, name, 0));
        for (at, _, arity) in values_of(state, event, state.choices(event)) {
            for value in 1..=arity {
                self.steps.renew(step(at, name, value));
            }
        }
    }

    /// Whether the threads of the graph at hand have these names.
    pub(crate) fn is_of(&self, names: &[u64]) -> bool {
        self.names == names
    }

    /// Marks a state. Says whether it was not marked before.
    pub(crate) fn mark(&mut self, hash: u128) -> bool {
        self.is_news(hash);
        let at = self.states.find(hash);
        self.note_look(hash, Some(at));
        self.states.mark(at)
    }

    /// Marks a state that is looked at.
    pub(crate) fn mark_here(&mut self, here: &mut Here) {
        self.is_news(here.hash);
        let at = self.place(here);
        self.states.mark(at);
    }

    /// Whether more is known of a state that is looked at than what it costs.
    #[inline]
    pub(crate) fn is_kept(&self, here: &Here) -> bool {
        here.at.is_some_and(|at| self.states.is_kept(at))
    }

    /// Whether a state that is looked at is marked.
    #[inline]
    pub(crate) fn is_marked_here(&mut self, here: &Here) -> bool {
        here.at.is_some_and(|at| self.states.at(at).is_marked())
    }

    /// The place of a state in the table, where it gets one if it has none.
    #[inline]
    fn place(&mut self, here: &mut Here) -> At {
        *here.at.get_or_insert_with(|| self.states.find(here.hash))
    }

    /// Whether a state is marked.
    pub(crate) fn is_marked(&self, hash: u128) -> bool {
        self.states.is_marked(hash)
    }

    /// Whether it is seen at once that no step from a state leads to a marked one.
    #[inline(always)]
    pub(crate) fn leads_nowhere(&self, state: u128) -> bool {
        (self.states.lacks(state) || self.states.leads(state) == 0) && self.steps.is_empty()
    }

    /// The steps from a state that lead to marked ones.
    #[inline]
    pub(crate) fn marked(&self, state: u128) -> Marked<'_> {
        Marked { costs: self, state, into: self.states.leads(state) }
    }

    /// Takes all marks away.
    pub(crate) fn unmark_all(&mut self) {
        self.states.unmark_all();
        self.steps.clear();
        self.news = None;
    }

    /// Notes that the step of an event leads from a state to a marked one; a step that chooses values, once all
    /// of them do.
    pub(crate) fn leads_to_mark(&mut self, state: &Lattice, event: usize) {
        if self.all_values_lead_on(state, event) {
            let (hash, at) = (state.hash, Some(self.states.find(state.hash)));
            self.note_look(hash, at);
            let mut here = Here { hash, at, frontier: 0, allowed: 0, preemptible: 0, run: None };
            self.step_leads_on(state, &mut here, state.step(event).0.index());
        }
    }

    /// Notes that a thread's step leads from a state to a marked one, whatever values it chooses.
    pub(crate) fn step_leads_on(&mut self, state: &Lattice, here: &mut Here, thread: usize) {
        match self.number_of[thread] {
            number if number < THREADS => {
                self.is_news(here.hash);
                let at = self.place(here);
                self.states.leads_on(at, 1 << number);
            }
            _ => {
                self.steps.young.insert(step(here.hash, state.name(thread), 0));
            }
        }
    }

    /// Whether everything behind a state has been run, whatever it costs, if that is so of what comes after a thread's
    /// next step.
    #[inline]
    pub(crate) fn is_exhausted(&self, here: &Here, thread: usize) -> bool {
        let others = here.allowed & !(1 << thread);
        if others == 0 {
            return true;
        }
        let Some(at) = here.at else { return false };
        let lasting = self.states.lasting(at);
        each(others).all(|other| self.number_of[other] < THREADS && lasting >> self.number_of[other] & 1 == 1)
    }

    /// Notes that a thread's step leads from a state that is looked at to one behind which everything has been run.
    /// Says whether that has a place in the table.
    pub(crate) fn lasts(&mut self, here: &mut Here, thread: usize) -> bool {
        let at = self.place(here);
        self.lasts_at(at, thread)
    }

    /// The same for any state.
    pub(crate) fn lasts_from(&mut self, state: u128, thread: usize) -> bool {
        let at = self.states.find(state);
        self.note_look(state, Some(at));
        self.lasts_at(at, thread)
    }

    fn lasts_at(&mut self, at: At, thread: usize) -> bool {
        let number = self.number_of[thread];
        if number < THREADS {
            self.is_news(at.hash);
            self.states.last(at, 1 << number);
        }
        number < THREADS
    }

    /// Notes that the step of an event, with the values that it chose, leads from a state to a marked one. Says whether
    /// it does with all other values too.
    #[inline]
    pub(crate) fn all_values_lead_on(&mut self, state: &Lattice, event: usize) -> bool {
        let choices = state.choices(event);
        choices.is_empty() || self.values_lead_on(state, event, choices)
    }

    fn values_lead_on(&mut self, state: &Lattice, event: usize, choices: &[(u32, u32)]) -> bool {
        self.looked_at = None;
        let name = state.name(state.step(event).0.index());
        for (at, value, arity) in values_of(state, event, choices) {
            self.steps.young.insert(step(at, name, value + 1));
            if !(1..=arity).all(|value| self.steps.renew(step(at, name, value))) {
                return false;
            }
        }
        true
    }

    /// The number of a thread with a name.
    #[inline]
    fn number(&self, thread: ThreadId, name: u64) -> Option<u32> {
        if self.names.get(thread.index()) == Some(&name) {
            return Some(self.number_of[thread.index()]);
        }
        self.numbers.get(&name).copied()
    }

    /// Prepares for states of a graph.
    pub(crate) fn begin(&mut self, state: &Lattice) {
        if state.names().eq(self.names.iter().copied()) {
            return;
        }
        self.names.clear();
        self.number_of.clear();
        for name in state.names() {
            let next = self.numbers.len() as u32;
            let number = *self.numbers.entry(name).or_insert(next);
            self.number_of.push(number);
            self.names.push(name);
        }
        self.same = self.number_of.iter().zip(0..).all(|(number, thread)| *number == thread);
    }

    /// Looks at a state of the graph at hand.
    #[inline]
    pub(crate) fn look(&mut self, state: &Lattice) -> Here {
        self.effort.look();
        let here = self.glance(state);
        if let Some(at) = here.at {
            self.states.look_at(at);
        }
        self.note_look(here.hash, here.at);
        here
    }

    /// The same only to work out what it costs.
    #[inline]
    fn glance(&mut self, state: &Lattice) -> Here {
        let (allowed, preemptible) = state.allowed();
        let at = self.states.get(state.hash);
        Here { hash: state.hash, at, frontier: state.frontier(), allowed, preemptible, run: state.was_run() }
    }

    /// The threads that can be chosen in a state and whose steps do not lead to a marked one.
    #[inline]
    pub(crate) fn unmarked(&mut self, state: &Lattice, here: &Here) -> Threads {
        let into = here.at.map_or(0, |at| self.states.at(at).leads());
        if self.same && here.allowed >> THREADS == 0 {
            return here.allowed & !Threads::from(into);
        }
        let marked = Marked { costs: self, state: here.hash, into };
        let has = |thread: usize| marked.has(ThreadId(thread as u32), state.name(thread));
        each(here.allowed).filter(|thread| !has(*thread)).fold(0, |set, thread| set | 1 << thread)
    }

    /// CB(s, t), the fewest preemptions of an execution whose last step is the thread's, from this state: a
    /// number of preemptions within the budget that is enough for one; else, something more than the budget.
    pub(crate) fn of_step(
        &mut self,
        state: &mut Lattice,
        here: &mut Here,
        thread: usize,
        budget: u32,
    ) -> u32 {
        let searches = self.searches;
        let way = Way { length: Way::UNKNOWN - 1, ..Way::default() };
        let cost = self.search(state, here, thread, budget, way);
        if self.searches != searches {
            self.is_news(here.hash);
        }
        cost
    }

    /// The same, on the way back from a state that was asked about.
    fn search(&mut self, state: &mut Lattice, here: &mut Here, thread: usize, budget: u32, way: Way) -> u32 {
        if here.allowed >> thread & 1 == 0 {
            return NEVER;
        }
        if here.frontier == 0 {
            return 0;
        }
        let switches = here.preemptible & !(1 << thread);
        let (mut unknown, mut over): (Threads, bool) = (0, false);
        for last in each(here.frontier) {
            let price = (switches >> last & 1) as u32;
            if price > budget {
                over = true;
                continue;
            }
            match self.known_arrival(state, here, last, budget - price) {
                Some(cost) if cost + price <= budget => return cost + price,
                Some(cost) => over |= cost < NEVER,
                None => unknown |= 1 << last,
            }
        }
        // For the thread's own last step as much was certain as is for its next.
        let others = unknown != 0 && unknown >> thread & 1 == 0;
        if others && state.preempted(thread, Runs::Next, budget) > budget {
            return budget + 1;
        }
        let length = if unknown.is_power_of_two() { way.length + 1 } else { 0 };
        // What the execution did last is asked first: that leads back to where it has been.
        let latest = state.latest(here.frontier);
        // If the thread can only have come here itself, then that may have been done before its run, if that was free.
        let before_run = length == 1
            && unknown == 1 << thread
            && latest.is_some_and(|latest| here.preemptible >> latest & 1 == 0);
        while let Some(last) = state.latest(unknown) {
            unknown &= !(1 << last);
            let price = (switches >> last & 1) as u32;
            let in_order = Some(last) == latest;
            if (if in_order { !way.in_order } else { before_run })
                && let Some(cost) = state.cost_in_order(last, thread, budget)
            {
                if self.is_noted(length) {
                    self.note_arrival(state, here, last, budget - price, cost - price);
                }
                return cost;
            }
            let cost = self.search_back(state, here, last, budget - price, Way { in_order, length });
            if cost + price <= budget {
                return cost + price;
            }
            over |= cost < NEVER;
        }
        if over { budget + 1 } else { NEVER }
    }

    /// The same for an execution that leads to a state with the thread's step at the end, where that is not known.
    pub(crate) fn of_arrival(
        &mut self,
        state: &mut Lattice,
        here: &mut Here,
        last: usize,
        budget: u32,
    ) -> u32 {
        self.is_news(here.hash);
        self.search_back(state, here, last, budget, Way::default())
    }

    /// The same, on the way back from a state that was asked about.
    fn search_back(
        &mut self,
        state: &mut Lattice,
        here: &mut Here,
        last: usize,
        budget: u32,
        way: Way,
    ) -> u32 {
        self.searches += 1;
        if !self.effort.look() {
            return NEVER;
        }
        let removed = state.remove(last);
        let mut before = self.glance(state);
        let cost = self.search(state, &mut before, last, budget, way);
        state.put_back(last, &removed);
        if self.is_noted(way.length) {
            self.note_arrival(state, here, last, budget, cost);
        }
        cost
    }

    /// Whether a state gets a place in the table that a search had to go through, after so many others.
    #[inline]
    fn is_noted(&self, length: u32) -> bool {
        length.is_multiple_of(Way::UNKNOWN) || self.states.len() < Way::AT_HAND
    }

    /// The same where it was worked out before, the execution at hand was there, or preemptions are certain.
    #[inline]
    pub(crate) fn known_arrival(
        &mut self,
        state: &Lattice,
        here: &Here,
        last: usize,
        budget: u32,
    ) -> Option<u32> {
        if let Some(at) = here.at {
            let (least, most) = match self.rank(here, last, budget) {
                Some(rank) => {
                    let costs = self.states.at(at).costs[rank];
                    (costs.least().unwrap_or(NEVER), costs.most().unwrap_or(NEVER))
                }
                None => {
                    let costs = self.costs.get(&key(state, here, last));
                    costs.map_or((0, NEVER), |(least, most)| ((*least).into(), (*most).into()))
                }
            };
            if most <= budget {
                return Some(most);
            }
            if least > budget {
                return Some(least);
            }
        }
        if let Some((thread, costs)) = here.run
            && usize::from(thread) == last
        {
            if costs.run <= budget {
                return Some(costs.run);
            }
            if costs.least > budget {
                return Some(costs.least);
            }
        }
        let least = state.preempted(last, Runs::Last, budget);
        debug_assert!(least <= budget || is_beyond(state, last, budget), "what is certain is so");
        (least > budget).then_some(least)
    }

    /// Notes an answer to what it costs to arrive in a state by the step of a thread, where this was the budget.
    fn note_arrival(&mut self, state: &Lattice, here: &mut Here, last: usize, budget: u32, cost: u32) {
        let enough = cost <= budget;
        let rank = self.rank(here, last, budget);
        let at = self.place(here);
        if let Some(rank) = rank {
            let costs = &mut self.states.at(at).costs[rank];
            if enough {
                costs.set_most(cost);
            } else {
                costs.set_least(Some(cost).filter(|cost| *cost < NEVER));
            }
            return;
        }
        let costs = self.costs.entry(key(state, here, last)).or_insert((0, u16::MAX));
        *(if enough { &mut costs.1 } else { &mut costs.0 }) = cost as u16;
    }

    /// Which of the costs of arriving in a state is that by the step of a thread, if it has a place in the table and
    /// costs about the budget can be told apart there.
    #[inline]
    fn rank(&self, here: &Here, last: usize, budget: u32) -> Option<usize> {
        let rank = if self.same {
            here.frontier & ((1 << last) - 1)
        } else {
            let number = self.number_of[last];
            each(here.frontier)
                .filter(|other| self.number_of[*other] < number)
                .fold(0, |set, other| set | 1 << other)
        };
        let rank = rank.count_ones() as usize;
        (rank < ARRIVALS && budget + 1 < Costs::MANY).then_some(rank)
    }
}

/// Whether arriving in a state by the step of a thread is beyond the budget, by trying everything. That takes long, so it is done
/// for one state in many, if it is not too large and has few threads.
pub(crate) fn is_beyond(state: &Lattice, last: usize, budget: u32) -> bool {
    const MOST: usize = 30;
    const ONE_IN: u128 = 64;
    const MOST_THREADS: usize = 6;
    !state.hash.is_multiple_of(ONE_IN)
        || state.len() > MOST
        || state.names().len() > MOST_THREADS
        || arrival(&mut state.clone(), last, &mut HashedMap::default()) > budget
}

/// What arriving in a state by the step of a thread costs, by the recursion of the paper alone.
fn arrival(state: &mut Lattice, last: usize, known: &mut HashedMap<u32>) -> u32 {
    let key = state.hash ^ mix(state.name(last), 0);
    if let Some(cost) = known.get(&key) {
        return *cost;
    }
    let removed = state.remove(last);
    let (allowed, preemptible) = state.allowed();
    let mut cost = if state.len() == 0 { 0 } else { NEVER };
    for before in each(state.frontier()) {
        let price = u32::from(before != last && preemptible >> before & 1 == 1);
        cost = cost.min(arrival(state, before, known).saturating_add(price));
    }
    if allowed >> last & 1 == 0 {
        cost = NEVER;
    }
    state.put_back(last, &removed);
    known.insert(key, cost);
    cost
}

/// An arrival in a state whose costs are kept apart.
fn key(state: &Lattice, here: &Here, last: usize) -> u128 {
    here.hash ^ mix(state.name(last), u64::MAX)
}

#[cfg(test)]
mod tests {
    use selvedge_core::{Access, ObjectId, Op, OpKind};

    use super::*;
    use crate::lattice::Written;

    /// CB(s) of a whole execution, or without the last step of a thread.
    fn context_bound(threads: usize, steps: &[(usize, Op)], without: Option<usize>) -> u32 {
        let written = Written::new(threads, 0, steps);
        let bound = context_bound_with(ContextCost::default(), &written, without);
        // When so many threads have been seen that those of the execution have no place in the table.
        let mut crowd = Lattice::default();
        crowd.load(0, None, Written::new(THREADS as usize, 1, &[]).script());
        let mut costs = ContextCost::default();
        costs.begin(&crowd);
        assert_eq!(context_bound_with(costs, &written, without), bound);
        bound
    }

    fn context_bound_with(mut costs: ContextCost, written: &Written, without: Option<usize>) -> u32 {
        let mut state = Lattice::default();
        state.load(0, None, written.script());
        if let Some(thread) = without {
            state.remove(thread);
        }
        costs.begin(&state);
        let mut here = costs.look(&state);
        let most = written.len() as u32;
        let least = each(here.frontier).map(|last| {
            let mut within = |budget| costs.of_arrival(&mut state, &mut here, last, budget) <= budget;
            assert!(within(most + Costs::MANY), "a budget that has no place in the table");
            (0..most).find(|budget| within(*budget)).unwrap_or(NEVER)
        });
        least.min().unwrap_or(0)
    }

    fn write(object: usize) -> Op {
        Op::on(OpKind::Store, Access::Write, ObjectId::new(object as u32))
    }

    fn read(object: usize) -> Op {
        Op::on(OpKind::Load, Access::Read, ObjectId::new(object as u32))
    }

    /// Figure 2: the bound may fall along a step. Thread 1 does a1, a2; thread 2 does b1 after a1.
    #[test]
    fn the_context_bound_is_not_monotonic() {
        let steps = [(1, write(0)), (2, read(0)), (1, Op::default())];
        assert_eq!(context_bound(3, &steps, Some(1)), 1);
        assert_eq!(context_bound(3, &steps, None), 0);
    }

    /// The fewest vertices that meet every cycle, by trying all subsets.
    fn feedback_vertex_set(vertices: usize, edges: &[(usize, usize)]) -> u32 {
        let acyclic = |removed: u32| {
            let mut left: Vec<usize> = (0..vertices).filter(|v| removed >> v & 1 == 0).collect();
            loop {
                let source = left.iter().position(|v| !edges.iter().any(|(a, b)| b == v && left.contains(a)));
                match source {
                    Some(index) => left.remove(index),
                    None => return left.is_empty(),
                };
            }
        };
        (0_u32..1 << vertices).filter(|set| acyclic(*set)).map(u32::count_ones).min().unwrap_or(0)
    }

    /// Theorem 5: a thread for each vertex, which writes an object of its own and then reads that of `u` for each edge
    /// from `u` to it, or does something else if there is none.
    #[test]
    fn the_context_bound_of_a_reduction_is_its_minimum_feedback_vertex_set() {
        let mut numbers = 0x5EED_u64;
        for round in 0..400 {
            // Now and then more threads than an entry of the table has arrivals.
            let vertices = if round % 50 == 49 { 7 } else { 2 + round % 4 };
            let mut edges = Vec::new();
            for a in 0..vertices {
                for b in (0..vertices).filter(|b| *b != a) {
                    numbers = numbers
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    if numbers >> 33 & 3 < 2 {
                        edges.push((a, b));
                    }
                }
            }
            let mut steps: Vec<_> = (0..vertices).map(|v| (v + 1, write(v))).collect();
            for v in 0..vertices {
                let begin = steps.len();
                steps.extend(edges.iter().filter(|(_, b)| *b == v).map(|(a, _)| (v + 1, read(*a))));
                if steps.len() == begin {
                    steps.push((v + 1, Op::default()));
                }
            }
            let bound = context_bound(vertices + 1, &steps, None);
            assert_eq!(bound, feedback_vertex_set(vertices, &edges), "{edges:?}");
        }
    }
}

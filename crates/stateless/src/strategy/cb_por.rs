//! Partial-order reduction for context-bounded search, with memory: every terminal partial order within the
//! bound exactly once.
//!
//! Musuvathi, Qadeer: *Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12),
//! Algorithm 2 with `Mark`; and Algorithm 1, which visits every prefix within the bound too. States are
//! happens-before graphs by their canonical hashes.
//!
//! Deviations:
//! 1. A state that was never executed has no successor to look up before its step is taken. What is kept of
//!    H is therefore the *steps* into it: when `Mark` puts a state into H, the steps that lead there from
//!    each predecessor are known from the graph.
//! 2. A step is taken if the execution at hand can afford it, which is seen at once. Where no such step leads to
//!    anything new, the graph so far is asked for one that another execution to the same state could afford, as the
//!    paper has it. So every execution leads to a new terminal state, and few have more preemptions than the bound:
//!    those are like another one that has not, and if something goes wrong, it is that one that is reported. An
//!    alternative is tried in a state only if the execution that came there can afford it. Nothing is missed: whatever
//!    is within the bound is so along some execution, which can afford each of its steps.
//!    Algorithm 1 puts states into H when it first visits them, so there every step is tried that its context bound
//!    allows.
//! 3. A step that ends the execution (a violation) happens after everything.
//! 4. What was run within a bound is not run again within the next one. A state is *exhausted* if everything behind it has
//!    been run, whatever that costs; that does not depend on the bound, so that steps to such states stay known. All
//!    other marks end with their bound: they rest on a step that exceeded it, by one, and that the next one allows. What
//!    else is in H within the next bound comes from other ways to exhausted states that it allows. Terminal graphs with
//!    prefixes of that kind are kept, and marked anew.
//! 5. A state that one step leads to within the bound is not put into H itself: that the step leads there says the
//!    same. `Mark` goes back over all steps of the execution at once that were the only ones within the bound.
//! 6. When the table has grown past a limit, states that were not looked at for longest are taken out of H, prefixes of
//!    the last execution after all others, and what lies behind them may be run again. Executions that are very long or
//!    have more than 64 threads are not marked. The search is slower then and no less complete.

use std::cell::RefCell;

use selvedge_core::{Bounds, Decision, Measure, ThreadId, ThreadSet};

use super::backtrack::last_thread;
use super::context_cost::{ContextCost, Here, NEVER};
use super::{Choice, Finished, Point, Prefix, Report, Strategy, Wanted};
use crate::coverage::HashedSet;
use crate::lattice::{Lattice, MOST_THREADS, Removed, Slid, Threads, Trail, each};
use crate::program::Onward;
use crate::record::Record;

/// Every terminal partial order within a bound on preemptions, once, bound by bound.
///
/// ```
/// use selvedge_core::Measure;
/// use selvedge_stateless::{Strategy, strategy::CbPor};
/// let cb_por = CbPor::new(Some(2), None);
/// assert_eq!(cb_por.bound(), Some((Measure::Preemptions, 0)));
/// ```
#[derive(Debug)]
pub struct CbPor {
    /// Algorithm 1 rather than 2.
    all: bool,
    most: Option<u32>,
    bound: Option<u32>,
    /// The decisions of the last execution, and those of them after which another may follow.
    decisions: Vec<Decision>,
    path: Vec<Node>,
    begun: bool,
    cut: bool,
    /// What `choose` finds out about costs is kept as well; that makes it faster, and changes no answer.
    walk: RefCell<Walk>,
    /// The names of the threads of the last execution.
    names: Vec<u64>,
    /// Terminal graphs that were reached and are needed within higher bounds.
    terminals: Trail,
}

/// A graph, and what is known of its prefixes.
#[derive(Clone, Debug)]
struct Walk {
    /// That of the last execution, or of the one that is under way as far as it has been asked for.
    state: Lattice,
    marks: Marks,
    /// So many steps the graph has in common with the last terminal one.
    common: usize,
}

/// The part of H that is looked up.
#[derive(Clone, Debug)]
struct Marks {
    /// What states cost; marked are those from which every terminal state within the bound has been
    /// reached.
    cost: ContextCost,
    most_states: usize,
    /// The number of decisions of the longest execution so far, where memory is limited to its square.
    longest: Option<usize>,
    bound: Option<u32>,
    cut: bool,
    /// How to come back to where the walk over states began; empty but for its memory.
    back: Vec<Back>,
    /// Whether there is another bound to come.
    more: bool,
    /// Of the graph that was marked last there is something to be marked within a higher bound that does not follow from
    /// what lasts.
    open: bool,
    /// The state that every execution begins in is exhausted.
    exhausted: bool,
    /// States have been forgotten, and what lasts with them.
    forgotten: bool,
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

#[derive(Clone, Debug)]
struct Node {
    /// The number of the decision.
    at: usize,
    /// The threads that were tried; for a choice of a value, the values.
    tried: Few,
    /// Threads that this execution cannot afford to choose, and another one to this state can.
    cheaper: Threads,
    fingerprint: u64,
    state: u128,
    arity: u32,
    /// The thread that took the step before; for a choice of a value, the one that chooses.
    running: Option<ThreadId>,
    preemptible: bool,
    preemptions: u32,
    /// The threads that can be chosen.
    threads: Few,
}

/// A set that is small as long as its elements are.
#[derive(Clone, Debug, Default)]
struct Few {
    /// The elements, if all are less than 64.
    low: Threads,
    /// All of them, if they are not.
    all: Option<Box<ThreadSet>>,
}

impl Few {
    fn one(element: ThreadId) -> Self {
        let mut set = Few::default();
        set.insert(element);
        set
    }

    fn of(words: &[u64]) -> Self {
        match words {
            [] => Few::default(),
            [low] => Few { low: *low, all: None },
            words => Few { low: 0, all: Some(Box::new(ThreadSet::from_words(words))) },
        }
    }

    #[inline]
    fn insert(&mut self, element: ThreadId) {
        if self.all.is_none() && element.0 < 64 {
            self.low |= 1 << element.0;
            return;
        }
        let low = self.low;
        self.all.get_or_insert_with(|| Box::new(ThreadSet::from_words(&[low]))).insert(element);
    }

    #[inline]
    fn contains(&self, element: ThreadId) -> bool {
        match &self.all {
            None => element.0 < 64 && self.low >> element.0 & 1 == 1,
            Some(all) => all.contains(element),
        }
    }

    /// The elements, if all are less than 64.
    #[inline]
    fn word(&self) -> Option<Threads> {
        self.all.is_none().then_some(self.low)
    }

    fn iter(&self) -> impl Iterator<Item = ThreadId> + '_ {
        let low = if self.all.is_none() { self.low } else { 0 };
        let all = self.all.iter().flat_map(|all| all.iter());
        each(low).map(|element| ThreadId(element as u32)).chain(all)
    }
}

/// A thread or a value as one of a set.
fn member(decision: Decision) -> ThreadId {
    match decision {
        Decision::Thread(thread) => thread,
        Decision::Value(value) => ThreadId(value),
    }
}

/// So many terminal graphs are kept.
const MOST_TERMINALS: usize = 1 << 17;
/// So many times the square of the length of an execution is remembered [in square memory](CbPor::in_square_memory).
/// What a search asks for is mostly near what was run last: of the programs of `benches/peers` none needs more.
const SQUARES: usize = 32;
/// Longer executions are not marked: walking their prefixes goes as deep as they are long.
const LONGEST: usize = 2_000;

impl CbPor {
    /// A search over bounds 0 to `most` on preemptions, or until one cuts nothing off; with this fair bound.
    pub fn new(most: Option<u32>, yields: Option<u32>) -> Self {
        let bound = Some(0);
        CbPor {
            all: false,
            most,
            bound,
            decisions: Vec::new(),
            path: Vec::new(),
            begun: false,
            cut: false,
            walk: RefCell::new(Walk {
                state: Lattice::new(yields),
                marks: Marks {
                    cost: ContextCost::default(),
                    most_states: usize::MAX,
                    longest: None,
                    bound,
                    cut: false,
                    back: Vec::new(),
                    more: most != Some(0),
                    open: false,
                    exhausted: false,
                    forgotten: false,
                },
                common: 0,
            }),
            names: Vec::new(),
            terminals: Trail::default(),
        }
    }

    /// Every prefix of a partial order within the bound too (Algorithm 1), at the last bound at once.
    pub fn all(self) -> Self {
        CbPor { all: true, ..self }.at_bound()
    }

    /// Goes to the last bound at once, or searches without one.
    pub fn at_bound(mut self) -> Self {
        self.bound = self.most;
        let marks = &mut self.walk.get_mut().marks;
        (marks.bound, marks.more) = (self.most, false);
        self
    }

    /// Remembers about so many states at most. What was forgotten may be run again.
    pub fn remembering(mut self, states: usize) -> Self {
        self.walk.get_mut().marks.most_states = states;
        self
    }

    /// Remembers no more from one execution to the next than 32 times the square of the length of the longest: so many
    /// states, about, and so many terminal executions for the next bound. What was forgotten may be run again.
    ///
    /// ```
    /// use selvedge_stateless::{Prefix, Strategy, strategy::CbPor};
    /// let mut search = CbPor::new(Some(2), None).in_square_memory();
    /// assert!(search.next_prefix(&mut Prefix::default()));
    /// ```
    pub fn in_square_memory(mut self) -> Self {
        self.walk.get_mut().marks.longest = Some(0);
        self
    }

    /// Whether the graph of an execution is looked into.
    fn has_graph(&self, record: &Record) -> bool {
        record.threads() <= MOST_THREADS && (self.all || record.len() <= LONGEST)
    }

    /// Puts the states of an execution into H (Algorithm 1).
    fn visited(&mut self, execution: &Finished<'_>) {
        let Walk { state, marks, .. } = self.walk.get_mut();
        state.update(execution, marks.most());
        marks.cost.begin(state);
        let mut index = self.path.len();
        debug_assert!(self.path.iter().zip(0..).all(|(node, at)| node.at == at), "every decision has a node");
        for step in (0..=state.steps()).rev() {
            // `state` is what there is before this step.
            let begin = state.begin(step);
            if marks.cost.mark(state.hash) {
                for thread in each(state.frontier()) {
                    let removed = state.remove(thread);
                    marks.cost.leads_to_mark(state, removed.event);
                    state.put_back(thread, &removed);
                }
            }
            if begin < index {
                index = begin;
                let node = &mut self.path[begin];
                node.cheaper = 0;
                let mut here = marks.cost.look(state);
                for thread in each(here.allowed) {
                    if marks.within(state, &mut here, thread) {
                        node.cheaper |= 1 << thread;
                    }
                }
            }
            if let Some(last) = step.checked_sub(1) {
                state.remove(state.step(last).0.index());
            }
        }
        state.walk_to(state.steps());
    }

    /// The first choice at a point that does not lead to a marked state.
    #[inline(never)]
    fn choose_unmarked(&self, point: &Point<'_>) -> Choice {
        let record = point.record;
        let walk = self.walk.borrow();
        let marked = walk.marks.cost.marked(point.state.0);
        if point.arity > 0 {
            let name = record.name(last_thread(point.decisions));
            let new = |value: &u32| !marked.has_value(name, *value);
            return Choice::Take(Decision::Value((0..point.arity).find(new).unwrap_or(0)));
        }
        let Decision::Thread(preferred) = point.without_preemption() else {
            unreachable!("a choice between threads")
        };
        let others = point.enabled.iter().filter(|thread| *thread != preferred);
        let mut dear = None;
        for thread in std::iter::once(preferred).chain(others) {
            if marked.has(thread, record.name(thread)) {
                continue;
            }
            let price = u32::from(point.preemptible && point.running != Some(thread));
            // What led here is within the bound, so that a step that costs nothing is too.
            let affordable = self.bound.is_none_or(|most| point.preemptions + price <= most);
            if affordable || price == 0 {
                return Choice::Take(Decision::Thread(thread));
            }
            dear = dear.or(Some(thread));
        }
        match dear {
            None => Choice::Prune,
            Some(likely) if point.foreseen => Choice::Take(Decision::Thread(likely)),
            Some(_) => {
                drop(walk);
                self.choose_cheaper(point)
            }
        }
    }

    /// A step that this execution cannot afford and another one to the same state can.
    #[cold]
    fn choose_cheaper(&self, point: &Point<'_>) -> Choice {
        let walk = &mut *self.walk.borrow_mut();
        if !self.has_graph(point.record) {
            return Choice::Prune;
        }
        walk.update(&Finished {
            record: point.record,
            prefix: 0,
            preemptions: point.preemptions,
            pruned: true,
            stopped: false,
            state: point.state,
        });
        let Walk { state, marks, .. } = walk;
        let mut here = marks.cost.look(state);
        let unmarked = marks.cost.unmarked(state, &here);
        match each(unmarked).find(|thread| marks.within(state, &mut here, *thread)) {
            Some(thread) => Choice::Take(Decision::Thread(ThreadId(thread as u32))),
            None => Choice::Prune,
        }
    }

    /// Goes on to the next bound.
    fn next_bound(&mut self, bound: u32) {
        self.bound = Some(bound);
        let Walk { state, marks, .. } = self.walk.get_mut();
        marks.bound = self.bound;
        marks.more = Some(bound) != self.most;
        marks.cost.unmark_all();
        marks.cut = false;
        self.cut = false;
        self.path.clear();
        self.decisions.clear();
        self.begun = false;
        state.clear();
        self.terminals.again(marks.forgotten, |terminals, pieces| {
            for piece in pieces {
                state.load(piece.begin, marks.most(), terminals.get(piece));
            }
            marks.mark_all(state);
            marks.open
        });
        if marks.exhausted {
            marks.cost.mark(0);
        }
        state.clear();
    }
}

impl Strategy for CbPor {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        loop {
            let marks = &self.walk.get_mut().marks;
            if !self.begun {
                self.begun = true;
                // The state that every execution begins in has the hash 0.
                if !marks.cost.is_marked(0) {
                    prefix.clear();
                    return true;
                }
            }
            while let Some(node) = self.path.last_mut() {
                if node.is_done(marks, &self.names, self.bound, &mut self.cut) {
                    self.path.pop();
                    continue;
                }
                let next = node.untried(marks, &self.names, self.bound, &mut self.cut).next();
                if let Some(decision) = next {
                    node.tried.insert(member(decision));
                    prefix.expect = Some(node.fingerprint);
                    self.decisions.truncate(node.at);
                    self.decisions.push(decision);
                    prefix.decisions.clear();
                    prefix.decisions.extend_from_slice(&self.decisions);
                    return true;
                }
                self.path.pop();
            }
            match (self.bound, self.most) {
                (Some(bound), most) if most.is_none_or(|most| bound < most) && self.cut() => {
                    self.next_bound(bound + 1);
                }
                _ => return false,
            }
        }
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let mut decisions = self.decisions.clone();
        let walk = self.walk.borrow();
        let at = self.path.iter().rposition(|node| {
            decisions.truncate(node.at);
            node.untried(&walk.marks, &self.names, self.bound, &mut false).next().is_some_and(|decision| {
                decisions.push(decision);
                wanted(&decisions, Onward::Calmly)
            })
        })?;
        let mut walk = self.walk.clone();
        walk.get_mut().marks.more = false;
        Some(Box::new(CbPor {
            decisions: self.decisions.clone(),
            path: self.path[..=at].to_vec(),
            begun: true,
            walk,
            names: self.names.clone(),
            terminals: Trail::default(),
            most: self.bound,
            ..*self
        }))
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        // Most often the thread goes on, and nothing is known of what comes then.
        if let Some(running) = point.running
            && point.arity == 0
            && point.preemptible
            && self.bound.is_none_or(|most| point.preemptions <= most)
            && self.walk.borrow().marks.cost.marked(point.state.0).is_empty()
        {
            return Choice::Take(Decision::Thread(running));
        }
        self.choose_unmarked(point)
    }

    fn strays(&self) -> bool {
        true
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        let record = execution.record;
        let first = execution.prefix;
        self.decisions.truncate(first);
        self.decisions.extend_from_slice(&record.decisions()[first..]);
        while self.path.pop_if(|node| node.at >= first).is_some() {}
        self.names.clear();
        self.names.extend((0..record.threads() as u32).map(|thread| record.name(ThreadId(thread))));
        let spent = self.bound.filter(|_| self.cut && !self.all);
        for (at, point) in record.points().iter().enumerate().skip(first) {
            let decision = self.decisions[at];
            let enabled = record.enabled_words(point);
            if let (Decision::Thread(chosen), &[enabled]) = (decision, enabled)
                && !self.all
            {
                // Nothing else can be chosen, or it would be beyond the bound, which is known to cut something off.
                let spent = spent.is_some_and(|most| most <= point.preemptions)
                    && point.preemptible
                    && point.running == Some(chosen);
                if spent || enabled == 1 << chosen.0 {
                    continue;
                }
            }
            let chooses = || last_thread(&self.decisions[..at]);
            self.path.push(Node {
                at,
                tried: Few::one(member(decision)),
                cheaper: 0,
                fingerprint: point.fingerprint,
                state: record.state(at).0,
                arity: point.arity,
                running: if point.arity > 0 { Some(chooses()) } else { point.running },
                preemptible: point.preemptible,
                preemptions: point.preemptions,
                threads: Few::of(enabled),
            });
        }
        let has_graph = self.has_graph(record);
        if self.all {
            if has_graph {
                self.visited(execution);
            }
            return;
        }
        if execution.pruned {
            self.cut |= self.bound.is_some();
            return;
        }
        let walk = self.walk.get_mut();
        if !has_graph {
            return;
        }
        walk.update(execution);
        let Walk { state, marks, common } = walk;
        marks.longest = marks.longest.map(|longest| longest.max(record.len()));
        marks.mark_all(state);
        // Of those that are not open all that is needed lasts, as long as nothing is forgotten.
        if marks.more && marks.open && self.terminals.len() < MOST_TERMINALS.min(marks.squares()) {
            self.terminals.push(*common, record.threads(), state.script(execution, *common));
            *common = usize::MAX;
        }
    }

    /// An execution that has more preemptions than the bound is like one that has not.
    fn report(&mut self, execution: &Finished<'_>) -> Report {
        let has_graph = self.has_graph(execution.record);
        let walk = self.walk.get_mut();
        match walk.marks.most() {
            Some(most) if execution.preemptions > most && has_graph => {
                walk.update(execution);
                walk.marks.cheapest(&mut walk.state, most).map_or(Report::AsItIs, Report::Like)
            }
            _ => Report::AsItIs,
        }
    }

    fn wants_pending(&self) -> bool {
        true
    }

    fn bound(&self) -> Option<(Measure, u32)> {
        self.bound.map(|bound| (Measure::Preemptions, bound))
    }

    fn exhausted(&self) -> Option<Bounds> {
        Some(Bounds { preemptions: self.bound, ..Bounds::default() })
    }

    fn cut(&self) -> bool {
        let marks = &self.walk.borrow().marks;
        (self.cut || marks.cut) && !marks.exhausted
    }

    fn in_order(&self) -> bool {
        true
    }
}

impl Node {
    /// Whether it is seen at once that nothing may be tried here; notes whether the bound cuts something off.
    fn is_done(&self, marks: &Marks, names: &[u64], bound: Option<u32>, cut: &mut bool) -> bool {
        let (0, Some(threads), Some(tried)) = (self.arity, self.threads.word(), self.tried.word()) else {
            return false;
        };
        let rest = threads & !tried;
        if rest == 0 {
            return true;
        }
        let within = bound.is_none_or(|most| self.preemptions <= most);
        let left = bound.map_or(u32::MAX, |most| most.saturating_sub(self.preemptions));
        let affordable = match self.running.filter(|_| self.preemptible && left == 0) {
            _ if !within => 0,
            Some(running) => rest & 1_u64.checked_shl(running.0).unwrap_or(0),
            None => rest,
        };
        let wanted = affordable | rest & self.cheaper;
        if wanted == 0 && *cut {
            return true;
        }
        let Some(into) = marks.cost.marked(self.state).threads(names) else { return false };
        let done = wanted & !into == 0;
        *cut |= done && rest & !into != 0;
        done
    }

    /// What may be tried here next, those that cost nothing first; notes whether the bound cuts something off.
    fn untried<'a>(
        &'a self,
        marks: &'a Marks,
        names: &'a [u64],
        bound: Option<u32>,
        cut: &'a mut bool,
    ) -> impl Iterator<Item = Decision> + 'a {
        let name = |thread: ThreadId| names[thread.index()];
        let marked = move || marks.cost.marked(self.state);
        let chooses = self.running.map_or(0, name);
        let values = (0..self.arity)
            .filter(move |value| {
                !self.tried.contains(ThreadId(*value)) && !marked().has_value(chooses, *value)
            })
            .map(Decision::Value);
        let price = |thread: ThreadId| u32::from(self.preemptible && self.running != Some(thread));
        let fresh = move |thread: &ThreadId| self.arity == 0 && !self.tried.contains(*thread);
        let at = move |wanted| {
            let threads = self.threads.iter().filter(fresh).filter(move |thread| price(*thread) == wanted);
            threads.map(move |thread| (wanted, thread))
        };
        let threads = at(0).chain(at(1));
        let threads = threads.filter(move |(price, thread)| {
            if marked().has(*thread, name(*thread)) {
                return false;
            }
            let affordable = bound.is_none_or(|most| self.preemptions + *price <= most);
            let cheaper = 1_u64.checked_shl(thread.0).unwrap_or(0) & self.cheaper != 0;
            let wanted = affordable || cheaper;
            *cut |= !wanted;
            wanted
        });
        values.chain(threads.map(|(_, thread)| Decision::Thread(thread)))
    }
}

impl Walk {
    /// Makes the graph that of an execution.
    fn update(&mut self, execution: &Finished<'_>) {
        let kept = self.state.update(execution, self.marks.most());
        self.common = self.common.min(kept);
        self.marks.cost.begin(&self.state);
    }
}

impl Marks {
    /// Whether a step from a state is within the bound.
    fn within(&mut self, state: &mut Lattice, here: &mut Here, thread: usize) -> bool {
        self.most().is_none_or(|most| self.cost.of_step(state, here, thread, most) <= most)
    }

    fn most(&self) -> Option<u32> {
        self.bound.map(|most| most.min(NEVER - 2))
    }

    /// How much of anything may be remembered.
    fn squares(&self) -> usize {
        self.longest.map_or(usize::MAX, |longest| longest.saturating_mul(longest).saturating_mul(SQUARES))
    }

    /// An execution with no more preemptions than this that has the whole graph.
    fn cheapest(&mut self, state: &mut Lattice, mut most: u32) -> Option<Vec<Decision>> {
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
        if self.cost.has_more_than(most / 2) {
            let mut kept = HashedSet::default();
            self.cost.keep_prefixes(state, &mut kept, most / 4);
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.cost.forget();
        (self.forgotten, self.open) = (true, true);
    }

    /// Puts a terminal state, all of its graph, into H, and every state from which nothing new can be reached.
    fn mark_all(&mut self, state: &mut Lattice) {
        self.cost.begin(state);
        self.make_room(state);
        let here = self.cost.look(state);
        // Where memory is short there is no room for what lasts, and what is forgotten is needed again.
        let lasts = !self.forgotten && self.longest.is_none();
        self.open = !lasts;
        if !self.cost.is_marked_here(&here) {
            self.mark(state, here, self.more && lasts);
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
        loop {
            let within = self.arrivals_within(state, &mut here);
            if !within.is_power_of_two() || here.has_place() {
                self.cost.mark_here(&mut here);
            }
            self.open |= exhausted && here.frontier != within;
            let Some(last) = state.latest(within) else {
                self.exhausted |= exhausted && state.len() == 0;
                break;
            };
            let others = within & !(1 << last);
            if others != 0 && self.cost.has_more_than(self.most_states) {
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
            let mut last = last;
            let length = state.len();
            if here.was_run(last) {
                let passed = state.go_back();
                self.cut |= passed.by_bound.is_some();
                if exhausted {
                    self.open |= passed.open;
                    if let Some((before, thread)) = passed.by_bound {
                        self.open |= !self.cost.lasts_from(before, thread);
                        exhausted = false;
                    }
                }
            } else if others == 0 {
                self.back.extend(state.slide_back(last).map(Back::Along));
            }
            if here.was_run(last) && state.len() < length {
                self.back.push(Back::To(length));
                last = state.last_run();
            }
            let removed = state.remove(last);
            let mut before = self.cost.look(state);
            let settled = self.settles(state, &mut before, removed.event, exhausted);
            self.back.push(Back::Over(last, removed));
            let Some(is_exhausted) = settled else { break };
            exhausted = is_exhausted;
            here = before;
        }
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

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
//!    same. `Mark` goes back over all steps of the execution at once that were the only ones within the bound; what comes
//!    after the last choice is not even looked at, if it is certain that there is no other way there.
//! 6. When the table has grown past a limit, states that were not looked at for longest are taken out of H, prefixes of
//!    the last execution after all others, and what lies behind them may be run again. Executions that are very long or
//!    have more than 64 threads are not marked. The search is slower then and no less complete.

mod circle;
mod help;
mod lesson;
mod marks;
mod node;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::{Bounds, Decision, Measure, ThreadId};

use self::circle::Member;
use self::help::Job;
pub use self::lesson::Lesson;
use self::lesson::Stand;
use self::marks::Marks;
use self::node::{Few, Node, member};
use super::backtrack::last_thread;
use super::context_cost::is_beyond;
use super::effort::Looks;
use super::{Choice, Finished, Point, Prefix, Report, Strategy, Wanted};
use crate::deadline::Deadline;
use crate::lattice::{Lattice, MOST_THREADS, Piece, Trail, each};
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
    /// So many decisions of the path led to states that are in H (Algorithm 1).
    visited: usize,
    begun: bool,
    cut: bool,
    /// What `choose` finds out about costs is kept as well; that makes it faster, and changes no answer.
    walk: RefCell<Walk>,
    /// The names of the threads of the last execution.
    names: Vec<u64>,
    /// Terminal graphs that were reached and are needed within higher bounds. Copies read them while the search goes on to one.
    terminals: Arc<Trail>,
    /// What this search and its copies tell each other.
    member: Member,
    /// What a copy has learnt from the last execution.
    lesson: Lesson,
    /// It is a copy that has been made to help the search on to the next bound.
    helps: bool,
}

/// Where something is to be tried that is wanted.
enum Next {
    /// At a node of the path.
    At(usize),
    /// What there is is not.
    Unwanted,
    /// There is nothing more to run within the bound.
    Nothing,
}

/// A graph, and what is known of its prefixes.
#[derive(Clone, Debug)]
struct Walk {
    /// That of the last execution, or of the one that is under way as far as it has been asked for.
    state: Lattice,
    marks: Marks,
}

/// So many terminal graphs are kept.
const MOST_TERMINALS: usize = 1 << 17;
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
            visited: 0,
            begun: false,
            cut: false,
            walk: RefCell::new(Walk::new(yields, bound, most != Some(0))),
            names: Vec::new(),
            terminals: Arc::default(),
            member: Member::default(),
            lesson: Lesson::default(),
            helps: false,
        }
    }

    /// Every prefix of a partial order within the bound too (Algorithm 1), at the last bound at once.
    pub fn all(mut self) -> Self {
        self.all = true;
        self.at_bound()
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

    /// Looks at no more states than a fixed multiple of what is run.
    pub(super) fn limited(mut self, looks: Looks) -> Self {
        self.walk.get_mut().marks.cost.effort.limit(looks);
        self
    }

    /// Whether it has looked at as many as it may.
    pub(super) fn has_looked_enough(&self) -> bool {
        self.walk.borrow().marks.cost.effort.is_over()
    }

    /// Whether the graph of an execution is looked into.
    fn has_graph(&self, record: &Record) -> bool {
        record.threads() <= MOST_THREADS && (self.all || record.len() <= LONGEST)
    }

    /// Puts the states of an execution into H (Algorithm 1). Says which copy it has them from, if from any.
    fn visit(&mut self, execution: &Finished<'_>) -> Option<usize> {
        let (walk, visited) = (self.walk.get_mut(), self.visited);
        let lesson = execution.lesson.filter(|lesson| {
            let is_whole =
                lesson.visited <= visited && lesson.visited + lesson.cheaper.len() == self.path.len();
            is_whole && self.member.is_taught(lesson, &walk.marks.cost)
        });
        let again = |walk: &mut Walk| {
            walk.update(execution);
            walk.visit(&mut self.path.clone(), visited);
        };
        let lesson = lesson.filter(|lesson| walk.heed(lesson, &self.names, again));
        if let Some(lesson) = lesson {
            let cheaper = &lesson.cheaper[visited - lesson.visited..];
            self.path[visited..].iter_mut().zip(cheaper).for_each(|(node, cheaper)| node.cheaper = *cheaper);
        } else {
            walk.update(execution);
            self.member.teach(walk, &mut self.lesson, |walk, lesson| {
                walk.visit(&mut self.path, visited);
                lesson.visited = visited;
                lesson.cheaper.extend(self.path[visited..].iter().map(|node| node.cheaper));
            });
        }
        self.visited = self.path.len();
        lesson.map(|lesson| lesson.teacher)
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
        let mut so_far = Record::default();
        let record = if point.record.len() == point.step {
            point.record
        } else {
            so_far.copy_from(point.record, point.step);
            &so_far
        };
        if !self.has_graph(record) {
            return Choice::Prune;
        }
        walk.update(&Finished {
            record,
            prefix: 0,
            preemptions: point.preemptions,
            pruned: true,
            stopped: false,
            state: point.state,
            lesson: None,
        });
        let Walk { state, marks, .. } = walk;
        let mut here = marks.cost.look(state);
        let unmarked = marks.cost.unmarked(state, &here);
        match each(unmarked).find(|thread| marks.within(state, &mut here, *thread)) {
            Some(thread) => Choice::Take(Decision::Thread(ThreadId(thread as u32))),
            None => Choice::Prune,
        }
    }

    /// Learns from an execution. Says which copy it has that from, if from any.
    fn learn(&mut self, execution: &Finished<'_>) -> Option<usize> {
        self.lesson.clear();
        let record = execution.record;
        self.walk.get_mut().marks.cost.effort.ran(record.len() - execution.prefix);
        let first = execution.prefix;
        self.decisions.truncate(first);
        self.visited = self.visited.min(first);
        self.decisions.extend_from_slice(&record.decisions()[first..]);
        while self.path.pop_if(|node| node.at >= first).is_some() {}
        self.names.clear();
        self.names.extend((0..record.threads() as u32).map(|thread| record.name(ThreadId(thread))));
        let spent = self.bound.filter(|_| self.cut && !self.all);
        for (at, point) in record.points().iter().enumerate().skip(first) {
            let decision = self.decisions[at];
            // Nothing else can be chosen, or it would be beyond the bound, which is known to cut something off.
            let is_spent = spent.is_some_and(|most| most <= point.preemptions) && point.preemptible;
            if is_spent && point.running.map(Decision::Thread) == Some(decision) {
                continue;
            }
            let enabled = record.enabled_words(point);
            if let (Decision::Thread(chosen), &[enabled]) = (decision, enabled)
                && !self.all
                && enabled == 1 << chosen.0
            {
                continue;
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
            return if has_graph { self.visit(execution) } else { None };
        }
        if execution.pruned {
            self.cut |= self.bound.is_some();
            return None;
        }
        let walk = self.walk.get_mut();
        if !has_graph {
            walk.marks.cost.effort.cannot_look();
            return None;
        }
        let marks = &mut walk.marks;
        marks.longest = marks.longest.map(|longest| longest.max(record.len()));
        let lesson = execution.lesson.filter(|lesson| self.member.is_taught(lesson, &marks.cost));
        let again = |walk: &mut Walk| {
            walk.update_to_last_choice(execution);
            walk.marks.mark_all(&mut walk.state);
        };
        let lesson = lesson.filter(|lesson| walk.heed(lesson, &self.names, again));
        if lesson.is_none() {
            walk.update_to_last_choice(execution);
            self.member.teach(walk, &mut self.lesson, |walk, _| walk.marks.mark_all(&mut walk.state));
        }
        let marks = &walk.marks;
        // Of those that are not open all that is needed lasts, as long as nothing is forgotten.
        if marks.more
            && marks.open
            && !self.member.is_copy()
            && self.terminals.len() < MOST_TERMINALS.min(marks.squares())
        {
            terminals(&mut self.terminals).add(execution);
        }
        lesson.map(|lesson| lesson.teacher)
    }

    /// The first node, from the end of the path, with something to be tried that is wanted.
    fn next_wanted(&self, wanted: Wanted<'_>) -> Next {
        let mut decisions = self.decisions.clone();
        let marks = &self.walk.borrow().marks;
        let mut none = Next::Nothing;
        let at = self.path.iter().rposition(|node| {
            decisions.truncate(node.at);
            node.untried(marks, &self.names, self.bound, &mut false).next().is_some_and(|decision| {
                none = Next::Unwanted;
                decisions.push(decision);
                wanted(&decisions, Onward::Calmly)
            })
        });
        at.map_or(none, Next::At)
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
        self.mark_anew();
        let Walk { state, marks } = self.walk.get_mut();
        if marks.exhausted {
            marks.cost.mark(0);
        }
        state.clear();
    }

    /// Marks terminal graphs within the next bound; with the help of copies, if they wait for that.
    fn mark_anew(&mut self) {
        let walk = self.walk.get_mut();
        let all = walk.marks.forgotten;
        let job = self.member.share(&self.terminals, all, walk.marks.stand());
        let mut open = Vec::new();
        self.terminals.again(all, |index, pieces| {
            if walk.marks.cost.effort.is_over() {
                return false;
            }
            let lesson = job.as_ref().and_then(|job| job.lesson(index));
            let lesson = lesson.filter(|lesson| self.member.is_taught(lesson, &walk.marks.cost));
            let again = |walk: &mut Walk| {
                walk.load(&self.terminals, pieces);
                walk.marks.mark_all(&mut walk.state);
            };
            let is_taught =
                lesson.is_some_and(|lesson| walk.heed(&lesson, self.terminals.names(index), again));
            if !is_taught {
                again(walk);
            }
            open.push((index, walk.marks.open));
            !is_taught
        });
        if let Some(job) = job {
            self.member.is_done(job);
        }
        let terminals = terminals(&mut self.terminals);
        open.into_iter().for_each(|(index, open)| terminals.set_open(index, open));
    }

    /// A copy helps the search to do that, if it comes to the next bound before so long. It may come to the one after that at
    /// once. Then the copy is of no use any more: it does not know what the search has marked.
    fn help(&mut self, mut patience: Duration) {
        while self.member.is_copy()
            && let Stand { bound, more: true, .. } = self.walk.get_mut().marks.stand()
            && let Some(job) = self.member.wait_to_help(bound, patience)
        {
            self.member.hear(&mut self.walk.get_mut().marks.cost, self.bound);
            self.help_with(&job);
            job.wait();
            patience = Job::AT_ONCE;
        }
    }

    /// Does its part.
    fn help_with(&mut self, job: &Job) {
        let walk = self.walk.get_mut();
        (walk.marks.bound, walk.marks.more) = (job.stand.bound, job.stand.more);
        walk.marks.cost.unmark_all();
        walk.state.clear();
        let Some(mut part) = job.take_part() else { return };
        job.terminals.again(job.all, |index, pieces| {
            let has = part.has(index) && !walk.marks.cost.effort.is_over();
            if has {
                walk.load(&job.terminals, pieces);
                walk.marks.cost.begin(&walk.state);
                let mut lesson = Lesson::default();
                self.member.teach(walk, &mut lesson, |walk, _| walk.marks.mark_all(&mut walk.state));
                if walk.marks.cost.effort.is_over() {
                    // It has not seen all of the graph.
                    return false;
                }
                part.teach(index, lesson);
            }
            has
        });
        walk.state.clear();
    }

    /// Whether it has looked at as much as it may, or its time is over. Then its copies end too.
    fn ends(&mut self) -> bool {
        let effort = &mut self.walk.get_mut().marks.cost.effort;
        if effort.is_over() && !self.member.is_copy() {
            effort.end();
        }
        effort.is_over()
    }

    /// Whether there is another bound to come.
    fn goes_on(&self) -> bool {
        !self.all && !self.member.is_copy() && self.walk.borrow().marks.more && self.cut()
    }

    /// A copy with this path, or one that helps.
    fn copy(&self, path: &[Node], helps: bool) -> Self {
        let walk = &mut *self.walk.borrow_mut();
        walk.marks.cost.keep_news(true);
        let (member, mut copy) = self.member.copy(walk, self.bound);
        copy.marks.cost.effort = walk.marks.cost.effort.of_copy();
        CbPor {
            decisions: self.decisions.clone(),
            path: path.to_vec(),
            visited: self.visited.min(path.len()),
            begun: true,
            walk: RefCell::new(copy),
            names: self.names.clone(),
            terminals: Arc::default(),
            member,
            lesson: Lesson::default(),
            helps,
            most: self.bound,
            ..*self
        }
    }
}

/// Terminal graphs, which copies may read for a moment longer.
fn terminals(terminals: &mut Arc<Trail>) -> &mut Trail {
    while Arc::get_mut(terminals).is_none() {
        std::thread::yield_now();
    }
    Arc::get_mut(terminals).expect("nobody else has them, and those who had do not come back")
}

impl Strategy for CbPor {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.member.hear(&mut self.walk.get_mut().marks.cost, self.bound);
        if self.helps {
            self.help(Job::SOON);
            return false;
        }
        while !self.ends() {
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
                    if !self.walk.get_mut().marks.cost.effort.goes_on() {
                        return false;
                    }
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
                _ => {
                    self.help(Job::AT_ONCE);
                    return false;
                }
            }
        }
        false
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let copy = match self.next_wanted(wanted) {
            Next::At(at) => self.copy(&self.path[..=at], false),
            Next::Nothing if self.goes_on() => self.copy(&[], true),
            _ => return None,
        };
        Some(Box::new(copy))
    }

    fn go_ahead(&mut self, wanted: Wanted<'_>) -> Option<bool> {
        match self.next_wanted(wanted) {
            Next::At(at) => {
                self.path.truncate(at + 1);
                return Some(true);
            }
            Next::Nothing => self.help(Job::AT_ONCE),
            Next::Unwanted => {}
        }
        Some(false)
    }

    fn heed(&mut self, deadline: Deadline) {
        self.walk.get_mut().marks.cost.effort.heed(deadline);
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        // Most often the thread goes on, and nothing is known of what comes then.
        if let Some(running) = point.running
            && point.arity == 0
            && point.preemptible
            && self.bound.is_none_or(|most| point.preemptions <= most)
            && self.walk.borrow().marks.cost.leads_nowhere(point.state.0)
        {
            return Choice::Take(Decision::Thread(running));
        }
        self.choose_unmarked(point)
    }

    fn strays(&self) -> bool {
        true
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.member.hear(&mut self.walk.get_mut().marks.cost, self.bound);
        let teacher = self.learn(execution);
        if self.has_looked_enough() {
            // What was found out since is not so, and no other search must be told.
            self.lesson.clear();
            return;
        }
        self.member.tell(&mut self.walk.get_mut().marks.cost, self.bound, teacher);
    }

    fn teach(&mut self, lesson: &mut Lesson) {
        std::mem::swap(lesson, &mut self.lesson);
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

impl Drop for CbPor {
    fn drop(&mut self) {
        // What was found out after the last look that it may take is not so.
        if !self.has_looked_enough() {
            self.member.leave(self.walk.get_mut(), self.bound);
        }
    }
}

impl Walk {
    /// With nothing known.
    fn new(yields: Option<u32>, bound: Option<u32>, more: bool) -> Self {
        Walk { state: Lattice::new(yields), marks: Marks::new(bound, more) }
    }

    /// Puts the states into H that the execution at hand was in after so many decisions (Algorithm 1); those before that are
    /// there. Notes on its path what another execution could afford.
    fn visit(&mut self, path: &mut [Node], visited: usize) {
        let Walk { state, marks } = self;
        let mut index = path.len();
        debug_assert!(path.iter().zip(0..).all(|(node, at)| node.at == at), "every decision has a node");
        for step in (0..=state.steps()).rev() {
            // `state` is what there is before this step.
            let begin = state.begin(step);
            let is_visited = begin < visited;
            if is_visited && !cfg!(debug_assertions) {
                break;
            }
            if marks.cost.mark(state.hash) {
                debug_assert!(!is_visited, "the execution before was here");
                for thread in each(state.frontier()) {
                    let removed = state.remove(thread);
                    marks.cost.leads_to_mark(state, removed.event);
                    state.put_back(thread, &removed);
                }
            }
            if begin < index {
                index = begin;
                let mut cheaper = 0;
                let mut here = marks.cost.look(state);
                for thread in each(here.allowed) {
                    if marks.within(state, &mut here, thread) {
                        cheaper |= 1 << thread;
                    }
                }
                debug_assert!(!is_visited || cheaper == path[begin].cheaper, "it is as it was");
                path[begin].cheaper = cheaper;
            }
            if let Some(last) = step.checked_sub(1) {
                state.remove(state.step(last).0.index());
            }
        }
        state.walk_to(state.steps());
    }

    /// Makes the graph that of an execution that was kept, by the pieces that it has more.
    fn load(&mut self, terminals: &Trail, pieces: &[Piece]) {
        for piece in pieces {
            self.state.load(piece.begin, self.marks.most(), terminals.get(piece));
        }
    }

    /// Marks what a copy of the search has marked that has seen the same graph, of threads with these names, if that is what is
    /// to be marked. The graph at hand stays what it was; that one could be made again.
    fn heed(&mut self, lesson: &Lesson, names: &[u64], again: impl FnOnce(&mut Walk)) -> bool {
        // That is compared, now and then, with what comes of it the long way.
        const ONE_IN: usize = 4;
        let is_compared = cfg!(debug_assertions) && self.marks.cost.young().is_multiple_of(ONE_IN);
        let before = is_compared.then(|| self.clone());
        let heeds = self.marks.heed(lesson, names);
        if let Some(mut other) = before.filter(|_| heeds) {
            again(&mut other);
            let is_over = other.marks.cost.effort.is_over();
            assert!(
                is_over || self.marks.is_like(&mut other.marks, lesson),
                "a copy learns as the search does"
            );
        }
        heeds
    }

    /// Makes the graph that of an execution.
    fn update(&mut self, execution: &Finished<'_>) {
        self.state.update(execution, self.marks.most());
        self.marks.cost.begin(&self.state);
    }

    /// The same as far as anything else could have been chosen.
    fn update_to_last_choice(&mut self, execution: &Finished<'_>) {
        self.state.update_to_last_choice(execution, self.marks.most());
        debug_assert!(
            self.is_cut_rightly(execution),
            "whoever comes after the end of the graph comes by there"
        );
        self.marks.cost.begin(&self.state);
    }

    /// Whether, if the graph is cut, nobody comes within the bound to a state after its end with a step of another thread than
    /// the one that goes on, by trying everything.
    fn is_cut_rightly(&self, execution: &Finished<'_>) -> bool {
        let (mut whole, most) = (self.state.clone(), self.marks.most());
        if !whole.is_cut() {
            return true;
        }
        let end = whole.steps() - whole.floating();
        whole.walk_to(end);
        let others = whole.frontier() & !(1 << whole.last_run());
        let last: Vec<_> = each(others).map(|other| (other, whole.last_event(other))).collect();
        whole.update(execution, most);
        (end + 1..=whole.steps()).all(|length| {
            whole.walk_to(length);
            last.iter().all(|&(other, last)| {
                let is_last = whole.frontier() >> other & 1 == 1 && whole.last_event(other) == last;
                !is_last || most.is_some_and(|most| is_beyond(&whole, other, most))
            })
        })
    }
}

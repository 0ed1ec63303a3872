//! The search that DPOR and BPOR share: depth-first, with a set of threads to try at each point that grows
//! as races are found, and sleep sets.
//!
//! Coons, Musuvathi, McKinley: *Bounded Partial-Order Reduction* (OOPSLA 2013), Algorithm 2. What is added
//! where is up to [`Policy`]; see `dpor.rs` and `bpor.rs`, which also number the deviations.

mod path;

use std::cell::{Cell, RefCell};

use selvedge_core::{Decision, Op, ThreadId};

use self::path::{Path, sleeps, wake};
use super::{Choice, Finished, Point, Prefix, Wanted};
use crate::graph::{Graph, Race, Races};
use crate::program::Onward;
use crate::record::Record;

pub(crate) use self::path::last_thread;

/// What distinguishes one search from another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// The most preemptions.
    pub(crate) preemptions: Option<u32>,
    /// Whether the fair bound may cut something.
    pub(crate) fair: bool,
    /// The optimisations: races are turned round by a thread that can go first, and everything that is
    /// there for a bound's sake is tried only where the bound has cut something (section 5.4).
    pub(crate) lazy: bool,
    /// Sleep sets.
    pub(crate) sleep: bool,
}

impl Policy {
    pub(crate) fn bounded(&self) -> bool {
        self.preemptions.is_some() || self.fair
    }
}

/// The sleep set along the execution that runs.
#[derive(Debug, Default)]
struct Walk {
    /// The point that `asleep` is for.
    at: Option<usize>,
    asleep: Vec<(ThreadId, Op)>,
}

/// A depth-first search with backtrack sets and sleep sets.
#[derive(Debug)]
pub(crate) struct Backtracking {
    pub(crate) policy: Policy,
    path: Path,
    begun: bool,
    graph: Graph,
    /// The threads that can go first when a race is turned round. The memory is used again and again.
    initials: Vec<ThreadId>,
    walk: RefCell<Walk>,
    cut_now: Cell<bool>,
    /// Whether the fair bound held a thread back where the execution that runs was ended.
    held_now: Cell<bool>,
    /// Whether the bound on preemptions has cut anything off.
    pub(crate) cut: bool,
    /// Executions that were ended because every thread that could go on was asleep.
    pub(crate) blocked: u64,
    /// It is a copy that goes ahead of the search: what it misses costs time alone.
    #[cfg(debug_assertions)]
    is_copy: bool,
}

impl Backtracking {
    pub(crate) fn new(policy: Policy) -> Self {
        Backtracking {
            policy,
            path: Path::default(),
            begun: false,
            graph: Graph::default(),
            initials: Vec::new(),
            walk: RefCell::default(),
            cut_now: Cell::new(false),
            held_now: Cell::new(false),
            cut: false,
            blocked: 0,
            #[cfg(debug_assertions)]
            is_copy: false,
        }
    }

    /// Starts over with another bound.
    pub(crate) fn restart(&mut self, preemptions: Option<u32>) {
        self.policy.preemptions = preemptions;
        self.path.truncate(0);
        self.graph.clear();
        self.begun = false;
        self.cut = false;
    }

    pub(crate) fn next(&mut self, prefix: &mut Prefix) -> bool {
        self.walk.get_mut().at = None;
        self.cut_now.set(false);
        self.held_now.set(false);
        if !self.begun {
            self.begun = true;
            prefix.clear();
            return true;
        }
        let Some(fingerprint) = self.path.step_back(&self.policy, &mut self.cut) else { return false };
        prefix.expect = Some(fingerprint);
        prefix.decisions.clear();
        prefix.decisions.extend_from_slice(self.path.decisions());
        true
    }

    /// Offers what is to be tried next at each point of the path as far as that is known, deepest first; and the
    /// search from there on, if one is wanted. What the last step of the path will do is not known yet, so what else is
    /// to be tried in its place is not either.
    pub(crate) fn ahead(&self, wanted: Wanted<'_>) -> Option<Self> {
        let path = self.path.ahead(&self.policy, |decisions| wanted(decisions, Onward::Calmly))?;
        let graph = self.graph.clone();
        Some(Backtracking {
            path,
            begun: true,
            graph,
            #[cfg(debug_assertions)]
            is_copy: true,
            ..Backtracking::new(self.policy)
        })
    }

    pub(crate) fn choose(&self, point: &Point<'_>) -> Choice {
        if point.arity > 0 {
            return Choice::Take(Decision::Value(0));
        }
        let mut walk = self.walk.borrow_mut();
        let walk = &mut *walk;
        if walk.at.is_none() {
            self.asleep_after_prefix(&mut walk.asleep);
        }
        if let Some(last) = point.step.checked_sub(1)
            && !walk.asleep.is_empty()
        {
            wake(&mut walk.asleep, last_thread(point.decisions), &point.record.points()[last].op);
        }
        walk.at = Some(point.step);
        if let (Some(running), true, true) = (point.running, point.preemptible, walk.asleep.is_empty()) {
            // It goes on, which costs nothing.
            return Choice::Take(Decision::Thread(running));
        }
        let Decision::Thread(preferred) = point.without_preemption() else {
            unreachable!("a choice between threads")
        };
        let mut over = false;
        let mut possible = |thread: ThreadId| {
            if sleeps(&walk.asleep, thread) {
                return false;
            }
            let price = u32::from(point.preemptible && point.running != Some(thread));
            let affordable = self.policy.preemptions.is_none_or(|most| point.preemptions + price <= most);
            over |= !affordable;
            affordable
        };
        let mut others = point.enabled.iter().filter(|thread| *thread != preferred);
        let chosen =
            if possible(preferred) { Some(preferred) } else { others.find(|thread| possible(*thread)) };
        if let Some(thread) = chosen {
            return Choice::Take(Decision::Thread(thread));
        }
        self.cut_now.set(over);
        self.held_now.set(point.held_back && self.policy.fair);
        Choice::Prune
    }

    /// What sleeps before the last step of the prefix.
    fn asleep_after_prefix(&self, asleep: &mut Vec<(ThreadId, Op)>) {
        asleep.clear();
        if self.policy.sleep
            && let Some(last) = self.path.last_step()
        {
            asleep.extend_from_slice(self.path.asleep(last));
            asleep.extend_from_slice(self.path.tried(last));
        }
    }

    pub(crate) fn finished(&mut self, execution: &Finished<'_>) {
        let record = execution.record;
        let over = self.cut_now.get();
        self.blocked += u64::from(execution.pruned && !over);
        self.path.truncate(execution.prefix);
        let first_new = self.path.last_step().unwrap_or(0);
        let races = match (self.policy.lazy, self.policy.bounded()) {
            (true, true) => Races::Both,
            (true, false) => Races::Reduced,
            (false, _) => Races::All,
        };
        self.graph.update(execution, races);
        let mut asleep = std::mem::take(&mut self.walk.get_mut().asleep);
        self.asleep_after_prefix(&mut asleep);
        self.path.extend(record, &mut asleep, self.policy.fair);
        self.walk.get_mut().asleep = asleep;
        if (over || self.held_now.get())
            && let Some(last) = self.path.decisions().len().checked_sub(1)
        {
            let last = self.path.node(last, record);
            last.cut = true;
            last.child_cut = true;
        }
        self.cut |= over;
        for index in 0..self.graph.reduced.len() {
            self.turn_round(index, record);
        }
        for index in 0..self.graph.races.len() {
            self.backtrack(self.graph.races[index], record);
        }
        if execution.stopped {
            self.stopped(record);
        }
        if self.policy.fair {
            self.enabledness_changes(first_new, over, record);
        }
        #[cfg(debug_assertions)]
        if self.policy.bounded() && !self.is_copy {
            self.check_postconditions(execution);
        }
    }

    /// Definitions 5.2 (preemption bound) and 5.4 (fair bound), word for word, from nothing but the record: at
    /// every state of the execution, for the next operation of every thread `u` and every other thread `v`,
    /// at `v`'s last step that it depends on. Sets only grow until a state is left, so what holds now holds
    /// then. Points that are to be tried only if the bound cuts something off count as being in the set.
    #[cfg(debug_assertions)]
    fn check_postconditions(&self, execution: &Finished<'_>) {
        let record = execution.record;
        let contains = |at: usize, thread: ThreadId| match self.path.known(at) {
            Some(node) => node.backtrack.contains(thread) || node.conservative.contains(thread),
            None => record.decisions()[at] == Decision::Thread(thread),
        };
        let allowed = |at: usize| record.enabled(&record.points()[at]);
        let everything = |at: usize| allowed(at).all(|thread| contains(at, thread));
        let added = |at: usize, thread: ThreadId| {
            if allowed(at).any(|other| other == thread) { contains(at, thread) } else { everything(at) }
        };
        let begins_context =
            |at: &usize| path::begins_context(&record.points()[*at], record.decisions()[*at]);
        // For each step so far: its thread, the decision that chose it, and what it did.
        let mut steps: Vec<(ThreadId, usize, Op)> = Vec::new();
        let mut next: Vec<(ThreadId, Op)> = Vec::new();
        for index in 0..=record.len() {
            if let Some(Decision::Value(_)) = record.decisions().get(index) {
                continue;
            }
            if let Some(last) = index.checked_sub(1) {
                let thread = last_thread(&record.decisions()[..index]);
                let begin = (0..index).rev().find(|index| record.points()[*index].arity == 0).unwrap_or(0);
                steps.push((thread, begin, record.points()[last].op));
            }
            for pending in record.pending(index) {
                next.retain(|(thread, _)| *thread != pending.thread);
                next.push((pending.thread, pending.op));
            }
            for (u, next) in &next {
                let u = *u;
                let ended = |(thread, _, op): &(ThreadId, usize, Op)| {
                    *thread == u && op.kind == selvedge_core::OpKind::End
                };
                if steps.iter().any(ended) {
                    continue;
                }
                for v in (0..record.threads() as u32).map(ThreadId).filter(|v| *v != u) {
                    let dependent =
                        steps.iter().rev().find(|(thread, _, op)| *thread == v && op.conflicts_with(next));
                    let Some(&(_, i, op)) = dependent else { continue };
                    if self.policy.fair && releases(&op) {
                        assert!(everything(i), "Definition 5.4 at {i}: {v} released what {u} depends on");
                    }
                    assert!(added(i, u), "Definition 5.2 (1), 5.4 at {i}: {v} before {u}");
                    if self.policy.preemptions.is_some()
                        && let Some(j) = (0..i).rev().find(begins_context)
                    {
                        assert!(added(j, u), "Definition 5.2 (2) at {j}: {v} at {i} before {u}");
                    }
                }
            }
        }
    }

    /// The step that ended the execution depends on everything: on what the others were about to do, and on
    /// the last step of each other thread. (Two accesses to a tracked cell that race belong to steps that
    /// need not conflict otherwise, and whichever comes second ends the execution.) None of the decisions
    /// that led here may sleep, because it is not known which steps would have to wake it.
    fn stopped(&mut self, record: &Record) {
        for index in 0..record.len() {
            self.path.node(index, record).stopped = true;
        }
        let Some(stop) = self.graph.events.last().copied() else { return };
        let last = stop.point as usize;
        let node = self.path.node(last, record);
        node.backtrack.copy_from(&node.allowed);
        if self.policy.preemptions.is_some() {
            self.everything(last, record);
        }
        for other in (0..self.graph.threads.len()).filter(|other| *other != stop.thread.index()) {
            if let Some(&event) = self.graph.threads[other].events.last() {
                let race = Race::between(event, stop.thread);
                let at = self.graph.events[event as usize].point as usize;
                let asleep = sleeps(self.path.asleep(at), stop.thread);
                let node = self.path.node(at, record);
                if node.allowed.contains(stop.thread) && !asleep {
                    node.backtrack.insert(stop.thread);
                } else {
                    node.backtrack.copy_from(&node.allowed);
                }
                self.backtrack(race, record);
            }
        }
    }

    /// Adds what a race asks for when no bound cuts anything: a thread that can go first.
    fn turn_round(&mut self, race: usize, record: &Record) {
        let race = self.graph.reduced[race];
        let node = self.path.node(self.graph.events[race.event as usize].point as usize, record);
        self.graph.initials(&race, &mut self.initials);
        self.initials.retain(|thread| node.allowed.contains(*thread));
        match self.initials.first() {
            None => node.backtrack.copy_from(&node.allowed),
            Some(_) if self.initials.iter().any(|thread| node.backtrack.contains(*thread)) => {}
            Some(first) => node.backtrack.insert(*first),
        }
    }

    /// Adds what a race asks for (`Backtrack` of Algorithms 3 and 4).
    fn backtrack(&mut self, race: Race, record: &Record) {
        let at = self.graph.events[race.event as usize].point as usize;
        let asleep = sleeps(self.path.asleep(at), race.thread);
        let node = self.path.node(at, record);
        let set = if self.policy.lazy { &mut node.conservative } else { &mut node.backtrack };
        if node.allowed.contains(race.thread) && !asleep {
            set.insert(race.thread);
        } else {
            set.copy_from(&node.allowed);
        }
        if self.policy.fair {
            let releases = releases(&node.op) || releases(&next_op(&self.graph, race.thread, race.event));
            let creates = || self.graph.threads.iter().any(|line| line.creator == Some(race.event));
            if releases || creates() {
                node.conservative.copy_from(&node.allowed);
            }
        }
        if self.policy.preemptions.is_some()
            && let Some(begin) = self.path.begin(at)
        {
            let asleep = sleeps(self.path.asleep(begin), race.thread);
            let node = self.path.node(begin, record);
            if node.allowed.contains(race.thread) && !asleep {
                node.conservative.insert(race.thread);
            } else {
                node.conservative.copy_from(&node.allowed);
            }
        }
    }

    /// Section 5.3: further points where what is enabled changes, and where every step exceeds a bound. Nothing
    /// is new before the first of these decisions.
    fn enabledness_changes(&mut self, first: usize, over: bool, record: &Record) {
        let points = record.points();
        let words = points.get(first).map_or(&[][..], |point| record.enabled_words_from(point));
        if words.len() == points.len() - first {
            // Each point has its word.
            for index in (1..words.len()).filter(|index| words[index - 1] != words[*index]) {
                self.enabledness_changed(first + index - 1, first + index, record);
            }
        } else {
            let mut before = first;
            for (index, decision) in record.decisions().iter().enumerate().skip(first + 1) {
                if let Decision::Thread(_) = decision {
                    self.enabledness_changed(before, index, record);
                    before = index;
                }
            }
        }
        if over {
            for begin in 0..self.path.begins().len() {
                self.everything(self.path.begins()[begin] as usize, record);
            }
        }
    }

    /// Adds everything at a point, if another thread than the one that ran can be chosen there or at the next one, and not
    /// at both.
    fn enabledness_changed(&mut self, before: usize, after: usize, record: &Record) {
        let Decision::Thread(ran) = record.decisions()[before] else { return };
        let words = |index: usize| record.enabled_words(&record.points()[index]);
        let (was, is) = (words(before), words(after));
        let word = |set: &[u64], index: usize| set.get(index).copied().unwrap_or(0);
        let changed = |index: usize| {
            let ran = if index == ran.index() / 64 { 1 << (ran.0 % 64) } else { 0_u64 };
            (word(was, index) ^ word(is, index)) & !ran != 0
        };
        if (0..was.len().max(is.len())).any(changed) {
            self.everything(before, record);
        }
    }

    fn everything(&mut self, index: usize, record: &Record) {
        for index in self.path.begin(index).into_iter().chain([index]) {
            let node = self.path.node(index, record);
            node.conservative.copy_from(&node.allowed);
        }
    }
}

/// What a thread was about to do before an event.
fn next_op(graph: &Graph, thread: ThreadId, event: u32) -> Op {
    let line = &graph.threads[thread.index()];
    let taken = line.events.partition_point(|other| *other < event);
    line.pending.get(taken).map_or(Op::default(), |(op, _)| *op)
}

/// Whether an operation may enable another thread.
fn releases(op: &Op) -> bool {
    use selvedge_core::OpKind as Kind;
    matches!(
        op.kind,
        Kind::End
            | Kind::Unlock
            | Kind::ReadUnlock
            | Kind::Wait
            | Kind::NotifyOne
            | Kind::NotifyAll
            | Kind::Unpark
            | Kind::Send
            | Kind::Receive
            | Kind::Disconnect
            | Kind::BarrierArrive
            | Kind::OnceLeave
    )
}

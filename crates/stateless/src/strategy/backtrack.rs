//! The search that DPOR and BPOR share: depth-first, with a set of threads to try at each point that grows
//! as races are found, and sleep sets.
//!
//! Coons, Musuvathi, McKinley: *Bounded Partial-Order Reduction* (OOPSLA 2013), Algorithm 2. What is added
//! where is up to [`Policy`]; see `dpor.rs` and `bpor.rs`, which also number the deviations.

use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};

use selvedge_core::{Decision, Op, ThreadId, ThreadSet};

use super::{Choice, Finished, Point, Prefix, Wanted};
use crate::graph::{Graph, Race, Races};
use crate::program::Onward;
use crate::record::PointRecord;

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

/// A decision on the current path.
#[derive(Clone, Debug)]
struct Node {
    decision: Decision,
    fingerprint: u64,
    /// For a choice of a value, how many there are.
    arity: u32,
    running: Option<ThreadId>,
    preemptible: bool,
    preemptions: u32,
    /// The threads that could be chosen, within the fair bound.
    allowed: ThreadSet,
    backtrack: ThreadSet,
    /// To be tried because of a bound, and only if it cuts something here.
    conservative: ThreadSet,
    done: ThreadSet,
    /// Threads that need not be tried, with the operation that they would perform.
    asleep: Vec<(ThreadId, Op)>,
    /// Those that were tried here and may sleep while others are.
    tried: Vec<(ThreadId, Op)>,
    /// What the current decision's step did.
    op: Op,
    /// Whether a bound has cut something off here or below; and whether below the current decision.
    cut: bool,
    child_cut: bool,
    /// Whether the bound on preemptions has ruled a thread out here.
    over: bool,
    /// Whether a step ended an execution below the current decision.
    stopped: bool,
    /// The last point before this one where a context began.
    begin: Option<u32>,
}

impl Node {
    fn new(decision: Decision) -> Self {
        Node {
            decision,
            fingerprint: 0,
            arity: 0,
            running: None,
            preemptible: false,
            preemptions: 0,
            allowed: ThreadSet::default(),
            backtrack: ThreadSet::default(),
            conservative: ThreadSet::default(),
            done: ThreadSet::default(),
            asleep: Vec::new(),
            tried: Vec::new(),
            op: Op::default(),
            cut: false,
            child_cut: false,
            over: false,
            stopped: false,
            begin: None,
        }
    }

    fn costs(&self, thread: ThreadId) -> u32 {
        self.preemptions + u32::from(self.preemptible && self.running != Some(thread))
    }

    /// Whether the switch to whoever runs here was or would be free, or another thread takes over here: a
    /// place where a thread is scheduled as cheaply as it can be.
    fn begins_context(&self) -> bool {
        !self.preemptible || self.decision != self.running.map_or(self.decision, Decision::Thread)
    }
}

/// The decisions of the current path. The memory of those that it had before is kept.
#[derive(Debug, Default)]
struct Path {
    nodes: Vec<Node>,
    length: usize,
}

impl Path {
    fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Adds what an execution decided at a point.
    fn push(&mut self, decision: Decision, point: &PointRecord, enabled: &[u64]) -> &mut Node {
        let begin = match self.last() {
            Some(last) if last.arity == 0 && last.begins_context() => Some(self.length as u32 - 1),
            Some(last) => last.begin,
            None => None,
        };
        if self.length == self.nodes.len() {
            self.nodes.push(Node::new(decision));
        }
        let node = &mut self.nodes[self.length];
        self.length += 1;
        node.decision = decision;
        node.fingerprint = point.fingerprint;
        node.arity = point.arity;
        node.running = point.running;
        node.preemptible = point.preemptible;
        node.preemptions = point.preemptions;
        node.allowed.copy_from_words(enabled);
        node.backtrack.clear();
        node.conservative.clear();
        node.done.clear();
        node.asleep.clear();
        node.tried.clear();
        node.op = Op::default();
        (node.cut, node.child_cut, node.over, node.stopped) = (false, false, false, false);
        node.begin = begin;
        if let Decision::Thread(thread) = decision {
            node.backtrack.insert(thread);
            node.done.insert(thread);
        }
        node
    }
}

impl Deref for Path {
    type Target = [Node];

    #[inline]
    fn deref(&self) -> &[Node] {
        &self.nodes[..self.length]
    }
}

impl DerefMut for Path {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Node] {
        &mut self.nodes[..self.length]
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
    walk: RefCell<Walk>,
    cut_now: Cell<bool>,
    /// Whether the fair bound held a thread back where the execution that runs was ended.
    held_now: Cell<bool>,
    /// Whether the bound on preemptions has cut anything off.
    pub(crate) cut: bool,
    /// Executions that were ended because every thread that could go on was asleep.
    pub(crate) blocked: u64,
}

impl Backtracking {
    pub(crate) fn new(policy: Policy) -> Self {
        Backtracking {
            policy,
            path: Path::default(),
            begun: false,
            graph: Graph::default(),
            walk: RefCell::default(),
            cut_now: Cell::new(false),
            held_now: Cell::new(false),
            cut: false,
            blocked: 0,
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
        loop {
            let Some(node) = self.path.last_mut() else { return false };
            let next = node.next_decision(&self.policy);
            self.cut |= node.over;
            if let Some(decision) = next {
                node.decision = decision;
                prefix.expect = Some(node.fingerprint);
                break;
            }
            let cut = node.cut;
            self.path.truncate(self.path.len() - 1);
            if let Some(parent) = self.path.last_mut() {
                parent.child_cut |= cut;
                parent.cut |= cut;
            }
        }
        prefix.decisions.clear();
        prefix.decisions.extend(self.path.iter().map(|node| node.decision));
        true
    }

    /// Offers what is to be tried next at each point of the path as far as that is known, deepest first; and the
    /// search from there on, if one is wanted. What the last step of the path will do is not known yet, so what else is
    /// to be tried in its place is not either.
    pub(crate) fn ahead(&self, wanted: Wanted<'_>) -> Option<Self> {
        let mut decisions: Vec<_> = self.path.iter().map(|node| node.decision).collect();
        decisions.pop();
        let at = self.path[..decisions.len()].iter().rposition(|node| {
            decisions.pop();
            node.untried(&self.policy).next().is_some_and(|decision| {
                decisions.push(decision);
                let is_wanted = wanted(&decisions, Onward::Calmly);
                decisions.pop();
                is_wanted
            })
        })?;
        let cut = self.path[at + 1..].iter().any(|node| node.cut);
        let mut nodes = self.path[..=at].to_vec();
        nodes[at].child_cut |= cut;
        nodes[at].cut |= cut;
        let (length, graph) = (nodes.len(), self.graph.clone());
        let path = Path { nodes, length };
        Some(Backtracking { path, begun: true, graph, ..Backtracking::new(self.policy) })
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
        if let Some(last) = point.step.checked_sub(1) {
            wake(&mut walk.asleep, last_thread(point.decisions), &point.record.points()[last].op);
        }
        walk.at = Some(point.step);
        let asleep = |thread: ThreadId| walk.asleep.iter().any(|(other, _)| *other == thread);
        let Decision::Thread(preferred) = point.without_preemption() else {
            unreachable!("a choice between threads")
        };
        let mut over = false;
        let mut possible = |thread: ThreadId| {
            if asleep(thread) {
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
        let Some(node) = self.path.iter().rev().find(|node| node.arity == 0) else { return };
        if self.policy.sleep {
            asleep.extend_from_slice(&node.asleep);
            asleep.extend_from_slice(&node.tried);
        }
    }

    pub(crate) fn finished(&mut self, execution: &Finished<'_>) {
        let record = execution.record;
        let over = self.cut_now.get();
        self.blocked += u64::from(execution.pruned && !over);
        self.path.truncate(execution.prefix);
        let mut asleep = Vec::new();
        self.asleep_after_prefix(&mut asleep);
        let first_new = self.path.iter().rposition(|node| node.arity == 0).unwrap_or(0);
        let races = match (self.policy.lazy, self.policy.bounded()) {
            (true, true) => Races::Both,
            (true, false) => Races::Reduced,
            (false, _) => Races::All,
        };
        self.graph.update(execution, races);
        for index in first_new..record.len() {
            let point = &record.points()[index];
            if index >= self.path.len() {
                if point.arity == 0
                    && let Some(last) = index.checked_sub(1)
                {
                    wake(&mut asleep, last_thread(&record.decisions()[..index]), &record.points()[last].op);
                }
                let decision = record.decisions()[index];
                let node = self.path.push(decision, point, record.enabled_words(point));
                if point.arity == 0 {
                    node.asleep.extend_from_slice(&asleep);
                    node.cut = self.policy.fair && point.held_back;
                }
            }
            if let Decision::Thread(_) = record.decisions()[index]
                && let Some(event) = self.graph.events.get(self.graph.event_of(index))
            {
                self.path[index].op = event.op;
            }
        }
        if (over || self.held_now.get())
            && let Some(last) = self.path.last_mut()
        {
            last.cut = true;
            last.child_cut = true;
        }
        self.cut |= over;
        for index in 0..self.graph.reduced.len() {
            self.turn_round(index);
        }
        for index in 0..self.graph.races.len() {
            self.backtrack(self.graph.races[index]);
        }
        if execution.stopped {
            self.stopped();
        }
        if self.policy.fair {
            self.enabledness_changes(first_new, over);
        }
        #[cfg(debug_assertions)]
        if self.policy.bounded() {
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
        let contains = |at: usize, thread: ThreadId| {
            self.path[at].backtrack.contains(thread) || self.path[at].conservative.contains(thread)
        };
        let everything = |at: usize| self.path[at].allowed.iter().all(|thread| contains(at, thread));
        let added = |at: usize, thread: ThreadId| {
            if self.path[at].allowed.contains(thread) { contains(at, thread) } else { everything(at) }
        };
        // For each step so far: its thread, the decision that chose it, and what it did.
        let mut steps: Vec<(ThreadId, usize, Op)> = Vec::new();
        let mut next: Vec<(ThreadId, Op)> = Vec::new();
        for index in 0..=record.len() {
            if let Some(Decision::Value(_)) = record.decisions().get(index) {
                continue;
            }
            if let Some(last) = index.checked_sub(1) {
                let thread = last_thread(&record.decisions()[..index]);
                let begin = (0..index).rev().find(|index| self.path[*index].arity == 0).unwrap_or(0);
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
                        && let Some(j) =
                            (0..i).rev().find(|j| self.path[*j].arity == 0 && self.path[*j].begins_context())
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
    fn stopped(&mut self) {
        for node in self.path.iter_mut() {
            node.stopped = true;
        }
        let Some(stop) = self.graph.events.last().copied() else { return };
        let last = stop.point as usize;
        self.path[last].backtrack = self.path[last].allowed.clone();
        if self.policy.preemptions.is_some() {
            self.everything(last);
        }
        for other in (0..self.graph.threads.len()).filter(|other| *other != stop.thread.index()) {
            if let Some(&event) = self.graph.threads[other].events.last() {
                let race = Race::between(event, stop.thread);
                let node = &mut self.path[self.graph.events[event as usize].point as usize];
                if node.allowed.contains(stop.thread) {
                    node.backtrack.insert(stop.thread);
                } else {
                    node.backtrack.copy_from(&node.allowed);
                }
                self.backtrack(race);
            }
        }
    }

    /// Adds what a race asks for when no bound cuts anything: a thread that can go first.
    fn turn_round(&mut self, race: usize) {
        let race = self.graph.reduced[race];
        let node = &mut self.path[self.graph.events[race.event as usize].point as usize];
        let mut initials = self.graph.initials(&race);
        initials.retain(|thread| node.allowed.contains(*thread));
        match initials.first() {
            None => node.backtrack.copy_from(&node.allowed),
            Some(_) if initials.iter().any(|thread| node.backtrack.contains(*thread)) => {}
            Some(first) => node.backtrack.insert(*first),
        }
    }

    /// Adds what a race asks for (`Backtrack` of Algorithms 3 and 4).
    fn backtrack(&mut self, race: Race) {
        let at = self.graph.events[race.event as usize].point as usize;
        let node = &mut self.path[at];
        let asleep = node.asleep.iter().any(|(other, _)| *other == race.thread);
        let set = if self.policy.lazy { &mut node.conservative } else { &mut node.backtrack };
        if node.allowed.contains(race.thread) && !asleep {
            set.insert(race.thread);
        } else {
            set.copy_from(&node.allowed);
        }
        if self.policy.fair {
            let releases = releases(&node.op) || releases(&next_op(&self.graph, race.thread, race.event));
            let creates = self.graph.threads.iter().any(|line| line.creator == Some(race.event));
            if releases || creates {
                node.conservative.copy_from(&node.allowed);
            }
        }
        if self.policy.preemptions.is_some()
            && let Some(begin) = node.begin
        {
            let node = &mut self.path[begin as usize];
            if node.allowed.contains(race.thread) {
                node.conservative.insert(race.thread);
            } else {
                node.conservative.copy_from(&node.allowed);
            }
        }
    }

    /// Section 5.3: further points where what is enabled changes, and where every step exceeds a bound. Nothing
    /// is new before the first of these decisions.
    fn enabledness_changes(&mut self, first: usize, over: bool) {
        let mut last = None;
        for index in first..self.path.len() {
            if self.path[index].arity > 0 {
                continue;
            }
            if let Some(before) = last.replace(index)
                && self.path[before].enables_or_disables(&self.path[index])
            {
                self.everything(before);
            }
        }
        if over {
            for index in 0..self.path.len() {
                if self.path[index].arity == 0 && self.path[index].begins_context() {
                    self.everything(index);
                }
            }
        }
    }

    fn everything(&mut self, index: usize) {
        let begin = self.path[index].begin.map(|begin| begin as usize);
        for index in begin.into_iter().chain([index]) {
            let node = &mut self.path[index];
            node.conservative.copy_from(&node.allowed);
        }
    }
}

impl Node {
    /// Whether another thread than the one that was chosen can be chosen before or after the step, and not both.
    fn enables_or_disables(&self, after: &Node) -> bool {
        let Decision::Thread(ran) = self.decision else { return false };
        if let (Some(before), Some(after)) = (self.allowed.word(), after.allowed.word()) {
            return (before ^ after) & !1_u64.checked_shl(ran.0).unwrap_or(0) != 0;
        }
        let changed = |set: &ThreadSet, other: &ThreadSet| {
            set.iter().any(|thread| thread != ran && !other.contains(thread))
        };
        changed(&self.allowed, &after.allowed) || changed(&after.allowed, &self.allowed)
    }

    /// What will be tried here, as far as that is known.
    fn untried(&self, policy: &Policy) -> impl Iterator<Item = Decision> {
        let values = match self.decision {
            Decision::Value(value) => value + 1..self.arity,
            Decision::Thread(_) => 0..0,
        };
        let affordable =
            |thread: &ThreadId| policy.preemptions.is_none_or(|most| self.costs(*thread) <= most);
        let asleep = |thread: &ThreadId| self.asleep.iter().any(|(other, _)| other == thread);
        let threads = self.backtrack.iter().filter(|thread| self.arity == 0 && !self.done.contains(*thread));
        let threads = threads.filter(move |thread| !asleep(thread) && affordable(thread));
        values.map(Decision::Value).chain(threads.map(Decision::Thread))
    }

    /// What to try next here, if anything.
    fn next_decision(&mut self, policy: &Policy) -> Option<Decision> {
        let taken = match self.decision {
            Decision::Value(value) => {
                return (value + 1 < self.arity).then_some(Decision::Value(value + 1));
            }
            Decision::Thread(thread) => thread,
        };
        let next = self.next_thread(policy)?;
        if (!policy.bounded() || !self.child_cut) && !self.stopped {
            self.tried.push((taken, self.op));
        }
        self.child_cut = false;
        self.stopped = false;
        Some(Decision::Thread(next))
    }

    fn next_thread(&mut self, policy: &Policy) -> Option<ThreadId> {
        loop {
            let next = self.backtrack.iter().find(|thread| !self.done.contains(*thread));
            let Some(thread) = next else {
                // Only now is it known whether the bound has cut something here.
                let wanted = self.cut || !policy.lazy;
                let more = |thread: &ThreadId| !self.backtrack.contains(*thread);
                if !wanted || !self.conservative.iter().any(|thread| more(&thread)) {
                    return None;
                }
                for thread in self.conservative.iter() {
                    self.backtrack.insert(thread);
                }
                continue;
            };
            self.done.insert(thread);
            if self.asleep.iter().any(|(other, _)| *other == thread) {
                continue;
            }
            if policy.preemptions.is_some_and(|most| self.costs(thread) > most) {
                self.cut = true;
                self.over = true;
                continue;
            }
            return Some(thread);
        }
    }
}

/// The thread whose step the last of these decisions belongs to.
pub(crate) fn last_thread(decisions: &[Decision]) -> ThreadId {
    let threads = decisions.iter().rev().filter_map(|decision| match decision {
        Decision::Thread(thread) => Some(*thread),
        Decision::Value(_) => None,
    });
    threads.into_iter().next().expect("an execution begins with a thread")
}

/// Wakes those whose operation depends on a step.
#[inline]
pub(crate) fn wake(asleep: &mut Vec<(ThreadId, Op)>, thread: ThreadId, op: &Op) {
    if asleep.is_empty() {
        return;
    }
    asleep.retain(|(other, pending)| *other != thread && !pending.conflicts_with(op));
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

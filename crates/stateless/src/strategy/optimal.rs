//! Optimal dynamic partial-order reduction.
//!
//! Abdulla, Aronis, Jonsson, Sagonas: *Source Sets: A Foundation for Optimal Dynamic Partial Order Reduction*
//! (JACM 2017; first in POPL 2014), the algorithm with wakeup trees: every terminal partial order is run
//! exactly once, and no execution is begun that turns out to be equivalent to another.
//!
//! Deviations:
//! 1. Creating a thread is no step; a thread's first step depends on the step within which it was created.
//!    Threads go by names that executions agree on, not by their numbers.
//! 2. Which races can be turned round is found out from the graph, also where a thread had to wait: the
//!    second operation of a race is any that some thread was about to do, performed or not.
//! 3. A step that chooses a value races with the same step choosing another one: what does not depend on it,
//!    and then the step with the other value, is a sequence to be explored. It is planned once.
//! 4. A step that ends an execution (a violation) depends on everything, which is known only once it has
//!    been taken. Every other thread that could go on before it is tried there too. Two steps that race for a
//!    tracked cell depend on each other, which is known only once the race has ended an execution: it is turned
//!    round then, and each wakes the other.
//! 5. What an operation would do to its object in another state is not always known (a compare-exchange may
//!    fail there, a lock may be taken, nobody may wait to be notified); the most that it may do is assumed.
//!    So a step may go on sleeping where the paper's steps are all awake: at a leaf of the tree. Such a step
//!    is *stale*. That a sequence could begin with it does not mean that what the sequence is for is covered;
//!    it is left out of the sequence instead, with what depends on it. The same holds below a step that is
//!    uncertain (deviation 2 of `wakeup.rs`), and after deviation 4. It can make the search begin an
//!    execution which is covered already; that is ended when every thread that could go on is asleep.
//! 6. Races that an execution has in common with the one before are turned round again only where something is still
//!    to be run: elsewhere, what was planned for them has been explored.
//!
//! Within a bound on preemptions the search keeps to the partial orders that [`prefix_cost`](super::prefix_cost)
//! allows. The terminal orders within the bound are a set of partial orders, not of schedules, so sleep sets are as
//! good there as anywhere, and no order is run twice. What the bound refuses is noted. As long as nothing is refused
//! below a state, the search is the unbounded one and misses nothing. Where something is, every other thread is tried,
//! unless it is certain that what it leads to exceeds the bound or is covered: what sleeps must be woken by something
//! that comes before it, so that its thread has to be left there, which costs a preemption; and some steps nothing wakes.
//! What a thread will do is foreseen as far as the last execution has shown it (`foresight.rs`), or earlier ones where
//! values are chosen (`facts.rs`). Some executions turn out to be covered all the same, or such that no thread can go on
//! within the bound. A step that was explored while something was refused is stale from the start, because a sequence that
//! should have been planned may have been refused.
//!
//! Under a fair bound on yields, what can be chosen in a state depends on how often other threads have yielded, so that
//! an order may be reached only on some of the ways to it. As long as no thread is held back below a state, that
//! makes no difference. Where one is, every thread is tried, and none of them sleeps beside the others: the search
//! there is a plain one. A thread that has yielded more often than the bound may be held back in some continuation,
//! so that leaving it costs nothing.
//!
//! A failure is reported with the fewest preemptions that lead to it, and only once the bound allows these.

mod bill;
mod facts;
mod foresight;
mod node;
mod plans;
mod sleep;

use std::cell::RefCell;

use selvedge_core::{Bounds, Decision, Measure, Op, OpKind, ThreadId};

use self::bill::Bill;
use self::facts::Facts;
use self::node::{Node, asleep_after, is_done, step, taken};
use self::plans::{Draft, TurnedRound};
use self::sleep::{Asleep, Here, covered, goes_on_within, stays_asleep};
use super::backtrack::last_thread;
use super::bound_conflicts::{schedule, steps_before};
use super::prefix_cost::{Marks, PartialOrder, Scratch};
use super::wakeup::{Branch, Step, leftmost};
use super::{Choice, Finished, Point, Prefix, Report, Strategy, Wanted};
use crate::gate::Gate;
use crate::graph::{Event, Graph, Race, Races};
use crate::program::Onward;
use crate::record::Pending;

/// Every terminal partial order, exactly once; or every one within a bound on preemptions. Loops that wait by
/// yielding end only within a [fair bound](Optimal::fair).
///
/// ```
/// use selvedge_stateless::{Prefix, Strategy, strategy::Optimal};
/// let mut optimal = Optimal::new();
/// assert!(optimal.next_prefix(&mut Prefix::default()));
/// assert!(!optimal.cut());
/// ```
#[derive(Debug, Default)]
pub struct Optimal {
    path: Vec<Node>,
    begun: bool,
    /// How the execution that is under way goes on after its prefix, and what else is to be tried there.
    guide: Vec<Branch>,
    /// Whether the last step of the prefix is uncertain; see [`Branch::uncertain`].
    uncertain: bool,
    plan: Vec<Step>,
    /// The last execution. While the next one runs they are lent to the walk.
    graph: Graph,
    marks: Marks,
    lent: bool,
    /// The races of the last execution.
    races: Vec<TurnedRound>,
    /// The sequence that is being planned.
    draft: Draft,
    /// What threads do after choices; within a bound.
    facts: Facts,
    walk: RefCell<Walk>,
    blocked: u64,
    most: Option<u32>,
    bound: Option<u32>,
    /// The fair bound that is in force.
    yields: Option<u32>,
    /// Whether the bound has cut anything off.
    cut: bool,
    cut_off: u64,
    failed: u64,
    /// Whether a thread was ever seen to ask whether another has ended. That it has not been seen below a thread's end is
    /// enough for nothing to be tried in place of that end: up to the first such question an execution from there does
    /// not conflict with the end, so that one that begins with the end comes to be asked it too, at no greater cost.
    asks: bool,
}

/// Where the execution that runs is.
#[derive(Debug, Default)]
struct Walk {
    /// What sleeps; `None` until the first choice after the prefix.
    asleep: Option<Asleep>,
    /// How many steps of the plan have been taken.
    planned: usize,
    /// The last execution, or this one so far, once that has been asked for; how many events they have in common then; and
    /// the races that this one has and the last one did not have.
    graph: Graph,
    marks: Marks,
    common: Option<usize>,
    races: Vec<Race>,
    /// Whether it was ended by the bound.
    cut: bool,
    /// Whether the fair bound held a thread back where it was ended.
    held: bool,
    /// What each thread is about to do, and up to which point that has been noted.
    pending: Vec<(Op, Gate)>,
    noted: usize,
    /// What the execution so far costs, where that was asked for.
    bill: Option<Bill>,
    scratch: Scratch,
}

impl Optimal {
    /// The search, before its first execution.
    pub fn new() -> Self {
        Optimal::default()
    }

    /// The search over bounds 0 to `most` on preemptions: every terminal partial order within each.
    ///
    /// ```
    /// use selvedge_core::Measure;
    /// use selvedge_stateless::{Strategy, strategy::Optimal};
    /// assert_eq!(Optimal::bounded(2).bound(), Some((Measure::Preemptions, 0)));
    /// assert_eq!(Optimal::bounded(2).at_bound().bound(), Some((Measure::Preemptions, 2)));
    /// ```
    pub fn bounded(most: u32) -> Self {
        Optimal { most: Some(most), bound: Some(0), ..Optimal::default() }
    }

    /// Within a fair bound on yields, the one that the search is run with: loops that wait by yielding end. Where it
    /// holds a thread back every other one is tried, and some partial orders are run more than once.
    ///
    /// ```
    /// use selvedge_stateless::{Prefix, Strategy, strategy::Optimal};
    /// assert!(Optimal::bounded(2).fair(Some(1)).next_prefix(&mut Prefix::default()));
    /// ```
    pub fn fair(mut self, yields: Option<u32>) -> Self {
        self.yields = yields;
        self
    }

    /// Goes to the last bound at once.
    pub fn at_bound(mut self) -> Self {
        self.bound = self.most;
        self
    }

    /// How many executions were ended because every thread that could go on would have exceeded the bound.
    pub fn cut_off(&self) -> u64 {
        self.cut_off
    }

    /// How many executions were ended by one of their steps: something went wrong in it.
    ///
    /// ```
    /// use selvedge_stateless::strategy::Optimal;
    /// assert_eq!(Optimal::new().failed(), 0);
    /// ```
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// How many executions were ended because every thread that could go on was asleep.
    pub fn blocked(&self) -> u64 {
        self.blocked
    }

    /// Makes the path that of an execution that has ended, whose graph is known.
    fn follow(&mut self, execution: &Finished<'_>) {
        let record = execution.record;
        let mut guide = std::mem::take(&mut self.guide);
        let mut uncertain = self.uncertain;
        let events = self.graph.events.len();
        if let Some(last) = self.path.len().checked_sub(1) {
            self.path[last].ends = execution.stopped && last + 1 == events;
        }
        let Optimal { path, graph, facts, yields, .. } = self;
        let node = |event: &Event, asleep: Asleep, tree: Vec<Branch>| {
            let point = &record.points()[event.point as usize];
            let held = yields.is_some() && point.held_back;
            Node {
                thread: event.thread,
                fingerprint: point.fingerprint,
                since: facts.executions,
                preemptions: point.preemptions,
                preemptible: point.preemptible,
                racers: Vec::new(),
                ends: false,
                asleep,
                tree,
                may_wait: None,
                splits: false,
                cut: false,
                child_cut: false,
                held,
                held_below: held,
                child_held: held,
            }
        };
        let known = path.len();
        for index in known..events {
            let mut asleep = match path.last() {
                Some(last) => asleep_after(graph, index - 1, last),
                None => Asleep::default(),
            };
            if asleep.is_empty() && guide.is_empty() {
                break;
            }
            if (guide.is_empty() || uncertain) && asleep.iter().any(|taken| !taken.stale) {
                asleep.change().iter_mut().for_each(|taken| taken.stale = true);
            }
            let mut tree = std::mem::take(&mut guide);
            if !tree.is_empty() && tree[0].step.agrees(&step(graph, index)) {
                let branch = tree.remove(0);
                (guide, uncertain) = (branch.children, branch.uncertain);
            }
            path.push(node(&graph.events[index], asleep, tree));
        }
        // From there on nothing sleeps, and nothing is planned.
        let rest = graph.events[path.len()..].iter();
        path.extend(rest.map(|event| node(event, Asleep::default(), Vec::new())));
        if let Some(last) = path[known..].last_mut() {
            last.ends = execution.stopped;
        }
    }

    /// Gives the graph to the walk, or takes it back.
    fn lend(&mut self, lent: bool) {
        if self.lent != lent {
            let walk = self.walk.get_mut();
            std::mem::swap(&mut self.graph, &mut walk.graph);
            std::mem::swap(&mut self.marks, &mut walk.marks);
            self.lent = lent;
        }
    }

    /// Goes back over steps in whose place nothing is planned, and nothing could be taken or is new and within the bound.
    fn leave_refused(&mut self) {
        let is_refused = |event: usize, node: &Node| {
            (node.may_wait == Some(false) || self.graph.was_alone(event))
                && node.tree.is_empty()
                && !node.held_below
                && !node.child_held
                && node.sleeps_soundly(&self.graph, event)
        };
        let (mut left, mut cut) = (self.path.len(), false);
        while let Some(node) = self.path[..left].last()
            && is_refused(left - 1, node)
        {
            cut |= node.cut || node.child_cut;
            left -= 1;
        }
        self.path.truncate(left);
        self.cut |= cut;
        if let Some(last) = self.path.last_mut() {
            last.child_cut |= cut;
        }
    }

    /// See [`Strategy::next_prefix`].
    fn next(&mut self, prefix: &mut Prefix) -> bool {
        let walk = self.walk.get_mut();
        let Walk { graph, marks, mut races, pending, scratch, .. } = std::mem::take(walk);
        races.clear();
        *walk = Walk { graph, marks, races, pending, scratch, ..Walk::default() };
        prefix.clear();
        let branch = loop {
            if !self.begun {
                self.begun = true;
                return true;
            }
            self.leave_refused();
            let depth = self.path.len();
            let Some(node) = self.path.last_mut() else {
                match (self.bound, self.most) {
                    (Some(bound), Some(most)) if bound < most && self.cut => {
                        self.bound = Some(bound + 1);
                        self.cut = false;
                        self.begun = false;
                        self.graph.clear();
                        self.races.clear();
                        self.plan.clear();
                        self.uncertain = false;
                        continue;
                    }
                    _ => return false,
                }
            };
            node.cut |= node.child_cut;
            node.child_cut = false;
            node.ends |= node.child_held;
            node.held_below |= node.child_held;
            node.child_held = node.held;
            let beyond = node.cut && self.bound.is_some() || node.held_below;
            let mut next = None;
            let Optimal { graph, marks, bound, yields, .. } = self;
            let here = node.here(graph, marks, depth - 1, *bound, *yields);
            let scratch = &mut self.walk.get_mut().scratch;
            let planned = !node.tree.is_empty();
            let goes_on = planned || beyond && !is_done(&mut self.path, here, self.asks, scratch);
            let node = &mut self.path[depth - 1];
            if goes_on {
                let asleep = node.asleep.change();
                asleep.push(taken(here.graph, here.event, &node.racers, node.ends));
                if node.cut {
                    // What was planned because of another may have been left to a branch that was cut.
                    asleep.iter_mut().for_each(|taken| taken.stale = true);
                }
                next = node.next_branch(here, scratch);
                if next.is_none() && (node.cut && self.bound.is_some() || node.held_below) {
                    next = node.beyond_the_plans(here, self.asks, &self.facts, scratch);
                }
            }
            self.cut |= node.cut;
            if let Some((branch, thread)) = next {
                node.thread = thread;
                (node.may_wait, node.splits) = (None, false);
                break branch;
            }
            let (cut, held) = (node.cut, node.held_below);
            self.path.pop();
            if let Some(parent) = self.path.last_mut() {
                parent.child_cut |= cut;
                parent.child_held |= held;
            }
        };
        let last = self.path.len() - 1;
        let node = &mut self.path[last];
        prefix.expect = branch.step.values.is_empty().then_some(node.fingerprint);
        (node.racers, node.ends) = (Vec::new(), false);
        prefix.decisions.extend_from_slice(self.graph.decisions_before(last));
        prefix.decisions.extend(decisions(node.thread, &branch.step));
        self.plan = leftmost(&branch.children);
        prefix.likely.extend(decisions_of(&self.graph, &self.plan));
        self.uncertain = branch.uncertain;
        self.guide = branch.children;
        true
    }
}

impl Strategy for Optimal {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.lend(false);
        let found = self.next(prefix);
        self.lend(true);
        found
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let walk = self.walk.borrow();
        let (graph, marks) = if self.lent { (&walk.graph, &walk.marks) } else { (&self.graph, &self.marks) };
        // What the last step of the path will do is not known yet, so what comes in its place is not either.
        let last = self.path.len().checked_sub(1)?;
        let at = (0..last).rev().find(|&at| {
            let node = &self.path[at];
            let mut untried = node.tree.iter().filter(|branch| !covered(&node.asleep, &branch.step));
            untried.next().is_some_and(|branch| {
                let before = graph.decisions_before(at);
                let mut so_far = before.to_vec();
                so_far.extend(decisions_of(graph, std::slice::from_ref(&branch.step)));
                so_far.extend(decisions_of(graph, &leftmost(&branch.children)));
                so_far.len() > before.len() && wanted(&so_far, Onward::Calmly)
            })
        })?;
        let below = &self.path[at + 1..];
        let mut path = self.path[..=at].to_vec();
        path[at].child_cut |= below.iter().any(|node| node.cut || node.child_cut);
        path[at].child_held |= below.iter().any(|node| node.held_below || node.child_held);
        Some(Box::new(Optimal {
            path,
            begun: true,
            graph: graph.clone(),
            marks: marks.clone(),
            most: self.bound,
            bound: self.bound,
            yields: self.yields,
            asks: self.asks,
            facts: self.facts.forgotten(),
            ..Optimal::default()
        }))
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        let record = point.record;
        let mut walk = self.walk.borrow_mut();
        let Walk { asleep, planned, graph, marks, common, races, cut, held, pending, noted, bill, scratch } =
            &mut *walk;
        let before = || self.path.last().map_or_else(Asleep::default, Node::inherited);
        let asleep = asleep.get_or_insert_with(before);
        if point.arity > 0 {
            let thread = record.name(last_thread(point.decisions));
            let chosen = point.decisions.iter().rev().map_while(|decision| match decision {
                Decision::Value(value) => Some(*value),
                Decision::Thread(_) => None,
            });
            let mut values: Vec<u32> = chosen.collect();
            values.reverse();
            let wanted =
                planned.checked_sub(1).and_then(|last| self.plan.get(last)?.values.get(values.len()));
            // The values of the prefix's last step are also known of steps that sleep nowhere else.
            let steps = point.decisions.iter().filter(|decision| matches!(decision, Decision::Thread(_)));
            let here = self.path.last().filter(|_| steps.count() == self.path.len());
            let asleep = here.map_or(&**asleep, |node| &*node.asleep);
            let new = |value: &u32| {
                let values = values.iter().copied().chain([*value]).collect();
                !covered(asleep, &Step { thread, values })
            };
            let value = wanted.copied().or_else(|| (0..point.arity).find(new)).unwrap_or(0);
            return Choice::Take(Decision::Value(value.min(point.arity - 1)));
        }
        // Mostly a thread goes on, and nothing sleeps or is planned.
        if asleep.is_empty()
            && *planned >= self.plan.len()
            && let Some(running) = point.running
            && point.preemptible
            && point.enabled.contains(running)
            && self.bound.is_none_or(|most| point.preemptions <= most)
        {
            return Choice::Take(Decision::Thread(running));
        }
        if let Some(last) = point.step.checked_sub(1).filter(|_| !asleep.is_empty()) {
            let thread = last_thread(point.decisions);
            let name = record.name(thread);
            let number = || {
                let steps = point.decisions.iter().filter(|decision| **decision == Decision::Thread(thread));
                steps.count() as u32 - 1
            };
            let op = &record.points()[last].op;
            asleep.retain(|taken| stays_asleep(taken, name, number, op));
        }
        if let Some(step) = self.plan.get(*planned) {
            let mut enabled = point.enabled.iter();
            let thread = enabled.find(|thread| record.name(*thread) == step.thread);
            debug_assert!(thread.is_some() || self.yields.is_some(), "a planned step can be taken");
            match thread {
                Some(thread) if !covered(asleep, step) => {
                    *planned += 1;
                    return Choice::Take(Decision::Thread(thread));
                }
                _ => *planned = usize::MAX,
            }
        }
        let Decision::Thread(preferred) = point.without_preemption() else {
            unreachable!("a choice between threads")
        };
        let awake = |thread: &ThreadId| {
            asleep.is_empty() || !covered(asleep, &Step { thread: record.name(*thread), values: Vec::new() })
        };
        let order = || {
            let others = point.enabled.iter().filter(|thread| *thread != preferred);
            std::iter::once(preferred).chain(others).filter(awake)
        };
        let Some(most) = self.bound else {
            let first = order().map(Decision::Thread).next();
            *held = first.is_none() && point.held_back && self.yields.is_some();
            return first.map_or(Choice::Prune, Choice::Take);
        };
        if point.running == Some(preferred) && point.preemptions <= most && awake(&preferred) {
            return Choice::Take(Decision::Thread(preferred));
        }
        // After a switch those that have begun come first: they have to go on some time, and it may not get cheaper.
        let goes_on = point.running == Some(preferred);
        let begun = |thread: &ThreadId| goes_on || point.decisions.contains(&Decision::Thread(*thread));
        let order = order().filter(begun).chain(order().filter(|thread| !begun(thread)));
        let mut built = false;
        for thread in order {
            // At most what this very schedule costs.
            let price = u32::from(point.preemptible && point.running != Some(thread));
            if point.preemptions + price <= most {
                return Choice::Take(Decision::Thread(thread));
            }
            for notes in (*noted..=point.step).map(|step| record.pending(step)) {
                for Pending { thread, op, gate } in notes {
                    pending.resize(pending.len().max(thread.index() + 1), Default::default());
                    pending[thread.index()] = (*op, *gate);
                }
            }
            *noted = point.step + 1;
            let next = bill.as_ref().map(|bill| bill.after(thread, point, pending, asleep));
            let next = next.filter(|next| next.cost <= most);
            if next.is_some() && !cfg!(debug_assertions) {
                *bill = next;
                return Choice::Take(Decision::Thread(thread));
            }
            if !built {
                built = true;
                let so_far = Finished {
                    record,
                    prefix: 0,
                    preemptions: point.preemptions,
                    pruned: false,
                    stopped: false,
                    state: point.state,
                };
                let kept = graph.update(&so_far, Races::Performed);
                marks.update(graph, kept);
                *common = Some(common.map_or(kept, |common| common.min(kept)));
                races.extend(&graph.reduced);
            }
            let here = Here {
                graph,
                marks,
                event: graph.events.len(),
                bound: self.bound,
                yields: self.yields,
                preemptions: point.preemptions,
                preemptible: point.preemptible,
            };
            let cost = goes_on_within(here, thread, asleep, scratch);
            if let Some(next) = next {
                debug_assert!(cost.is_some_and(|(cost, _)| cost <= next.cost), "it costs at most that");
                *bill = Some(next);
                return Choice::Take(Decision::Thread(thread));
            }
            if let Some((least, last)) = cost {
                let is_last = last == Some(thread.index());
                *bill = is_last.then(|| Bill::new(least, thread, pending));
                return Choice::Take(Decision::Thread(thread));
            }
            *cut = true;
        }
        *held = point.held_back && self.yields.is_some();
        Choice::Prune
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        let cut = execution.pruned && self.walk.get_mut().cut;
        self.blocked += u64::from(execution.pruned && !cut);
        self.cut_off += u64::from(cut);
        self.failed += u64::from(execution.stopped);
        self.lend(false);
        let kept = self.graph.update(execution, Races::Reduced);
        if self.bound.is_some() {
            self.marks.update(&self.graph, kept);
        }
        let common = self.walk.get_mut().common.map_or(kept, |common| common.min(kept));
        let known = self.path.len().saturating_sub(1);
        let performed = self.graph.events[known..].iter().map(|event| event.op.kind);
        let pending = self.graph.threads.iter().filter_map(|line| line.pending.last()).map(|(op, _)| op.kind);
        self.asks |= performed.chain(pending).any(|kind| kind == OpKind::IsFinished);
        if self.bound.is_some() {
            self.facts.learn(&self.graph, &self.marks, common);
        }
        self.follow(execution);
        if cut && let Some(last) = self.path.last_mut() {
            last.child_cut = true;
            self.cut = true;
        }
        if self.walk.get_mut().held
            && let Some(last) = self.path.last_mut()
        {
            last.child_held = true;
        }
        self.turn_races_round(common);
        self.choose_otherwise(known);
        if execution.stopped {
            if let Some(first) = execution.record.raced() {
                self.turn_data_race_round(first);
            }
            self.go_on_otherwise();
        }
    }

    fn report(&mut self, execution: &Finished<'_>) -> Report {
        let Some(most) = self.bound else { return Report::AsItIs };
        let graph = &self.graph;
        let whole =
            PartialOrder::new(graph, &self.marks, steps_before(graph, graph.events.len()), self.yields);
        let last = graph.events.last().filter(|_| execution.stopped);
        let enough = last.map(|last| whole.clone().up_to(last.thread.index(), execution.record.raced()));
        let Ok(cheapest) =
            enough.iter().chain([&whole]).map(|order| order.cheapest(most)).collect::<Result<Vec<_>, _>>()
        else {
            return Report::AsItIs;
        };
        self.cut |= cheapest.last().is_none_or(Option::is_none);
        Report::Like(cheapest.into_iter().flatten().map(|threads| schedule(graph, &threads)).collect())
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
        self.cut
    }

    fn in_order(&self) -> bool {
        self.bound.is_some()
    }
}

/// Steps as decisions, up to the first by a thread that an execution did not have.
fn decisions_of<'a>(graph: &'a Graph, steps: &'a [Step]) -> impl Iterator<Item = Decision> + 'a {
    let thread = |step: &Step| graph.threads.iter().position(|line| line.name == step.thread);
    let known = steps.iter().map_while(move |step| Some((ThreadId(thread(step)? as u32), step)));
    known.flat_map(|(thread, step)| decisions(thread, step))
}

/// What chooses a step: its thread, and then its values.
fn decisions(thread: ThreadId, step: &Step) -> impl Iterator<Item = Decision> {
    std::iter::once(Decision::Thread(thread)).chain(step.values.iter().copied().map(Decision::Value))
}

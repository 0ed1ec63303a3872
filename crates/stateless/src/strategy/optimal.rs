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
//!    and then the step with the other value, is a sequence to be explored. It is planned once. What a step does to its
//!    object may depend on the value (a wait that ends spuriously is counted, another is not): then one that sleeps with
//!    one value does not stand for the step with another.
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
//! 7. Deviation 5 of `dpor.rs`.
//!
//! Under a fair bound on yields, what can be chosen in a state depends on how often other threads have yielded, so that
//! an order may be reached only on some of the ways to it. As long as no thread is held back below a state, that
//! makes no difference. Where one is, every thread is tried, and none of them sleeps beside the others: the search
//! there is a plain one.

mod node;
mod plans;
mod wakeup;

use std::cell::RefCell;

use selvedge_core::{Bounds, Decision, ThreadId};

use self::node::{Asleep, Node, step};
use self::plans::{Draft, TurnedRound};
use self::wakeup::{Branch, Step, leftmost};
use super::backtrack::last_thread;
use super::{Choice, Finished, Point, Prefix, Strategy, Wanted};
use crate::graph::{Event, Graph, Races};
use crate::program::Onward;

/// Every terminal partial order, exactly once. Loops that wait by yielding end only within a
/// [fair bound](Optimal::fair). Within a bound on preemptions there is
/// [`CbPor::in_square_memory`](super::CbPor::in_square_memory).
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
    /// The last execution.
    graph: Graph,
    /// Its races.
    races: Vec<TurnedRound>,
    /// The sequence that is being planned.
    draft: Draft,
    walk: RefCell<Walk>,
    /// Whether a fair bound is in force.
    fair: bool,
    blocked: u64,
    failed: u64,
}

/// Where the execution that runs is.
#[derive(Debug, Default)]
struct Walk {
    /// What sleeps; `None` until the first choice after the prefix.
    asleep: Option<Asleep>,
    /// How many steps of the plan have been taken.
    planned: usize,
    /// Whether the fair bound held a thread back where it was ended.
    held: bool,
}

impl Optimal {
    /// The search, before its first execution.
    pub fn new() -> Self {
        Optimal::default()
    }

    /// Within a fair bound on yields, the one that the search is run with: loops that wait by yielding end. Where it
    /// holds a thread back every other one is tried, and some partial orders are run more than once.
    ///
    /// ```
    /// use selvedge_stateless::{Prefix, Strategy, strategy::Optimal};
    /// assert!(Optimal::new().fair(Some(1)).next_prefix(&mut Prefix::default()));
    /// ```
    pub fn fair(mut self, yields: Option<u32>) -> Self {
        self.fair = yields.is_some();
        self
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
        let Optimal { path, graph, fair, .. } = self;
        let node = |event: &Event, asleep: Asleep, tree: Vec<Branch>| {
            let point = &record.points()[event.point as usize];
            let held = *fair && point.held_back;
            Node {
                thread: event.thread,
                fingerprint: point.fingerprint,
                racers: Vec::new(),
                ends: false,
                asleep,
                tree,
                held,
                held_below: held,
                child_held: held,
            }
        };
        let known = path.len();
        for index in known..events {
            let mut asleep = match path.last() {
                Some(last) => last.asleep_after(graph, index - 1),
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

    /// Goes back to the last step in whose place something is to be tried, and takes that.
    fn next_branch(&mut self) -> Option<Branch> {
        loop {
            let event = self.path.len().checked_sub(1)?;
            let node = &mut self.path[event];
            node.ends |= node.child_held;
            node.held_below |= node.child_held;
            node.child_held = node.held;
            let held = node.held_below;
            if held || !node.tree.is_empty() {
                node.put_to_sleep(&self.graph, event);
                let mut next = node.next_branch(&self.graph, event);
                if next.is_none() && held {
                    next = node.beyond_the_plans(&self.graph, event);
                }
                if let Some((branch, thread)) = next {
                    node.thread = thread;
                    return Some(branch);
                }
            }
            self.path.pop();
            if let Some(parent) = self.path.last_mut() {
                parent.child_held |= held;
            }
        }
    }
}

impl Strategy for Optimal {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        *self.walk.get_mut() = Walk::default();
        prefix.clear();
        if !self.begun {
            self.begun = true;
            return true;
        }
        let Some(branch) = self.next_branch() else { return false };
        let last = self.path.len() - 1;
        let node = &self.path[last];
        prefix.expect = branch.step.values.is_empty().then_some(node.fingerprint);
        prefix.decisions.extend_from_slice(self.graph.decisions_before(last));
        prefix.decisions.extend(decisions(node.thread, &branch.step));
        self.plan = leftmost(&branch.children);
        prefix.likely.extend(decisions_of(&self.graph, &self.plan));
        self.uncertain = branch.uncertain;
        self.guide = branch.children;
        true
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        let graph = &self.graph;
        // What the last step of the path will do is not known yet, so what comes in its place is not either.
        let last = self.path.len().checked_sub(1)?;
        let at = (0..last).rev().find(|&at| {
            let node = &self.path[at];
            let mut untried = node.tree.iter().filter(|branch| !node.asleep.covers(&branch.step));
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
        path[at].child_held |= below.iter().any(|node| node.held_below || node.child_held);
        Some(Box::new(Optimal {
            path,
            begun: true,
            graph: graph.clone(),
            fair: self.fair,
            ..Optimal::default()
        }))
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        let record = point.record;
        let mut walk = self.walk.borrow_mut();
        let Walk { asleep, planned, held } = &mut *walk;
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
            let asleep = here.map_or(&*asleep, |node| &node.asleep);
            let new = |value: &u32| {
                let values = values.iter().copied().chain([*value]).collect();
                !asleep.covers(&Step { thread, values })
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
            asleep.retain(|taken| taken.stays_asleep(name, number, op));
        }
        if let Some(step) = self.plan.get(*planned) {
            let mut enabled = point.enabled.iter();
            let thread = enabled.find(|thread| record.name(*thread) == step.thread);
            debug_assert!(thread.is_some() || self.fair, "a planned step can be taken");
            match thread {
                Some(thread) if !asleep.covers(step) => {
                    *planned += 1;
                    return Choice::Take(Decision::Thread(thread));
                }
                _ => *planned = usize::MAX,
            }
        }
        let Decision::Thread(preferred) = point.without_preemption() else {
            unreachable!("a choice between threads")
        };
        let others = point.enabled.iter().filter(|thread| *thread != preferred);
        let mut order = std::iter::once(preferred).chain(others);
        let first = order.find(|thread| !asleep.covers_thread(record.name(*thread)));
        *held = first.is_none() && point.held_back && self.fair;
        first.map_or(Choice::Prune, |thread| Choice::Take(Decision::Thread(thread)))
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.blocked += u64::from(execution.pruned);
        self.failed += u64::from(execution.stopped);
        let common = self.graph.update(execution, Races::Reduced);
        let known = self.path.len().saturating_sub(1);
        self.follow(execution);
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

    fn wants_pending(&self) -> bool {
        true
    }

    fn exhausted(&self) -> Option<Bounds> {
        Some(Bounds::default())
    }

    fn cut(&self) -> bool {
        false
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

//! The path of a depth-first search, and what is to be tried along it.
//!
//! At most points of a path nothing else is ever to be tried, so a point gets a node only when something is asked of
//! it. Whatever a node begins with is in the record of the execution that runs along the path.

use selvedge_core::{Decision, Op, ThreadId, ThreadSet};

use super::Policy;
use crate::record::{PointRecord, Record};

/// What is to be tried at a point.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) fingerprint: u64,
    /// For a choice of a value, how many there are.
    arity: u32,
    running: Option<ThreadId>,
    preemptible: bool,
    preemptions: u32,
    /// The threads that could be chosen, within the fair bound.
    pub(super) allowed: ThreadSet,
    pub(super) backtrack: ThreadSet,
    /// To be tried because of a bound, and only if it cuts something here.
    pub(super) conservative: ThreadSet,
    done: ThreadSet,
    /// Those that were tried here and may sleep while others are.
    tried: Vec<(ThreadId, Op)>,
    /// What the current decision's step did.
    pub(super) op: Op,
    /// Whether a bound has cut something off here or below; and whether below the current decision.
    pub(super) cut: bool,
    pub(super) child_cut: bool,
    /// Whether the bound on preemptions has ruled a thread out here.
    pub(super) over: bool,
    /// Whether a step ended an execution below the current decision.
    pub(super) stopped: bool,
}

/// Threads that need not be tried, with the operation that they would perform.
pub(super) type Asleep = [(ThreadId, Op)];

/// The decisions of the current path.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    decisions: Vec<Decision>,
    /// One for each decision; those that are not `known` belong to earlier paths.
    nodes: Vec<Node>,
    known: Bits,
    /// The points without a node where the fair bound has cut something off.
    cut: Bits,
    /// The points where a context begins.
    begins: Vec<u32>,
    /// What sleeps: from which point on, and where it begins in `sleepers`; up to the next of these.
    sleep: Vec<(u32, u32)>,
    sleepers: Vec<(ThreadId, Op)>,
}

impl Path {
    pub(super) fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.decisions.truncate(length);
        self.known.truncate(length);
        self.cut.truncate(length);
        while let Some(&(_, begin)) = self.sleep.last().filter(|(from, _)| *from as usize >= length) {
            self.sleepers.truncate(begin as usize);
            self.sleep.pop();
        }
    }

    /// Goes on along an execution that begins with this path. `asleep` is what sleeps before the last step of the
    /// path, which was decided anew.
    pub(super) fn extend(&mut self, record: &Record, asleep: &mut Vec<(ThreadId, Op)>, fair: bool) {
        let first = self.last_step().unwrap_or(0);
        let length = self.decisions.len();
        self.begins.truncate(self.begins.partition_point(|begin| (*begin as usize) < first));
        self.decisions.extend_from_slice(&record.decisions()[length..]);
        let points = &record.points()[..self.decisions.len()];
        for index in first..points.len() {
            let point = &points[index];
            if begins_context(point, self.decisions[index]) {
                self.begins.push(index as u32);
            }
            if index < length {
                continue;
            }
            if point.arity > 0 {
                self.node(index, record);
                continue;
            }
            if point.held_back && fair {
                self.cut.insert(index);
            }
            if !asleep.is_empty()
                && let Some(last) = index.checked_sub(1)
            {
                let sleeping = asleep.len();
                wake(asleep, last_thread(&self.decisions[..index]), &points[last].op);
                if asleep.len() == sleeping
                    && self.sleep.last().is_some_and(|(from, _)| *from as usize >= length)
                {
                    continue;
                }
                self.fall_asleep(index, asleep);
            } else if self.sleep.last().is_some_and(|(_, begin)| (*begin as usize) < self.sleepers.len()) {
                self.fall_asleep(index, &[]);
            }
        }
        if let Some(node) = self.known_mut(first) {
            node.op = op_of(record, first);
        }
    }

    /// From this point on these sleep.
    fn fall_asleep(&mut self, from: usize, asleep: &Asleep) {
        self.sleep.push((from as u32, self.sleepers.len() as u32));
        self.sleepers.extend_from_slice(asleep);
    }

    /// The last decision that chose a thread.
    pub(super) fn last_step(&self) -> Option<usize> {
        self.decisions.iter().rposition(|decision| matches!(decision, Decision::Thread(_)))
    }

    /// What sleeps at a point.
    pub(super) fn asleep(&self, index: usize) -> &Asleep {
        asleep(&self.sleep, &self.sleepers, index)
    }

    /// What was tried at a point and may sleep while others are.
    pub(super) fn tried(&self, index: usize) -> &Asleep {
        if self.known.contains(index) { &self.nodes[index].tried } else { &[] }
    }

    /// The last point before this one where a context began.
    pub(super) fn begin(&self, index: usize) -> Option<usize> {
        let at = self.begins.partition_point(|begin| (*begin as usize) < index);
        at.checked_sub(1).map(|at| self.begins[at] as usize)
    }

    /// The points where a context begins.
    pub(super) fn begins(&self) -> &[u32] {
        &self.begins
    }

    /// The node of a point, if it has one.
    #[cfg(debug_assertions)]
    pub(super) fn known(&self, index: usize) -> Option<&Node> {
        self.known.contains(index).then(|| &self.nodes[index])
    }

    fn known_mut(&mut self, index: usize) -> Option<&mut Node> {
        self.known.contains(index).then(|| &mut self.nodes[index])
    }

    /// The node of a point, which this execution has reached.
    #[inline]
    pub(super) fn node(&mut self, index: usize, record: &Record) -> &mut Node {
        if !self.known.contains(index) {
            self.make(index, record);
        }
        &mut self.nodes[index]
    }

    fn make(&mut self, index: usize, record: &Record) {
        self.known.insert(index);
        if self.nodes.len() <= index {
            self.nodes.resize(index + 1, Node::default());
        }
        let (node, point) = (&mut self.nodes[index], &record.points()[index]);
        node.fingerprint = point.fingerprint;
        node.arity = point.arity;
        node.running = point.running;
        node.preemptible = point.preemptible;
        node.preemptions = point.preemptions;
        node.allowed.copy_from_words(record.enabled_words(point));
        node.backtrack.clear();
        node.conservative.clear();
        node.done.clear();
        node.tried.clear();
        node.op = Op::default();
        node.cut = self.cut.contains(index);
        (node.child_cut, node.over, node.stopped) = (false, false, false);
        if let Decision::Thread(thread) = self.decisions[index] {
            node.backtrack.insert(thread);
            node.done.insert(thread);
            node.op = op_of(record, index);
        }
    }

    /// Goes back to the last point where something else is to be tried, and decides that. Says what fingerprint that
    /// point has, if there is one; and notes where the bound on preemptions has ruled a thread out.
    pub(super) fn step_back(&mut self, policy: &Policy, over: &mut bool) -> Option<u64> {
        let (mut cut, mut length) = (false, self.decisions.len());
        loop {
            let last = self.known.last_before(length);
            cut |= self.cut.any_within(last.map_or(0, |last| last + 1), length);
            let index = last?;
            length = index;
            let node = &mut self.nodes[index];
            node.child_cut |= cut;
            node.cut |= cut;
            let asleep = asleep(&self.sleep, &self.sleepers, index);
            let next = node.next_decision(self.decisions[index], asleep, policy);
            *over |= node.over;
            if let Some(decision) = next {
                self.decisions[index] = decision;
                let fingerprint = node.fingerprint;
                self.truncate(index + 1);
                return Some(fingerprint);
            }
            cut = node.cut;
        }
    }

    /// Offers what is to be tried next at each point before the last, as far as that is known, deepest first. The path
    /// to there, if it is wanted, as if everything behind it were done.
    pub(super) fn ahead(&self, policy: &Policy, mut wanted: impl FnMut(&[Decision]) -> bool) -> Option<Path> {
        let mut decisions = self.decisions.clone();
        let at = (0..decisions.len().saturating_sub(1)).rev().find(|&index| {
            if !self.known.contains(index) {
                return false;
            }
            let next = self.nodes[index].untried(self.decisions[index], self.asleep(index), policy).next();
            next.is_some_and(|decision| {
                decisions.truncate(index);
                decisions.push(decision);
                wanted(&decisions)
            })
        })?;
        let cut = self.cut.any_within(at + 1, self.decisions.len())
            || (at + 1..self.decisions.len())
                .any(|index| self.known.contains(index) && self.nodes[index].cut);
        let mut path = Path { nodes: self.nodes[..=at].to_vec(), ..self.clone() };
        path.truncate(at + 1);
        path.nodes[at].child_cut |= cut;
        path.nodes[at].cut |= cut;
        Some(path)
    }
}

impl Node {
    /// What will be tried here, as far as that is known.
    fn untried<'a>(
        &'a self,
        decision: Decision,
        asleep: &'a Asleep,
        policy: &Policy,
    ) -> impl Iterator<Item = Decision> + 'a {
        let values = match decision {
            Decision::Value(value) => value + 1..self.arity,
            Decision::Thread(_) => 0..0,
        };
        let most = policy.preemptions;
        let threads = self.backtrack.iter().filter(|thread| self.arity == 0 && !self.done.contains(*thread));
        let threads = threads.filter(move |thread| {
            !sleeps(asleep, *thread) && most.is_none_or(|most| self.costs(*thread) <= most)
        });
        values.map(Decision::Value).chain(threads.map(Decision::Thread))
    }

    fn costs(&self, thread: ThreadId) -> u32 {
        self.preemptions + u32::from(self.preemptible && self.running != Some(thread))
    }

    /// What to try next here, if anything.
    fn next_decision(&mut self, decision: Decision, asleep: &Asleep, policy: &Policy) -> Option<Decision> {
        let taken = match decision {
            Decision::Value(value) => {
                return (value + 1 < self.arity).then_some(Decision::Value(value + 1));
            }
            Decision::Thread(thread) => thread,
        };
        let next = self.next_thread(asleep, policy)?;
        if (!policy.bounded() || !self.child_cut) && !self.stopped {
            self.tried.push((taken, self.op));
        }
        self.child_cut = false;
        self.stopped = false;
        Some(Decision::Thread(next))
    }

    fn next_thread(&mut self, asleep: &Asleep, policy: &Policy) -> Option<ThreadId> {
        loop {
            let Some(thread) = self.backtrack.first_outside(&self.done) else {
                // Only now is it known whether the bound has cut something here.
                let wanted = self.cut || !policy.lazy;
                if !wanted || self.conservative.first_outside(&self.backtrack).is_none() {
                    return None;
                }
                for thread in self.conservative.iter() {
                    self.backtrack.insert(thread);
                }
                continue;
            };
            self.done.insert(thread);
            if sleeps(asleep, thread) {
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

/// Whether the switch to whoever runs at a point was or would be free, or another thread takes over there: a place where
/// a thread is scheduled as cheaply as it can be.
pub(super) fn begins_context(point: &PointRecord, decision: Decision) -> bool {
    point.arity == 0
        && (!point.preemptible || point.running.is_some_and(|running| decision != Decision::Thread(running)))
}

/// What the step did that a decision began.
fn op_of(record: &Record, index: usize) -> Op {
    let values = record.decisions()[index + 1..].iter();
    let values = values.take_while(|decision| matches!(decision, Decision::Value(_))).count();
    record.points()[index + values].op
}

/// What sleeps at a point: see [`Path::sleep`].
#[inline]
fn asleep<'a>(sleep: &[(u32, u32)], sleepers: &'a Asleep, index: usize) -> &'a Asleep {
    if sleepers.is_empty() {
        return &[];
    }
    let at = sleep.partition_point(|(from, _)| *from as usize <= index);
    let Some((_, begin)) = at.checked_sub(1).map(|at| sleep[at]) else { return &[] };
    let end = sleep.get(at).map_or(sleepers.len(), |(_, begin)| *begin as usize);
    &sleepers[begin as usize..end]
}

/// Whether a thread is among those that sleep.
pub(super) fn sleeps(asleep: &Asleep, thread: ThreadId) -> bool {
    asleep.iter().any(|(other, _)| *other == thread)
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

/// A set of points.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn insert(&mut self, index: usize) {
        if self.0.len() <= index / 64 {
            self.0.resize(index / 64 + 1, 0);
        }
        self.0[index / 64] |= 1 << (index % 64);
    }

    #[inline]
    fn contains(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Removes all from this one on.
    fn truncate(&mut self, length: usize) {
        self.0.truncate(length.div_ceil(64));
        if let Some(word) = self.0.get_mut(length / 64) {
            *word &= (1 << (length % 64)) - 1;
        }
    }

    /// The last one before this point.
    fn last_before(&self, end: usize) -> Option<usize> {
        let below = |bit: usize| (1_u64 << bit) - 1;
        let last = self.0.get(end / 64).map_or(0, |word| word & below(end % 64));
        if last != 0 {
            return Some(end / 64 * 64 + last.ilog2() as usize);
        }
        let words = &self.0[..self.0.len().min(end / 64)];
        let word = words.iter().rposition(|word| *word != 0)?;
        Some(word * 64 + words[word].ilog2() as usize)
    }

    /// Whether there is one from one point up to another.
    fn any_within(&self, begin: usize, end: usize) -> bool {
        !self.0.is_empty() && self.last_before(end).is_some_and(|last| last >= begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_points() {
        let mut bits = Bits::default();
        assert!(!bits.contains(5) && bits.last_before(200).is_none() && !bits.any_within(0, 200));
        [3, 64, 130].into_iter().for_each(|index| bits.insert(index));
        assert!(bits.contains(3) && bits.contains(64) && bits.contains(130) && !bits.contains(4));
        assert!(bits.any_within(130, 131) && !bits.any_within(131, 200) && !bits.any_within(65, 130));
        assert_eq!([131, 130, 64, 3].map(|end| bits.last_before(end)), [Some(130), Some(64), Some(3), None]);
        bits.truncate(65);
        assert_eq!(bits.last_before(200), Some(64));
        bits.truncate(64);
        assert_eq!(bits.last_before(200), Some(3));
        bits.truncate(3);
        assert_eq!(bits.last_before(200), None);
    }
}

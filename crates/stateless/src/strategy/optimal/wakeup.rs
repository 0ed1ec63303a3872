//! Wakeup trees: how the search goes on from a state, as an ordered tree of steps.
//!
//! Abdulla, Aronis, Jonsson, Sagonas: *Source Sets: A Foundation for Optimal Dynamic Partial Order Reduction*
//! (JACM 2017), section 6. A tree stands for sequences of steps none of which is equivalent to the beginning
//! of an execution that another of them leads to; a new sequence is added only where none that is there
//! covers it.
//!
//! Deviations:
//! 1. A step is a thread and the values that it chooses. Where the values are not known yet (the step is to
//!    be taken in a state that no execution has been in), the step agrees with any.
//! 2. Objects are numbered anew in each execution, so the operations of a branch and of the sequence that is
//!    added to it cannot always be compared as they stand. What a thread of the branch is about to do is
//!    looked up in the execution that the sequence is from: a thread's next operation follows from its own
//!    steps, as long as all of these are in the sequence. Where they are not, two objects that neither
//!    execution had numbered when they parted are taken for the same, and the branch is marked
//!    [`uncertain`](Branch::uncertain): what was added beside it may belong below it.

use selvedge_core::{Access, ObjectId, Op, OpKind};

/// A thread's step, whichever execution takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The thread by the name that all executions agree on.
    pub(super) thread: u64,
    /// The values that it chooses, as far as they are known.
    pub(super) values: Vec<u32>,
}

impl Step {
    /// Whether the two can be one step.
    pub(super) fn agrees(&self, other: &Step) -> bool {
        self.thread == other.thread && self.values.iter().zip(&other.values).all(|(a, b)| a == b)
    }
}

/// A step of a sequence.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) step: Step,
    /// What it does, with the objects' numbers in the execution that the sequence is from.
    pub(super) op: Op,
    /// Whether an execution has performed it after the steps that it depends on, so that what it does to its
    /// object is known and not only the most that it may do.
    pub(super) performed: bool,
    /// The step of the sequence within which its thread was created.
    pub(super) creator: Option<usize>,
}

/// Steps that can be taken from a state, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub(super) steps: Vec<Planned>,
    /// How many objects had a number in that state.
    pub(super) known: usize,
}

/// What a thread is about to do after so many more steps, in the execution that a sequence is from.
pub(super) type NextOp<'a> = &'a dyn Fn(u64, usize) -> Option<Op>;

impl Sequence {
    fn depends(&self, first: usize, second: usize) -> bool {
        let (a, b) = (&self.steps[first], &self.steps[second]);
        a.step.thread == b.step.thread || b.creator == Some(first) || a.op.conflicts_with(&b.op)
    }

    /// Of the steps that are left, the first of a thread, and whether none of the others must come before it.
    fn first_of(&self, left: impl Iterator<Item = usize> + Clone, thread: u64) -> Option<(usize, bool)> {
        let of_thread = |index: &usize| self.steps[*index].step.thread == thread;
        let (at, first) = left.clone().enumerate().find(|(_, index)| of_thread(index))?;
        let free = left.take(at).all(|before| !self.depends(before, first));
        Some((at, free))
    }

    /// Leaves out a step that can come first, if it is there, and all that depends on it. Says whether the
    /// last step is still there.
    pub(super) fn leave_out(&mut self, step: &Step) -> bool {
        let Some((at, true)) = self.first_of(0..self.steps.len(), step.thread) else { return true };
        if !self.steps[at].step.agrees(step) {
            return true;
        }
        let mut out = vec![false; self.steps.len()];
        for index in at..out.len() {
            out[index] = index == at || (at..index).any(|before| out[before] && self.depends(before, index));
        }
        if out.last() == Some(&true) {
            return false;
        }
        let mut places = Vec::new();
        let steps = std::mem::take(&mut self.steps);
        for (mut planned, out) in steps.into_iter().zip(out) {
            places.push(self.steps.len());
            if !out {
                planned.creator = planned.creator.map(|creator| places[creator]);
                self.steps.push(planned);
            }
        }
        true
    }

    /// Whether a step that could be taken first, and does this, is a *weak initial*: it is one of the
    /// sequence that can come first, or depends on nothing in the sequence.
    pub(super) fn may_begin_with(&self, step: &Step, op: &Op) -> bool {
        match self.first_of(0..self.steps.len(), step.thread) {
            Some((at, free)) => free && self.steps[at].step.agrees(step),
            None => !self.steps.iter().any(|planned| planned.op.conflicts_with(op)),
        }
    }
}

/// A step of a tree, and how it goes on.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) step: Step,
    /// What it does, with numbers of objects of which only the first so many can be compared with others.
    op: Op,
    known: usize,
    performed: bool,
    /// A sequence was added beside it only because it could not be told whether it belongs below it.
    pub(super) uncertain: bool,
    /// None for a leaf.
    pub(super) children: Vec<Branch>,
}

impl Branch {
    /// A step after which the search is free.
    pub(super) fn leaf(step: Step, op: Op, known: usize) -> Self {
        Branch { step, op, known, performed: false, uncertain: false, children: Vec::new() }
    }
}

/// Whether two operations may conflict, of executions that agree on the numbers of so many objects.
fn may_conflict(one: &Op, other: &Op, known: usize) -> bool {
    // The end of a thread is of interest only to those who wait for it, and can only come after it, and
    // to those who ask for it.
    let ends = |op: &Op| op.kind == OpKind::End;
    let asks = |op: &Op| op.kind == OpKind::IsFinished;
    if ends(one) && !asks(other) || ends(other) && !asks(one) {
        return false;
    }
    let same = |a: ObjectId, b: ObjectId| a.index().min(b.index()) >= known || a == b;
    families(one).any(|(family, a, access)| {
        let mut others = families(other);
        others.any(|(kind, b, how)| kind == family && same(a, b) && access.conflicts_with(how))
    })
}

/// What kind of thing an operation works on, as far as that can be told. Nothing is of two kinds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Atomic,
    Lock,
    Condvar,
    Other,
}

/// The objects that an operation touches, each with its kind, and how.
fn families(op: &Op) -> impl Iterator<Item = (Family, ObjectId, Access)> {
    use OpKind as Kind;
    let family = match op.kind {
        Kind::Load | Kind::Store | Kind::Rmw | Kind::CompareExchange => Family::Atomic,
        Kind::Lock | Kind::TryLock | Kind::Unlock => Family::Lock,
        Kind::ReadLock | Kind::TryReadLock | Kind::ReadUnlock => Family::Lock,
        Kind::Wait | Kind::Wake | Kind::NotifyOne | Kind::NotifyAll => Family::Condvar,
        _ => Family::Other,
    };
    let second = op.also.is_some().then_some(Family::Lock);
    let kinds = op.object.is_some().then_some(family).into_iter().chain(second);
    kinds.zip(op.touches()).map(|(family, (object, access))| (family, object, access))
}

/// Where a sequence and a tree are being compared.
struct Walk<'a> {
    sequence: &'a Sequence,
    next_op: NextOp<'a>,
    /// The steps of the sequence that the branch has not taken.
    left: Vec<usize>,
    /// The threads of the branch's steps that the sequence has, and of those that it does not have.
    shared: Vec<u64>,
    foreign: Vec<u64>,
}

impl Walk<'_> {
    /// Whether there are executions that begin with the branch and with the sequence; if so, takes the step.
    fn follow(&mut self, branch: &mut Branch) -> bool {
        let thread = branch.step.thread;
        match self.sequence.first_of(self.left.iter().copied(), thread) {
            Some((at, free)) => {
                let same = free && self.sequence.steps[self.left[at]].step.agrees(&branch.step);
                if same {
                    self.left.remove(at);
                    self.shared.push(thread);
                }
                same
            }
            None => {
                let taken = self.shared.iter().filter(|other| **other == thread).count();
                let next_op = (self.next_op)(thread, taken).filter(|_| !self.foreign.contains(&thread));
                let mut left = self.left.iter().map(|&index| &self.sequence.steps[index].op);
                let independent = match next_op {
                    Some(op) => {
                        let access = if branch.performed { branch.op.access } else { op.access };
                        let op = Op { access, ..op };
                        left.all(|other| !op.conflicts_with(other))
                    }
                    None => {
                        let independent = left.all(|other| !may_conflict(&branch.op, other, branch.known));
                        branch.uncertain |= !independent;
                        independent
                    }
                };
                if independent {
                    self.foreign.push(thread);
                }
                independent
            }
        }
    }
}

/// Adds a sequence to a tree, unless a branch covers it.
pub(super) fn insert(tree: &mut Vec<Branch>, sequence: &Sequence, next_op: NextOp<'_>) {
    let mut walk = Walk {
        sequence,
        next_op,
        left: (0..sequence.steps.len()).collect(),
        shared: Vec::new(),
        foreign: Vec::new(),
    };
    let mut children = tree;
    while let Some(at) = children.iter_mut().position(|branch| walk.follow(branch)) {
        if children[at].children.is_empty() || walk.left.is_empty() {
            return;
        }
        children = &mut children[at].children;
    }
    let rest = walk.left.iter().rev().fold(Vec::new(), |children, &index| {
        let Planned { step, op, performed, .. } = &sequence.steps[index];
        let (step, known) = (step.clone(), sequence.known);
        vec![Branch { step, op: *op, known, performed: *performed, uncertain: false, children }]
    });
    children.extend(rest);
}

/// The steps of the leftmost branch.
pub(super) fn leftmost(tree: &[Branch]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut branches = tree;
    while let Some(first) = branches.first() {
        steps.push(first.step.clone());
        branches = &first.children;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps as text: a thread's number, `r` or `w`, and an object; `p1` for a step on nothing; a value after
    /// `=`. `3w0<1` is by a thread that the step with number 1 creates.
    fn sequence(text: &str) -> Sequence {
        Sequence { steps: text.split_whitespace().map(planned).collect(), known: 5 }
    }

    fn planned(word: &str) -> Planned {
        let (word, creator) = match word.split_once('<') {
            Some((word, creator)) => (word, Some(creator.parse().unwrap())),
            None => (word, None),
        };
        let (word, values) = match word.split_once('=') {
            Some((word, value)) => (word, vec![value.parse().unwrap()]),
            None => (word, Vec::new()),
        };
        let thread = u64::from(word.as_bytes()[0] - b'0');
        Planned { step: Step { thread, values }, op: op(&word[1..]), performed: true, creator }
    }

    fn op(word: &str) -> Op {
        let object = |text: &str| ObjectId::new(text.parse().unwrap());
        match word.split_at(1) {
            ("r", number) => Op::on(OpKind::Load, Access::Read, object(number)),
            ("w", number) => Op::on(OpKind::Store, Access::Write, object(number)),
            _ => Op::local(OpKind::Choose),
        }
    }

    fn show(tree: &[Branch]) -> String {
        let one = |branch: &Branch| {
            let values: Vec<_> = branch.step.values.iter().map(|value| format!("={value}")).collect();
            let rest = show(&branch.children);
            let rest = match branch.children.len() {
                0 => String::new(),
                1 => format!(" {rest}"),
                _ => format!("({rest})"),
            };
            format!("{}{}{rest}", branch.step.thread, values.concat())
        };
        tree.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Inserts sequences one after the other; what threads that are not in one are about to do is `next`.
    fn inserted(sequences: &[&str], next: &[(u64, &str)]) -> String {
        let mut tree = Vec::new();
        for text in sequences {
            let sequence = sequence(text);
            let next_op = |thread: u64, steps: usize| {
                let own: Vec<Op> = sequence
                    .steps
                    .iter()
                    .filter(|planned| planned.step.thread == thread)
                    .map(|planned| planned.op)
                    .collect();
                let beyond = next.iter().filter(|(other, _)| *other == thread).map(|(_, text)| op(text));
                own.into_iter().chain(beyond).nth(steps)
            };
            insert(&mut tree, &sequence, &next_op);
        }
        show(&tree)
    }

    #[test]
    fn what_is_not_covered_becomes_a_branch_to_the_right() {
        assert_eq!(inserted(&["1w0 2w0"], &[]), "1 2");
        assert_eq!(inserted(&["1w0 2w0", "2w0 1w0"], &[]), "1 2, 2 1");
        assert_eq!(inserted(&["1w0 2w0 3w0", "1w0 3w0 2w0"], &[]), "1(2 3, 3 2)");
    }

    #[test]
    fn equivalent_sequences_are_covered() {
        assert_eq!(inserted(&["1w0 2w1", "2w1 1w0"], &[]), "1 2");
        // A leaf covers whatever it can begin with.
        assert_eq!(inserted(&["1w0", "1w0 2w0"], &[]), "1");
        assert_eq!(inserted(&["1w0 2w0", "1w0"], &[]), "1 2");
        // Two reads commute, a read and a write do not.
        assert_eq!(inserted(&["1r0 2r0", "2r0 1r0"], &[]), "1 2");
        assert_eq!(inserted(&["1r0 2w0", "2w0 1r0"], &[]), "1 2, 2 1");
    }

    #[test]
    fn a_branch_may_begin_with_a_step_that_the_sequence_does_not_have() {
        // Thread 1 will write object 0: that does not bear on a sequence about object 1.
        assert_eq!(inserted(&["1w0", "2w1 3w1"], &[(1, "w0")]), "1");
        assert_eq!(inserted(&["1w0", "2w0 3w1"], &[(1, "w0")]), "1, 2 3");
        // The part that the branch leaves out is added below it.
        assert_eq!(inserted(&["1w0 2w1 3w1", "3w1 2w1"], &[(1, "w0")]), "1(2 3, 3 2)");
    }

    #[test]
    fn objects_that_were_not_numbered_when_executions_parted_are_taken_for_the_same() {
        // Of thread 1's second step the sequence's own execution cannot tell what it does.
        assert_eq!(inserted(&["1w0 1w2", "2w1 3w1"], &[(1, "w0")]), "1 1");
        assert_eq!(inserted(&["1w0 1w7", "2w1 3w1"], &[(1, "w0")]), "1 1");
        assert_eq!(inserted(&["1w0 1w7", "2w8 3w8"], &[(1, "w0")]), "1(1, 2 3)");
        assert_eq!(inserted(&["1w0 1r7", "2r8 3r8"], &[(1, "w0")]), "1 1");
        let (mut tree, second) = (Vec::new(), |_, steps| (steps == 0).then(|| op("w0")));
        insert(&mut tree, &sequence("1w0 1w7"), &second);
        insert(&mut tree, &sequence("2w8 3w8"), &second);
        assert!(tree[0].children[0].uncertain && !tree[0].children[1].uncertain && !tree[0].uncertain);
    }

    #[test]
    fn values_tell_steps_apart() {
        assert_eq!(inserted(&["1p1=0 2w0", "1p1=1 2w0"], &[]), "1=0 2, 1=1 2");
        assert_eq!(inserted(&["1p1=0 2w0", "2w0 1p1=0"], &[]), "1=0 2");
        // A step whose value is not known yet agrees with any.
        assert_eq!(inserted(&["1p1=1 2w0", "1p1"], &[]), "1=1 2");
    }

    #[test]
    fn a_thread_begins_after_the_step_that_creates_it() {
        assert_eq!(inserted(&["1w0 3w1<0", "2w2 1w0 3w1<1"], &[(2, "w2")]), "1 3");
        assert!(!sequence("1w0 3w1<0").may_begin_with(&planned("3w1").step, &op("w1")));
    }

    #[test]
    fn steps_are_left_out_with_what_depends_on_them() {
        let left = |text: &str, word: &str| {
            let mut v = sequence(text);
            let whole = v.leave_out(&planned(word).step);
            let threads: Vec<_> = v.steps.iter().map(|planned| planned.step.thread.to_string()).collect();
            (whole, threads.concat())
        };
        assert_eq!(left("1w0 2r0 3w1 2w2 4w1", "1w0"), (true, "34".into()));
        assert_eq!(left("1w0 2r0 3w1 2w2 4w1", "3w1"), (false, "12324".into()));
        assert_eq!(left("1w0 2r0 3w1", "2r0"), (true, "123".into()), "it cannot come first");
        assert_eq!(left("1w0 2w1", "3w0"), (true, "12".into()), "it is not there");
    }

    #[test]
    fn weak_initials() {
        let v = sequence("1w0 2r1 3w1 1w2");
        let weak = |word: &str| v.may_begin_with(&planned(word).step, &planned(word).op);
        assert!(weak("1w0") && weak("2r1"));
        assert!(!weak("3w1"), "after the read");
        assert!(weak("4r3"), "on something else");
        assert!(!weak("4r0") && !weak("4w1"));
    }
}

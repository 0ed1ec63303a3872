//! Happens-before graphs as the states of a stateless search, in canonical form.
//!
//! Musuvathi, Qadeer: *Partial-Order Reduction for Context-Bounded State Exploration* (MSR-TR-2007-12),
//! sections 2 and 3.3. A state is the set of actions <o, t, n, v, m> that have happened: thread `t`'s
//! `n`-th action does `o` to the `m`-th version of variable `v`. The edges follow from the set.
//!
//! Deviations:
//! 1. The hash has 128 bits and is kept per object. The paper hashes each action with the name of its
//!    variable; here an object has no name that two equivalent executions would agree on (it is numbered
//!    when it is first touched). The (t, n) of an action occurs once in a state, so the *partition* of the
//!    actions into objects says all that the names would: the hash of a state is the XOR over objects of a
//!    mixed hash of the XOR over the object's actions.
//! 2. An action may touch two objects (a wait on a condition variable releases a mutex); it then stands
//!    among the actions of both.
//! 3. A thread goes by the thread that created it and by how many that one had created before, because two
//!    equivalent executions may create, and so number, threads in different orders.
//! 4. An action that touches no object, or chooses a value, stands alone, with the value.
//! 5. A state that a step has ended the execution in says which step it was: of two accesses that race, the
//!    later one ends it.

use selvedge_core::{Access, ObjectId, Op, ThreadId};

/// A 128-bit hash of a happens-before graph. Equivalent executions have equal hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateHash(pub u128);

/// The happens-before graph of an execution, as far as its hash needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HappensBefore {
    threads: Vec<ThreadGraph>,
    objects: Vec<ObjectGraph>,
    hash: u128,
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadGraph {
    /// A name that equivalent executions agree on.
    name: u64,
    /// How many actions it has performed.
    actions: u64,
    /// How many threads it has created.
    children: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ObjectGraph {
    /// The XOR of the hashes of the object's actions.
    actions: u128,
    /// What it adds to the hash.
    adds: u128,
    /// How often it was written.
    version: u32,
}

impl HappensBefore {
    pub(crate) fn clear(&mut self) {
        self.threads.clear();
        self.objects.clear();
        self.hash = 0;
    }

    /// Becomes what another one is, and keeps its memory.
    pub(crate) fn copy_from(&mut self, other: &HappensBefore) {
        self.threads.clone_from(&other.threads);
        self.objects.clone_from(&other.objects);
        self.hash = other.hash;
    }

    pub(crate) fn hash(&self) -> StateHash {
        StateHash(self.hash)
    }

    #[inline]
    fn thread(&mut self, thread: ThreadId) -> &mut ThreadGraph {
        if thread.index() >= self.threads.len() {
            self.threads.resize(thread.index() + 1, ThreadGraph::default());
        }
        &mut self.threads[thread.index()]
    }

    /// A name for a thread that equivalent executions agree on.
    pub(crate) fn name(&self, thread: ThreadId) -> u64 {
        self.threads.get(thread.index()).map_or(0, |graph| graph.name)
    }

    /// Names a thread whose name is known.
    pub(crate) fn named(&mut self, thread: ThreadId, name: u64) {
        self.thread(thread).name = name;
    }

    /// Names a thread that was just created.
    pub(crate) fn spawned(&mut self, parent: ThreadId, child: ThreadId) {
        let graph = self.thread(parent);
        graph.children += 1;
        let name = mix(graph.name, graph.children);
        self.thread(child).name = name as u64 ^ (name >> 64) as u64;
    }

    /// Adds a thread's next action. Says what it adds to its first object, if it touches that.
    #[inline]
    pub(crate) fn step(&mut self, thread: ThreadId, op: &Op) -> u128 {
        let graph = self.thread(thread);
        graph.actions += 1;
        let by = (graph.name, graph.actions);
        let mut action = 0;
        match op.object {
            Some(object) if op.access != Access::None => action = self.touch(by, op, 0, object, op.access),
            _ if op.also.is_none() => self.hash ^= alone_hash(by.0, by.1, op),
            _ => {}
        }
        if let Some(also) = op.also {
            self.touch(by, op, op.object.iter().len(), also, Access::Write);
        }
        action
    }

    /// Adds what a thread's action does to an object.
    #[inline(always)]
    fn touch(&mut self, by: (u64, u64), op: &Op, slot: usize, object: ObjectId, access: Access) -> u128 {
        if object.index() >= self.objects.len() {
            self.objects.resize(object.index() + 1, ObjectGraph::default());
        }
        let graph = &mut self.objects[object.index()];
        graph.version += u32::from(access == Access::Write);
        let before = graph.adds;
        let action = action_hash(by.0, by.1, op, slot, graph.version);
        graph.actions ^= action;
        graph.adds = whole(graph.actions);
        self.hash ^= before ^ graph.adds;
        action
    }

    /// Adds a thread's next action, of which it is known what it adds to the first object that it touches. What objects add
    /// to the hash is not worked out before it [is asked for](HappensBefore::settle).
    #[inline]
    pub(crate) fn step_again(&mut self, thread: ThreadId, op: &Op, action: u128) {
        match op.object {
            Some(object)
                if op.also.is_none()
                    && op.access != Access::None
                    && let Some(graph) = self.objects.get_mut(object.index()) =>
            {
                graph.actions ^= action;
                graph.version += u32::from(op.access == Access::Write);
                self.thread(thread).actions += 1;
            }
            _ => {
                self.step(thread, op);
            }
        }
    }

    /// Works out what objects add to the hash.
    pub(crate) fn settle(&mut self) {
        for graph in &mut self.objects {
            let before = graph.adds;
            graph.adds = whole(graph.actions);
            self.hash ^= before ^ graph.adds;
        }
    }

    /// The thread's last action ended the execution.
    pub(crate) fn stopped(&mut self, thread: ThreadId) {
        let graph = *self.thread(thread);
        self.hash ^= stop_hash(graph.name, graph.actions);
    }

    /// Adds the value that the thread's current action chose.
    pub(crate) fn value(&mut self, thread: ThreadId, value: u32) {
        let graph = *self.thread(thread);
        self.hash ^= value_hash(graph.name, graph.actions, value);
    }
}

#[inline]
fn kind(op: &Op) -> u64 {
    (op.kind as u64) << 8 | (op.access as u64) << 4 | u64::from(op.timed_out) << 2
}

/// What the thread's action with this number, from 1, adds to an object that it touches.
#[inline]
pub(crate) fn action_hash(name: u64, number: u64, op: &Op, slot: usize, version: u32) -> u128 {
    mix(name.wrapping_add(number), u64::from(version) << 32 | kind(op) | slot as u64)
}

/// What an action that touches no object adds.
#[inline]
pub(crate) fn alone_hash(name: u64, number: u64, op: &Op) -> u128 {
    mix(name.wrapping_add(number), kind(op) | 1 << 31)
}

/// What a value adds that a thread chooses after so many actions.
#[inline]
pub(crate) fn value_hash(name: u64, actions: u64, value: u32) -> u128 {
    mix(name.wrapping_add(actions), u64::from(value) << 32 | 1 << 30)
}

/// What a thread's action with this number, from 1, adds when it ends the execution.
#[inline]
pub(crate) fn stop_hash(name: u64, number: u64) -> u128 {
    mix(name.wrapping_add(number), 1 << 29)
}

/// A hash of a pair of words, both halves of it well mixed.
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u128 {
    let product = u128::from(a ^ 0x9E37_79B9_7F4A_7C15) * u128::from(b ^ 0xD1B5_4A32_D192_ED03);
    let low = (product as u64) ^ a.rotate_left(32);
    let high = ((product >> 64) as u64) ^ b;
    let second = u128::from(low ^ 0xA076_1D64_78BD_642F) * u128::from(high ^ 0xE703_7ED1_A0B4_28DB);
    second ^ (u128::from(high) << 64 | u128::from(low))
}

/// The contribution of an object whose actions have this hash. No actions contribute nothing.
#[inline]
pub(crate) fn whole(actions: u128) -> u128 {
    if actions == 0 { 0 } else { mix(actions as u64, (actions >> 64) as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_core::OpKind;

    fn hash(steps: &[(u32, Op)]) -> StateHash {
        let mut graph = HappensBefore::default();
        graph.spawned(ThreadId(0), ThreadId(1));
        for (thread, op) in steps {
            graph.step(ThreadId(*thread), op);
        }
        graph.hash()
    }

    #[test]
    fn independent_steps_commute_whatever_the_numbering_of_objects() {
        let load = |object| Op::on(OpKind::Load, Access::Read, ObjectId::new(object));
        let store = |object| Op::on(OpKind::Store, Access::Write, ObjectId::new(object));
        // Two threads each write an object of their own; the numbering follows the order.
        assert_eq!(hash(&[(0, store(0)), (1, store(1))]), hash(&[(1, store(0)), (0, store(1))]));
        // Two reads of one object commute, a read and a write do not.
        assert_eq!(hash(&[(0, load(0)), (1, load(0))]), hash(&[(1, load(0)), (0, load(0))]));
        assert_ne!(hash(&[(0, load(0)), (1, store(0))]), hash(&[(1, store(0)), (0, load(0))]));
        assert_ne!(hash(&[(0, store(0)), (1, store(0))]), hash(&[(1, store(0)), (0, store(0))]));
        // One object is not two.
        assert_ne!(hash(&[(0, store(0)), (1, store(0))]), hash(&[(0, store(0)), (1, store(1))]));
    }
}

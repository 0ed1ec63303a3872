//! Local states: what a thread has behind it after each of its steps.
//!
//! Coons, Musuvathi, McKinley: *Bounded Partial-Order Reduction* (OOPSLA 2013), section 2.2: the local state
//! of a thread is the part of the happens-before graph that leads to its last step. Its hash is made from
//! the hashes of the steps that come right before that one, so it needs no names of objects.

use selvedge_core::{Access, Op, ThreadId};

use crate::happens_before::{HappensBefore, mix};

/// The local states of the threads of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalStates {
    threads: Vec<u128>,
    objects: Vec<Accesses>,
    value: u64,
    /// Those that the execution has been in.
    reached: Vec<u128>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Accesses {
    /// The local state after the last write.
    write: u128,
    /// Those after the reads since then.
    reads: u128,
}

impl LocalStates {
    pub(crate) fn clear(&mut self) {
        self.threads.clear();
        self.objects.clear();
        self.reached.clear();
        self.value = 0;
    }

    /// A thread was created, with what its creator has behind it.
    pub(crate) fn spawned(&mut self, parent: ThreadId, child: ThreadId) {
        let behind = *self.thread(parent);
        *self.thread(child) = behind;
    }

    fn thread(&mut self, thread: ThreadId) -> &mut u128 {
        if thread.index() >= self.threads.len() {
            self.threads.resize(thread.index() + 1, 0);
        }
        &mut self.threads[thread.index()]
    }

    /// The step under way chose a value.
    pub(crate) fn value(&mut self, value: u32) {
        self.value = mix(self.value, u64::from(value) + 1) as u64;
    }

    /// The hashes of the local states that the execution has been in.
    pub(crate) fn reached(&self) -> &[u128] {
        &self.reached
    }

    /// A thread took a step.
    pub(crate) fn step(&mut self, thread: ThreadId, op: &Op, names: &HappensBefore) {
        let kind = (op.kind as u64) << 8 | (op.access as u64) << 4 | u64::from(op.timed_out) << 2;
        let mut hash = fold(*self.thread(thread), mix(names.name(thread), kind ^ self.value << 16));
        self.value = 0;
        for (object, access) in op.touches().filter(|(_, access)| *access != Access::None) {
            if object.index() >= self.objects.len() {
                self.objects.resize(object.index() + 1, Accesses::default());
            }
            let accesses = &self.objects[object.index()];
            hash = fold(hash, accesses.write);
            hash = fold(hash, if access == Access::Write { accesses.reads } else { 0 });
        }
        for (object, access) in op.touches().filter(|(_, access)| *access != Access::None) {
            let accesses = &mut self.objects[object.index()];
            match access {
                Access::Write => *accesses = Accesses { write: hash, reads: 0 },
                _ => accesses.reads ^= fold(hash, 1),
            }
        }
        *self.thread(thread) = hash;
        self.reached.push(hash);
    }
}

fn fold(a: u128, b: u128) -> u128 {
    let low = mix(a as u64 ^ (b >> 64) as u64, b as u64);
    let high = mix((a >> 64) as u64, (b >> 64) as u64 ^ a as u64);
    low.rotate_left(17) ^ high
}

//! What the threads go on by, as far as it is not in objects: their stacks.
//!
//! It is compared to find out whether an execution goes in a circle. What is left on a stack of calls that have returned can
//! make two states differ that are the same. What is not seen is memory elsewhere that a thread changes without an operation of
//! this crate: a number that it counts in a box, say.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::Runtime;

/// So many bytes of a stack are looked at below where it was used when its thread stopped: registers are saved there.
const BELOW: usize = 64;

/// A hash of all that.
pub(super) fn of_threads(runtime: &Runtime) -> u64 {
    let mut hasher = DefaultHasher::new();
    for object in &runtime.objects[..runtime.object_count] {
        object.word.hash(&mut hasher);
    }
    for (thread, slot) in runtime.threads.iter().zip(&runtime.slots) {
        (thread.pending.kind, thread.signalled, thread.ended, thread.now).hash(&mut hasher);
        let stack = slot.memory();
        if !stack.contains(&thread.stack_used) {
            // It has not begun, or has ended.
            continue;
        }
        let used = (thread.stack_used - BELOW).max(stack.start) / 16 * 16..stack.end;
        for at in used.step_by(size_of::<usize>()) {
            // SAFETY: within the stack of a coroutine that is suspended. What is there may be anything, and any word is one.
            unsafe { std::ptr::read_volatile(at as *const usize) }.hash(&mut hasher);
        }
    }
    hasher.finish()
}

//! A hash of all that the program goes on by, to find out whether an execution goes in a circle.
//!
//! That is the memory that it can write to and that is its own, the registers of its threads, and what is simulated here. What
//! is left out is known not to matter: stacks below where their threads are, what is kept for the log, and virtual time
//! as long as nobody has looked at a clock. Whatever else there is counts, although it may be of no interest: then
//! two states may differ that are the same.

use std::ops::Range;

use crate::again;
use crate::memory;
use crate::runtime::{self, rt};
use crate::shell;
use crate::site::Frame;
use crate::spin;
use crate::told;

/// Notes the registers of the current thread, which has called from there. Where they are not known, its state is not.
pub(crate) fn arrives(frame: Frame) {
    let runtime = rt();
    let thread = &mut runtime.threads[runtime.current as usize];
    (thread.stack_used, thread.registers) = (frame.stack, spin::registers(frame));
}

/// How much of the first thread's stack is not in use, at most.
const MAIN_STACK: usize = 64 << 20;
const PAGE: usize = 4096;
const WORD: usize = size_of::<u64>();

/// The hash, between two steps; 0 if the state is not known.
pub(crate) fn hash() -> u64 {
    let runtime = rt();
    let threads = &runtime.threads[..runtime.thread_count as usize];
    let mut all = 0_u64;
    for (number, thread) in threads.iter().enumerate() {
        let Some(registers) = (if thread.ended { Some(0) } else { thread.registers }) else { return 0 };
        add(&mut all, registers);
        add(&mut all, thread.pending.pack());
        add(&mut all, thread.gate.pack());
        let flags = [thread.ended, thread.signalled, thread.cancelled, thread.cancel_disabled];
        add(&mut all, flags.iter().fold(number as u64, |all, flag| all << 1 | u64::from(*flag)));
        add(&mut all, thread.pending_signals);
        add(&mut all, thread.signal_mask);
        add(&mut all, u64::from(thread.next_waiter) << 32 | u64::from(thread.atomic));
        if runtime.looks_at_clocks {
            add(&mut all, thread.now);
        }
    }
    for index in runtime.objects() {
        let object = &runtime.objects[index as usize];
        add(&mut all, object.word);
        add(&mut all, u64::from(object.holder) << 32 | u64::from(object.count));
        add(&mut all, u64::from(object.first_waiter));
    }
    let left_out = |at: usize| {
        let unused = |(number, thread): (usize, &runtime::Thread)| {
            let size = match (number, &thread.stack) {
                (0, _) => MAIN_STACK,
                (_, Some(stack)) => stack.size,
                _ => shell::stack_size(),
            };
            let top = if thread.ended { thread.stack_top } else { thread.stack_used };
            (thread.stack_top.saturating_sub(size)..top).contains(&at)
        };
        [runtime::memory(), spin::memory(), memory::memory(), told::memory()]
            .iter()
            .any(|memory: &Range<usize>| memory.contains(&at))
            || threads.iter().enumerate().any(unused)
    };
    let is_known = again::each_page(|page| {
        // SAFETY: the page is mapped, and nothing else runs.
        let words = unsafe { std::slice::from_raw_parts(page as *const u64, PAGE / WORD) };
        let is_whole = !left_out(page) && !left_out(page + PAGE - 1);
        if !is_whole || words.iter().any(|word| *word != 0) {
            for (index, word) in words.iter().enumerate() {
                let at = page + WORD * index;
                if *word != 0 && (is_whole || !left_out(at)) {
                    all ^= spin::mix(at, *word);
                }
            }
        }
    });
    if is_known { all.max(1) } else { 0 }
}

fn add(all: &mut u64, word: u64) {
    *all = (all.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
}

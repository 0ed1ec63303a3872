//! A work-stealing queue: its owner, the victim, pushes and pops at the tail; a thief takes from the head.
//!
//! The protocol is that of Cilk-5 (Frigo, Leiserson and Randall, PLDI 1998, section 5), over a bounded circular
//! buffer. Owner and thief each announce what they are about to take before they look whether the other is
//! after the same item, so that of two who want the last item at least one notices. Whoever notices goes back:
//! the thief at once; the owner asks again under the lock that thieves hold. One of the programs of Musuvathi
//! and Qadeer's *Iterative Context Bounding* (PLDI 2007), which has three variants with bugs as well.

//@ look-before-claim: violated, assertion, 1 preemption
//@ look-before-claim at 0: 1 execution, 1 order, 38 states
//@ no-spare-slot: violated, assertion, 2 preemptions
//@ no-spare-slot at 0: 1 execution, 1 order, 52 states
//@ no-spare-slot at 1: 18 executions, 18 orders, 605 states
//@ no-second-look: violated, assertion, 2 preemptions
//@ no-second-look at 0: 1 execution, 1 order, 40 states
//@ no-second-look at 1: 14 executions, 14 orders, 373 states
//@ fixed: holds, 2 preemptions
//@ fixed at 0: 1 execution, 1 order, 46 states
//@ fixed at 1: 15 executions, 15 orders, 478 states
//@ fixed at 2: 75 executions, 75 orders, 2042 states

use selvedge::sync::atomic::{AtomicIsize, AtomicU32, Ordering::SeqCst};
use selvedge::sync::{Arc, Mutex};
use selvedge_corpus::{Variant, start};

/// What may be wrong with a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    /// The owner looks where the head is before it claims the item at the tail. A thief that comes in between
    /// sees the old tail, and both take the same item.
    LookBeforeClaim,
    /// The owner fills the buffer to the last slot. A thief moves the head before it has read the item there;
    /// if the owner pushes at that moment, it takes the slot for free and overwrites the item.
    NoSpareSlot,
    /// The owner that finds the thief after the same item takes it for lost and does not ask again under the
    /// lock. But the thief may have gone back as well: then the queue has an item that nobody knows of.
    NoSecondLook,
}

/// Slots of the buffer. One of them is kept free, except by a bug.
const SLOTS: isize = 3;

/// The queue. Positions only grow; an item is at its position modulo the number of slots.
struct Queue {
    bug: Bug,
    /// The position of the first item. Only a thief moves it, with the lock.
    head: AtomicIsize,
    /// The position after the last item. Only the owner moves it.
    tail: AtomicIsize,
    items: [AtomicU32; SLOTS as usize],
    /// Held by the thief, and by an owner that has met a thief.
    thief: Mutex<()>,
}

impl Queue {
    fn new(bug: Bug) -> Self {
        Queue {
            bug,
            head: AtomicIsize::new(0),
            tail: AtomicIsize::new(0),
            items: Default::default(),
            thief: Mutex::new(()),
        }
    }

    fn slot(&self, position: isize) -> &AtomicU32 {
        &self.items[position.rem_euclid(SLOTS) as usize]
    }

    /// The owner adds an item, unless the queue is full.
    fn push(&self, item: u32) -> Result<(), u32> {
        let tail = self.tail.load(SeqCst);
        let capacity = if self.bug == Bug::NoSpareSlot { SLOTS } else { SLOTS - 1 };
        if tail - self.head.load(SeqCst) >= capacity {
            return Err(item);
        }
        self.slot(tail).store(item, SeqCst);
        self.tail.store(tail + 1, SeqCst);
        Ok(())
    }

    /// The owner takes the item that was pushed last.
    fn pop(&self) -> Option<u32> {
        if self.bug == Bug::LookBeforeClaim {
            let last = self.tail.load(SeqCst) - 1;
            if self.head.load(SeqCst) > last {
                return None;
            }
            self.tail.store(last, SeqCst);
            return Some(self.slot(last).load(SeqCst));
        }
        self.claim_last().or_else(|| {
            if self.bug == Bug::NoSecondLook {
                return None;
            }
            let _no_thief = self.thief.lock().unwrap();
            self.claim_last()
        })
    }

    /// The owner claims the last item, and gives it back if a thief has come first.
    fn claim_last(&self) -> Option<u32> {
        let last = self.tail.load(SeqCst) - 1;
        self.tail.store(last, SeqCst);
        if self.head.load(SeqCst) > last {
            self.tail.store(last + 1, SeqCst);
            return None;
        }
        Some(self.slot(last).load(SeqCst))
    }

    /// A thief takes the item that was pushed first, unless the owner is after it.
    fn steal(&self) -> Option<u32> {
        let _only_thief = self.thief.lock().unwrap();
        let first = self.head.load(SeqCst);
        self.head.store(first + 1, SeqCst);
        if first >= self.tail.load(SeqCst) {
            self.head.store(first, SeqCst);
            return None;
        }
        Some(self.slot(first).load(SeqCst))
    }
}

/// The owner works through a few items while a thief tries to help. Each item must be done exactly once.
fn every_item_is_done_once(bug: Bug) {
    let queue = Arc::new(Queue::new(bug));
    let thief = start("thief", {
        let queue = queue.clone();
        move || -> Vec<u32> { (0..2).filter_map(|_| queue.steal()).collect() }
    });
    let mut done = Vec::new();
    for item in [1, 2, 3, 4] {
        // What does not fit is done at once.
        done.extend(queue.push(item).err());
    }
    while let Some(item) = queue.pop() {
        done.push(item);
    }
    done.extend(thief.join().unwrap());
    done.sort_unstable();
    assert_eq!(done, [1, 2, 3, 4]);
}

/// The queue with each of the bugs, and without.
pub(crate) const VARIANTS: &[Variant] = &[
    ("look-before-claim", || every_item_is_done_once(Bug::LookBeforeClaim)),
    ("no-spare-slot", || every_item_is_done_once(Bug::NoSpareSlot)),
    ("no-second-look", || every_item_is_done_once(Bug::NoSecondLook)),
    ("fixed", || every_item_is_done_once(Bug::None)),
];

fn main() {
    selvedge_corpus::check("work_stealing_queue", VARIANTS);
}

//! Data races by happens-before.
//!
//! Vector clocks follow the synchronisation that the program can rely on (an unlock before the next lock, a
//! release store before the acquire load that reads it, a send before its receive, spawn and join), which
//! is less than the order in which things happened to happen. Two accesses to a tracked cell, one of them a
//! write, that are not ordered by it race. Writes are kept as epochs, as in Flanagan and Freund, *FastTrack:
//! Efficient and Precise Dynamic Race Detection* (PLDI 2009); of reads, the last of each thread since the
//! last write.

use std::collections::VecDeque;

use selvedge_core::{Access, MemoryOrder, ObjectId, Op, OpKind, ThreadId, VectorClock};

use crate::program::{LocalEvent, Site};

/// An access to a cell: which thread, at which step of its own, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) thread: ThreadId,
    clock: u32,
    /// The step of the execution that it is part of.
    pub(crate) step: u32,
    pub(crate) site: Site,
}

impl Epoch {
    fn is_before(&self, now: &VectorClock) -> bool {
        self.clock <= now.get(self.thread)
    }
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Race {
    pub(crate) cell: ObjectId,
    pub(crate) earlier: Epoch,
    pub(crate) earlier_writes: bool,
    pub(crate) later: Epoch,
    pub(crate) later_writes: bool,
}

/// The clocks of an execution. Its memory is kept from one execution to the next.
#[derive(Debug, Default)]
pub(crate) struct RaceDetector {
    threads: Vec<ThreadClocks>,
    objects: Vec<ObjectClocks>,
    spare: Vec<VectorClock>,
    /// Atomics are read without synchronisation: where they are stored to is kept.
    pub(crate) mixes: bool,
    /// How many steps there were, the one under way included.
    steps: u32,
}

#[derive(Debug, Default)]
struct ThreadClocks {
    now: VectorClock,
    /// What relaxed loads have read: an acquire fence takes it.
    unfenced: VectorClock,
    /// What the last release fence published: relaxed stores pass it on.
    fenced: VectorClock,
}

#[derive(Debug, Default)]
struct ObjectClocks {
    /// What was published through the object.
    released: VectorClock,
    /// What shared holders of a lock, or receivers of a channel, published.
    shared: VectorClock,
    /// For a channel, what came with each message that is under way.
    messages: VecDeque<VectorClock>,
    write: Option<Epoch>,
    reads: Vec<Epoch>,
    /// For an atomic, the last store of each thread.
    stores: Vec<Epoch>,
}

impl RaceDetector {
    pub(crate) fn clear(&mut self) {
        self.steps = 0;
        for thread in &mut self.threads {
            thread.now.clear();
            thread.unfenced.clear();
            thread.fenced.clear();
        }
        for object in &mut self.objects {
            object.released.clear();
            object.shared.clear();
            if !object.messages.is_empty() {
                self.spare.extend(object.messages.drain(..));
            }
            object.write = None;
            object.reads.clear();
            object.stores.clear();
        }
    }

    fn grow(&mut self, thread: ThreadId, object: Option<ObjectId>) {
        if thread.index() >= self.threads.len() {
            self.threads.resize_with(thread.index() + 1, ThreadClocks::default);
        }
        if let Some(object) = object
            && object.index() >= self.objects.len()
        {
            self.objects.resize_with(object.index() + 1, ObjectClocks::default);
        }
    }

    /// Follows one operation, and says whether it is an access that races.
    #[inline]
    pub(crate) fn step(&mut self, thread: ThreadId, op: &Op, site: Site) -> Option<Race> {
        self.steps += 1;
        let mut race = self.operation(thread, op, site);
        let stores = matches!(op.kind, OpKind::Store | OpKind::Rmw | OpKind::CompareExchange);
        if let Some(atomic) = op.object.filter(|_| self.mixes && stores && op.access == Access::Write) {
            race = self.store(thread, atomic, site);
        }
        // What the thread does from here on, before its next operation, is not what it has just published.
        self.threads[thread.index()].now.tick(thread);
        race
    }

    #[inline]
    fn operation(&mut self, thread: ThreadId, op: &Op, site: Site) -> Option<Race> {
        self.grow(thread, op.object);
        self.grow(thread, op.also);
        let Self { threads, objects, spare, .. } = self;
        let clocks = &mut threads[thread.index()];
        clocks.now.tick(thread);
        let object = &mut objects[op.object?.index()];
        match op.kind {
            // What the thread waited for has not come.
            OpKind::Join | OpKind::Park | OpKind::Lock | OpKind::ReadLock | OpKind::Receive
                if op.timed_out => {}
            OpKind::Join | OpKind::BarrierPass | OpKind::RefCount => clocks.now.join(&object.released),
            OpKind::End | OpKind::OnceLeave => object.released.copy_from(&clocks.now),
            OpKind::Unpark | OpKind::BarrierArrive => object.released.join(&clocks.now),
            OpKind::Disconnect => {
                // The last to go has the drops of the others behind it.
                if let Some(others) = op.also {
                    clocks.now.join(&objects[others.index()].released);
                }
                objects[op.object?.index()].released.join(&clocks.now);
            }
            // A failed attempt says so by its ordering.
            OpKind::Park if op.order.acquires() => clocks.now.join(&object.released),
            OpKind::Lock | OpKind::TryLock if op.order.acquires() => {
                clocks.now.join(&object.released);
                clocks.now.join(&object.shared);
            }
            OpKind::Unlock => {
                object.released.copy_from(&clocks.now);
                object.shared.clear();
            }
            OpKind::ReadLock | OpKind::TryReadLock if op.order.acquires() => {
                clocks.now.join(&object.released);
            }
            OpKind::ReadUnlock => object.shared.join(&clocks.now),
            OpKind::OnceEnter => clocks.now.join(&object.released),
            OpKind::Load => Self::load(clocks, object, op.order),
            OpKind::Store => {
                let publish = if op.order.releases() { &clocks.now } else { &clocks.fenced };
                object.released.copy_from(publish);
            }
            OpKind::Rmw | OpKind::CompareExchange => {
                Self::load(clocks, object, op.order);
                if op.access == Access::Write {
                    // A read-modify-write continues the release sequence that it reads from.
                    let publish = if op.order.releases() { &clocks.now } else { &clocks.fenced };
                    object.released.join(publish);
                }
            }
            // A send that is ordered AcqRel waited for room, which receivers made.
            OpKind::Send if op.access == Access::Write => {
                if op.order.acquires() {
                    clocks.now.join(&object.shared);
                }
                let mut message = spare.pop().unwrap_or_default();
                message.copy_from(&clocks.now);
                object.messages.push_back(message);
            }
            OpKind::Receive => {
                if op.access == Access::Write
                    && let Some(message) = object.messages.pop_front()
                {
                    clocks.now.join(&message);
                    object.shared.join(&clocks.now);
                    spare.push(message);
                } else {
                    clocks.now.join(&object.released);
                }
            }
            OpKind::Read => return self.access(thread, op.object?, site, false),
            OpKind::Write => return self.access(thread, op.object?, site, true),
            OpKind::Wait => {
                if let Some(mutex) = op.also {
                    objects[mutex.index()].released.copy_from(&clocks.now);
                }
            }
            OpKind::Wake => {
                if let Some(mutex) = op.also {
                    clocks.now.join(&objects[mutex.index()].released);
                }
            }
            _ => {}
        }
        None
    }

    fn load(clocks: &mut ThreadClocks, object: &ObjectClocks, order: MemoryOrder) {
        if order.acquires() {
            clocks.now.join(&object.released);
        } else {
            clocks.unfenced.join(&object.released);
        }
    }

    /// Follows something that happened within a step, and says whether it is an access that races.
    #[inline]
    pub(crate) fn local(&mut self, thread: ThreadId, event: LocalEvent) -> Option<Race> {
        match event {
            LocalEvent::By(_) => {}
            LocalEvent::Spawned(child) => {
                self.grow(thread.max(child), None);
                let parent = std::mem::take(&mut self.threads[thread.index()].now);
                let clock = &mut self.threads[child.index()].now;
                clock.copy_from(&parent);
                clock.tick(child);
                self.threads[thread.index()].now = parent;
                // What the parent does from here on is not before what the child does.
                self.threads[thread.index()].now.tick(thread);
            }
            LocalEvent::Fence(order) => {
                self.grow(thread, None);
                let clocks = &mut self.threads[thread.index()];
                if order.acquires() {
                    clocks.now.join(&clocks.unfenced);
                }
                if order.releases() {
                    clocks.fenced.copy_from(&clocks.now);
                    clocks.now.tick(thread);
                }
            }
            LocalEvent::Read(cell, site) => return self.access(thread, cell, site, false),
            LocalEvent::Write(cell, site) => return self.access(thread, cell, site, true),
            LocalEvent::Unsync(atomic, site) => return self.load_unsynchronised(thread, atomic, site),
            LocalEvent::Release(object) => {
                self.grow(thread, Some(object));
                let clocks = &mut self.threads[thread.index()];
                self.objects[object.index()].released.join(&clocks.now);
                clocks.now.tick(thread);
            }
            LocalEvent::Acquire(object) => {
                self.grow(thread, Some(object));
                self.threads[thread.index()].now.join(&self.objects[object.index()].released);
            }
            LocalEvent::Retire(object) => {
                self.grow(thread, Some(object));
                let object = &mut self.objects[object.index()];
                object.write = None;
                object.reads.clear();
            }
        }
        None
    }

    fn store(&mut self, thread: ThreadId, atomic: ObjectId, site: Site) -> Option<Race> {
        let (object, later, now) = self.at(thread, atomic, site);
        if let Some(read) = object.reads.iter().find(|read| !read.is_before(now)) {
            return Some(Race {
                cell: atomic,
                earlier: *read,
                earlier_writes: false,
                later,
                later_writes: true,
            });
        }
        keep_last(&mut object.stores, later);
        None
    }

    fn load_unsynchronised(&mut self, thread: ThreadId, atomic: ObjectId, site: Site) -> Option<Race> {
        let (object, later, now) = self.at(thread, atomic, site);
        if let Some(store) = object.stores.iter().find(|store| !store.is_before(now)) {
            return Some(Race {
                cell: atomic,
                earlier: *store,
                earlier_writes: true,
                later,
                later_writes: false,
            });
        }
        keep_last(&mut object.reads, later);
        None
    }

    fn access(&mut self, thread: ThreadId, cell: ObjectId, site: Site, writes: bool) -> Option<Race> {
        let (object, later, now) = self.at(thread, cell, site);
        let before = |epoch: &Epoch| epoch.is_before(now);
        let race = |earlier: Epoch, earlier_writes: bool| {
            Some(Race { cell, earlier, earlier_writes, later, later_writes: writes })
        };
        if let Some(write) = object.write
            && !before(&write)
        {
            return race(write, true);
        }
        if writes {
            if let Some(read) = object.reads.iter().find(|read| !before(read)) {
                return race(*read, false);
            }
            object.reads.clear();
            object.write = Some(later);
        } else {
            keep_last(&mut object.reads, later);
        }
        None
    }

    /// An object, an access to it by this thread now, and what is behind the thread.
    fn at(
        &mut self,
        thread: ThreadId,
        object: ObjectId,
        site: Site,
    ) -> (&mut ObjectClocks, Epoch, &VectorClock) {
        self.grow(thread, Some(object));
        let now = &self.threads[thread.index()].now;
        let epoch = Epoch { thread, clock: now.get(thread), step: self.steps.saturating_sub(1), site };
        (&mut self.objects[object.index()], epoch, now)
    }
}

/// Keeps the last access of each thread.
fn keep_last(accesses: &mut Vec<Epoch>, last: Epoch) {
    match accesses.iter_mut().find(|access| access.thread == last.thread) {
        Some(access) => *access = last,
        None => accesses.push(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: u32 = 0;
    const FLAG: u32 = 1;

    fn object(index: u32) -> ObjectId {
        ObjectId::new(index)
    }

    fn publish(store: MemoryOrder, load: MemoryOrder, fence: Option<MemoryOrder>) -> bool {
        let mut races = RaceDetector::default();
        races.step(ThreadId(0), &Op::local(OpKind::Yield), Site(0));
        races.step(ThreadId(1), &Op::local(OpKind::Yield), Site(0));
        assert_eq!(races.local(ThreadId(0), LocalEvent::Write(object(X), Site(1))), None);
        let op = Op::on(OpKind::Store, Access::Write, object(FLAG)).ordered(store);
        races.step(ThreadId(0), &op, Site(2));
        let op = Op::on(OpKind::Load, Access::Read, object(FLAG)).ordered(load);
        races.step(ThreadId(1), &op, Site(3));
        if let Some(order) = fence {
            races.local(ThreadId(1), LocalEvent::Fence(order));
        }
        races.local(ThreadId(1), LocalEvent::Read(object(X), Site(5))).is_some()
    }

    #[test]
    fn only_release_and_acquire_publish() {
        use MemoryOrder::{Acquire, Relaxed, Release, SeqCst};
        assert!(!publish(Release, Acquire, None));
        assert!(!publish(SeqCst, SeqCst, None));
        assert!(publish(Relaxed, Acquire, None));
        assert!(publish(Release, Relaxed, None));
        assert!(!publish(Release, Relaxed, Some(Acquire)));
        assert!(publish(Release, Relaxed, Some(Release)));
    }

    #[test]
    fn what_follows_a_release_in_the_same_step_is_not_published_by_it() {
        let mut races = RaceDetector::default();
        let unlock = Op::on(OpKind::Unlock, Access::Write, object(FLAG));
        let lock = Op::on(OpKind::Lock, Access::Write, object(FLAG)).ordered(MemoryOrder::Acquire);
        races.step(ThreadId(0), &unlock, Site(0));
        assert_eq!(races.local(ThreadId(0), LocalEvent::Write(object(X), Site(1))), None);
        races.step(ThreadId(1), &lock, Site(0));
        assert!(races.local(ThreadId(1), LocalEvent::Read(object(X), Site(2))).is_some());
    }

    /// Whether a read races with a write that another thread has published by the first operation, after the second.
    fn after(publish: Op, then: Op) -> bool {
        let mut races = RaceDetector::default();
        races.step(ThreadId(0), &Op::local(OpKind::Yield), Site(0));
        races.step(ThreadId(1), &Op::local(OpKind::Yield), Site(0));
        assert_eq!(races.local(ThreadId(0), LocalEvent::Write(object(X), Site(1))), None);
        races.step(ThreadId(0), &publish, Site(2));
        races.step(ThreadId(1), &then, Site(3));
        races.local(ThreadId(1), LocalEvent::Read(object(X), Site(4))).is_some()
    }

    #[test]
    fn only_a_token_that_is_taken_publishes() {
        let post = Op::on(OpKind::Unpark, Access::Write, object(FLAG)).ordered(MemoryOrder::Release);
        let taken = Op::on(OpKind::Park, Access::Write, object(FLAG)).ordered(MemoryOrder::Acquire);
        assert!(!after(post, taken));
        assert!(after(post, Op::on(OpKind::Park, Access::Read, object(FLAG))));
        assert!(after(post, Op { timed_out: true, ..taken }));
    }

    #[test]
    fn a_wait_that_runs_out_publishes_nothing() {
        for (publish, wait) in [
            (OpKind::End, OpKind::Join),
            (OpKind::Unlock, OpKind::Lock),
            (OpKind::Unlock, OpKind::ReadLock),
            (OpKind::Disconnect, OpKind::Receive),
        ] {
            let publish = Op::on(publish, Access::Write, object(FLAG));
            let wait = Op::on(wait, Access::Read, object(FLAG)).ordered(MemoryOrder::Acquire);
            assert!(!after(publish, wait), "{wait:?}");
            assert!(after(publish, Op { timed_out: true, ..wait }), "{wait:?}");
        }
        // But a thread that no longer waits on a condition variable has the mutex again.
        let unlock = Op::on(OpKind::Unlock, Access::Write, object(FLAG));
        let wake = Op::on(OpKind::Wake, Access::Write, object(FLAG + 1));
        assert!(!after(unlock, Op { also: Some(object(FLAG)), timed_out: true, ..wake }));
    }

    #[test]
    fn reads_do_not_race_with_reads_but_a_later_write_races_with_each() {
        let mut races = RaceDetector::default();
        for thread in 0..3 {
            races.step(ThreadId(thread), &Op::local(OpKind::Yield), Site(0));
        }
        assert_eq!(races.local(ThreadId(0), LocalEvent::Read(object(X), Site(1))), None);
        assert_eq!(races.local(ThreadId(1), LocalEvent::Read(object(X), Site(2))), None);
        let race = races.local(ThreadId(2), LocalEvent::Write(object(X), Site(3))).unwrap();
        assert!(!race.earlier_writes && race.later_writes);
        assert_eq!((race.earlier.site, race.later.site), (Site(1), Site(3)));
    }
}

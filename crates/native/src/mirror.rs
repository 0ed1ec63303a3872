//! What the controlling side knows of an execution: the threads and objects as the log tells of them.

use selvedge_core::{Access, MemoryOrder, ObjectId, Op, OpKind, ThreadId, ThreadSet};
use selvedge_stateless::Gate;

use crate::protocol::{self, access, object, order, test};

/// A thread of the program.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) object: u32,
    /// The address of its function.
    pub(crate) function: u64,
    pub(crate) name: Option<String>,
    pub(crate) pending: protocol::Op,
    pub(crate) gate: protocol::Gate,
    pub(crate) places: [u64; 3],
    pub(crate) signalled: bool,
    /// A wait of its has run out while the process was about to exit: no other will.
    pub(crate) late: bool,
    pub(crate) ended: bool,
}

/// An object of the program.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) kind: u8,
    pub(crate) word: u64,
    /// The thread that holds it, plus 1.
    pub(crate) holder: u32,
    pub(crate) address: u64,
    /// A condition variable was notified when nobody waited.
    pub(crate) missed: bool,
}

/// An execution as far as it has gone.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    pub(crate) threads: Vec<Thread>,
    pub(crate) objects: Vec<Object>,
    pub(crate) enabled: ThreadSet,
    pub(crate) waiting: ThreadSet,
    pub(crate) alive: usize,
    /// A thread has called `exit` or returned from `main`, and has done what is to be done then.
    pub(crate) exiting: bool,
}

impl Mirror {
    pub(crate) fn clear(&mut self) {
        self.threads.clear();
        self.objects.clear();
        self.enabled.clear();
        self.waiting.clear();
        self.alive = 0;
        self.exiting = false;
    }

    /// The state of an object changed: those who wait for it can go on or not.
    pub(crate) fn refresh(&mut self, object: u32) {
        for thread in 0..self.threads.len() {
            if self.threads[thread].gate.object == object + 1 {
                self.update(thread);
            }
        }
    }

    /// Works out anew whether a thread can go on, as the runtime does.
    pub(crate) fn update(&mut self, index: usize) {
        let thread = &self.threads[index];
        if thread.ended {
            return;
        }
        let gate = &thread.gate;
        let condition =
            match (gate.object as usize).checked_sub(1).and_then(|object| self.objects.get(object)) {
                Some(object) => gate.allows(object.word),
                None => true,
            };
        let open = gate.is_passed(condition, thread.signalled);
        let timed = !open && gate.timed && (!gate.needs_signal || condition);
        let rests = timed && thread.late;
        self.enabled.set(ThreadId(index as u32), (open || timed) && !rests);
        self.waiting.set(ThreadId(index as u32), timed && !rests);
    }

    pub(crate) fn end(&mut self, index: usize) {
        if std::mem::replace(&mut self.threads[index].ended, true) {
            return;
        }
        self.enabled.remove(ThreadId(index as u32));
        self.waiting.remove(ThreadId(index as u32));
        self.alive -= 1;
    }
}

/// The operations of the protocol, by their numbers.
const KINDS: [OpKind; 39] = [
    OpKind::Local,
    OpKind::End,
    OpKind::Join,
    OpKind::Lock,
    OpKind::TryLock,
    OpKind::Unlock,
    OpKind::ReadLock,
    OpKind::TryReadLock,
    OpKind::ReadUnlock,
    OpKind::Wait,
    OpKind::Wake,
    OpKind::NotifyOne,
    OpKind::NotifyAll,
    OpKind::Yield,
    OpKind::Sleep,
    OpKind::BarrierArrive,
    OpKind::BarrierPass,
    OpKind::OnceEnter,
    OpKind::OnceLeave,
    OpKind::Choose,
    // A semaphore is so many tokens.
    OpKind::Unpark,
    OpKind::Park,
    OpKind::IsFinished,
    OpKind::Load,
    OpKind::Store,
    OpKind::Rmw,
    OpKind::CompareExchange,
    OpKind::Read,
    OpKind::Write,
    // A request to end, destroying an object, and looking for a request.
    OpKind::Unpark,
    OpKind::RefCount,
    OpKind::IsFinished,
    OpKind::Local,
    // A signal of the system.
    OpKind::Park,
    OpKind::Unpark,
    // A call of `exit`, and detaching a thread: whoever comes too late may see what came before.
    OpKind::Unpark,
    OpKind::Unpark,
    // A look for signals of the system.
    OpKind::Park,
    // What is registered for the exit: whoever exits sees what came before.
    OpKind::Unpark,
];

fn id(plus_one: u32) -> Option<ObjectId> {
    plus_one.checked_sub(1).map(ObjectId::new)
}

/// An operation as the engine knows it.
pub(crate) fn engine_op(op: protocol::Op) -> Op {
    Op {
        kind: KINDS.get(usize::from(op.kind)).copied().unwrap_or_default(),
        access: match op.access {
            access::READ => Access::Read,
            access::WRITE => Access::Write,
            _ => Access::None,
        },
        order: engine_order(op.order),
        timed_out: op.timed_out,
        counted: false,
        object: id(op.object),
        also: id(op.also),
    }
}

pub(crate) fn engine_order(number: u8) -> MemoryOrder {
    match number {
        order::ACQUIRE => MemoryOrder::Acquire,
        order::RELEASE => MemoryOrder::Release,
        order::ACQ_REL => MemoryOrder::AcqRel,
        order::SEQ_CST => MemoryOrder::SeqCst,
        _ => MemoryOrder::Relaxed,
    }
}

/// A gate as the engine knows it.
pub(crate) fn engine_gate(gate: &protocol::Gate) -> Gate {
    let made = match (id(gate.object), gate.test) {
        (None, _) => Gate::OPEN,
        (Some(object), test::EQUAL) => Gate::clear(object, gate.mask),
        (Some(object), test::DIFFERENT) => Gate::set(object, gate.mask),
        (Some(object), test::ABOVE) => Gate::above(object, gate.mask, gate.value),
        (Some(object), _) => Gate::below(object, gate.mask, gate.value),
    };
    let made = if gate.needs_signal { made.and_signal() } else { made };
    let made = if gate.or_signal { made.or_signal() } else { made };
    made.timed(gate.timed)
}

/// What objects are called, and how many bytes they have in the program.
pub(crate) fn object_kind(kind: u8) -> (&'static str, u64) {
    match kind {
        object::MUTEX => ("mutex", 40),
        object::CONDVAR => ("condition variable", 48),
        object::RWLOCK => ("rwlock", 56),
        object::BARRIER => ("barrier", 32),
        object::SPINLOCK => ("spin lock", 4),
        object::SEMAPHORE => ("semaphore", 32),
        object::ONCE => ("once", 4),
        object::ATOMIC => ("atomic", 0),
        object::CELL => ("memory", 0),
        object::ATOMIC_SECTION => ("atomic section", 0),
        object::SPURIOUS_WAKEUPS => ("spurious wakeup", 0),
        object::SPURIOUS_FAILURES => ("spurious failure", 0),
        _ => ("thread", 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::op;

    #[test]
    fn operations_come_out_as_they_went_in() {
        let operation = protocol::Op {
            kind: op::WAKE,
            access: access::WRITE,
            order: order::SEQ_CST,
            timed_out: true,
            object: 1 << 20,
            also: 3,
        };
        assert_eq!(protocol::Op::unpack(operation.pack()), operation);
        let same = engine_op(operation);
        assert_eq!((same.kind, same.access, same.order), (OpKind::Wake, Access::Write, MemoryOrder::SeqCst));
        assert_eq!((same.object, same.also), (Some(ObjectId::new((1 << 20) - 1)), Some(ObjectId::new(2))));
    }

    #[test]
    fn gates_come_out_as_they_went_in() {
        let gate = protocol::Gate::above(7, 0xFF, 3);
        let gate = protocol::Gate { needs_signal: true, or_signal: true, timed: true, ..gate };
        assert_eq!(protocol::Gate::unpack(gate.pack(), gate.mask, gate.value), gate);
        for word in 0..6 {
            let allowed = gate.allows(word);
            assert_eq!(engine_gate(&gate).allows(word), allowed);
            for signalled in [false, true] {
                let passed = gate.is_passed(allowed, signalled);
                assert_eq!(engine_gate(&gate).is_passed(allowed, signalled), passed);
            }
        }
    }

    #[test]
    fn kinds_are_listed_in_the_order_of_their_numbers() {
        for (number, kind) in [
            (op::LOCAL, OpKind::Local),
            (op::WAKE, OpKind::Wake),
            (op::SLEEP, OpKind::Sleep),
            (op::ONCE_LEAVE, OpKind::OnceLeave),
            (op::TAKE, OpKind::Park),
            (op::WRITE, OpKind::Write),
            (op::DESTROY, OpKind::RefCount),
            (op::TEST_CANCEL, OpKind::IsFinished),
            (op::DETACH, OpKind::Unpark),
            (op::SIGNAL_LOOK, OpKind::Park),
            (op::AT_EXIT, OpKind::Unpark),
        ] {
            assert_eq!(KINDS[usize::from(number)], kind);
        }
    }
}

//! Steps and waits in words.

use selvedge_stateless::Description;

use crate::mirror::{Mirror, object_kind};
use crate::protocol::{Op, access, note, object, op};
use crate::symbols::Symbols;

/// What is needed to put an execution into words.
pub(crate) struct Words<'a> {
    pub(crate) mirror: &'a Mirror,
    pub(crate) symbols: &'a Symbols,
}

impl Words<'_> {
    /// The name of a thread: what the program calls it, or its function.
    pub(crate) fn thread(&self, index: usize) -> String {
        let Some(thread) = self.mirror.threads.get(index) else { return format!("thread {index}") };
        if let Some(name) = &thread.name {
            return name.clone();
        }
        if index == 0 {
            return "main".into();
        }
        match self.symbols.function(thread.function) {
            // What libstdc++ starts a std::thread with says nothing.
            Some(name) if !name.starts_with("execute_native_thread_routine") => format!("{name} {index}"),
            _ => format!("thread {index}"),
        }
    }

    /// The name of an object, with its kind: `mutex lock`, `mutex #2`.
    pub(crate) fn object(&self, index: usize) -> String {
        let Some(state) = self.mirror.objects.get(index) else { return "something".into() };
        let (kind, size) = object_kind(state.kind);
        if state.kind == object::THREAD {
            let owner = self.mirror.threads.iter().position(|thread| thread.object as usize == index);
            return owner.map_or_else(|| "a thread".into(), |owner| self.thread(owner));
        }
        if state.kind == object::PROCESS {
            return "the process".into();
        }
        if state.kind == object::NAMES {
            return "the names of semaphores".into();
        }
        if let object::SPURIOUS_WAKEUPS | object::SPURIOUS_FAILURES = state.kind {
            return format!("a {kind}");
        }
        match self.symbols.variable(state.address, size) {
            Some(name) => format!("{kind} {name}"),
            None => {
                let before = self.mirror.objects[..index].iter();
                format!("{kind} #{}", before.filter(|other| other.kind == state.kind).count())
            }
        }
    }

    fn named(&self, plus_one: u32) -> String {
        match plus_one.checked_sub(1) {
            Some(index) => self.object(index as usize),
            None => String::new(),
        }
    }

    /// An operation as something that is done: `lock mutex a`.
    fn action(&self, operation: &Op) -> String {
        let name = self.named(operation.object);
        let also = self.named(operation.also);
        match operation.kind {
            op::LOCAL => "start".into(),
            op::END => "end".into(),
            op::JOIN => format!("join {name}"),
            op::LOCK => format!("lock {name}"),
            op::TRY_LOCK => format!("try to lock {name}"),
            op::UNLOCK => format!("unlock {name}"),
            op::READ_LOCK => format!("read-lock {name}"),
            op::TRY_READ_LOCK => format!("try to read-lock {name}"),
            op::READ_UNLOCK => format!("read-unlock {name}"),
            // A futex has no mutex.
            op::WAIT if operation.also == 0 => format!("wait on {name}"),
            op::WAIT => format!("wait on {name}, unlocking {also}"),
            op::WAKE if operation.access == access::NONE => format!("wake spuriously from {name}"),
            op::WAKE if !self.locks(operation) => format!("wake from {name}"),
            op::WAKE => format!("wake from {name}, locking {also}"),
            op::NOTIFY_ONE => format!("signal {name}"),
            op::NOTIFY_ALL => format!("broadcast {name}"),
            op::YIELD => "yield".into(),
            op::SLEEP => "sleep".into(),
            op::BARRIER_ARRIVE => format!("arrive at {name}"),
            op::BARRIER_PASS => format!("go on from {name}"),
            op::ONCE_ENTER => format!("enter {name}"),
            op::ONCE_LEAVE => format!("complete {name}"),
            op::CHOOSE if operation.object != 0 => format!("decide whether there is {name}"),
            op::CHOOSE => "choose".into(),
            op::POST => format!("post {name}"),
            op::TAKE => format!("take {name}"),
            op::IS_FINISHED => format!("ask whether {name} has ended"),
            op::LOAD => format!("load {name}"),
            op::STORE => format!("store {name}"),
            op::RMW | op::COMPARE_EXCHANGE => format!("update {name}"),
            op::READ => format!("read {name}"),
            op::WRITE => format!("write {name}"),
            op::CANCEL => format!("cancel {name}"),
            op::DESTROY => format!("destroy {name}"),
            op::ASSUME => "assume what is not so".into(),
            op::SIGNAL_WAIT => "wait for a signal of the system".into(),
            op::SIGNAL_LOOK => "look for a signal of the system".into(),
            op::KILL => format!("send a signal to {name}"),
            op::EXIT => "exit".into(),
            op::AT_EXIT => "register what is to be done at the exit".into(),
            op::DETACH => format!("detach {name}"),
            op::TEST_CANCEL => "look whether it is cancelled".into(),
            _ => "go on".into(),
        }
    }

    /// Whether to wake up is to lock a mutex too: a futex has none, and where threads are cancelled it is locked later.
    fn locks(&self, operation: &Op) -> bool {
        self.is_of_kind(operation.also, object::MUTEX)
    }

    fn is_condvar(&self, operation: &Op) -> bool {
        self.is_of_kind(operation.object, object::CONDVAR)
    }

    fn is_of_kind(&self, plus_one: u32, kind: u8) -> bool {
        let place = (plus_one as usize).checked_sub(1);
        place.and_then(|object| self.mirror.objects.get(object)).is_some_and(|object| object.kind == kind)
    }

    /// A step that was taken.
    pub(crate) fn step(&self, step: &Step) -> Description {
        let mut text = self.action(&step.operation);
        if step.operation.timed_out {
            text.push_str(" (timed out)");
        }
        let value = match step.note {
            note::TAKEN => Some("taken".to_string()),
            note::BUSY if step.operation.kind == op::TAKE => Some("it is 0".into()),
            note::BUSY if step.operation.kind == op::IS_FINISHED => Some("it has not".into()),
            note::BUSY => Some("it is taken".into()),
            note::NOBODY_WAITS => Some("nobody waits".into()),
            note::LAST => Some("the last: all go on".into()),
            note::DONE => Some("it is done".into()),
            note::NUMBER => Some(step.numbers[0].to_string()),
            note::SIGNED => Some(step.numbers[0].cast_signed().to_string()),
            note::OWNER_DIED => Some("its owner has ended".into()),
            note::CANCELLED => Some("cancelled".into()),
            note::WAITS => Some("it waits in a loop".into()),
            note::NO => Some("no".into()),
            note::YES => Some("yes".into()),
            note::NO_MORE => Some("no, it may have no more".into()),
            note::CHANGED => Some(format!("{} -> {}", step.numbers[0], step.numbers[1])),
            _ => None,
        };
        if step.spawned.is_empty() {
            return Description { text, value, location: self.symbols.location(&step.places) };
        }
        // The value is the operation's, and not that of what comes after it.
        if let Some(value) = value {
            text.push_str(&format!(": {value}"));
        }
        let names: Vec<_> = step.spawned.iter().map(|thread| self.thread(*thread)).collect();
        text.push_str(&format!(", then create {}", names.join(", ")));
        Description { text, value: None, location: self.symbols.location(&step.places) }
    }

    /// Why a thread cannot go on; empty if it has ended.
    pub(crate) fn why_blocked(&self, index: usize) -> Description {
        let thread = &self.mirror.threads[index];
        if thread.ended {
            return Description::default();
        }
        let operation = &thread.pending;
        let holder = |plus_one: u32| {
            let state = (plus_one as usize).checked_sub(1).and_then(|object| self.mirror.objects.get(object));
            match state.map_or(0, |object| object.holder as usize) {
                0 => String::new(),
                holder if holder - 1 == index => ", which it holds itself".to_string(),
                holder => format!(", held by {}", self.thread(holder - 1)),
            }
        };
        let name = self.named(operation.object);
        let text = match operation.kind {
            op::WAKE if !self.locks(operation) && !self.is_condvar(operation) => {
                format!("waits on {name} to be woken, and no thread is left that could")
            }
            op::WAKE if !thread.signalled => format!(
                "waits on {name} to be signalled, and no thread is left that could: a signal that came before the \
                 wait, or that woke another, is lost to it"
            ),
            op::WAKE => format!(
                "was signalled on {name} and waits to lock {}{}",
                self.named(operation.also),
                holder(operation.also)
            ),
            op::JOIN => format!("waits for {name} to end"),
            op::BARRIER_PASS => format!("waits at {name} for the other threads"),
            op::SIGNAL_WAIT => {
                "waits for a signal of the system, and no thread is left that could send it".into()
            }
            op::TAKE => format!("waits for {name} to be posted"),
            _ => format!("waits to {}{}", self.action(operation), holder(operation.object)),
        };
        Description { text, value: None, location: self.symbols.location(&thread.places) }
    }
}

/// What the last step did.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) operation: Op,
    pub(crate) note: u64,
    pub(crate) numbers: [u64; 2],
    pub(crate) places: [u64; 3],
    /// The threads that it created.
    pub(crate) spawned: Vec<usize>,
}

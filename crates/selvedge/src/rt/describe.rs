//! Steps and waits in words.

use selvedge_core::{Access, ObjectId, Op, OpKind, ThreadId};
use selvedge_stateless::Description;

use super::{ObjectKind, Runtime, source};
use crate::sync::rwlock;

/// The values that an operation was about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Value {
    #[default]
    None,
    /// It read this.
    Read(Bits),
    /// It wrote this.
    Wrote(Bits),
    /// It found the first and left the second.
    Changed(Bits, Bits),
    /// A word about how it went.
    Note(&'static str),
    /// It chose this, or counted so many.
    Number(u64),
}

/// A value of an atomic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    pub(crate) raw: u64,
    pub(crate) show: Show,
}

/// How the bits are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    Unsigned,
    Signed,
    Bool,
    Pointer,
}

impl std::fmt::Display for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.show {
            Show::Unsigned => self.raw.fmt(f),
            Show::Signed => self.raw.cast_signed().fmt(f),
            Show::Bool => (self.raw != 0).fmt(f),
            Show::Pointer if self.raw == 0 => f.write_str("null"),
            Show::Pointer => f.write_str("non-null"),
        }
    }
}

impl Value {
    fn words(self) -> Option<String> {
        match self {
            Value::None => None,
            Value::Read(bits) => Some(bits.to_string()),
            Value::Wrote(bits) => Some(format!("{bits}")),
            Value::Changed(old, new) => Some(format!("{old} -> {new}")),
            Value::Note(note) => Some(note.to_string()),
            Value::Number(number) => Some(number.to_string()),
        }
    }
}

pub(crate) fn location(place: &std::panic::Location<'_>) -> selvedge_core::Location {
    selvedge_core::Location {
        file: place.file().to_string(),
        line: place.line(),
        column: Some(place.column()),
    }
}

/// Finds out what the source calls the object that the last step was on, when that is its first.
pub(crate) fn learn_name(runtime: &mut Runtime) {
    let (Some(id), Some(place)) = (runtime.performed.object, runtime.site) else { return };
    let is_named = matches!(
        runtime.objects[id.index()].kind,
        ObjectKind::Atomic
            | ObjectKind::Mutex
            | ObjectKind::RwLock
            | ObjectKind::Condvar
            | ObjectKind::Barrier
            | ObjectKind::Once
    );
    if !is_named || runtime.names.iter().any(|(named, _)| *named == id) {
        return;
    }
    let Some(name) = source::receiver(place) else { return };
    let is_taken = |name: &str| runtime.names.iter().any(|(_, other)| other == name);
    let unique = match is_taken(&name) {
        false => name,
        true => (2..).map(|number| format!("{name} #{number}")).find(|name| !is_taken(name)).unwrap_or(name),
    };
    runtime.names.push((id, unique));
}

/// The name of an object in a step, which tells its kind: only what the source calls it, where that is known.
fn short(runtime: &Runtime, id: ObjectId) -> String {
    let name = runtime.names.iter().find(|(named, _)| *named == id);
    name.map_or_else(|| object(runtime, id), |(_, name)| name.clone())
}

/// The name of an object: its kind, and what the source calls it or else how many of that kind were touched
/// before it.
pub(crate) fn object(runtime: &Runtime, object: ObjectId) -> String {
    if let Some((_, name)) = runtime.names.iter().find(|(named, _)| *named == object) {
        return format!("{} {name}", runtime.objects[object.index()].kind.name());
    }
    let kind = runtime.objects[object.index()].kind;
    match kind {
        ObjectKind::Thread | ObjectKind::ParkToken => {
            let owner = runtime
                .threads
                .iter()
                .enumerate()
                .find(|(_, thread)| thread.object == object || thread.park_token == Some(object));
            let owner = owner.map_or_else(|| "a thread".into(), |(index, thread)| thread.label(index));
            if kind == ObjectKind::Thread { owner } else { format!("the park token of {owner}") }
        }
        ObjectKind::SpuriousWakeups | ObjectKind::SpuriousFailures => format!("a {}", kind.name()),
        _ => {
            let before = runtime.objects[..object.index()].iter();
            let number = before.filter(|other| other.kind == kind).count();
            format!("{} #{number}", kind.name())
        }
    }
}

fn kind(runtime: &Runtime, op: &Op) -> Option<ObjectKind> {
    op.object.map(|object| runtime.objects[object.index()].kind)
}

/// Whether the operation is about a future's waker rather than a thread's park token.
fn is_waker(runtime: &Runtime, op: &Op) -> bool {
    kind(runtime, op) == Some(ObjectKind::Waker)
}

/// An operation in words, as something that is done: `lock mutex #1`.
fn action(runtime: &Runtime, op: &Op, called: fn(&Runtime, ObjectId) -> String) -> String {
    let name = op.object.map_or_else(String::new, |id| called(runtime, id));
    let also = op.also.map_or_else(String::new, |id| called(runtime, id));
    match op.kind {
        OpKind::Local => "start".into(),
        OpKind::End => "end".into(),
        OpKind::Join => format!("join {name}"),
        OpKind::IsFinished => format!("ask whether {name} has ended"),
        OpKind::Load => format!("load {name}"),
        OpKind::Store => format!("store {name}"),
        OpKind::Rmw | OpKind::CompareExchange => format!("update {name}"),
        OpKind::Read => format!("read {name}"),
        OpKind::Write => format!("write {name}"),
        OpKind::Lock => format!("lock {name}"),
        OpKind::TryLock => format!("try to lock {name}"),
        OpKind::Unlock => format!("unlock {name}"),
        OpKind::ReadLock => format!("read-lock {name}"),
        OpKind::TryReadLock => format!("try to read-lock {name}"),
        OpKind::ReadUnlock => format!("read-unlock {name}"),
        OpKind::Wait => format!("wait on {name}, unlocking {also}"),
        OpKind::Wake if op.access == Access::None => format!("wake spuriously from {name}"),
        OpKind::Wake if op.also.is_none() => format!("wake from {name}"),
        OpKind::Wake => format!("wake from {name}, locking {also}"),
        OpKind::NotifyOne => format!("notify one on {name}"),
        OpKind::NotifyAll => format!("notify all on {name}"),
        OpKind::Park | OpKind::Yield if is_waker(runtime, op) => format!("poll a future, woken by {name}"),
        OpKind::Park if op.access == Access::None => "park, and return spuriously".into(),
        OpKind::Park => "park".into(),
        OpKind::Unpark if is_waker(runtime, op) => format!("wake {name}"),
        OpKind::Unpark if kind(runtime, op) == Some(ObjectKind::Task) => format!("complete {name}"),
        OpKind::Unpark if kind(runtime, op) == Some(ObjectKind::Thread) => "return from the closure".into(),
        OpKind::Unpark => format!("set {name}"),
        OpKind::Yield => "yield".into(),
        OpKind::SpinLoop => "spin".into(),
        OpKind::Sleep => "sleep".into(),
        OpKind::Send => format!("send on {name}"),
        OpKind::Receive => format!("receive from {name}"),
        OpKind::Disconnect => format!("drop an end of {name}"),
        OpKind::BarrierArrive => format!("arrive at {name}"),
        OpKind::BarrierPass => format!("go on from {name}"),
        OpKind::OnceEnter => format!("enter {name}"),
        OpKind::OnceLeave => format!("complete {name}"),
        OpKind::Choose if op.object.is_some() => format!("decide whether there is {name}"),
        OpKind::Choose => "choose".into(),
        OpKind::RefCount => format!("count references of {name}"),
    }
}

/// What the last step did.
pub(crate) fn step(runtime: &Runtime) -> Description {
    let mut text = action(runtime, &runtime.performed, short);
    if runtime.performed.timed_out {
        text.push_str(" (timed out)");
    }
    if runtime.spawned > 0 {
        let count = runtime.threads.len();
        let names: Vec<_> = (count - runtime.spawned as usize..count)
            .map(|index| runtime.threads[index].label(index))
            .collect();
        text.push_str(&format!(", then spawn {}", names.join(", ")));
    }
    let mut value = runtime.value.words();
    if let Some(thread) = runtime.panics {
        let panics = match thread == runtime.current {
            true => "then panics".to_string(),
            false => format!("then {} panics", runtime.threads[thread.index()].label(thread.index())),
        };
        // It comes last: after the value, where there is one.
        let end = value.as_mut().unwrap_or(&mut text);
        end.push_str(&format!(", {panics}"));
    }
    Description { text, value, location: runtime.site.map(location) }
}

/// Why a thread cannot go on; empty if it has ended.
pub(crate) fn why_blocked(runtime: &Runtime, thread: ThreadId) -> Description {
    let state = &runtime.threads[thread.index()];
    if state.ended {
        return Description::default();
    }
    let op = &state.pending;
    let holder = |id: Option<ObjectId>| {
        let holder = id.and_then(|id| runtime.objects[id.index()].holder);
        match holder {
            Some(holder) if holder == thread => ", which it holds itself".to_string(),
            Some(holder) => {
                format!(", held by {}", runtime.threads[holder.index()].label(holder.index()))
            }
            None => String::new(),
        }
    };
    let name = op.object.map_or_else(String::new, |id| object(runtime, id));
    let word = op.object.map_or(0, |id| runtime.objects[id.index()].word);
    let text = match op.kind {
        OpKind::Wake if !state.signalled => format!(
            "waits on {name} to be notified, and no thread is left that could: a notification that came \
             before the wait, or that woke another, is lost to it"
        ),
        OpKind::Wake => {
            let mutex = op.also.map_or_else(String::new, |id| object(runtime, id));
            format!("was notified on {name} and waits to lock {mutex}{}", holder(op.also))
        }
        OpKind::Join => format!("waits for {name} to end"),
        OpKind::Park if is_waker(runtime, op) => format!(
            "polled a future that is pending, and no thread is left that could wake it through {name}: a wake \
             that came before the future kept its waker is lost"
        ),
        OpKind::Park => "is parked, and no thread is left that could unpark it".into(),
        OpKind::Receive => {
            format!("waits to receive from {name}: a sender is alive, but no thread is left that could send")
        }
        OpKind::Send if op.access == Access::Read => {
            format!("waits for its message on {name} to be received, and no thread is left that could")
        }
        OpKind::Send => format!("waits for room in {name}"),
        OpKind::ReadLock if word & rwlock::WRITER == 0 => {
            format!("waits to read-lock {name} behind a writer, which waits for its readers to leave")
        }
        OpKind::BarrierPass => format!("waits at {name} for the other threads"),
        _ => format!("waits to {}{}", action(runtime, op, object), holder(op.object)),
    };
    Description { text, value: None, location: state.site.map(location) }
}

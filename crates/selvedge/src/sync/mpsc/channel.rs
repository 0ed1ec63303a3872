//! A channel of a check: one object, whose operations are single steps.
//!
//! A channel without room ("rendezvous") needs a step more where a thread has to wait: whether a sender or
//! the receiver has arrived is something that `try_recv` and `try_send` of others can see, so arriving is a
//! step of its own. A sender that comes to a waiting receiver hands its message over and goes on at once;
//! one that does not leaves an offer and goes on when that is taken.

use std::collections::VecDeque;
use std::panic::Location;
use std::sync::mpsc::{RecvTimeoutError, TrySendError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use selvedge_core::{Access, MemoryOrder, ObjectId, Op, OpKind, ThreadId};
use selvedge_stateless::LocalEvent;

use crate::rt::{self, Gate, Handle, ObjectKind, ObjectSlot, Value};

/// The object's word: how many messages there are, and whether the senders are gone.
const LENGTH: u64 = u32::MAX as u64;
const NO_SENDERS: u64 = 1 << 32;

type Site = &'static Location<'static>;

pub(super) struct Channel<T> {
    slot: ObjectSlot,
    /// Stands for the number of senders: whoever drops the last comes after all that dropped others.
    senders: ObjectSlot,
    /// How many messages it has room for; `None` for any number.
    room: Option<usize>,
    /// Only locked for a moment, never across a scheduling point or code of the program.
    state: Mutex<State<T>>,
}

struct State<T> {
    messages: VecDeque<Message<T>>,
    senders: usize,
    senders_gone: bool,
    receiver_gone: bool,
    /// In a rendezvous, the receiver has arrived and found nothing.
    receiver_waits: bool,
}

struct Message<T> {
    value: T,
    /// In a rendezvous, the sender that waits for it to be taken.
    offered_by: Option<ThreadId>,
}

/// What came of putting a message into a channel.
enum Put<T> {
    Done,
    /// It waits to be taken by a receiver that has yet to come.
    Offered,
    Full(T),
    Gone(T),
}

/// Whether a receive waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    No,
    AtMost(Duration),
    Forever,
}

impl<T> State<T> {
    fn word(&self) -> u64 {
        self.messages.len() as u64 | if self.senders_gone { NO_SENDERS } else { 0 }
    }

    /// Puts a message in if there is room; in a rendezvous, an offer by this thread if there is nobody to
    /// hand it to.
    fn put(&mut self, value: T, room: Option<usize>, offer: Option<ThreadId>) -> Put<T> {
        if self.receiver_gone {
            return Put::Gone(value);
        }
        let handed = std::mem::take(&mut self.receiver_waits);
        let (offered_by, put) = match room {
            Some(0) if handed => (None, Put::Done),
            Some(0) if offer.is_some() => (offer, Put::Offered),
            Some(room) if self.messages.len() >= room => return Put::Full(value),
            _ => (None, Put::Done),
        };
        self.messages.push_back(Message { value, offered_by });
        put
    }
}

impl<T> Channel<T> {
    /// A channel with one sender and its receiver.
    pub(super) fn new(handle: Handle, room: Option<usize>) -> Self {
        let state = State {
            messages: VecDeque::new(),
            senders: 1,
            senders_gone: false,
            receiver_gone: false,
            receiver_waits: false,
        };
        let (slot, senders) = (ObjectSlot::new(), ObjectSlot::new());
        handle.get().object(&slot, ObjectKind::Channel, state.word());
        Channel { slot, senders, room, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn object(&self, handle: Handle) -> ObjectId {
        let runtime = handle.get();
        match self.slot.get(runtime.stamp) {
            Some(channel) => channel,
            None => runtime.object(&self.slot, ObjectKind::Channel, self.lock().word()),
        }
    }

    /// Sends a message. A send that waits is never told that the channel is full, unless its check is over.
    pub(super) fn send(&self, value: T, waits: bool, site: Site) -> Result<(), TrySendError<T>> {
        let Some(handle) = rt::current() else {
            return match self.lock().put(value, self.room, None) {
                Put::Full(value) => Err(TrySendError::Full(value)),
                Put::Gone(value) => Err(TrySendError::Disconnected(value)),
                _ => Ok(()),
            };
        };
        let channel = self.object(handle);
        let op = Op::on(OpKind::Send, Access::Write, channel);
        match self.room {
            Some(room) if room > 0 && waits => {
                // When the receiver goes the messages go too, and there is room.
                let op = op.ordered(MemoryOrder::AcqRel);
                handle.visible_when(op, Gate::below(channel, LENGTH, room as u64), site);
            }
            Some(room) if room > 0 => handle.visible(op.ordered(MemoryOrder::AcqRel), site),
            _ => handle.visible(op, site),
        }
        let runtime = handle.get();
        let current = runtime.current;
        let mut state = self.lock();
        let put = state.put(value, self.room, waits.then_some(current));
        runtime.set_word(channel, state.word());
        drop(state);
        match put {
            Put::Done => {
                if self.room == Some(0) {
                    runtime.event(LocalEvent::Acquire(channel));
                }
                Ok(())
            }
            Put::Offered => {
                runtime.value = Value::Note("offered");
                self.wait_until_taken(handle, channel, site)
            }
            Put::Full(value) => {
                runtime.performs(Access::Read);
                runtime.performed.order = MemoryOrder::Relaxed;
                runtime.value =
                    Value::Note(if self.room == Some(0) { "nobody receives" } else { "there is no room" });
                Err(TrySendError::Full(value))
            }
            Put::Gone(value) => {
                runtime.performs(Access::Read);
                runtime.event(LocalEvent::Acquire(channel));
                runtime.value = Value::Note("the receiver is gone");
                Err(TrySendError::Disconnected(value))
            }
        }
    }

    /// Waits until the offer that this thread has made is taken; takes it back if the receiver goes.
    fn wait_until_taken(&self, handle: Handle, channel: ObjectId, site: Site) -> Result<(), TrySendError<T>> {
        let op = Op::on(OpKind::Send, Access::Read, channel);
        handle.visible_when(op, Gate::clear(channel, 0).and_signal(), site);
        let runtime = handle.get();
        let current = runtime.current;
        runtime.event(LocalEvent::Acquire(channel));
        let mut state = self.lock();
        let own = state.messages.iter().position(|message| message.offered_by == Some(current));
        match own.and_then(|index| state.messages.remove(index)) {
            Some(message) => {
                runtime.value = Value::Note("the receiver is gone");
                Err(TrySendError::Disconnected(message.value))
            }
            None => {
                runtime.value = Value::Note("taken");
                Ok(())
            }
        }
    }

    /// Receives a message. Without one, says whether there is none now or never will be.
    pub(super) fn receive(&self, wait: Wait, site: Site) -> Result<T, RecvTimeoutError> {
        let Some(handle) = rt::current() else {
            let mut state = self.lock();
            let nothing =
                if state.senders_gone { RecvTimeoutError::Disconnected } else { RecvTimeoutError::Timeout };
            return state.messages.pop_front().map(|message| message.value).ok_or(nothing);
        };
        let channel = self.object(handle);
        let op = Op::on(OpKind::Receive, Access::Write, channel);
        let deadline = match wait {
            Wait::AtMost(limit) => handle.get().now().saturating_add(limit),
            _ => Duration::ZERO,
        };
        let arrives = self.room == Some(0);
        if arrives || wait == Wait::No {
            handle.visible(op, site);
        }
        let waits = wait != Wait::No && (!arrives || self.arrive(handle, channel));
        let timed = matches!(wait, Wait::AtMost(_));
        let gate = Gate::set(channel, LENGTH | NO_SENDERS).timed(timed);
        if waits && handle.visible_when(op, gate, site) {
            handle.get().pass_time(deadline);
        }
        self.take(handle, channel)
    }

    /// In a rendezvous, notes that the receiver waits, if it must.
    fn arrive(&self, handle: Handle, channel: ObjectId) -> bool {
        let mut state = self.lock();
        if !state.messages.is_empty() || state.senders_gone {
            return false;
        }
        state.receiver_waits = true;
        let runtime = handle.get();
        runtime.event(LocalEvent::Release(channel));
        runtime.value = Value::Note("nothing there yet");
        true
    }

    /// Takes the first message out, if there is one.
    fn take(&self, handle: Handle, channel: ObjectId) -> Result<T, RecvTimeoutError> {
        let mut state = self.lock();
        let waited = std::mem::take(&mut state.receiver_waits);
        let message = state.messages.pop_front();
        let runtime = handle.get();
        runtime.set_word(channel, state.word());
        let Some(message) = message else {
            runtime.performs(if waited { Access::Write } else { Access::Read });
            let (nothing, note) = if state.senders_gone {
                (RecvTimeoutError::Disconnected, "all senders are gone")
            } else {
                (RecvTimeoutError::Timeout, "nothing there")
            };
            runtime.value = Value::Note(note);
            return Err(nothing);
        };
        if self.room == Some(0) {
            runtime.event(LocalEvent::Release(channel));
        }
        if let Some(sender) = message.offered_by {
            runtime.threads[sender.index()].signalled = true;
            runtime.update(sender);
        }
        Ok(message.value)
    }

    pub(super) fn add_sender(&self) {
        self.lock().senders += 1;
    }

    /// Drops a sender. The last disconnects the channel; until it is known which that is, the order of all
    /// drops matters.
    pub(super) fn drop_sender(&self, site: Site) {
        let Some(handle) = rt::current() else {
            let mut state = self.lock();
            state.senders -= 1;
            state.senders_gone = state.senders == 0;
            return;
        };
        let channel = self.object(handle);
        let senders = handle.get().object(&self.senders, ObjectKind::Senders, 0);
        let last = Op { also: Some(senders), ..Op::on(OpKind::Disconnect, Access::Write, channel) };
        handle.visible(last, site);
        let mut state = self.lock();
        state.senders -= 1;
        let runtime = handle.get();
        if state.senders > 0 {
            runtime.performs_instead(Op::on(OpKind::Disconnect, Access::Write, senders));
            runtime.value = Value::Note("there are others");
            return;
        }
        state.senders_gone = true;
        runtime.set_word(channel, state.word());
    }

    pub(super) fn drop_receiver(&self, site: Site) {
        let handle = rt::current();
        if let Some(handle) = handle {
            handle.visible(Op::on(OpKind::Disconnect, Access::Write, self.object(handle)), site);
        }
        let mut state = self.lock();
        state.receiver_gone = true;
        // Messages are dropped; offers go back to those who made them.
        let messages = std::mem::take(&mut state.messages);
        let (offers, dropped): (_, VecDeque<_>) =
            messages.into_iter().partition(|message| message.offered_by.is_some());
        state.messages = offers;
        if let Some(handle) = handle {
            let channel = self.object(handle);
            let runtime = handle.get();
            for sender in state.messages.iter().filter_map(|message| message.offered_by) {
                if let Some(thread) = runtime.threads.get_mut(sender.index()) {
                    thread.signalled = true;
                }
            }
            runtime.set_word(channel, state.word());
        }
        drop(state);
        // Last, because the messages' destructors are code of the program.
        drop(dropped);
    }
}

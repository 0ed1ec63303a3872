//! Channels between the vertices of a data-flow graph: a writer fills buffers, a few workers read them.
//!
//! After the channel library of Dryad among the programs of Musuvathi and Qadeer's *Iterative Context Bounding*
//! (PLDI 2007, section 4.3 and Figure 4). The messages for the workers go through a bounded queue in shared
//! memory. Closing the channel sends STOP to each worker, which tells the application and ends.

//@ one-condvar: violated, deadlock, 0 preemptions
//@ close-and-delete: violated, panic, 1 preemption, 7 switches
//@ close-and-delete at 0: 8664 executions, 8664 orders, 303821 states
//@ decrement-then-test: violated, panic, 1 preemption
//@ decrement-then-test at 0: 98 executions, 98 orders, 3535 states
//@ fixed: holds, 2 preemptions
//@ fixed at 0: 98 executions, 98 orders, 3479 states
//@ fixed at 1: 1170 executions, 1170 orders, 35333 states
//@ fixed at 2: 6032 executions, 6032 orders, 163077 states
//@ fixed-full-queue: holds, 2 preemptions
//@ fixed-full-queue at 0: 224 executions, 224 orders, 8380 states
//@ fixed-full-queue at 1: 2592 executions, 2592 orders, 79416 states
//@ fixed-full-queue at 2: 12928 executions, 12928 orders, 352044 states

use std::collections::VecDeque;

use selvedge::sync::atomic::{AtomicU32, Ordering::SeqCst};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::thread::JoinHandle;
use selvedge_corpus::{Allocation, Variant, start};

/// What may be wrong with a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    /// Those who wait for a message and those who wait for room wait on one condition variable, and one of
    /// them is notified. When that is one who cannot go on, the one who could sleeps for ever.
    OneCondvar,
    /// Figure 4. Closing the channel waits until each worker has taken its STOP, and the application deletes
    /// the channel then, as if the workers were done. But a worker still has to tell the application, for
    /// which it enters the channel's critical section. The application should have stopped the queue first.
    CloseAndDelete,
    /// A reader of a buffer counts itself out, and then looks whether it was the last. Two that have both
    /// counted themselves out both find that, and both free the buffer.
    DecrementThenTest,
}

/// A buffer, which is read in parts. Whoever is done with the last part frees it.
struct Buffer {
    bug: Bug,
    memory: Allocation,
    unread_parts: AtomicU32,
}

const PARTS: u32 = 2;

impl Buffer {
    fn new(bug: Bug) -> Arc<Self> {
        let unread_parts = AtomicU32::new(PARTS);
        Arc::new(Buffer { bug, memory: Allocation::new("a buffer"), unread_parts })
    }

    fn read_part(&self) {
        self.memory.touch();
        let was_last = if self.bug == Bug::DecrementThenTest {
            self.unread_parts.fetch_sub(1, SeqCst);
            self.unread_parts.load(SeqCst) == 0
        } else {
            self.unread_parts.fetch_sub(1, SeqCst) == 1
        };
        if was_last {
            self.memory.free();
        }
    }
}

enum Message {
    Part(Arc<Buffer>),
    Stop,
}

/// The messages for the workers.
struct WorkQueue {
    bug: Bug,
    capacity: usize,
    messages: Mutex<VecDeque<Message>>,
    not_empty: Condvar,
    not_full: Condvar,
}

impl WorkQueue {
    fn new(bug: Bug, capacity: usize) -> Arc<Self> {
        Arc::new(WorkQueue {
            bug,
            capacity,
            messages: Mutex::default(),
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
        })
    }

    /// What those wait on who wait for room.
    fn room(&self) -> &Condvar {
        if self.bug == Bug::OneCondvar { &self.not_empty } else { &self.not_full }
    }

    fn send(&self, message: Message) {
        let messages = self.messages.lock().unwrap();
        let mut messages = self.room().wait_while(messages, |queue| queue.len() == self.capacity).unwrap();
        messages.push_back(message);
        self.not_empty.notify_one();
    }

    fn receive(&self) -> Message {
        let messages = self.messages.lock().unwrap();
        let mut messages = self.not_empty.wait_while(messages, |queue| queue.is_empty()).unwrap();
        let message = messages.pop_front().expect("the wait ends when there is a message");
        self.room().notify_one();
        message
    }
}

/// The reading end of a channel.
struct ChannelReader {
    memory: Allocation,
    queue: Arc<WorkQueue>,
    workers: u32,
    /// Workers that have not taken their STOP.
    receiving: Mutex<u32>,
    all_stopped: Condvar,
    /// Called when a worker stops; the lock is Dryad's `m_baseCS`.
    interrupt_handler: Mutex<Option<fn()>>,
}

impl ChannelReader {
    fn new(queue: Arc<WorkQueue>, workers: u32) -> Arc<Self> {
        Arc::new(ChannelReader {
            memory: Allocation::new("the channel"),
            queue,
            workers,
            receiving: Mutex::new(workers),
            all_stopped: Condvar::new(),
            interrupt_handler: Mutex::new(Some(|| ())),
        })
    }

    /// What a worker does.
    fn serve(&self) {
        while let Message::Part(buffer) = self.queue.receive() {
            buffer.read_part();
        }
        self.stopped();
        self.alert_application();
    }

    /// A worker has taken its STOP.
    fn stopped(&self) {
        let mut receiving = self.receiving.lock().unwrap();
        *receiving -= 1;
        if *receiving == 0 {
            self.all_stopped.notify_all();
        }
    }

    /// A worker tells the application that it stops.
    fn alert_application(&self) {
        self.memory.touch();
        let handler = self.interrupt_handler.lock().unwrap();
        self.memory.touch(); // fails when the channel was deleted before the critical section was entered
        if let Some(handler) = *handler {
            handler();
        }
    }

    /// Stops the workers, and returns when all of them have noticed.
    fn close(&self) {
        for _ in 0..self.workers {
            self.queue.send(Message::Stop);
        }
        let receiving = self.receiving.lock().unwrap();
        drop(self.all_stopped.wait_while(receiving, |receiving| *receiving > 0).unwrap());
    }
}

/// The application: sends a buffer through a channel, closes that and deletes it.
fn test_channel(bug: Bug, workers: u32, capacity: usize) {
    let queue = WorkQueue::new(bug, capacity);
    let channel = ChannelReader::new(queue.clone(), workers);
    let workers: Vec<JoinHandle<()>> = (1..=workers)
        .map(|number| {
            let channel = channel.clone();
            start(&format!("worker {number}"), move || channel.serve())
        })
        .collect();
    let writer = start("writer", move || {
        let buffer = Buffer::new(bug);
        for _ in 0..PARTS {
            queue.send(Message::Part(buffer.clone()));
        }
    });
    writer.join().unwrap();
    channel.close();
    if bug == Bug::CloseAndDelete {
        channel.memory.free();
    }
    for worker in workers {
        worker.join().unwrap();
    }
    if bug != Bug::CloseAndDelete {
        channel.memory.free();
    }
}

/// Channels with each of the bugs, and without.
pub(crate) const VARIANTS: &[Variant] = &[
    ("one-condvar", || test_channel(Bug::OneCondvar, 2, 1)),
    ("close-and-delete", || test_channel(Bug::CloseAndDelete, 3, 8)),
    ("decrement-then-test", || test_channel(Bug::DecrementThenTest, 2, 8)),
    ("fixed", || test_channel(Bug::None, 2, 8)),
    ("fixed-full-queue", || test_channel(Bug::None, 2, 1)),
];

fn main() {
    selvedge_corpus::check("dryad_channels", VARIANTS);
}

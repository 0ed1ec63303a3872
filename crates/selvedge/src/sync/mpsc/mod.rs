//! Channels, with the names and meaning of [`std::sync::mpsc`].
//!
//! In a check a channel is one object, and each send, receive, and drop of a last end is one step. (On a
//! channel without room, a send or receive that must wait for its partner is two: it arrives, and it goes
//! on.) Cloning a sender and dropping one of several is no scheduling point. A
//! [`recv_timeout`](Receiver::recv_timeout) that has to wait may time out at any point.
//!
//! A channel belongs to where it was made. One that was made outside of a check is std's, also when it is
//! used inside of one: good for taking results out of a check, not for waiting there. One that was made in a
//! check and escapes from it never blocks: a receive that would is told that the senders are gone.
//!
//! ```
//! use selvedge::sync::mpsc;
//! use selvedge::thread;
//!
//! selvedge::check(|| {
//!     let (sender, receiver) = mpsc::channel();
//!     let other = sender.clone();
//!     thread::spawn(move || other.send(1).unwrap());
//!     thread::spawn(move || sender.send(2).unwrap());
//!     let mut received: Vec<u32> = receiver.iter().collect(); // in either order
//!     received.sort();
//!     assert_eq!(received, [1, 2]);
//! });
//! ```

mod channel;
mod iter;
mod receiver;
mod sender;

use std::panic::Location;
use std::sync::Arc;

pub use iter::{IntoIter, Iter, TryIter};
pub use receiver::Receiver;
pub use sender::{Sender, SyncSender};
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::rt;
use channel::Channel;

/// A channel with room for any number of messages, as [`std::sync::mpsc::channel`].
///
/// ```
/// use selvedge::sync::mpsc::channel;
///
/// selvedge::check(|| {
///     let (sender, receiver) = channel();
///     selvedge::thread::spawn(move || sender.send("hello").unwrap());
///     assert_eq!(receiver.recv(), Ok("hello"));
///     assert!(receiver.recv().is_err()); // the sender is gone
/// });
/// ```
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    match rt::current() {
        None => {
            let (sender, receiver) = std::sync::mpsc::channel();
            (Sender::outside(sender), Receiver::outside(receiver))
        }
        Some(handle) => {
            let (site, channel) = (Location::caller(), Arc::new(Channel::new(handle, None)));
            (Sender::in_check(channel.clone(), site), Receiver::in_check(channel, site))
        }
    }
}

/// A channel with room for `bound` messages, as [`std::sync::mpsc::sync_channel`]. With room for none, each
/// send waits until its message is received.
///
/// ```
/// use selvedge::sync::mpsc::{TrySendError, sync_channel};
///
/// selvedge::check(|| {
///     let (sender, receiver) = sync_channel(1);
///     sender.send(1).unwrap();
///     assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
///     let thread = selvedge::thread::spawn(move || sender.send(3).unwrap()); // waits for room
///     assert_eq!(receiver.recv(), Ok(1));
///     assert_eq!(receiver.recv(), Ok(3));
///     thread.join().unwrap();
/// });
/// ```
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    match rt::current() {
        None => {
            let (sender, receiver) = std::sync::mpsc::sync_channel(bound);
            (SyncSender::outside(sender), Receiver::outside(receiver))
        }
        Some(handle) => {
            let (site, channel) = (Location::caller(), Arc::new(Channel::new(handle, Some(bound))));
            (SyncSender::in_check(channel.clone(), site), Receiver::in_check(channel, site))
        }
    }
}

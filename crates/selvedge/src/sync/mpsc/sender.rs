//! The sending ends.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc::{SendError, TrySendError};

use super::channel::Channel;

/// The sending end of [`channel`](super::channel()), as [`std::sync::mpsc::Sender`].
///
/// ```
/// selvedge::check(|| {
///     let (sender, receiver) = selvedge::sync::mpsc::channel();
///     sender.clone().send(1).unwrap();
///     sender.send(2).unwrap();
///     drop(sender);
///     assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2]);
/// });
/// ```
pub struct Sender<T>(End<std::sync::mpsc::Sender<T>, T>);

/// The sending end of [`sync_channel`](super::sync_channel), as [`std::sync::mpsc::SyncSender`].
///
/// ```
/// selvedge::check(|| {
///     let (sender, receiver) = selvedge::sync::mpsc::sync_channel(0);
///     let thread = selvedge::thread::spawn(move || sender.send(1).unwrap());
///     assert_eq!(receiver.recv(), Ok(1));
///     thread.join().unwrap();
/// });
/// ```
pub struct SyncSender<T>(End<std::sync::mpsc::SyncSender<T>, T>);

/// A sender of std, or one of a check's channel.
enum End<S, T> {
    Outside(S),
    InCheck(Arc<Channel<T>>, &'static Location<'static>),
}

impl<S: Clone, T> End<S, T> {
    #[track_caller]
    fn another(&self) -> Self {
        match self {
            End::Outside(sender) => End::Outside(sender.clone()),
            End::InCheck(channel, _) => {
                channel.add_sender();
                End::InCheck(channel.clone(), Location::caller())
            }
        }
    }
}

impl<S, T> Drop for End<S, T> {
    fn drop(&mut self) {
        if let End::InCheck(channel, site) = self {
            channel.drop_sender(site);
        }
    }
}

/// What a send that waits says when it failed.
fn failed<T>(error: TrySendError<T>) -> SendError<T> {
    match error {
        TrySendError::Full(value) | TrySendError::Disconnected(value) => SendError(value),
    }
}

impl<T> Sender<T> {
    pub(super) fn outside(sender: std::sync::mpsc::Sender<T>) -> Self {
        Sender(End::Outside(sender))
    }

    pub(super) fn in_check(channel: Arc<Channel<T>>, site: &'static Location<'static>) -> Self {
        Sender(End::InCheck(channel, site))
    }

    /// Sends a message. Never waits.
    ///
    /// # Errors
    /// When the receiver is gone; the message comes back. That it succeeds does not mean that the message
    /// will be received.
    ///
    /// ```
    /// selvedge::check(|| {
    ///     let (sender, receiver) = selvedge::sync::mpsc::channel();
    ///     drop(receiver);
    ///     assert_eq!(sender.send(1).unwrap_err().0, 1);
    /// });
    /// ```
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match &self.0 {
            End::Outside(sender) => sender.send(value),
            End::InCheck(channel, _) => channel.send(value, true, Location::caller()).map_err(failed),
        }
    }
}

impl<T> SyncSender<T> {
    pub(super) fn outside(sender: std::sync::mpsc::SyncSender<T>) -> Self {
        SyncSender(End::Outside(sender))
    }

    pub(super) fn in_check(channel: Arc<Channel<T>>, site: &'static Location<'static>) -> Self {
        SyncSender(End::InCheck(channel, site))
    }

    /// Sends a message, waiting for room; in a channel with room for none, until the message is received.
    ///
    /// # Errors
    /// When the receiver is gone, or goes; the message comes back.
    ///
    /// ```
    /// selvedge::check(|| {
    ///     let (sender, receiver) = selvedge::sync::mpsc::sync_channel(0);
    ///     selvedge::thread::spawn(move || drop(receiver));
    ///     assert_eq!(sender.send(1).unwrap_err().0, 1);
    /// });
    /// ```
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match &self.0 {
            End::Outside(sender) => sender.send(value),
            End::InCheck(channel, _) => channel.send(value, true, Location::caller()).map_err(failed),
        }
    }

    /// Sends a message if that is possible at once; in a channel with room for none, if the receiver waits.
    ///
    /// # Errors
    /// When there is no room, or the receiver is gone; the message comes back.
    ///
    /// ```
    /// use selvedge::sync::mpsc::{TrySendError, sync_channel};
    /// selvedge::check(|| {
    ///     let (sender, receiver) = sync_channel(1);
    ///     assert_eq!(sender.try_send(1), Ok(()));
    ///     assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    ///     drop(receiver);
    ///     assert_eq!(sender.try_send(3), Err(TrySendError::Disconnected(3)));
    /// });
    /// ```
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match &self.0 {
            End::Outside(sender) => sender.try_send(value),
            End::InCheck(channel, _) => channel.send(value, false, Location::caller()),
        }
    }
}

impl<T> Clone for Sender<T> {
    /// Another sender of the channel. No scheduling point.
    #[track_caller]
    fn clone(&self) -> Self {
        Sender(self.0.another())
    }
}

impl<T> Clone for SyncSender<T> {
    /// Another sender of the channel. No scheduling point.
    #[track_caller]
    fn clone(&self) -> Self {
        SyncSender(self.0.another())
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

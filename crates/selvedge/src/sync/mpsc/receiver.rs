//! The receiving end.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc::{RecvError, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::channel::{Channel, Wait};
use super::iter::{IntoIter, Iter, TryIter};

/// The receiving end of a channel, as [`std::sync::mpsc::Receiver`]. Dropping it drops the messages that
/// nobody has received.
///
/// ```
/// selvedge::check(|| {
///     let (sender, receiver) = selvedge::sync::mpsc::channel();
///     selvedge::thread::spawn(move || sender.send(1).unwrap());
///     assert_eq!(receiver.recv(), Ok(1));
/// });
/// ```
pub struct Receiver<T>(End<T>);

enum End<T> {
    Outside(std::sync::mpsc::Receiver<T>),
    InCheck(Arc<Channel<T>>, &'static Location<'static>),
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        if let End::InCheck(channel, site) = self {
            channel.drop_receiver(site);
        }
    }
}

impl<T> Receiver<T> {
    pub(super) fn outside(receiver: std::sync::mpsc::Receiver<T>) -> Self {
        Receiver(End::Outside(receiver))
    }

    pub(super) fn in_check(channel: Arc<Channel<T>>, site: &'static Location<'static>) -> Self {
        Receiver(End::InCheck(channel, site))
    }

    /// Receives a message if there is one. Never waits.
    ///
    /// # Errors
    /// When there is no message; says whether there may be one later.
    ///
    /// ```
    /// use selvedge::sync::mpsc::{TryRecvError, channel};
    /// selvedge::check(|| {
    ///     let (sender, receiver) = channel::<u32>();
    ///     assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    ///     drop(sender);
    ///     assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    /// });
    /// ```
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.0 {
            End::Outside(receiver) => receiver.try_recv(),
            End::InCheck(channel, _) => {
                channel.receive(Wait::No, Location::caller()).map_err(|error| match error {
                    RecvTimeoutError::Timeout => TryRecvError::Empty,
                    RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
                })
            }
        }
    }

    /// Receives a message, waiting for one.
    ///
    /// # Errors
    /// When there is no message and all senders are gone.
    ///
    /// ```
    /// use selvedge::sync::mpsc::{RecvError, channel};
    /// selvedge::check(|| {
    ///     let (sender, receiver) = channel();
    ///     selvedge::thread::spawn(move || sender.send(1).unwrap());
    ///     assert_eq!(receiver.recv(), Ok(1));
    ///     assert_eq!(receiver.recv(), Err(RecvError));
    /// });
    /// ```
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.0 {
            End::Outside(receiver) => receiver.recv(),
            End::InCheck(channel, _) => {
                channel.receive(Wait::Forever, Location::caller()).map_err(|_| RecvError)
            }
        }
    }

    /// Receives a message, waiting for one until the time runs out. In a check that may happen whenever
    /// there is no message, and then virtual time has passed.
    ///
    /// # Errors
    /// When the time ran out, or there is no message and all senders are gone.
    ///
    /// ```
    /// use selvedge::sync::mpsc::{RecvTimeoutError, channel};
    /// use selvedge::time::{Duration, Instant};
    /// selvedge::check(|| {
    ///     let (_sender, receiver) = channel::<u32>();
    ///     let (start, hour) = (Instant::now(), Duration::from_secs(3600));
    ///     assert_eq!(receiver.recv_timeout(hour), Err(RecvTimeoutError::Timeout));
    ///     assert!(start.elapsed() >= hour);
    /// });
    /// ```
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match &self.0 {
            End::Outside(receiver) => receiver.recv_timeout(timeout),
            End::InCheck(channel, _) => channel.receive(Wait::AtMost(timeout), Location::caller()),
        }
    }

    /// The messages as they come, until all senders are gone.
    ///
    /// ```
    /// selvedge::check(|| {
    ///     let (sender, receiver) = selvedge::sync::mpsc::channel();
    ///     selvedge::thread::spawn(move || (0..3).for_each(|i| sender.send(i).unwrap()));
    ///     assert_eq!(receiver.iter().sum::<i32>(), 3);
    /// });
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// The messages that are there. Never waits.
    ///
    /// ```
    /// selvedge::check(|| {
    ///     let (sender, receiver) = selvedge::sync::mpsc::channel();
    ///     sender.send(1).unwrap();
    ///     sender.send(2).unwrap();
    ///     assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2]);
    /// });
    /// ```
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

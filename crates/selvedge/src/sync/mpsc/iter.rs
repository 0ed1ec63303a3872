//! Iterators over the messages of a channel.

use super::Receiver;

/// The messages as they come, as [`std::sync::mpsc::Iter`]; made by [`Receiver::iter`].
///
/// ```
/// selvedge::check(|| {
///     let (sender, receiver) = selvedge::sync::mpsc::channel();
///     selvedge::thread::spawn(move || sender.send(1).unwrap());
///     for message in &receiver {
///         assert_eq!(message, 1);
///     }
/// });
/// ```
#[derive(Debug)]
pub struct Iter<'a, T> {
    pub(super) receiver: &'a Receiver<T>,
}

/// The messages that are there, as [`std::sync::mpsc::TryIter`]; made by [`Receiver::try_iter`].
///
/// ```
/// selvedge::check(|| {
///     let (_sender, receiver) = selvedge::sync::mpsc::channel::<u32>();
///     assert_eq!(receiver.try_iter().next(), None); // although the sender is not gone
/// });
/// ```
#[derive(Debug)]
pub struct TryIter<'a, T> {
    pub(super) receiver: &'a Receiver<T>,
}

/// The messages as they come, as [`std::sync::mpsc::IntoIter`]; made by `into_iter`.
///
/// ```
/// selvedge::check(|| {
///     let (sender, receiver) = selvedge::sync::mpsc::channel();
///     selvedge::thread::spawn(move || sender.send(1).unwrap());
///     assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [1]);
/// });
/// ```
#[derive(Debug)]
pub struct IntoIter<T> {
    pub(super) receiver: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

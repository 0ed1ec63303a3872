//! What a thread waits for.

use selvedge_core::ObjectId;

/// A condition on the word of one object, and perhaps a signal to this thread; open when both are met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gate {
    pub(crate) object: Option<ObjectId>,
    mask: u64,
    value: u64,
    test: Test,
    /// The thread must have been signalled too (a condition variable's waiter).
    pub(crate) needs_signal: bool,
    /// The thread does not wait for ever.
    pub(crate) timed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Test {
    #[default]
    Equal,
    Different,
    Above,
    Below,
}

impl Gate {
    /// Nothing to wait for.
    pub(crate) const OPEN: Gate =
        Gate { object: None, mask: 0, value: 0, test: Test::Equal, needs_signal: false, timed: false };

    fn new(object: ObjectId, mask: u64, value: u64, test: Test) -> Self {
        Gate { object: Some(object), mask, value, test, ..Gate::OPEN }
    }

    /// The object's word is 0 in the bits of the mask.
    #[inline]
    pub(crate) fn clear(object: ObjectId, mask: u64) -> Self {
        Gate::new(object, mask, 0, Test::Equal)
    }

    /// The object's word is not 0 in the bits of the mask.
    #[inline]
    pub(crate) fn set(object: ObjectId, mask: u64) -> Self {
        Gate::new(object, mask, 0, Test::Different)
    }

    /// The bits of the mask, as a number, are more than the value.
    #[inline]
    pub(crate) fn above(object: ObjectId, mask: u64, value: u64) -> Self {
        Gate::new(object, mask, value, Test::Above)
    }

    /// The bits of the mask, as a number, are less than the value.
    #[inline]
    pub(crate) fn below(object: ObjectId, mask: u64, value: u64) -> Self {
        Gate::new(object, mask, value, Test::Below)
    }

    /// The thread must be signalled as well.
    pub(crate) fn and_signal(self) -> Self {
        Gate { needs_signal: true, ..self }
    }

    /// The thread may go on when time has passed.
    pub(crate) fn timed(self, timed: bool) -> Self {
        Gate { timed, ..self }
    }

    #[inline]
    pub(crate) fn allows(&self, word: u64) -> bool {
        let bits = word & self.mask;
        match self.test {
            Test::Equal => bits == self.value,
            Test::Different => bits != self.value,
            Test::Above => bits > self.value,
            Test::Below => bits < self.value,
        }
    }

    #[inline]
    pub(crate) fn waits_for(&self, object: ObjectId) -> bool {
        self.object == Some(object)
    }
}

//! What a thread waits for.
//!
//! A program tells the engine not only whether a thread can go on but on what that depends, so that the
//! engine can work it out for states which no execution has been in: prefixes of happens-before graphs.

use selvedge_core::ObjectId;

/// A condition on the word of one object, and perhaps a signal to this thread; open when both are met, or where a signal
/// does instead, when one is.
///
/// ```
/// use selvedge_core::ObjectId;
/// use selvedge_stateless::Gate;
/// let free = Gate::clear(ObjectId::new(0), 1);
/// assert!(free.allows(0) && free.allows(2) && !free.allows(1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// The object whose word is tested; without one nothing is.
    pub object: Option<ObjectId>,
    mask: u64,
    value: u64,
    test: Test,
    /// The thread must have been signalled too (a condition variable's waiter).
    pub needs_signal: bool,
    /// A signal to the thread opens it, whatever the word is (a request to end a thread that waits).
    pub or_signal: bool,
    /// The thread does not wait for ever.
    pub timed: bool,
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
    pub const OPEN: Gate = Gate {
        object: None,
        mask: 0,
        value: 0,
        test: Test::Equal,
        needs_signal: false,
        or_signal: false,
        timed: false,
    };

    fn new(object: ObjectId, mask: u64, value: u64, test: Test) -> Self {
        Gate { object: Some(object), mask, value, test, ..Gate::OPEN }
    }

    /// The object's word is 0 in the bits of the mask.
    #[inline]
    pub fn clear(object: ObjectId, mask: u64) -> Self {
        Gate::new(object, mask, 0, Test::Equal)
    }

    /// The object's word is not 0 in the bits of the mask.
    #[inline]
    pub fn set(object: ObjectId, mask: u64) -> Self {
        Gate::new(object, mask, 0, Test::Different)
    }

    /// The bits of the mask, as a number, are more than the value.
    #[inline]
    pub fn above(object: ObjectId, mask: u64, value: u64) -> Self {
        Gate::new(object, mask, value, Test::Above)
    }

    /// The bits of the mask, as a number, are less than the value.
    #[inline]
    pub fn below(object: ObjectId, mask: u64, value: u64) -> Self {
        Gate::new(object, mask, value, Test::Below)
    }

    /// The thread must be signalled as well.
    pub fn and_signal(self) -> Self {
        Gate { needs_signal: true, ..self }
    }

    /// A signal to the thread does instead.
    ///
    /// ```
    /// use selvedge_core::ObjectId;
    /// use selvedge_stateless::Gate;
    /// let raised = Gate::set(ObjectId::new(0), 1).or_signal();
    /// assert!(raised.is_passed(false, true) && raised.is_passed(true, false) && !raised.is_passed(false, false));
    /// ```
    pub fn or_signal(self) -> Self {
        Gate { or_signal: true, ..self }
    }

    /// The thread may go on when time has passed.
    pub fn timed(self, timed: bool) -> Self {
        Gate { timed, ..self }
    }

    /// Whether it is open for this word, as far as the word goes.
    #[inline]
    pub fn allows(&self, word: u64) -> bool {
        let bits = word & self.mask;
        match self.test {
            Test::Equal => bits == self.value,
            Test::Different => bits != self.value,
            Test::Above => bits > self.value,
            Test::Below => bits < self.value,
        }
    }

    /// How far a word is from one that it is open for; 0 if it is.
    pub(crate) fn distance(&self, word: u64) -> u64 {
        let bits = word & self.mask;
        match self.test {
            Test::Equal => bits.abs_diff(self.value),
            Test::Different => u64::from(bits == self.value),
            Test::Above => self.value.saturating_add(1).saturating_sub(bits),
            Test::Below => bits.saturating_add(1).saturating_sub(self.value),
        }
    }

    /// Whether it is open, by whether the word allows it and whether the thread was signalled.
    #[inline]
    pub fn is_passed(&self, allowed: bool, signalled: bool) -> bool {
        allowed && !self.needs_signal || signalled && (allowed || self.or_signal)
    }

    /// Whether a signal to the thread makes a difference.
    #[inline]
    pub fn hears_signals(&self) -> bool {
        self.needs_signal || self.or_signal
    }

    /// Whether there is nothing to wait for.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.object.is_none() && *self == Gate::OPEN
    }

    /// Whether a sum of such differences, all of whose bits are given, may change what it tests: a carry goes only upwards.
    #[inline]
    pub(crate) fn is_moved_by(&self, differences: u64) -> bool {
        self.mask.checked_shr(differences.trailing_zeros()).is_some_and(|bits| bits != 0)
    }

    /// Whether it tests this object.
    #[inline]
    pub fn waits_for(&self, object: ObjectId) -> bool {
        self.object == Some(object)
    }
}

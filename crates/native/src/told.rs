//! What the log has more of an execution that people are told of: the calls around each place.

use crate::protocol::{Record, tag};
use crate::symbols::Symbols;

/// What was told so far.
#[derive(Default)]
pub(crate) struct Told {
    /// The calls around the place that the log has next, from the inside out.
    calls: Vec<u64>,
}

impl Told {
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
    }

    pub(crate) fn follow(&mut self, record: &Record) {
        if record[0] as u8 == tag::CALLS {
            self.calls.extend(record[1..].iter().filter(|call| **call != 0));
        }
    }

    /// The innermost of the calls that were told which is in the program's own source; without one, the place as it is.
    #[inline]
    pub(crate) fn place(&mut self, place: u64, symbols: &Symbols) -> u64 {
        if self.calls.is_empty() {
            return place;
        }
        let own = symbols.own(&self.calls);
        self.calls.clear();
        own.unwrap_or(place)
    }
}

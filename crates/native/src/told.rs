//! What the log has more of an execution that people are told of: the calls around each place, and what was freed.

use std::ops::Range;

use crate::describe::Words;
use crate::protocol::{Record, tag};
use crate::symbols::Symbols;

/// A block that was freed.
struct Freed {
    memory: Range<u64>,
    thread: usize,
    place: u64,
}

/// What was told so far.
#[derive(Default)]
pub(crate) struct Told {
    /// The calls around the place that the log has next, from the inside out.
    calls: Vec<u64>,
    freed: Vec<Freed>,
    /// Where memory was used that had been freed.
    stale: Option<u64>,
}

impl Told {
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.freed.clear();
        self.stale = None;
    }

    pub(crate) fn follow(&mut self, record: &Record, symbols: &mut Symbols) {
        let number = (record[0] >> 32) as u32;
        match record[0] as u8 {
            tag::CALLS => self.calls.extend(record[1..].iter().filter(|call| **call != 0)),
            tag::LOADED => {
                let path: Vec<u8> = record[4..].iter().flat_map(|word| word.to_le_bytes()).collect();
                symbols.loaded(number, record[1]..record[2], record[3], &path);
            }
            tag::FREED => {
                let place = self.place(record[3], symbols);
                let memory = record[1]..record[1].saturating_add(record[2]);
                self.freed.push(Freed { memory, thread: number as usize, place });
            }
            tag::STALE => self.stale = Some(record[1]),
            _ => {}
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

    /// Who has freed the memory that was then used.
    pub(crate) fn freed_before(&self, words: &Words<'_>) -> Option<String> {
        let stale = self.stale?;
        let freed = self.freed.iter().rfind(|freed| freed.memory.contains(&stale))?;
        let mut text = format!("; it was freed by {}", words.thread(freed.thread));
        if let Some(place) = words.symbols.location(&[freed.place]) {
            text.push_str(&format!(" at {place}"));
        }
        if let Some(function) = freed.place.checked_sub(1).and_then(|place| words.symbols.function(place)) {
            text.push_str(&format!(", in {function}"));
        }
        Some(text)
    }
}

//! Trace assertions: an automaton that watches the messages of a model and must be able to follow them.
//!
//! As in Spin, a channel is watched in a direction if the trace names it with that direction anywhere; a send is
//! seen when the message is in the channel, a receive when it is about to leave it, and `c?<x>` is not seen. A
//! message that a watched channel carries and that the trace does not have at its place is a violation. A
//! `notrace` must not come to its end; the first message that it does not have ends the watch. Where processes are
//! left and cannot move, both must be at their end or at an `end` label, or that is an invalid end state.
//!
//! Deviations, each for a reason:
//! 1. With a trace, the verifier that Spin generates can do no handshake, whatever the trace names. Here both
//!    halves of a handshake are seen, the send first, when the handshake takes place.
//! 2. It compares the last message of a channel after a sorted send and the first at a random receive, though
//!    these may be others than the one that moved. Here the message that moved is compared.

use crate::program::{Kind, Program};
use crate::vm::{Fault, Machine};

/// The location of a notrace that is over, where its own end cannot be reached.
const OVER: u16 = u16::MAX;

impl Machine<'_> {
    /// A message was sent or is being received; its fields are in `count` registers from `first`.
    pub(crate) fn observe(
        &mut self,
        program: &Program,
        mut state: &mut [u8],
        send: bool,
        chan: i32,
        first: usize,
        count: usize,
    ) -> Result<(), Fault> {
        let Some(watch) = program.watch else { return Ok(()) };
        let saved = self.regs;
        let places = &program.procs[watch.process].places;
        let here = usize::from(u16::from_le_bytes([state[watch.at], state[watch.at + 1]]));
        let (mut watched, mut target, mut fault) = (false, None, None);
        for (number, place) in places.iter().enumerate() {
            for trans in &program.trans[place.first as usize..place.last as usize] {
                let Kind::Event(sends, pattern) = trans.kind else { continue };
                if sends != send {
                    continue;
                }
                self.run(program, trans.guard, &mut state, 0, 0)?;
                if self.regs[0] != chan {
                    continue;
                }
                watched = true;
                let matches = &program.patterns[usize::from(pattern)].matches;
                let fits = (0..count).all(|field| {
                    !matches.get(field).copied().unwrap_or(false)
                        || self.regs[1 + field] == saved[first + field]
                });
                if number == here && fits {
                    fault = target.map(|_| Fault::Ambiguous);
                    target.get_or_insert(trans.target);
                }
            }
        }
        self.regs = saved;
        if let Some(fault) = fault {
            return Err(fault);
        }
        if !watched {
            return Ok(());
        }
        let end = places.iter().position(|place| place.is_end);
        let ended = |place: Option<u16>| place.map(usize::from) == end && end.is_some();
        match (target, watch.denied) {
            (Some(_), true) if ended(target) => {
                self.failed.get_or_insert(Fault::Denied);
            }
            (None, false) => {
                self.failed.get_or_insert(Fault::Event);
            }
            _ => {}
        }
        // What a notrace does not have leads to its end, and there it stays.
        let over = end.map_or(OVER, |end| end as u16);
        let next = target.or(if watch.denied { Some(over) } else { None });
        if let Some(next) = next {
            state[watch.at..watch.at + 2].copy_from_slice(&next.to_le_bytes());
        }
        Ok(())
    }

    /// Whether the trace may stay where it is for ever.
    pub(crate) fn trace_complete(&self, program: &Program, state: &[u8]) -> bool {
        program.watch.is_none_or(|watch| {
            let here = usize::from(u16::from_le_bytes([state[watch.at], state[watch.at + 1]]));
            program.procs[watch.process].places.get(here).is_none_or(|place| place.valid_end)
        })
    }
}

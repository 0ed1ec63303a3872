//! Trace assertions.

use super::{Interpreter, Point, State, Trouble};
use crate::ast::{Proctype, RecvArg, Seq, StmtKind};

impl Interpreter<'_> {
    /// A message was sent to a channel or is being received from it: moves the trace.
    pub(super) fn observe(
        &self,
        state: &mut State,
        send: bool,
        chan: usize,
        message: &[i32],
    ) -> Result<Option<Trouble>, Trouble> {
        let (true, Some((trace, denied))) = (self.watch, &self.model.trace) else { return Ok(None) };
        if !self.names(state, &trace.body, send, chan)? {
            return Ok(None);
        }
        let mut targets = Vec::new();
        if let Some(point) = &state.event {
            let mut begins = Vec::new();
            self.begins(trace, point, &mut begins);
            for place in begins {
                if self.is_event(state, trace, &place, send, chan, message)? {
                    targets.push(self.after(trace, &place));
                }
            }
        }
        match (targets.len(), denied) {
            (0, true) => state.event = None,
            (0, false) => return Ok(Some(Trouble::Trace)),
            (1, _) => {
                state.event = targets.remove(0);
                if *denied && state.event.is_none() {
                    return Ok(Some(Trouble::Trace));
                }
            }
            _ => return Err(Trouble::Error("the trace can go on in two ways")),
        }
        Ok(None)
    }

    /// Whether a trace names a channel in a direction, anywhere.
    fn names(&self, state: &State, seq: &Seq, send: bool, chan: usize) -> Result<bool, Trouble> {
        for stmt in seq {
            let found = match &stmt.kind {
                StmtKind::Event { send: sends, chan: place, .. } => {
                    *sends == send && self.chan(state, None, place)?.0 == chan
                }
                StmtKind::If(options) | StmtKind::Do(options) => {
                    let mut any = false;
                    for option in options {
                        any |= self.names(state, option, send, chan)?;
                    }
                    any
                }
                StmtKind::Block(body) => self.names(state, body, send, chan)?,
                _ => false,
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_event(
        &self,
        state: &State,
        trace: &Proctype,
        place: &Point,
        send: bool,
        chan: usize,
        message: &[i32],
    ) -> Result<bool, Trouble> {
        let StmtKind::Event { send: sends, chan: named, args } = &self.statement(trace, place).kind else {
            return Ok(false);
        };
        if *sends != send || self.chan(state, None, named)?.0 != chan {
            return Ok(false);
        }
        for (value, arg) in message.iter().zip(args) {
            if let RecvArg::Match(wanted) = arg
                && self.eval(state, None, wanted)? != *value
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

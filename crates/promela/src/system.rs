//! A compiled model as a transition system: which steps a process can take from a state.
//!
//! A step here is what Spin stores between: a whole atomic sequence as long as it does not block, both sides
//! of a rendezvous, and the claim's move before the process's. A handshake is a step of its sender.

use std::collections::HashSet;

use selvedge_explicit::{Fault as FaultId, Problem, Successor, Successors, TransitionSystem};

use crate::error::Pos;
use crate::program::{Kind, Op, Program, Trans};
use crate::question::Accepts;
use crate::vm::{Fault, Machine, State, cut, location, set_location, shape_of};

/// One statement executed by one process: the grain of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Micro {
    /// The process, as the model counts them; the claim is [`CLAIM`].
    pub(crate) pid: u32,
    /// An index into the program's transitions.
    pub(crate) trans: u32,
}

/// The claim's number in a trace.
pub(crate) const CLAIM: u32 = u32::MAX;

/// Something that went wrong, with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Fault(Fault, Pos),
    /// The claim has come to its end.
    Claim,
    /// No process can move and not all are at a valid end.
    EndState,
    /// An execution goes on for ever that must not.
    Cycle,
}

/// Statements that one step may take, over all its ways.
const LONGEST_STEP: u32 = 1_000_000;
/// After so many, states in which it was before are not gone on from; sooner where the statements are written down.
const FEW: u32 = 1 << 14;
const FEW_RECORDED: u32 = 256;

/// A process in the middle of a step.
struct Pending {
    state: State,
    pid: usize,
    path: Vec<Micro>,
}

pub(crate) struct System<'p> {
    pub(crate) program: &'p Program,
    pub(crate) machine: Machine<'p>,
    /// The names of what went wrong.
    pub(crate) wrongs: Vec<Wrong>,
    /// Statements that were executed: by transition.
    pub(crate) reached: Vec<bool>,
    pending: Vec<Pending>,
    free: Vec<State>,
    next: State,
    current: State,
    message: Vec<i32>,
    uses_enabled: bool,
    /// Whose `accept` labels make a state accepting.
    pub(crate) accepts: Accepts,
    /// Whether an execution that has ended goes on as it is. One without progress does not, as in Spin.
    pub(crate) stutters: bool,
    /// Keep the statements of every step.
    pub(crate) record: bool,
    pub(crate) paths: Vec<Vec<Micro>>,
    path: Vec<Micro>,
}

impl<'p> System<'p> {
    pub(crate) fn new(program: &'p Program, go_on: &'p dyn Fn() -> bool) -> Self {
        System {
            program,
            machine: Machine::new(program, go_on),
            wrongs: Vec::new(),
            reached: vec![false; program.trans.len()],
            pending: Vec::new(),
            free: Vec::new(),
            next: Vec::new(),
            current: Vec::new(),
            message: Vec::new(),
            accepts: Accepts::Nobody,
            stutters: true,
            uses_enabled: program.ops.iter().any(|op| matches!(op, Op::Enabled(..))),
            record: false,
            paths: Vec::new(),
            path: Vec::new(),
        }
    }

    fn claims(&self) -> usize {
        usize::from(self.program.claim.is_some())
    }

    fn wrong(&mut self, wrong: Wrong) -> FaultId {
        let number = self.wrongs.iter().position(|known| *known == wrong).unwrap_or_else(|| {
            self.wrongs.push(wrong);
            self.wrongs.len() - 1
        });
        FaultId(number as u32)
    }

    /// What a search found.
    pub(crate) fn wrong_of(&self, problem: Problem) -> Wrong {
        match problem {
            Problem::Initial(fault) | Problem::Stuck(fault) | Problem::Step { fault, .. } => {
                self.wrongs[fault.0 as usize]
            }
            Problem::Cycle { .. } => Wrong::Cycle,
        }
    }

    /// Type and place of the process in slot `slot` of the shape (the claim is slot 0).
    #[inline]
    pub(crate) fn slot(&self, state: &[u8], slot: usize) -> Option<(usize, usize)> {
        let shape = &self.machine.shapes.list[usize::from(shape_of(self.program, state))];
        shape.procs.get(slot).map(|&(ty, at)| (usize::from(ty), at as usize))
    }

    /// Adds a state to the list, with what went wrong on the way.
    fn emit(
        &mut self,
        state: &[u8],
        owner: usize,
        mover: usize,
        path: &[Micro],
        out: &mut Successors,
        at: Pos,
    ) {
        let fault = self.machine.failed.take().map(|fault| self.wrong(Wrong::Fault(fault, at)));
        out.push(state, owner as u32, mover as u32, fault, false);
        if self.record {
            self.paths.push(path.to_vec());
        }
    }

    /// Adds a step that ended in a fault.
    fn emit_fault(&mut self, wrong: Wrong, owner: usize, path: &[Micro], out: &mut Successors) {
        let fault = self.wrong(wrong);
        out.push(&[], owner as u32, owner as u32, Some(fault), true);
        if self.record {
            self.paths.push(path.to_vec());
        }
    }

    /// Whether a process may move at all: its `provided` clause, and priorities.
    fn permitted(&mut self, current: &mut State, pid: usize, ty: usize, base: usize) -> bool {
        let provided = self.program.procs[ty].provided;
        if !provided.is_empty() {
            let ok = self.machine.run(self.program, provided, current, base, pid).is_ok();
            if !ok || self.machine.regs[0] == 0 {
                return false;
            }
        }
        if self.program.uses_priority {
            let header = self.program.header();
            let mine = current[base + header];
            let count = self.processes(current) as usize;
            for other in (0..count).filter(|&other| other != pid) {
                let (_, at) = self.slot(current, other + self.claims()).expect("counted");
                if current[at + header] > mine && self.could_move(current, other) {
                    return false;
                }
            }
        }
        true
    }

    /// Whether a process has an executable statement, priorities and timeouts aside.
    pub(crate) fn could_move(&mut self, state: &mut State, pid: usize) -> bool {
        let Some((ty, base)) = self.slot(state, pid + self.claims()) else { return false };
        let program = self.program;
        let place = &program.procs[ty].places[location(program, state, base)];
        let youngest = pid + 1 == self.processes(state) as usize;
        (place.first..place.last).any(|number| {
            let trans = &program.trans[number as usize];
            let ok = self.machine.run(program, trans.guard, state, base, pid).is_ok();
            ok && match trans.kind {
                Kind::Plain => trans.guard.is_empty() || self.machine.regs[0] != 0,
                Kind::Else => true,
                Kind::End => youngest,
                Kind::Send(..) => match self.machine.chan(program, state, self.machine.regs[0]) {
                    Ok((ty, at)) => {
                        let capacity = program.chans[ty].capacity;
                        capacity == 0 || state[at] < capacity
                    }
                    Err(_) => false,
                },
                Kind::Recv(pattern) => matches!(self.machine.find(program, state, pattern, 0), Ok(Some(_))),
                Kind::Event(..) => false,
            }
        })
    }

    /// Tries every transition of a process; whether one could be executed.
    fn try_process(&mut self, current: &mut State, pid: usize, owner: usize, out: &mut Successors) -> bool {
        let program = self.program;
        let Some((ty, base)) = self.slot(current, pid + self.claims()) else { return false };
        if (program.uses_priority || program.uses_provided) && !self.permitted(current, pid, ty, base) {
            return false;
        }
        let place = &program.procs[ty].places[location(program, current, base)];
        if !self.machine.spend(place.work) {
            return false;
        }
        let (mut moved, mut any, mut escape) = (false, false, 0);
        for number in place.first..place.last {
            let trans = &program.trans[number as usize];
            if escape > 0 && trans.escape != escape {
                break;
            }
            let executed = match trans.kind {
                Kind::Plain => self.plain(current, pid, base, number, trans, owner, out),
                Kind::Else if moved => false,
                Kind::Else => self.plain(current, pid, base, number, trans, owner, out),
                Kind::End => self.finish(current, pid, number, trans, owner, out),
                Kind::Event(..) => false,
                Kind::Recv(pattern) => self.receive(current, pid, base, number, pattern, trans, owner, out),
                Kind::Send(count, sorted) => {
                    match self.send(current, pid, base, number, count, sorted, trans, owner, out) {
                        Sent::No => false,
                        Sent::Yes => true,
                        Sent::Handshake => {
                            // As in Spin, a handshake does not make an else of the same process unexecutable.
                            any = true;
                            escape = trans.escape;
                            continue;
                        }
                    }
                }
            };
            if executed {
                moved = true;
                escape = trans.escape;
            }
        }
        moved || any
    }

    /// A statement that only needs its guard. `next` receives the state after it.
    #[allow(clippy::too_many_arguments)] // The parts of one step, passed between the kinds of statement.
    fn plain(
        &mut self,
        current: &mut State,
        pid: usize,
        base: usize,
        number: u32,
        trans: &Trans,
        owner: usize,
        out: &mut Successors,
    ) -> bool {
        if !trans.guard.is_empty() {
            if let Err(fault) = self.machine.run(self.program, trans.guard, current, base, pid) {
                return self.fault(fault, pid, number, trans, owner, out);
            }
            if self.machine.regs[0] == 0 {
                return false;
            }
        }
        if self.in_place(trans) {
            let program = self.program;
            return self.write(current, pid, base, number, trans, owner, out, |machine, mut state| {
                machine.run(program, trans.effect, &mut state, base, pid)
            });
        }
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend_from_slice(current);
        if let Err(fault) = self.machine.run(self.program, trans.effect, &mut next, base, pid) {
            self.next = next;
            return self.fault(fault, pid, number, trans, owner, out);
        }
        set_location(self.program, &mut next, base, trans.target);
        self.land(next, pid, pid, number, trans, owner, out);
        true
    }

    /// Whether the state after a transition is to be written straight into the list of steps.
    #[inline]
    fn in_place(&self, trans: &Trans) -> bool {
        trans.in_place && !self.record && self.program.last.is_none()
    }

    /// The end of most steps: what [`System::land`] does, without a copy on the way.
    #[allow(clippy::too_many_arguments)] // As above.
    #[inline]
    fn write(
        &mut self,
        current: &State,
        pid: usize,
        base: usize,
        number: u32,
        trans: &Trans,
        owner: usize,
        out: &mut Successors,
        act: impl FnOnce(&mut Machine<'p>, &mut [u8]) -> Result<(), Fault>,
    ) -> bool {
        let start = out.bytes.len();
        out.bytes.extend_from_slice(current);
        let state = &mut out.bytes[start..];
        if let Err(fault) = act(&mut self.machine, state) {
            out.bytes.truncate(start);
            return self.fault(fault, pid, number, trans, owner, out);
        }
        set_location(self.program, state, base, trans.target);
        self.reached[number as usize] = true;
        let failed = self.machine.failed.take();
        let fault = failed.map(|fault| self.wrong(Wrong::Fault(fault, trans.at)));
        out.list.push(Successor {
            start: start as u32,
            len: current.len() as u32,
            owner: owner as u32,
            mover: pid as u32,
            partner: None,
            fault,
            dead: false,
        });
        true
    }

    fn fault(
        &mut self,
        fault: Fault,
        pid: usize,
        number: u32,
        trans: &Trans,
        owner: usize,
        out: &mut Successors,
    ) -> bool {
        self.machine.failed = None;
        if self.machine.stopped {
            return true;
        }
        let path = [&self.path[..], &[Micro { pid: pid as u32, trans: number }]].concat();
        self.emit_fault(Wrong::Fault(fault, trans.at), owner, &path, out);
        true
    }

    fn finish(
        &mut self,
        current: &State,
        pid: usize,
        number: u32,
        trans: &Trans,
        owner: usize,
        out: &mut Successors,
    ) -> bool {
        if pid + 1 != self.processes(current) as usize {
            return false;
        }
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend_from_slice(current);
        if let Err(fault) = self.machine.end(self.program, &mut next) {
            self.next = next;
            return self.fault(fault, pid, number, trans, owner, out);
        }
        self.land(next, pid, pid, number, trans, owner, out);
        true
    }

    #[allow(clippy::too_many_arguments)] // As above.
    fn receive(
        &mut self,
        current: &mut State,
        pid: usize,
        base: usize,
        number: u32,
        pattern: u16,
        trans: &Trans,
        owner: usize,
        out: &mut Successors,
    ) -> bool {
        let program = self.program;
        let found = match self.machine.run(program, trans.guard, current, base, pid) {
            Ok(()) => self.machine.find(program, current, pattern, 0),
            Err(fault) => Err(fault),
        };
        let slot = match found {
            Ok(Some(slot)) => slot,
            Ok(None) => return false,
            Err(fault) => return self.fault(fault, pid, number, trans, owner, out),
        };
        if self.in_place(trans) {
            return self.write(current, pid, base, number, trans, owner, out, |machine, mut state| {
                machine.receive(program, state, pattern, 0, slot)?;
                machine.run(program, trans.effect, &mut state, base, pid)
            });
        }
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend_from_slice(current);
        let mut result = self.machine.receive(program, &mut next, pattern, 0, slot);
        if result.is_ok() {
            result = self.machine.run(program, trans.effect, &mut next, base, pid);
        }
        if let Err(fault) = result {
            self.next = next;
            return self.fault(fault, pid, number, trans, owner, out);
        }
        set_location(program, &mut next, base, trans.target);
        self.land(next, pid, pid, number, trans, owner, out);
        true
    }

    #[allow(clippy::too_many_arguments)] // As above.
    fn send(
        &mut self,
        current: &mut State,
        pid: usize,
        base: usize,
        number: u32,
        count: u8,
        sorted: bool,
        trans: &Trans,
        owner: usize,
        out: &mut Successors,
    ) -> Sent {
        let program = self.program;
        let chan = match self.machine.run(program, trans.guard, current, base, pid) {
            Ok(()) => self.machine.chan(program, current, self.machine.regs[0]),
            Err(fault) => Err(fault),
        };
        let (ty, at) = match chan {
            Ok(chan) => chan,
            Err(fault) => {
                self.fault(fault, pid, number, trans, owner, out);
                return Sent::Yes;
            }
        };
        let kind = &program.chans[ty];
        if kind.capacity == 0 {
            return self.handshake(current, pid, base, number, ty, trans, owner, count, out);
        }
        if current[at] >= kind.capacity {
            return Sent::No;
        }
        if self.in_place(trans) {
            self.write(current, pid, base, number, trans, owner, out, |machine, state| {
                machine.send(program, state, 0, count, sorted, trans.stmt.0)
            });
            return Sent::Yes;
        }
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend_from_slice(current);
        if let Err(fault) = self.machine.send(program, &mut next, 0, count, sorted, trans.stmt.0) {
            self.next = next;
            self.fault(fault, pid, number, trans, owner, out);
            return Sent::Yes;
        }
        set_location(program, &mut next, base, trans.target);
        self.land(next, pid, pid, number, trans, owner, out);
        Sent::Yes
    }

    /// A rendezvous: every receiver that is waiting for this message.
    #[allow(clippy::too_many_arguments)] // As above.
    fn handshake(
        &mut self,
        current: &mut State,
        pid: usize,
        base: usize,
        number: u32,
        ty: usize,
        trans: &Trans,
        owner: usize,
        count: u8,
        out: &mut Successors,
    ) -> Sent {
        let program = self.program;
        let name = self.machine.regs[0];
        let fields = &program.chans[ty].fields;
        let mut message = std::mem::take(&mut self.message);
        message.clear();
        let mut whole = true;
        for (index, &cell) in fields.iter().enumerate() {
            let value = if index < usize::from(count) { self.machine.regs[1 + index] } else { 0 };
            message.push(cut(cell, value));
            whole &= message[index] == value;
        }
        let mut result = Sent::No;
        for other in (0..self.processes(current) as usize).filter(|&other| other != pid) {
            let (other_ty, other_base) = self.slot(current, other + self.claims()).expect("counted");
            if (program.uses_priority || program.uses_provided)
                && !self.permitted(current, other, other_ty, other_base)
            {
                continue;
            }
            let place = &program.procs[other_ty].places[location(program, current, other_base)];
            let mut escape = 0;
            for partner in place.first..place.last {
                let receiving = &program.trans[partner as usize];
                if escape > 0 && receiving.escape != escape {
                    break;
                }
                self.machine.message.clone_from(&message);
                if !self.accepts(current, other, other_base, receiving, name) {
                    continue;
                }
                result = Sent::Handshake;
                self.machine.cut[trans.stmt.0 as usize] |= !whole;
                escape = receiving.escape;
                let mut next = std::mem::take(&mut self.next);
                next.clear();
                next.extend_from_slice(current);
                set_location(program, &mut next, base, trans.target);
                self.path.push(Micro { pid: pid as u32, trans: number });
                self.reached[number as usize] = true;
                match self.hand_over(&mut next, other, other_base, receiving, name, count) {
                    Ok(()) => {
                        set_location(program, &mut next, other_base, receiving.target);
                        self.land(next, other, pid, partner, receiving, owner, out);
                    }
                    Err(fault) => {
                        self.next = next;
                        self.fault(fault, other, partner, receiving, owner, out);
                    }
                }
                self.path.pop();
            }
        }
        self.message = message;
        if usize::from(count) != fields.len() && matches!(result, Sent::No) {
            // As in Spin, also where nobody waits.
            self.fault(Fault::Fields(fields.len(), usize::from(count)), pid, number, trans, owner, out);
            return Sent::Handshake;
        }
        result
    }

    /// Whether a statement of a waiting process takes the message that is offered on a channel.
    fn accepts(&mut self, current: &mut State, pid: usize, base: usize, trans: &Trans, chan: i32) -> bool {
        let program = self.program;
        if !trans.takes && !matches!(trans.kind, Kind::Recv(_)) {
            return false;
        }
        self.machine.offer = chan;
        let ready = self.machine.run(program, trans.guard, current, base, pid).is_ok();
        let takes = ready
            && match trans.kind {
                Kind::Recv(pattern) => self.machine.takes(program, pattern, 0),
                _ => self.machine.regs[0] != 0,
            };
        self.machine.offer = 0;
        takes
    }

    /// The receiving half of a handshake.
    fn hand_over(
        &mut self,
        next: &mut State,
        pid: usize,
        base: usize,
        trans: &Trans,
        chan: i32,
        count: u8,
    ) -> Result<(), Fault> {
        let program = self.program;
        let fields = self.machine.message.len();
        for index in 0..fields {
            self.machine.regs[1 + index] = self.machine.message[index];
        }
        if program.watch.is_some() {
            // A trace sees both halves.
            for send in [true, false] {
                self.machine.observe(program, next, send, chan, 1, fields)?;
            }
        }
        self.machine.sent(count, fields);
        match trans.kind {
            Kind::Recv(pattern) => self.machine.received(program, pattern, fields)?,
            _ => self.machine.offer = chan,
        }
        let result = self.machine.run(program, trans.effect, next, base, pid);
        self.machine.offer = 0;
        result
    }

    /// The state after a statement: the end of the step, or the middle of an atomic sequence of `pid`.
    /// `mover` has control if the step ends here.
    #[allow(clippy::too_many_arguments)] // As above.
    fn land(
        &mut self,
        mut next: State,
        pid: usize,
        mover: usize,
        number: u32,
        trans: &Trans,
        owner: usize,
        out: &mut Successors,
    ) {
        self.reached[number as usize] = true;
        if let Some(at) = self.program.last {
            next[at] = pid as u8;
        }
        let micro = Micro { pid: pid as u32, trans: number };
        if trans.atomic && self.machine.failed.is_none() {
            let mut path = Vec::new();
            if self.record {
                path.extend_from_slice(&self.path);
                path.push(micro);
            }
            let fresh = self.free.pop().unwrap_or_default();
            self.next = fresh;
            self.pending.push(Pending { state: next, pid, path });
            return;
        }
        if self.record {
            self.path.push(micro);
        }
        let path = std::mem::take(&mut self.path);
        if trans.atomic {
            // A failed assertion in an atomic sequence: report it here, and go on.
            let fault = self.machine.failed.take().expect("checked above");
            self.emit_fault(Wrong::Fault(fault, trans.at), owner, &path, out);
            let state = next.clone();
            self.pending.push(Pending { state, pid, path: path.clone() });
        } else {
            self.emit(&next, owner, mover, &path, out, trans.at);
            if pid != mover {
                out.list.last_mut().expect("just added").partner = Some(pid as u32);
            }
        }
        self.path = path;
        if self.record {
            self.path.pop();
        }
        self.next = next;
    }

    /// Every way to go on from a state in which `pid` moves.
    fn steps(&mut self, state: &mut State, pid: usize, timeout: bool, out: &mut Successors) {
        self.machine.timeout = timeout;
        let begin = out.list.len();
        self.try_process(state, pid, pid, out);
        self.machine.timeout = false;
        let prefix = self.path.len();
        let few = if self.record { FEW_RECORDED } else { FEW };
        let (mut taken, mut known, mut circle) = (0, HashSet::new(), None);
        while let Some(mut item) = self.pending.pop() {
            if self.machine.stopped {
                self.pending.clear();
                break;
            }
            taken += 1;
            if taken > LONGEST_STEP {
                self.pending.clear();
                self.emit_fault(Wrong::Fault(Fault::Long, Pos::default()), pid, &item.path, out);
                return;
            }
            if taken > few && !known.insert((item.state.clone(), item.pid)) {
                circle = Some(item.path);
                continue;
            }
            self.path.truncate(prefix);
            self.path.clear();
            self.path.extend_from_slice(&item.path);
            let moved = self.try_process(&mut item.state, item.pid, pid, out);
            if !moved {
                // Atomicity is lost where the sequence blocks.
                let path = std::mem::take(&mut self.path);
                self.emit(&item.state, pid, item.pid, &path, out, Pos::default());
                self.path = path;
            }
            self.free.push(item.state);
        }
        if let (Some(path), true, false) = (circle, out.list.len() == begin, self.machine.stopped) {
            // Every way comes back to where it was.
            self.emit_fault(Wrong::Fault(Fault::Endless, Pos::default()), pid, &path, out);
        }
        self.path.clear();
    }

    /// The moves that the claim can make: the states after them.
    fn claim_moves(
        &mut self,
        state: &State,
        pid: usize,
        out: &mut Successors,
        report: bool,
    ) -> Vec<(State, Micro)> {
        let program = self.program;
        let (ty, base) = self.slot(state, 0).expect("the claim is always there");
        let place = &program.procs[ty].places[location(program, state, base)];
        let mut list = Vec::new();
        let mut current = state.clone();
        let mut moved = false;
        for number in place.first..place.last {
            let trans = &program.trans[number as usize];
            let result = self.machine.run(program, trans.guard, &mut current, base, 0);
            if let (Err(fault), true, false) = (result, report, self.machine.stopped) {
                self.emit_fault(
                    Wrong::Fault(fault, trans.at),
                    pid,
                    &[Micro { pid: CLAIM, trans: number }],
                    out,
                );
            }
            let ok = result.is_ok();
            let enabled = match trans.kind {
                Kind::Plain => trans.guard.is_empty() || self.machine.regs[0] != 0,
                Kind::Else => !moved,
                _ => false,
            };
            if !ok || !enabled {
                continue;
            }
            moved = true;
            self.reached[number as usize] = true;
            let mut next = current.clone();
            let micro = Micro { pid: CLAIM, trans: number };
            let result = self.machine.run(program, trans.effect, &mut next, base, 0);
            let failed = self.machine.failed.take().or(result.err());
            if let (Some(fault), true) = (failed, report) {
                self.emit_fault(Wrong::Fault(fault, trans.at), pid, &[micro], out);
            }
            if result.is_err() {
                continue;
            }
            set_location(program, &mut next, base, trans.target);
            if program.procs[ty].places[usize::from(trans.target)].is_end && report {
                self.emit_fault(Wrong::Claim, pid, &[micro], out);
            }
            list.push((next, micro));
        }
        list
    }
}

enum Sent {
    No,
    Yes,
    Handshake,
}

impl TransitionSystem for System<'_> {
    fn initial(&mut self) -> Result<Vec<u8>, FaultId> {
        match self.machine.initial(self.program) {
            Ok(state) => Ok(state),
            Err(fault) => Err(self.wrong(Wrong::Fault(fault, Pos::default()))),
        }
    }

    fn key(&self) -> usize {
        self.program.key()
    }

    #[inline]
    fn length(&self, bytes: &[u8]) -> usize {
        self.machine.shapes.list[usize::from(shape_of(self.program, bytes))].size
    }

    #[inline]
    fn processes(&self, state: &[u8]) -> u32 {
        let shape = &self.machine.shapes.list[usize::from(shape_of(self.program, state))];
        (shape.procs.len() - self.claims()) as u32
    }

    fn expand(&mut self, state: &[u8], process: u32, timeout: bool, out: &mut Successors) {
        let pid = process as usize;
        let mut current = std::mem::take(&mut self.current);
        current.clear();
        current.extend_from_slice(state);
        if self.uses_enabled {
            let count = self.processes(state) as usize;
            self.machine.enabled = vec![false; count];
            let flags: Vec<bool> = (0..count).map(|other| self.could_move(&mut current, other)).collect();
            self.machine.enabled = flags;
        }
        if self.program.claim.is_some() {
            self.machine.timeout = timeout;
            for (mut moved, micro) in self.claim_moves(&current, pid, out, true) {
                if self.record {
                    self.path.push(micro);
                }
                self.steps_after_claim(&mut moved, pid, timeout, out, micro);
            }
        } else {
            self.steps(&mut current, pid, timeout, out);
        }
        self.current = current;
    }

    fn expand_each(&mut self, state: &[u8], out: &mut Successors) {
        let count = self.processes(state);
        if self.uses_enabled || self.program.claim.is_some() {
            (0..count).for_each(|process| self.expand(state, process, false, out));
            return;
        }
        let mut current = std::mem::take(&mut self.current);
        current.clear();
        current.extend_from_slice(state);
        for pid in 0..count as usize {
            self.steps(&mut current, pid, false, out);
        }
        self.current = current;
    }

    fn is_stopped(&self) -> bool {
        self.machine.stopped
    }

    fn has_timeout(&self) -> bool {
        self.program.uses_timeout
    }

    fn stuck(&mut self, state: &[u8]) -> Option<FaultId> {
        if self.program.claim.is_some() {
            return None;
        }
        let program = self.program;
        let shape = &self.machine.shapes.list[usize::from(shape_of(program, state))];
        let valid = shape.procs.iter().all(|&(ty, at)| {
            program.procs[usize::from(ty)].places[location(program, state, at as usize)].valid_end
        });
        let valid = valid && (shape.procs.is_empty() || self.machine.trace_complete(program, state));
        if valid { None } else { Some(self.wrong(Wrong::EndState)) }
    }

    fn stutter(&mut self, state: &[u8], out: &mut Successors) {
        if !self.stutters {
            return;
        }
        if self.program.claim.is_none() {
            // An execution that ends at an accept label stays there for ever; elsewhere there is nothing to see.
            if self.accepting(state) {
                self.emit(state, 0, 0, &[], out, Pos::default());
            }
            return;
        }
        let report = self.processes(state) == 0;
        let moves = self.claim_moves(&state.to_vec(), 0, out, report);
        for (next, micro) in moves {
            self.emit(&next, 0, 0, &[micro], out, Pos::default());
        }
    }

    fn accepting(&self, state: &[u8]) -> bool {
        let shape = &self.machine.shapes.list[usize::from(shape_of(self.program, state))];
        let watched = match self.accepts {
            Accepts::Nobody => 0,
            Accepts::Claim => 1,
            Accepts::All => shape.procs.len(),
        };
        shape.procs[..watched].iter().any(|&(ty, at)| {
            self.program.procs[usize::from(ty)].places[location(self.program, state, at as usize)].accept
        })
    }

    fn safe(&mut self, state: &[u8], process: u32) -> bool {
        crate::por::safe(self, state, process as usize)
    }
}

impl System<'_> {
    /// The steps of a process in a state in which the claim has just moved.
    fn steps_after_claim(
        &mut self,
        state: &mut State,
        pid: usize,
        timeout: bool,
        out: &mut Successors,
        micro: Micro,
    ) {
        let before = self.paths.len();
        self.path.clear();
        self.steps(state, pid, timeout, out);
        if self.record {
            for path in &mut self.paths[before..] {
                path.insert(0, micro);
            }
        }
    }
}

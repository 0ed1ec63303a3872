//! The machine that runs compiled code on a state.

use crate::ast::{Basic, ChanTest};
use crate::parser::{apply_binary, apply_unary};
use crate::program::{Cell, Code, Create, NO_PID, Op, Pattern, Program};
use crate::shape::{Item, ShapeId, Shapes};

/// What went wrong while a step was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An assertion, by number.
    Assert(u32),
    Index(i32, u32),
    DivisionByZero,
    BadChannel,
    TooManyProcesses,
    BlockedStep,
    Endless,
    /// A message that the trace does not have here.
    Event,
    /// The messages of a notrace, to their end.
    Denied,
    /// Two ways for the trace to go on with one message.
    Ambiguous,
    /// A message of another number of fields than the channel has: those of the channel, those of the statement.
    Fields(usize, usize),
    /// A rendezvous channel is looked into.
    Polled,
    /// A rendezvous send within a `d_step`.
    Offer,
    /// A step of more statements than are taken, which may end.
    Long,
    /// Whoever checks does not want to go on.
    Stopped,
    /// The state cannot be represented.
    Limit,
}

/// Rounds of loops that one step may take.
pub(crate) const MOST_ROUNDS: u32 = 4_000_000;
/// After so many, a round is looked for that was there before.
const FEW_ROUNDS: u32 = 1 << 12;

/// A state at hand.
pub(crate) type State = Vec<u8>;

/// Where code runs: on a state of its own, or on bytes among others, where no process can be started.
pub(crate) trait Memory: std::ops::DerefMut<Target = [u8]> {
    /// The state, if it can grow.
    fn growing(&mut self) -> Option<&mut State>;
}

impl Memory for State {
    fn growing(&mut self) -> Option<&mut State> {
        Some(self)
    }
}

impl Memory for &mut [u8] {
    fn growing(&mut self) -> Option<&mut State> {
        None
    }
}

/// Instructions between two looks at whether to go on.
const EVERY: u32 = 1 << 21;

/// Where a loop was: what it does next depends on nothing else.
struct Seen {
    at: u32,
    state: Vec<u8>,
    regs: [i32; 512],
}

pub(crate) struct Machine<'p> {
    /// Asked now and then; when it says no, what is being executed is given up.
    go_on: &'p dyn Fn() -> bool,
    /// Instructions since it was last asked; and whether it has said no.
    work: u32,
    pub(crate) stopped: bool,
    pub(crate) shapes: Shapes,
    pub(crate) regs: [i32; 512],
    /// Whether `timeout` holds.
    pub(crate) timeout: bool,
    /// An assertion that failed in the step, or a trace; the step goes on, as in Spin.
    pub(crate) failed: Option<Fault>,
    /// Statements that stored a value that did not fit: by name.
    pub(crate) cut: Vec<bool>,
    /// The rendezvous channel on which a message is offered (0: none), and the message.
    pub(crate) offer: i32,
    pub(crate) message: Vec<i32>,
    /// The answer to `enabled(pid)`, found by whoever runs the guard.
    pub(crate) enabled: Vec<bool>,
}

#[inline]
pub(crate) fn shape_of(program: &Program, state: &[u8]) -> ShapeId {
    u16::from_le_bytes([state[program.hidden], state[program.hidden + 1]])
}

pub(crate) fn set_shape(program: &Program, state: &mut [u8], shape: ShapeId) {
    state[program.hidden..program.hidden + 2].copy_from_slice(&shape.to_le_bytes());
}

#[inline]
pub(crate) fn location(program: &Program, state: &[u8], base: usize) -> usize {
    if program.wide {
        usize::from(u16::from_le_bytes([state[base], state[base + 1]]))
    } else {
        usize::from(state[base])
    }
}

#[inline]
pub(crate) fn set_location(program: &Program, state: &mut [u8], base: usize, place: u16) {
    if program.wide {
        state[base..base + 2].copy_from_slice(&place.to_le_bytes());
    } else {
        state[base] = place as u8;
    }
}

impl<'p> Machine<'p> {
    pub(crate) fn new(program: &Program, go_on: &'p dyn Fn() -> bool) -> Self {
        Machine {
            go_on,
            work: 0,
            stopped: false,
            shapes: Shapes::new(program),
            regs: [0; 512],
            timeout: false,
            failed: None,
            cut: vec![false; program.model.statements as usize],
            offer: 0,
            message: Vec::new(),
            enabled: Vec::new(),
        }
    }

    /// Counts instructions. Whether to go on.
    #[inline]
    pub(crate) fn spend(&mut self, instructions: u32) -> bool {
        self.work = self.work.saturating_add(instructions);
        if self.work >= EVERY {
            self.work = 0;
            self.stopped |= !(self.go_on)();
        }
        !self.stopped
    }

    /// The first state: globals, their channels, and the active processes. The claim is not in it as a
    /// process of the model; it comes first of all, as process 0 of the shape, when there is one.
    pub(crate) fn initial(&mut self, program: &Program) -> Result<State, Fault> {
        let mut state = vec![0; program.globals_end];
        self.create(program, &mut state, 0, 0, &program.globals)?;
        if let Some(claim) = program.claim {
            self.start(program, &mut state, claim, 0, None)?;
        }
        for (number, process) in program.model.procs.iter().enumerate() {
            for _ in 0..process.active {
                self.regs[..process.params.min(250)].fill(0);
                self.start(program, &mut state, number, 0, None)?;
            }
        }
        Ok(state)
    }

    fn create(
        &mut self,
        program: &Program,
        state: &mut State,
        base: usize,
        pid: usize,
        list: &[Create],
    ) -> Result<(), Fault> {
        for item in list {
            match *item {
                Create::Value(code) => self.run(program, code, state, base, pid)?,
                Create::Chan(ty, at) => {
                    let shape = shape_of(program, state);
                    let grown = self.shapes.grown(program, shape, Item::Chan(ty)).ok_or(Fault::Limit)?;
                    state.resize(self.shapes.list[usize::from(grown)].size, 0);
                    set_shape(program, state, grown);
                    state[base + at as usize] = self.shapes.list[usize::from(grown)].chans.len() as u8;
                }
            }
        }
        Ok(())
    }

    /// Starts a process whose arguments are in the registers from `args`; its number. `stmt` says so.
    pub(crate) fn start(
        &mut self,
        program: &Program,
        state: &mut State,
        ty: usize,
        args: usize,
        stmt: Option<u32>,
    ) -> Result<i32, Fault> {
        let shape = shape_of(program, state);
        let number = self.shapes.list[usize::from(shape)].procs.len();
        if number - usize::from(program.claim.is_some() && number > 0) >= 255 {
            return Err(Fault::TooManyProcesses);
        }
        let grown = self.shapes.grown(program, shape, Item::Process(ty as u16)).ok_or(Fault::Limit)?;
        let base = state.len();
        state.resize(self.shapes.list[usize::from(grown)].size, 0);
        set_shape(program, state, grown);
        let process = &program.procs[ty];
        for (index, &(cell, at)) in process.params.iter().enumerate() {
            let value = self.regs[args + index];
            if let (Some(stmt), true) = (stmt, cut(cell, value) != value) {
                self.cut[stmt as usize] = true;
            }
            cell.store(state, base + at as usize, value);
        }
        if program.uses_priority {
            state[base + program.header()] = process.priority;
        }
        if !process.create.is_empty() {
            let saved = self.regs;
            self.create(
                program,
                state,
                base,
                number.saturating_sub(usize::from(program.claim.is_some())),
                &process.create,
            )?;
            self.regs = saved;
        }
        Ok(number.saturating_sub(usize::from(program.claim.is_some())) as i32)
    }

    /// Ends the youngest process.
    pub(crate) fn end(&mut self, program: &Program, state: &mut State) -> Result<(), Fault> {
        let shape = shape_of(program, state);
        let shrunk = self.shapes.shrunk(shape).ok_or(Fault::Limit)?;
        state.truncate(self.shapes.list[usize::from(shrunk)].size);
        set_shape(program, state, shrunk);
        Ok(())
    }

    /// Runs code. `base` is where the process begins, `pid` its number as the model sees it.
    #[inline]
    pub(crate) fn run<M: Memory>(
        &mut self,
        program: &Program,
        code: Code,
        state: &mut M,
        base: usize,
        pid: usize,
    ) -> Result<(), Fault> {
        if code.is_empty() {
            return Ok(());
        }
        let (mut at, end) = (code.start as usize, code.end as usize);
        let (mut rounds, mut seen) = (0, None);
        while at < end {
            let op = program.ops[at];
            at += 1;
            macro_rules! r {
                ($reg:expr) => {
                    self.regs[usize::from($reg)]
                };
            }
            match op {
                Op::Const(d, value) => r!(d) = value,
                Op::Move(d, a) => r!(d) = r!(a),
                Op::LoadGlobal(d, cell, offset) => r!(d) = cell.load(state, offset as usize),
                Op::LoadLocal(d, cell, offset) => r!(d) = cell.load(state, base + offset as usize),
                Op::StoreGlobal(a, cell, offset) => cell.store(state, offset as usize, r!(a)),
                Op::StoreLocal(a, cell, offset) => cell.store(state, base + offset as usize, r!(a)),
                Op::LoadGlobalAt(d, i, cell, offset) => {
                    r!(d) = cell.load(state, offset as usize + r!(i) as usize)
                }
                Op::LoadLocalAt(d, i, cell, offset) => {
                    r!(d) = cell.load(state, base + offset as usize + r!(i) as usize)
                }
                Op::StoreGlobalAt(a, i, cell, offset) => {
                    cell.store(state, offset as usize + r!(i) as usize, r!(a))
                }
                Op::StoreLocalAt(a, i, cell, offset) => {
                    cell.store(state, base + offset as usize + r!(i) as usize, r!(a));
                }
                Op::Fits(a, cell, stmt) => {
                    if cut(cell, r!(a)) != r!(a) {
                        self.cut[stmt as usize] = true;
                    }
                }
                Op::Bound(a, length) => {
                    if r!(a) as u32 >= length {
                        return Err(Fault::Index(r!(a), length));
                    }
                }
                Op::Scale(a, stride) => r!(a) *= stride as i32,
                Op::Binary(op, d, a, b) => match apply_binary(op, r!(a), r!(b)) {
                    Some(value) => r!(d) = value,
                    None => return Err(Fault::DivisionByZero),
                },
                Op::BinaryConst(op, d, a, b) => match apply_binary(op, r!(a), b) {
                    Some(value) => r!(d) = value,
                    None => return Err(Fault::DivisionByZero),
                },
                Op::Unary(op, d, a) => r!(d) = apply_unary(op, r!(a)),
                Op::Bool(a) => r!(a) = i32::from(r!(a) != 0),
                Op::Jump(target) => {
                    // Only a jump back can loop for ever.
                    if (target as usize) < at {
                        rounds += 1;
                        if rounds > FEW_ROUNDS {
                            self.again(rounds, target, state, &mut seen)?;
                        }
                        if !self.spend((at - target as usize) as u32) {
                            return Err(Fault::Stopped);
                        }
                    }
                    at = target as usize;
                }
                Op::JumpIfZero(a, target) => {
                    if r!(a) == 0 {
                        at = target as usize;
                    }
                }
                Op::JumpIfNot(a, target) => {
                    if r!(a) != 0 {
                        at = target as usize;
                    }
                }
                Op::CompareGlobalByte(op, d, offset, value) => {
                    r!(d) = compare(op, state[usize::from(offset)], value);
                }
                Op::CompareLocalByte(op, d, offset, value) => {
                    r!(d) = compare(op, state[base + usize::from(offset)], value);
                }
                Op::Assert(a, number) => {
                    if r!(a) == 0 && self.failed.is_none() {
                        self.failed = Some(Fault::Assert(number));
                    }
                }
                Op::Alone(a) => r!(a) = i32::from(r!(a) != 0 && self.offer == 0),
                Op::Pid(d) => r!(d) = pid as i32,
                Op::Timeout(d) => r!(d) = i32::from(self.timeout),
                Op::Blocked => return Err(Fault::BlockedStep),
                _ => self.rare(program, op, state)?,
            }
        }
        Ok(())
    }

    /// Whether a loop is where it was before: then it has no end. What it is compared with is taken anew at each power of
    /// two, so that a circle of any length is found (Brent 1980).
    #[cold]
    fn again(&self, rounds: u32, at: u32, state: &[u8], seen: &mut Option<Box<Seen>>) -> Result<(), Fault> {
        if rounds >= MOST_ROUNDS {
            return Err(Fault::Long);
        }
        let same = |seen: &Seen| seen.at == at && seen.state == state && seen.regs == self.regs;
        if seen.as_deref().is_some_and(same) {
            return Err(Fault::Endless);
        }
        if seen.is_none() || rounds.is_power_of_two() {
            *seen = Some(Box::new(Seen { at, state: state.to_vec(), regs: self.regs }));
        }
        Ok(())
    }

    /// Instructions on channels and other processes.
    fn rare<M: Memory>(&mut self, program: &Program, op: Op, state: &mut M) -> Result<(), Fault> {
        macro_rules! r {
            ($reg:expr) => {
                self.regs[usize::from($reg)]
            };
        }
        match op {
            Op::ChanLen(d, c) => {
                let (ty, at) = self.chan(program, state, r!(c))?;
                r!(d) = if program.chans[ty].capacity == 0 { 0 } else { i32::from(state[at]) };
            }
            Op::ChanTest(test, d, c) => {
                let (ty, at) = self.chan(program, state, r!(c))?;
                let capacity = program.chans[ty].capacity;
                let length = if capacity == 0 { 0 } else { state[at] };
                // A rendezvous channel is empty, and never full, between steps.
                let full = capacity > 0 && length == capacity;
                r!(d) = i32::from(match test {
                    ChanTest::Full => full,
                    ChanTest::NFull => !full,
                    ChanTest::Empty => length == 0,
                    ChanTest::NEmpty => length != 0,
                });
            }
            Op::TestRecv(d, pattern, base) if self.offer != 0 => {
                r!(d) = i32::from(self.takes(program, pattern, usize::from(base)));
            }
            Op::Poll(d, pattern, base) | Op::TestRecv(d, pattern, base) => {
                r!(d) = i32::from(self.find(program, state, pattern, usize::from(base))?.is_some());
            }
            Op::TestSend(d, base) => {
                let (ty, at) = self.chan(program, state, r!(base))?;
                let capacity = program.chans[ty].capacity;
                // A rendezvous is tried, and goes wrong.
                r!(d) = i32::from(capacity == 0 || state[at] < capacity);
            }
            Op::DoSend(base, count, sorted, stmt) => {
                self.send(program, state, usize::from(base), count, sorted, stmt)?
            }
            Op::DoRecv(_, base) if self.offer != 0 => {
                self.offer = 0;
                let first = usize::from(base) + 1;
                self.regs[first..first + self.message.len()].copy_from_slice(&self.message);
            }
            Op::DoRecv(pattern, base) => {
                let slot =
                    self.find(program, state, pattern, usize::from(base))?.ok_or(Fault::BlockedStep)?;
                self.receive(program, state, pattern, usize::from(base), slot)?;
            }
            Op::Run(d, ty, args, stmt) => {
                let state = state.growing().expect("such a transition is not marked as in place");
                let number = self.start(program, state, usize::from(ty), usize::from(args), Some(stmt))?;
                r!(d) = number;
            }
            Op::NrPr(d) => {
                let shape = &self.shapes.list[usize::from(shape_of(program, state))];
                r!(d) = (shape.procs.len() - usize::from(program.claim.is_some())) as i32;
            }
            Op::Last(d) => r!(d) = program.last.map_or(0, |at| i32::from(state[at])),
            Op::NonProgress(d) => {
                let shape = &self.shapes.list[usize::from(shape_of(program, state))];
                let progress = shape.procs.iter().any(|&(ty, at)| {
                    program.procs[usize::from(ty)].places[location(program, state, at as usize)].progress
                });
                r!(d) = i32::from(!progress);
            }
            Op::Enabled(d, a) => {
                let pid = r!(a);
                r!(d) = i32::from(
                    usize::try_from(pid).is_ok_and(|p| self.enabled.get(p).copied().unwrap_or(false)),
                );
            }
            Op::PcValue(d, a) => {
                let found = self.process(program, state, r!(a));
                r!(d) =
                    found.map_or(0, |(ty, at)| program.procs[ty].places[location(program, state, at)].state);
            }
            Op::GetPriority(d, a) => {
                let found = self.process(program, state, r!(a));
                r!(d) = found.map_or(0, |(_, at)| i32::from(state[at + program.header()]));
            }
            Op::SetPriority(a, b) => {
                if let Some((_, at)) = self.process(program, state, r!(a)) {
                    state[at + program.header()] = r!(b).clamp(1, 255) as u8;
                }
            }
            Op::RemoteLoad(d, who, cell, offset, ty) => {
                let found = self.remote(program, state, who, ty);
                let index = r!(d) as usize;
                r!(d) = found.map_or(0, |at| cell.load(state, at + usize::from(offset) + index));
            }
            Op::RemoteAt(d, who, place, ty) => {
                let found = self.remote(program, state, who, ty);
                r!(d) = i32::from(found.is_some_and(|at| location(program, state, at) == usize::from(place)));
            }
            _ => unreachable!("the common instructions are handled by run"),
        }
        Ok(())
    }

    /// The process with a number, as the model counts them.
    pub(crate) fn process(&self, program: &Program, state: &[u8], pid: i32) -> Option<(usize, usize)> {
        let shape = &self.shapes.list[usize::from(shape_of(program, state))];
        let pid = usize::try_from(pid).ok()? + usize::from(program.claim.is_some());
        shape.procs.get(pid).map(|&(ty, at)| (usize::from(ty), at as usize))
    }

    fn remote(&self, program: &Program, state: &[u8], who: u8, ty: u8) -> Option<usize> {
        if who == NO_PID {
            let shape = &self.shapes.list[usize::from(shape_of(program, state))];
            return shape.procs.iter().find(|&&(t, _)| t == u16::from(ty)).map(|&(_, at)| at as usize);
        }
        let (found, at) = self.process(program, state, self.regs[usize::from(who)])?;
        (found == usize::from(ty)).then_some(at)
    }

    /// Type and place of a channel.
    #[inline]
    pub(crate) fn chan(&self, program: &Program, state: &[u8], name: i32) -> Result<(usize, usize), Fault> {
        let shape = &self.shapes.list[usize::from(shape_of(program, state))];
        match usize::try_from(name).ok().and_then(|name| shape.chans.get(name.wrapping_sub(1))) {
            Some(&(ty, at)) => Ok((usize::from(ty), at as usize)),
            None => Err(Fault::BadChannel),
        }
    }

    /// Whether a receive takes the message that is offered.
    pub(crate) fn takes(&self, program: &Program, pattern: u16, base: usize) -> bool {
        let pattern = &program.patterns[usize::from(pattern)];
        let fits = |index: usize| {
            !pattern.matches.get(index).copied().unwrap_or(false)
                || self.regs[base + 1 + index] == self.message[index]
        };
        self.regs[base] == self.offer && !pattern.keep && (0..self.message.len()).all(fits)
    }

    /// The message that a receive would take: its slot.
    #[inline]
    pub(crate) fn find(
        &self,
        program: &Program,
        state: &[u8],
        pattern: u16,
        base: usize,
    ) -> Result<Option<usize>, Fault> {
        let (ty, at) = self.chan(program, state, self.regs[base])?;
        let chan = &program.chans[ty];
        let pattern = &program.patterns[usize::from(pattern)];
        if chan.capacity == 0 {
            return if pattern.keep { Err(Fault::Polled) } else { Ok(None) };
        }
        if state[at] == 0 {
            return Ok(None);
        }
        let slots = if pattern.anywhere { usize::from(state[at]) } else { 1 };
        'slots: for slot in 0..slots {
            let mut field_at = at + 1 + slot * chan.message;
            for (index, &cell) in chan.fields.iter().enumerate() {
                if pattern.matches.get(index).copied().unwrap_or(false)
                    && cell.load(state, field_at) != self.regs[base + 1 + index]
                {
                    continue 'slots;
                }
                field_at += cell.size();
            }
            return Ok(Some(slot));
        }
        Ok(None)
    }

    /// Takes a message: its fields come into the registers after the base.
    pub(crate) fn receive(
        &mut self,
        program: &Program,
        state: &mut [u8],
        pattern: u16,
        base: usize,
        slot: usize,
    ) -> Result<(), Fault> {
        let (ty, at) = self.chan(program, state, self.regs[base])?;
        let chan = &program.chans[ty];
        let from = at + 1 + slot * chan.message;
        self.received(program, pattern, chan.fields.len())?;
        let mut field_at = from;
        for (index, &cell) in chan.fields.iter().enumerate() {
            self.regs[base + 1 + index] = cell.load(state, field_at);
            field_at += cell.size();
        }
        if !program.patterns[usize::from(pattern)].keep {
            if program.watch.is_some() {
                self.observe(program, state, false, self.regs[base], base + 1, chan.fields.len())?;
            }
            let length = usize::from(state[at]);
            let end = at + 1 + length * chan.message;
            state.copy_within(from + chan.message..end, from);
            state[end - chan.message..end].fill(0);
            state[at] -= 1;
        }
        Ok(())
    }

    /// A receive of another number of fields than the channel has goes wrong: with too few, the step goes on, as in Spin.
    pub(crate) fn received(&mut self, program: &Program, pattern: u16, fields: usize) -> Result<(), Fault> {
        let Pattern { matches, keep, .. } = &program.patterns[usize::from(pattern)];
        let fault = Fault::Fields(fields, matches.len());
        if matches.len() > fields {
            return Err(fault);
        }
        if matches.len() < fields && !keep {
            self.failed.get_or_insert(fault);
        }
        Ok(())
    }

    /// A send of another number of fields goes wrong, and the step goes on.
    pub(crate) fn sent(&mut self, count: u8, fields: usize) {
        if usize::from(count) != fields {
            self.failed.get_or_insert(Fault::Fields(fields, usize::from(count)));
        }
    }

    /// Puts the message in the registers after the base into a buffered channel.
    pub(crate) fn send(
        &mut self,
        program: &Program,
        state: &mut [u8],
        base: usize,
        count: u8,
        sorted: bool,
        stmt: u32,
    ) -> Result<(), Fault> {
        let (ty, at) = self.chan(program, state, self.regs[base])?;
        let chan = &program.chans[ty];
        if chan.capacity == 0 {
            return Err(Fault::Offer);
        }
        self.sent(count, chan.fields.len());
        for missing in usize::from(count)..chan.fields.len() {
            self.regs[base + 1 + missing] = 0;
        }
        let length = usize::from(state[at]);
        let mut slot = length;
        if sorted {
            slot = (0..length).find(|&slot| self.goes_before(chan, state, at, slot, base)).unwrap_or(length);
            let from = at + 1 + slot * chan.message;
            state.copy_within(from..at + 1 + length * chan.message, from + chan.message);
        }
        let mut field_at = at + 1 + slot * chan.message;
        for (index, &cell) in chan.fields.iter().enumerate() {
            let value = self.regs[base + 1 + index];
            self.regs[base + 1 + index] = cut(cell, value);
            if self.regs[base + 1 + index] != value {
                self.cut[stmt as usize] = true;
            }
            cell.store(state, field_at, value);
            field_at += cell.size();
        }
        state[at] += 1;
        if program.watch.is_some() {
            self.observe(program, state, true, self.regs[base], base + 1, chan.fields.len())?;
        }
        Ok(())
    }

    /// Whether the new message sorts before the one in a slot.
    fn goes_before(
        &self,
        chan: &crate::program::ChanType,
        state: &[u8],
        at: usize,
        slot: usize,
        base: usize,
    ) -> bool {
        let mut field_at = at + 1 + slot * chan.message;
        for (index, &cell) in chan.fields.iter().enumerate() {
            let (new, old) = (self.regs[base + 1 + index], cell.load(state, field_at));
            if new != old {
                return new < old;
            }
            field_at += cell.size();
        }
        false
    }
}

#[inline(always)]
fn compare(op: crate::ast::Binary, a: u8, b: u8) -> i32 {
    use crate::ast::Binary;
    i32::from(match op {
        Binary::Eq => a == b,
        Binary::Ne => a != b,
        Binary::Lt => a < b,
        Binary::Le => a <= b,
        Binary::Gt => a > b,
        _ => a >= b,
    })
}

/// A value as a field of this type holds it.
#[inline]
pub(crate) fn cut(cell: Cell, value: i32) -> i32 {
    match cell {
        Cell::Bit => value & 1,
        Cell::U8 => value & 0xff,
        Cell::I16 => i32::from(value as i16),
        Cell::I32 => value,
        Cell::Bits(bits) => Basic::Unsigned(bits).truncate(value),
    }
}

//! The compiled form of a model: control graphs whose guards and effects are dense register code.
//!
//! A state is a string of bytes: hidden variables (not compared), the number of the state's *shape* (which
//! processes and channels exist, and so where each begins), `_last` where the model reads it, the globals,
//! and then the processes and channels in the order in which they were created. A process is its location
//! and its locals; a channel is the number of its messages and the messages. Nothing is aligned or padded.

use std::rc::Rc;

use crate::ast::{Basic, Binary, ChanTest, Model, StmtId, Unary};
use crate::error::Pos;

/// How a number lies in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cell {
    Bit,
    U8,
    I16,
    I32,
    /// An unsigned number of so many bits.
    Bits(u8),
}

impl Cell {
    pub(crate) fn of(basic: Basic) -> Cell {
        match basic {
            Basic::Bit | Basic::Bool => Cell::Bit,
            Basic::Byte | Basic::Mtype(_) | Basic::Pid | Basic::Chan => Cell::U8,
            Basic::Short => Cell::I16,
            Basic::Int => Cell::I32,
            Basic::Unsigned(bits) => Cell::Bits(bits),
        }
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Cell::Bit | Cell::U8 => 1,
            Cell::I16 => 2,
            Cell::I32 => 4,
            Cell::Bits(bits) => match bits {
                0..=8 => 1,
                9..=16 => 2,
                _ => 4,
            },
        }
    }

    /// The values that fit.
    pub(crate) fn range(self) -> (i64, i64) {
        match self {
            Cell::Bit => (0, 1),
            Cell::U8 => (0, 255),
            Cell::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            Cell::Bits(bits) if bits < 32 => (0, (1 << bits) - 1),
            Cell::I32 | Cell::Bits(_) => (i64::from(i32::MIN), i64::from(i32::MAX)),
        }
    }

    #[inline(always)]
    pub(crate) fn load(self, state: &[u8], at: usize) -> i32 {
        match self {
            Cell::Bit | Cell::U8 => i32::from(state[at]),
            Cell::I16 => i32::from(i16::from_le_bytes([state[at], state[at + 1]])),
            Cell::I32 => i32::from_le_bytes(state[at..at + 4].try_into().expect("four bytes")),
            Cell::Bits(bits) => match bits {
                0..=8 => i32::from(state[at]),
                9..=16 => i32::from(u16::from_le_bytes([state[at], state[at + 1]])),
                _ => i32::from_le_bytes(state[at..at + 4].try_into().expect("four bytes")),
            },
        }
    }

    /// Stores a value, cut to the cell's width.
    #[inline(always)]
    pub(crate) fn store(self, state: &mut [u8], at: usize, value: i32) {
        match self {
            Cell::Bit => state[at] = (value & 1) as u8,
            Cell::U8 => state[at] = value as u8,
            Cell::I16 => state[at..at + 2].copy_from_slice(&(value as i16).to_le_bytes()),
            Cell::I32 => state[at..at + 4].copy_from_slice(&value.to_le_bytes()),
            Cell::Bits(bits) => {
                let value = Basic::Unsigned(bits).truncate(value);
                match bits {
                    0..=8 => state[at] = value as u8,
                    9..=16 => state[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes()),
                    _ => state[at..at + 4].copy_from_slice(&value.to_le_bytes()),
                }
            }
        }
    }
}

/// A register.
pub(crate) type Reg = u8;

/// One instruction. Locals are addressed from the beginning of the process, globals from that of the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    Const(Reg, i32),
    Move(Reg, Reg),
    LoadGlobal(Reg, Cell, u32),
    LoadLocal(Reg, Cell, u32),
    StoreGlobal(Reg, Cell, u32),
    StoreLocal(Reg, Cell, u32),
    /// Result, offset register.
    LoadGlobalAt(Reg, Reg, Cell, u32),
    LoadLocalAt(Reg, Reg, Cell, u32),
    /// Value, offset register.
    StoreGlobalAt(Reg, Reg, Cell, u32),
    StoreLocalAt(Reg, Reg, Cell, u32),
    /// Notes that a value does not fit the variable that a statement stores it in. Made only where it may not.
    Fits(Reg, Cell, u32),
    /// An index: checked against a length.
    Bound(Reg, u32),
    Scale(Reg, u32),
    Binary(Binary, Reg, Reg, Reg),
    BinaryConst(Binary, Reg, Reg, i32),
    Unary(Unary, Reg, Reg),
    Jump(u32),
    JumpIfZero(Reg, u32),
    JumpIfNot(Reg, u32),
    Bool(Reg),
    /// A comparison of a one-byte variable with a constant, the commonest of guards.
    CompareGlobalByte(Binary, Reg, u16, u8),
    CompareLocalByte(Binary, Reg, u16, u8),
    ChanLen(Reg, Reg),
    ChanTest(ChanTest, Reg, Reg),
    /// Result, pattern, base of the values to match.
    Poll(Reg, u16, Reg),
    /// Result, process type, base of the arguments, statement.
    Run(Reg, u16, Reg, u32),
    /// Priority of the process that was just started: process, value.
    SetPriority(Reg, Reg),
    GetPriority(Reg, Reg),
    Pid(Reg),
    NrPr(Reg),
    Last(Reg),
    Timeout(Reg),
    NonProgress(Reg),
    Enabled(Reg, Reg),
    PcValue(Reg, Reg),
    /// Result (holds an offset before), process or `NO_PID`, cell, offset, process type.
    RemoteLoad(Reg, Reg, Cell, u16, u8),
    /// Result, process or `NO_PID`, location, process type.
    RemoteAt(Reg, Reg, u16, u8),
    Assert(Reg, u32),
    /// A condition that does not hold while a message is offered: only a receive can begin then.
    Alone(Reg),
    /// Whether a message can be sent: result, base (the channel, then the values).
    TestSend(Reg, Reg),
    /// Base, count, sorted, statement.
    DoSend(Reg, u8, bool, u32),
    TestRecv(Reg, u16, Reg),
    /// Fields come into the registers after the base.
    DoRecv(u16, Reg),
    Blocked,
}

/// Stands for "the only process of its type" in remote references.
pub(crate) const NO_PID: Reg = 255;

/// A stretch of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Code {
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub(crate) fn len(self) -> u32 {
        self.end - self.start
    }
}

/// What a transition does besides its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Guard, then effect.
    Plain,
    /// Executable when nothing before it in its process is.
    Else,
    /// The guard code evaluates the channel and the values; `count`, sorted.
    Send(u8, bool),
    /// The guard code evaluates the channel and the values to match; the pattern. The effect stores.
    Recv(u16),
    /// The end of the process.
    End,
    /// Of a trace: the guard code evaluates the channel and the values to match; sent or received, the pattern.
    Event(bool, u16),
}

/// A transition out of a location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trans {
    pub(crate) kind: Kind,
    pub(crate) guard: Code,
    pub(crate) effect: Code,
    pub(crate) target: u16,
    /// The process goes on within its atomic sequence.
    pub(crate) atomic: bool,
    /// For the transitions of an `unless` escape: which escape, from 1.
    pub(crate) escape: u16,
    pub(crate) stmt: StmtId,
    pub(crate) at: Pos,
    /// A `d_step` that can begin with a receive, and so be the other side of a handshake.
    pub(crate) takes: bool,
    /// It ends a step and starts no process: the state after it can be written where it is to be.
    pub(crate) in_place: bool,
    /// See the partial-order reduction: commutes with every transition of every other process.
    pub(crate) safe: bool,
}

/// A location of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// Its transitions, in Spin's order: an index range of [`Program::trans`].
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// Instructions of all of them together.
    pub(crate) work: u32,
    /// A process may stay here for ever: `end` label, or the end of the body.
    pub(crate) valid_end: bool,
    pub(crate) progress: bool,
    pub(crate) accept: bool,
    /// The end of the body.
    pub(crate) is_end: bool,
    /// Spin's number of it, which is what `pc_value` gives.
    pub(crate) state: i32,
    /// All its transitions are safe and none is an `else` or a timeout with an outside view.
    pub(crate) ample: bool,
}

/// What a local is created with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Create {
    /// Code that stores an initial value.
    Value(Code),
    /// A channel of this type; its name is stored at the offset.
    Chan(u16, u32),
}

/// A compiled process type.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) places: Vec<Place>,
    pub(crate) size: usize,
    /// Cell and offset of every parameter.
    pub(crate) params: Vec<(Cell, u32)>,
    pub(crate) create: Vec<Create>,
    pub(crate) provided: Code,
    pub(crate) priority: u8,
}

/// A compiled kind of channel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChanType {
    pub(crate) capacity: u8,
    pub(crate) fields: Vec<Cell>,
    /// Bytes of a message.
    pub(crate) message: usize,
    /// Bytes of the channel in the state.
    pub(crate) size: usize,
}

/// What a receive wants: which fields must match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pattern {
    pub(crate) matches: Vec<bool>,
    pub(crate) anywhere: bool,
    pub(crate) keep: bool,
}

/// A trace assertion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// Its automaton, among the process types.
    pub(crate) process: usize,
    /// Where its location lies in the state, in two bytes.
    pub(crate) at: usize,
    /// A `notrace`: its end must not be reached.
    pub(crate) denied: bool,
}

/// A compiled model.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) model: Rc<Model>,
    pub(crate) ops: Vec<Op>,
    pub(crate) trans: Vec<Trans>,
    /// The model's process types; then the claim and the trace, if they are checked.
    pub(crate) procs: Vec<Process>,
    pub(crate) claim: Option<usize>,
    pub(crate) watch: Option<Watch>,
    pub(crate) chans: Vec<ChanType>,
    pub(crate) patterns: Vec<Pattern>,
    /// The texts of the assertions.
    pub(crate) asserts: Vec<(String, Pos)>,
    /// Bytes of hidden variables at the front.
    pub(crate) hidden: usize,
    /// Where the globals end.
    pub(crate) globals_end: usize,
    pub(crate) globals: Vec<Create>,
    /// Where `_last` lies.
    pub(crate) last: Option<usize>,
    /// A location takes two bytes.
    pub(crate) wide: bool,
    pub(crate) uses_timeout: bool,
    pub(crate) uses_priority: bool,
    pub(crate) uses_provided: bool,
}

impl Program {
    /// Where the part of a state that is compared begins.
    pub(crate) fn key(&self) -> usize {
        self.hidden
    }

    /// Bytes before a process's locals.
    pub(crate) fn header(&self) -> usize {
        if self.wide { 2 } else { 1 }
    }
}

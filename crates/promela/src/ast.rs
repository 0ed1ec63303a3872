//! The syntax tree of a model, with names resolved: what the parser makes and every later part reads.
//!
//! Inline calls are expanded where they stand, `for` and `select` are written out as the loops that they
//! abbreviate, so that both the compiler and the independent interpreter see one small language.

use crate::error::{Files, Pos};

/// A statement's name, unique in the model. An inlined body gets new ones at every call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StmtId(pub u32);

/// A basic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Each is the type it names.
pub enum Basic {
    Bit,
    Bool,
    Byte,
    Short,
    Int,
    /// `unsigned x : n`.
    Unsigned(u8),
    /// A symbolic constant; the number of its set of names.
    Mtype(u16),
    Pid,
    Chan,
}

impl Basic {
    /// The value as a variable of this type holds it.
    #[inline]
    pub fn truncate(self, value: i32) -> i32 {
        match self {
            Basic::Bit | Basic::Bool => value & 1,
            Basic::Byte | Basic::Mtype(_) | Basic::Pid | Basic::Chan => value & 0xff,
            Basic::Short => i32::from(value as i16),
            Basic::Int => value,
            Basic::Unsigned(bits) if bits >= 32 => value,
            Basic::Unsigned(bits) => value & ((1 << bits) - 1),
        }
    }
}

/// A type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A number of some width, or a channel.
    Basic(Basic),
    /// A user-defined type: an index into [`Model::typedefs`].
    Struct(usize),
}

/// The channel that a declaration creates.
#[derive(Clone, Debug, PartialEq)]
pub struct ChanInit {
    /// How many messages it holds; 0 is a rendezvous.
    pub capacity: u32,
    /// The types of a message's fields, structures flattened.
    pub fields: Vec<Basic>,
}

/// A declared variable, a parameter, or a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its length, for an array.
    pub array: Option<u32>,
    /// Its value when its process starts.
    pub init: Option<Expr>,
    /// The values of its first elements, for an array that lists them; the others are 0.
    pub elements: Vec<i32>,
    /// The channels that it is created with.
    pub chan: Option<ChanInit>,
    /// Declared `hidden`: not part of the state.
    pub hidden: bool,
    /// Declared.
    pub at: Pos,
}

/// Which variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarRef {
    /// An index into [`Model::globals`].
    Global(usize),
    /// An index into the [`Proctype::locals`] of the process.
    Local(usize),
}

/// One step from a variable into it.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// An element of an array.
    Index(Box<Expr>),
    /// A field of a structure.
    Field(usize),
}

/// A variable, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The variable.
    pub var: VarRef,
    /// The way to the part.
    pub path: Vec<Access>,
    /// Where it is written.
    pub at: Pos,
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Each is the operator it names.
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    And,
    Or,
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Each is the operator it names.
pub enum Unary {
    Neg,
    Not,
    Complement,
}

/// Questions about how full a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Each is the function it names.
pub enum ChanTest {
    Full,
    Empty,
    NFull,
    NEmpty,
}

/// An expression in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it is written.
    pub at: Pos,
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Operands need no words of their own.
pub enum ExprKind {
    Const(i32),
    Place(Place),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `(c -> a : b)`.
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    Len(Place),
    ChanTest(ChanTest, Place),
    /// `c?[...]` and `c??[...]`.
    Poll {
        chan: Place,
        anywhere: bool,
        args: Vec<RecvArg>,
    },
    Run {
        proc: usize,
        args: Vec<Expr>,
        priority: Option<Box<Expr>>,
    },
    Timeout,
    NonProgress,
    Enabled(Box<Expr>),
    PcValue(Box<Expr>),
    GetPriority(Box<Expr>),
    SetPriority(Box<Expr>, Box<Expr>),
    /// `P[pid]:x`.
    RemoteVar {
        proc: usize,
        pid: Option<Box<Expr>>,
        place: Place,
    },
    /// `P[pid]@label`.
    RemoteLabel {
        proc: usize,
        pid: Option<Box<Expr>>,
        label: String,
    },
    Pid,
    NrPr,
    Last,
}

/// One argument of a receive.
#[derive(Clone, Debug, PartialEq)]
pub enum RecvArg {
    /// A variable to store the field in.
    Bind(Place),
    /// A value that the field must have: a constant or `eval(...)`.
    Match(Expr),
    /// `_`: anything.
    Any,
}

/// A sequence of statements.
pub type Seq = Vec<Stmt>;

/// A statement in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Its name.
    pub id: StmtId,
    /// The labels in front of it.
    pub labels: Vec<String>,
    /// What it is.
    pub kind: StmtKind,
    /// Where it is written.
    pub at: Pos,
}

/// The kinds of statement.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Operands need no words of their own.
pub enum StmtKind {
    Expr(Expr),
    Else,
    Assign(Place, Expr),
    /// A declaration of a structure within a body: a step that does nothing.
    Declare,
    Send {
        chan: Place,
        sorted: bool,
        args: Vec<Expr>,
    },
    Recv {
        chan: Place,
        anywhere: bool,
        keep: bool,
        args: Vec<RecvArg>,
    },
    /// Of a trace: a message sent or received. Constants and `eval` must match; anything else stands for any value.
    Event {
        send: bool,
        chan: Place,
        args: Vec<RecvArg>,
    },
    Assert(Expr),
    Printf(String, Vec<Expr>),
    Printm(Expr),
    Goto(String),
    Break,
    /// The end of a choice or an `unless` that ends an atomic sequence: control passes through it as through a `goto`.
    Join,
    If(Vec<Seq>),
    Do(Vec<Seq>),
    Atomic(Seq),
    DStep(Seq),
    Block(Seq),
    Unless(Seq, Seq),
}

/// A promise about a channel (`xr`, `xs`).
#[derive(Clone, Debug, PartialEq)]
pub struct Exclusive {
    /// `xr` rather than `xs`.
    pub receive: bool,
    /// The channel.
    pub chan: Place,
}

/// A process type, `init`, a never claim or a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Proctype {
    /// Its name; `:init:`, `:never:` or the claim's name for the others.
    pub name: String,
    /// How many of its locals are parameters.
    pub params: usize,
    /// Parameters first, then every local of every block.
    pub locals: Vec<Var>,
    /// How many start by themselves.
    pub active: u32,
    /// Its priority.
    pub priority: u32,
    /// Its `provided` clause.
    pub provided: Option<Expr>,
    /// Declared `D_proctype`.
    pub deterministic: bool,
    /// The body.
    pub body: Seq,
    /// Its `xr` and `xs`.
    pub exclusive: Vec<Exclusive>,
    /// Declared.
    pub at: Pos,
    /// Lower than that of every process, claim and trace that comes later in the text.
    pub rank: usize,
}

/// A user-defined type.
#[derive(Clone, Debug, PartialEq)]
pub struct Typedef {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Var>,
}

/// A formula of linear temporal logic.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Each is the operator it names.
pub enum Formula {
    Prop(Expr),
    Not(Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
    Implies(Box<Formula>, Box<Formula>),
    Equivalent(Box<Formula>, Box<Formula>),
    Always(Box<Formula>),
    Eventually(Box<Formula>),
    Next(Box<Formula>),
    Until(Box<Formula>, Box<Formula>),
    WeakUntil(Box<Formula>, Box<Formula>),
    Release(Box<Formula>, Box<Formula>),
}

/// An `ltl` block.
#[derive(Clone, Debug, PartialEq)]
pub struct Ltl {
    /// Its name.
    pub name: String,
    /// The formula.
    pub formula: Formula,
    /// Where it is written.
    pub at: Pos,
}

/// A set of symbolic names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MtypeSet {
    /// The name of the set; empty for plain `mtype`.
    pub name: String,
    /// Its constants with their values.
    pub names: Vec<(String, i32)>,
}

/// A whole model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// The files that it was read from.
    pub files: Files,
    /// Sets of symbolic names; the first is plain `mtype`.
    pub mtypes: Vec<MtypeSet>,
    /// User-defined types.
    pub typedefs: Vec<Typedef>,
    /// Global variables.
    pub globals: Vec<Var>,
    /// Process types and `init`, in the order of the text.
    pub procs: Vec<Proctype>,
    /// Never claims.
    pub claims: Vec<Proctype>,
    /// The `trace` automaton; with `true`, a `notrace`.
    pub trace: Option<(Proctype, bool)>,
    /// `ltl` blocks.
    pub ltl: Vec<Ltl>,
    /// The first use of `_last`, if any.
    pub uses_last: bool,
    /// Priorities decide who moves: the model gives, reads or sets them.
    pub uses_priority: bool,
    /// Labels that remote references name: control rests at them even on a `goto`, as in Spin.
    pub remote_labels: Vec<(usize, String)>,
    /// How many statement names are in use.
    pub statements: u32,
}

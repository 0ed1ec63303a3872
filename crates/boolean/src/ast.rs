//! The syntax of Boolean programs.

use selvedge_symbolic::expression::Operator;

use crate::lexer::At;

#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) globals: Vec<Declaration>,
    pub(crate) procedures: Vec<Procedure>,
    pub(crate) processes: Vec<Process>,
}

/// `decl int<4> a[8] := 0`
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) at: At,
    pub(crate) width: u32,
    /// The number of elements, of an array.
    pub(crate) length: Option<u32>,
    /// What it is at first, in each frame if it is a local; anything, if not given.
    pub(crate) initial: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Procedure {
    pub(crate) name: String,
    pub(crate) at: At,
    pub(crate) parameters: Vec<Declaration>,
    pub(crate) results: Vec<u32>,
    pub(crate) locals: Vec<Declaration>,
    pub(crate) body: Vec<Statement>,
    pub(crate) end: At,
}

/// `process adder = add(1, 0)`
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) at: At,
    pub(crate) procedure: String,
    pub(crate) arguments: Vec<Expression>,
}

#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) at: At,
    pub(crate) labels: Vec<String>,
    pub(crate) kind: Kind,
    /// What it says, for traces.
    pub(crate) text: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Skip,
    Assign { targets: Vec<Target>, values: Vec<Expression>, constrain: Option<Expression> },
    Call { targets: Vec<Target>, procedure: String, arguments: Vec<Expression> },
    Return(Vec<Expression>),
    If(Vec<(Expression, Vec<Statement>)>, Vec<Statement>),
    While(Expression, Vec<Statement>),
    Goto(Vec<(String, At)>),
    Assume(Expression),
    Await(Expression),
    Assert(Expression),
    Lock(Target),
    Unlock(Target),
    StartAt(String),
    Start { procedure: String, arguments: Vec<Expression> },
    AtomicBegin,
    AtomicEnd,
    EndThread,
    Dead(Vec<Target>),
}

#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) at: At,
    pub(crate) index: Option<Expression>,
}

#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) at: At,
    pub(crate) kind: Value,
    /// How many levels there are below it: the parser keeps it small, as everything recurses over expressions.
    pub(crate) depth: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Number(u64),
    Truth(bool),
    /// `*`
    Any,
    Name(String),
    /// `'x`: the value after the assignment.
    After(String),
    Element(String, Box<Expression>),
    /// `!`: one bit.
    Not(Box<Expression>),
    /// `~`: every bit.
    Invert(Box<Expression>),
    Negate(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// The greater-than operators, with their operands in source order.
    Swapped(Operator, Box<Expression>, Box<Expression>),
    /// `&&`, `||`, `=>`: one bit.
    Logical(Logical, Box<Expression>, Box<Expression>),
    Conditional(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `schoose[a, b]`: 1 if a, else 0 if b, else anything.
    Choose(Box<Expression>, Box<Expression>),
    /// `int<n>(e)`
    Convert(u32, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logical {
    And,
    Or,
    Implies,
}

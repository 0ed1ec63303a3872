//! Expressions over bit vectors: what the rules of a network compute.
//!
//! They are data, so that two readers can give them the same meaning independently: [`Expression::evaluate`]
//! here, on numbers, and the encoder, on BDDs. Values are unsigned, of 1 to [`MAX_WIDTH`] bits; arithmetic
//! wraps; the operands of an operator have equal widths.

use std::collections::BTreeSet;
use std::fmt;

/// The widest value.
pub const MAX_WIDTH: u32 = 32;

/// A variable of a network, by its index among its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Shared by all processes.
    Global(u32),
    /// In the topmost frame of the running process.
    Local(u32),
    /// Of the running process, outside its stack: carries a result from a pop to the step after it.
    Register(u32),
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Each is the operator it names.
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    SignedLess,
}

impl Operator {
    /// Whether the result is one bit, whatever the operands' width.
    pub fn compares(self) -> bool {
        use Operator::*;
        matches!(self, Equal | NotEqual | Less | LessEqual | SignedLess)
    }

    /// The sign in source text.
    pub fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::And => "&",
            Operator::Or => "|",
            Operator::Xor => "^",
            Operator::ShiftLeft => "<<",
            Operator::ShiftRight => ">>",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::SignedLess => "<s",
        }
    }
}

/// Consecutive variables of one kind and width, indexed by a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Array {
    /// The element with index 0.
    pub first: Place,
    /// The number of elements.
    pub length: u32,
}

impl Array {
    /// The element with this index, if there is one.
    pub fn element(self, index: u64) -> Option<Place> {
        if index >= u64::from(self.length) {
            return None;
        }
        let index = index as u32;
        Some(match self.first {
            Place::Global(first) => Place::Global(first + index),
            Place::Local(first) => Place::Local(first + index),
            Place::Register(first) => Place::Register(first + index),
        })
    }

    /// The elements.
    pub fn elements(self) -> impl Iterator<Item = Place> {
        (0..u64::from(self.length)).map(move |index| self.element(index).expect("the index is in range"))
    }
}

/// An expression.
///
/// ```
/// use selvedge_symbolic::expression::{Expression, Operator};
/// let sum = Expression::binary(Operator::Add, Expression::constant(3, 2), Expression::constant(2, 2));
/// let none = |_| unreachable!("it reads nothing");
/// assert_eq!(sum.evaluate(&none, &[]), (1, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expression {
    /// A number of a given width.
    Constant {
        /// The value.
        value: u64,
        /// Its bits.
        width: u32,
    },
    /// The value of a variable.
    Read(Place),
    /// An element of an array; 0 where the index is out of range.
    Element(Array, Box<Expression>),
    /// A value that the rule's input of this index may freely have.
    Input(u32),
    /// Every bit inverted.
    Not(Box<Expression>),
    /// An operator applied.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// One of two values.
    If(Box<Expression>, Box<Expression>, Box<Expression>),
    /// The low bits, or the value with zeros above it.
    Resize(u32, Box<Expression>),
}

impl Expression {
    /// A constant.
    pub fn constant(value: u64, width: u32) -> Expression {
        Expression::Constant { value, width }
    }

    /// The one-bit constant.
    pub fn truth(value: bool) -> Expression {
        Expression::constant(u64::from(value), 1)
    }

    /// A global's value.
    pub fn global(index: u32) -> Expression {
        Expression::Read(Place::Global(index))
    }

    /// A local's value.
    pub fn local(index: u32) -> Expression {
        Expression::Read(Place::Local(index))
    }

    /// An operator applied.
    pub fn binary(operator: Operator, left: Expression, right: Expression) -> Expression {
        Expression::Binary(operator, Box::new(left), Box::new(right))
    }

    /// Every bit inverted.
    pub fn inverted(self) -> Expression {
        Expression::Not(Box::new(self))
    }

    /// Conjunction; drops a constant true.
    pub fn and(self, other: Expression) -> Expression {
        match (self, other) {
            (Expression::Constant { value: 1, width: 1 }, other) => other,
            (this, Expression::Constant { value: 1, width: 1 }) => this,
            (this, other) => Expression::binary(Operator::And, this, other),
        }
    }

    /// Whether it equals a constant of a width.
    pub fn equals(self, value: u64, width: u32) -> Expression {
        Expression::binary(Operator::Equal, self, Expression::constant(value, width))
    }

    /// Adds the inputs that it mentions.
    pub(crate) fn inputs(&self, into: &mut BTreeSet<u32>) {
        match self {
            Expression::Constant { .. } | Expression::Read(_) => {}
            Expression::Input(index) => drop(into.insert(*index)),
            Expression::Element(_, of) | Expression::Not(of) | Expression::Resize(_, of) => of.inputs(into),
            Expression::Binary(_, left, right) => {
                left.inputs(into);
                right.inputs(into);
            }
            Expression::If(condition, yes, no) => {
                [condition, yes, no].into_iter().for_each(|of| of.inputs(into));
            }
        }
    }

    /// Its width, or what is wrong with it. `width_of` gives variables and inputs theirs.
    pub fn width(&self, scope: &dyn Scope) -> Result<u32, String> {
        match self {
            Expression::Constant { value, width } => {
                if !(1..=MAX_WIDTH).contains(width) || value >> width != 0 {
                    return Err(format!("{value} is not a value of {width} bits"));
                }
                Ok(*width)
            }
            Expression::Read(place) => scope.place(*place).ok_or_else(|| format!("{place:?} does not exist")),
            Expression::Input(index) => {
                scope.input(*index).ok_or_else(|| format!("input {index} does not exist"))
            }
            Expression::Element(array, index) => {
                index.width(scope)?;
                let mut widths = array.elements().map(|place| scope.place(place));
                let first = widths.next().flatten().ok_or("an array with no elements")?;
                if widths.all(|width| width == Some(first)) {
                    Ok(first)
                } else {
                    Err(format!("the elements of the array at {:?} differ in width", array.first))
                }
            }
            Expression::Not(of) => of.width(scope),
            Expression::Binary(operator, left, right) => {
                let (left, right) = (left.width(scope)?, right.width(scope)?);
                let shift = matches!(operator, Operator::ShiftLeft | Operator::ShiftRight);
                if left != right && !shift {
                    return Err(format!("the operands of {} have {left} and {right} bits", operator.sign()));
                }
                Ok(if operator.compares() { 1 } else { left })
            }
            Expression::If(condition, yes, no) => {
                if condition.width(scope)? != 1 {
                    return Err("a condition of more than one bit".into());
                }
                let (yes, no) = (yes.width(scope)?, no.width(scope)?);
                if yes == no { Ok(yes) } else { Err(format!("a choice between {yes} and {no} bits")) }
            }
            Expression::Resize(width, of) => {
                of.width(scope)?;
                if (1..=MAX_WIDTH).contains(width) { Ok(*width) } else { Err(format!("a width of {width}")) }
            }
        }
    }

    /// Its value and width, where `read` gives the value and width of variables and `inputs` those of inputs.
    pub fn evaluate(&self, read: &dyn Fn(Place) -> (u64, u32), inputs: &[(u64, u32)]) -> (u64, u32) {
        let mask = |width: u32| (1_u64 << width) - 1;
        match self {
            Expression::Constant { value, width } => (*value, *width),
            Expression::Read(place) => read(*place),
            Expression::Input(index) => inputs[*index as usize],
            Expression::Element(array, index) => {
                let (index, _) = index.evaluate(read, inputs);
                let (_, width) = read(array.first);
                array.element(index).map_or((0, width), read)
            }
            Expression::Not(of) => {
                let (value, width) = of.evaluate(read, inputs);
                (!value & mask(width), width)
            }
            Expression::Binary(operator, left, right) => {
                let ((a, width), (b, _)) = (left.evaluate(read, inputs), right.evaluate(read, inputs));
                let sign = |value: u64| (value ^ (1 << (width - 1))) & mask(width);
                match operator {
                    Operator::Add => ((a + b) & mask(width), width),
                    Operator::Subtract => (a.wrapping_sub(b) & mask(width), width),
                    Operator::Multiply => (a.wrapping_mul(b) & mask(width), width),
                    Operator::And => (a & b, width),
                    Operator::Or => (a | b, width),
                    Operator::Xor => (a ^ b, width),
                    Operator::ShiftLeft => {
                        (if b >= u64::from(width) { 0 } else { a << b & mask(width) }, width)
                    }
                    Operator::ShiftRight => (if b >= u64::from(width) { 0 } else { a >> b }, width),
                    Operator::Equal => (u64::from(a == b), 1),
                    Operator::NotEqual => (u64::from(a != b), 1),
                    Operator::Less => (u64::from(a < b), 1),
                    Operator::LessEqual => (u64::from(a <= b), 1),
                    Operator::SignedLess => (u64::from(sign(a) < sign(b)), 1),
                }
            }
            Expression::If(condition, yes, no) => {
                let (condition, _) = condition.evaluate(read, inputs);
                if condition == 1 { yes.evaluate(read, inputs) } else { no.evaluate(read, inputs) }
            }
            Expression::Resize(width, of) => (of.evaluate(read, inputs).0 & mask(*width), *width),
        }
    }
}

/// The widths of what an expression may name.
pub trait Scope {
    /// The width of a variable, if it exists.
    fn place(&self, place: Place) -> Option<u32>;
    /// The width of an input, if it exists.
    fn input(&self, index: u32) -> Option<u32>;
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sign())
    }
}

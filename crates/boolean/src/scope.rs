//! Names and widths: the expressions of a program as those of a network.

use std::collections::HashMap;

use selvedge_symbolic::expression::{Array, Expression, MAX_WIDTH, Operator, Place};

use crate::Error;
use crate::ast::{self, Logical, Value};
use crate::lexer::At;

/// A variable that can be named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) first: Place,
    pub(crate) width: u32,
    pub(crate) length: Option<u32>,
}

/// What can be named where an expression stands.
pub(crate) struct Scope<'a> {
    pub(crate) file: &'a str,
    pub(crate) globals: &'a HashMap<String, Named>,
    pub(crate) locals: &'a HashMap<String, Named>,
}

/// An expression being lowered: its inputs are collected, and `'x` is looked up.
pub(crate) struct Lowering<'a> {
    pub(crate) scope: &'a Scope<'a>,
    pub(crate) inputs: Vec<u32>,
    /// The values that an assignment gives, by name.
    pub(crate) after: HashMap<String, (Expression, u32)>,
}

pub(crate) fn meaning<T>(
    file: &str,
    at: At,
    message: impl Into<String>,
    remedy: impl Into<String>,
) -> Result<T, Error> {
    Err(Error::Meaning { location: at.in_file(file), message: message.into(), remedy: remedy.into() })
}

/// The type of a width, as the language writes it.
pub(crate) fn type_name(width: u32) -> String {
    if width == 1 { "bool".into() } else { format!("int<{width}>") }
}

impl Scope<'_> {
    pub(crate) fn find(&self, name: &str, at: At) -> Result<Named, Error> {
        match self.locals.get(name).or_else(|| self.globals.get(name)) {
            Some(named) => Ok(*named),
            None if name.strip_suffix('$').is_some_and(|own| self.locals.contains_key(own)) => meaning(
                self.file,
                at,
                format!("`{name}` is the variable of all other threads, and a thread has only its own"),
                "make it a global, or make the abstraction without broadcasts",
            ),
            None => meaning(
                self.file,
                at,
                format!("no variable is called `{name}`"),
                "declare it with `decl` at the top of the file or of the procedure",
            ),
        }
    }

    pub(crate) fn scalar(&self, name: &str, at: At) -> Result<Named, Error> {
        let named = self.find(name, at)?;
        match named.length {
            None => Ok(named),
            Some(_) => meaning(
                self.file,
                at,
                format!("`{name}` is an array"),
                format!("name one of its elements: `{name}[0]`"),
            ),
        }
    }

    pub(crate) fn array(&self, name: &str, at: At) -> Result<(Array, u32), Error> {
        let named = self.find(name, at)?;
        match named.length {
            Some(length) => Ok((Array { first: named.first, length }, named.width)),
            None => meaning(self.file, at, format!("`{name}` is not an array"), "leave out the index"),
        }
    }

    /// The width that an expression has of itself; `None` for a number or `*`, which take what is wanted.
    pub(crate) fn natural(&self, of: &ast::Expression) -> Result<Option<u32>, Error> {
        Ok(match &of.kind {
            Value::Number(_) | Value::Any => None,
            Value::Truth(_) | Value::Not(_) | Value::Logical(..) | Value::Choose(..) => Some(1),
            Value::Name(name) | Value::After(name) => Some(self.scalar(name, of.at)?.width),
            Value::Element(name, _) => Some(self.array(name, of.at)?.1),
            Value::Invert(of) | Value::Negate(of) => self.natural(of)?,
            Value::Swapped(..) => Some(1),
            Value::Binary(operator, ..) if operator.compares() => Some(1),
            Value::Binary(Operator::ShiftLeft | Operator::ShiftRight, left, _) => self.natural(left)?,
            Value::Binary(_, left, right) => match self.natural(left)? {
                Some(width) => Some(width),
                None => self.natural(right)?,
            },
            Value::Conditional(_, yes, no) => match self.natural(yes)? {
                Some(width) => Some(width),
                None => self.natural(no)?,
            },
            Value::Convert(width, _) => Some(*width),
        })
    }
}

/// The bits that a number needs.
fn bits(number: u64) -> u32 {
    (u64::BITS - number.leading_zeros()).max(1)
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(scope: &'a Scope<'a>) -> Lowering<'a> {
        Lowering { scope, inputs: Vec::new(), after: HashMap::new() }
    }

    /// A condition: one bit.
    pub(crate) fn condition(&mut self, of: &ast::Expression) -> Result<Expression, Error> {
        self.value(of, 1)
    }

    /// An expression of a given width.
    pub(crate) fn value(&mut self, of: &ast::Expression, width: u32) -> Result<Expression, Error> {
        if let Some(natural) = self.scope.natural(of)?
            && natural != width
        {
            return self.wrong_type(of.at, natural, width);
        }
        Ok(match &of.kind {
            Value::Number(number) => {
                if bits(*number) > width {
                    return self.too_large(of.at, *number, width);
                }
                Expression::constant(*number, width)
            }
            Value::Truth(value) => Expression::truth(*value),
            Value::Any => self.input(width),
            Value::Name(name) => Expression::Read(self.scope.scalar(name, of.at)?.first),
            Value::After(name) => match self.after.get(name) {
                Some((value, _)) => value.clone(),
                None => Expression::Read(self.scope.scalar(name, of.at)?.first),
            },
            Value::Element(name, index) => {
                let (array, _) = self.scope.array(name, of.at)?;
                Expression::Element(array, Box::new(self.free_width(index)?))
            }
            Value::Not(of) => self.value(of, 1)?.inverted(),
            Value::Invert(of) => self.value(of, width)?.inverted(),
            Value::Negate(of) => {
                let of = self.value(of, width)?;
                Expression::binary(Operator::Subtract, Expression::constant(0, width), of)
            }
            Value::Binary(operator @ (Operator::ShiftLeft | Operator::ShiftRight), left, right) => {
                let left = self.value(left, width)?;
                Expression::binary(*operator, left, self.free_width(right)?)
            }
            Value::Binary(operator, left, right) if operator.compares() => {
                let (left, right) = self.equal_widths(left, right)?;
                Expression::binary(*operator, left, right)
            }
            Value::Binary(operator, left, right) => {
                let (left, right) = (self.value(left, width)?, self.value(right, width)?);
                Expression::binary(*operator, left, right)
            }
            Value::Swapped(operator, left, right) => {
                let (left, right) = self.equal_widths(left, right)?;
                Expression::binary(*operator, right, left)
            }
            Value::Logical(logical, left, right) => {
                let (left, right) = (self.value(left, 1)?, self.value(right, 1)?);
                match logical {
                    Logical::And => Expression::binary(Operator::And, left, right),
                    Logical::Or => Expression::binary(Operator::Or, left, right),
                    Logical::Implies => Expression::binary(Operator::Or, left.inverted(), right),
                }
            }
            Value::Conditional(condition, yes, no) => {
                let condition = self.condition(condition)?;
                let (yes, no) = (self.value(yes, width)?, self.value(no, width)?);
                Expression::If(Box::new(condition), Box::new(yes), Box::new(no))
            }
            Value::Choose(yes, no) => {
                let (yes, no) = (self.condition(yes)?, self.condition(no)?);
                let other = Expression::binary(Operator::And, no.inverted(), self.input(1));
                Expression::binary(Operator::Or, yes, other)
            }
            Value::Convert(to, of) => Expression::Resize(*to, Box::new(self.free_width(of)?)),
        })
    }

    // Functions of their own, so that the recursion above takes little stack.

    fn wrong_type(&self, at: At, is: u32, wanted: u32) -> Result<Expression, Error> {
        let (is, wanted) = (type_name(is), type_name(wanted));
        let message = format!("this is of type {is}, and {wanted} is wanted");
        meaning(self.scope.file, at, message, format!("convert it: `{wanted}(...)`"))
    }

    fn too_large(&self, at: At, number: u64, width: u32) -> Result<Expression, Error> {
        let message = format!("{number} does not fit into {}", type_name(width));
        meaning(self.scope.file, at, message, "use a smaller number or a wider type")
    }

    /// Two expressions of the same width, whichever of them says what it is.
    fn equal_widths(
        &mut self,
        left: &ast::Expression,
        right: &ast::Expression,
    ) -> Result<(Expression, Expression), Error> {
        let width = match (self.scope.natural(left)?, self.scope.natural(right)?) {
            (Some(width), _) | (None, Some(width)) => width,
            (None, None) => self.needed(left).max(self.needed(right)),
        };
        Ok((self.value(left, width)?, self.value(right, width)?))
    }

    /// An expression of whatever width it has.
    pub(crate) fn free_width(&mut self, of: &ast::Expression) -> Result<Expression, Error> {
        let width = match self.scope.natural(of)? {
            Some(width) => width,
            None => self.needed(of),
        };
        self.value(of, width)
    }

    /// The bits of the largest number in an expression.
    fn needed(&self, of: &ast::Expression) -> u32 {
        match &of.kind {
            Value::Number(number) => bits(*number).min(MAX_WIDTH),
            Value::Invert(of) | Value::Negate(of) => self.needed(of),
            Value::Binary(_, left, right) | Value::Conditional(_, left, right) => {
                self.needed(left).max(self.needed(right))
            }
            _ => 1,
        }
    }

    fn input(&mut self, width: u32) -> Expression {
        self.inputs.push(width);
        Expression::Input(self.inputs.len() as u32 - 1)
    }
}

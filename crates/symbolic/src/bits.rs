//! Arithmetic on vectors of BDDs, the least bit first.

use crate::bdd::{Bdd, Capacity, Fallible, Stop, Store, Variable};
use crate::expression::{Expression, Operator, Place};

/// A value of several bits, each a function.
pub(crate) type Bits = Vec<Bdd>;

/// A constant.
pub(crate) fn constant(store: &Store, value: u64, width: u32) -> Bits {
    (0..width).map(|bit| store.constant(value >> bit & 1 == 1)).collect()
}

/// The value of variables.
pub(crate) fn variables(store: &Store, variables: &[Variable]) -> Bits {
    variables.iter().map(|&variable| store.variable(variable)).collect()
}

/// Whether two values are equal.
pub(crate) fn equal(store: &Store, left: &[Bdd], right: &[Bdd]) -> Fallible<Bdd> {
    let mut all = store.truth();
    for (left, right) in left.iter().zip(right) {
        all = all.and(&left.iff(right)?)?;
    }
    Ok(all)
}

/// When a value is a number; `None` where it has too few bits for it.
pub(crate) fn is_number(store: &Store, value: &[Bdd], number: u64) -> Fallible<Option<Bdd>> {
    let width = value.len() as u32;
    if number >> width != 0 {
        return Ok(None);
    }
    equal(store, value, &constant(store, number, width)).map(Some)
}

/// Whether the first is less than the second.
pub(crate) fn less(store: &Store, left: &[Bdd], right: &[Bdd]) -> Fallible<Bdd> {
    let mut less = store.falsity();
    for (left, right) in left.iter().zip(right) {
        less = left.xor(right)?.if_else(right, &less)?;
    }
    Ok(less)
}

fn add(left: &[Bdd], right: &[Bdd], mut carry: Bdd) -> Fallible<Bits> {
    let mut sum = Vec::with_capacity(left.len());
    for (left, right) in left.iter().zip(right) {
        let either = left.xor(right)?;
        sum.push(either.xor(&carry)?);
        carry = left.and(right)?.or(&either.and(&carry)?)?;
    }
    Ok(sum)
}

fn each(left: &[Bdd], right: &[Bdd], of: impl Fn(&Bdd, &Bdd) -> Fallible<Bdd>) -> Fallible<Bits> {
    left.iter().zip(right).map(|(left, right)| of(left, right)).collect()
}

fn select(condition: &Bdd, yes: &[Bdd], no: &[Bdd]) -> Fallible<Bits> {
    each(yes, no, |yes, no| condition.if_else(yes, no))
}

/// Shifts by a variable amount, a power of two at a time.
fn shift(store: &Store, value: &[Bdd], amount: &[Bdd], left: bool) -> Fallible<Bits> {
    let width = value.len();
    let mut value = value.to_vec();
    for (power, bit) in amount.iter().enumerate() {
        let distance = if power < 32 { 1_usize << power } else { usize::MAX };
        let moved: Bits = (0..width)
            .map(|place| {
                let from = if left { place.checked_sub(distance) } else { place.checked_add(distance) };
                from.and_then(|from| value.get(from).cloned()).unwrap_or_else(|| store.falsity())
            })
            .collect();
        value = select(bit, &moved, &value)?;
    }
    Ok(value)
}

/// Gives expressions their value as functions.
pub(crate) struct Evaluator<'a> {
    pub(crate) store: &'a Store,
    /// The functions of a variable's bits.
    pub(crate) read: &'a dyn Fn(Place) -> Bits,
    /// The functions of an input's bits.
    pub(crate) input: &'a dyn Fn(u32) -> Bits,
}

impl Evaluator<'_> {
    /// The functions of an expression's bits.
    pub(crate) fn bits(&self, expression: &Expression) -> Fallible<Bits> {
        let store = self.store;
        Ok(match expression {
            Expression::Constant { value, width } => constant(store, *value, *width),
            Expression::Read(place) => (self.read)(*place),
            Expression::Input(index) => (self.input)(*index),
            Expression::Element(array, index) => {
                let index = self.bits(index)?;
                let mut value = constant(store, 0, (self.read)(array.first).len() as u32);
                for (number, place) in array.elements().enumerate() {
                    if let Some(here) = is_number(store, &index, number as u64)? {
                        value = select(&here, &(self.read)(place), &value)?;
                    }
                }
                value
            }
            Expression::Not(of) => self.bits(of)?.iter().map(Bdd::not).collect::<Fallible<_>>()?,
            Expression::Binary(operator, left, right) => {
                let (left, right) = (self.bits(left)?, self.bits(right)?);
                self.binary(*operator, &left, &right)?
            }
            Expression::If(condition, yes, no) => {
                let condition = self.bits(condition)?;
                select(&condition[0], &self.bits(yes)?, &self.bits(no)?)?
            }
            Expression::Resize(width, of) => {
                let mut bits = self.bits(of)?;
                bits.resize(*width as usize, store.falsity());
                bits
            }
        })
    }

    fn binary(&self, operator: Operator, left: &[Bdd], right: &[Bdd]) -> Fallible<Bits> {
        let store = self.store;
        let inverted = |bits: &[Bdd]| bits.iter().map(Bdd::not).collect::<Fallible<Bits>>();
        let one = |bit: Bdd| vec![bit];
        Ok(match operator {
            Operator::Add => add(left, right, store.falsity())?,
            Operator::Subtract => add(left, &inverted(right)?, store.truth())?,
            Operator::Multiply => {
                let mut product = constant(store, 0, left.len() as u32);
                for (place, bit) in right.iter().enumerate() {
                    let mut row = vec![store.falsity(); place];
                    for digit in &left[..left.len() - place] {
                        row.push(digit.and(bit)?);
                    }
                    product = add(&product, &row, store.falsity())?;
                }
                product
            }
            Operator::And => each(left, right, Bdd::and)?,
            Operator::Or => each(left, right, Bdd::or)?,
            Operator::Xor => each(left, right, Bdd::xor)?,
            Operator::ShiftLeft => shift(store, left, right, true)?,
            Operator::ShiftRight => shift(store, left, right, false)?,
            Operator::Equal => one(equal(store, left, right)?),
            Operator::NotEqual => one(equal(store, left, right)?.not()?),
            Operator::Less => one(less(store, left, right)?),
            Operator::LessEqual => one(less(store, right, left)?.not()?),
            Operator::SignedLess => {
                let flip = |bits: &[Bdd]| {
                    let mut bits = bits.to_vec();
                    if let Some(sign) = bits.last_mut() {
                        *sign = sign.not()?;
                    }
                    Ok(bits)
                };
                one(less(store, &flip(left)?, &flip(right)?)?)
            }
        })
    }
}

/// Whether an expression of one bit can hold, with some value of the inputs of these widths.
pub(crate) fn can_hold(expression: &Expression, inputs: &[u32], read: &dyn Fn(Place) -> (u64, u32)) -> bool {
    // Bits of equal weight stand together, as in the encoding.
    let widest = inputs.iter().copied().max().unwrap_or(0);
    let mut own: Vec<Vec<Variable>> = vec![Vec::new(); inputs.len()];
    let mut count = 0;
    for bit in 0..widest {
        for (input, _) in inputs.iter().enumerate().filter(|&(_, &width)| bit < width) {
            own[input].push(Variable(count));
            count += 1;
        }
    }
    let capacity = Capacity { nodes: 1 << 20, cache: 1 << 14 };
    let holds = || {
        let store = Store::new(count, capacity, &Stop::default())?;
        let read = |place| {
            let (value, width) = read(place);
            constant(&store, value, width)
        };
        let input = |index: u32| variables(&store, &own[index as usize]);
        let evaluator = Evaluator { store: &store, read: &read, input: &input };
        evaluator.bits(expression).map(|bits| !bits[0].is_false())
    };
    // Where even this is too much, a guard is more likely to hold than not.
    holds().unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operator on every pair of values of three bits: as the numbers do it.
    #[test]
    fn operators_agree_with_numbers() {
        use Operator::*;
        const WIDTH: u32 = 3;
        let store = Store::new(0, Capacity { nodes: 1 << 12, cache: 1 << 10 }, &Stop::default()).unwrap();
        let none_read = |_| unreachable!();
        let none_input = |_| unreachable!();
        let evaluator = Evaluator { store: &store, read: &none_read, input: &none_input };
        for operator in [
            Add, Subtract, Multiply, And, Or, Xor, ShiftLeft, ShiftRight, Equal, NotEqual, Less, LessEqual,
            SignedLess,
        ] {
            for code in 0..64 {
                let (left, right) =
                    (Expression::constant(code >> 3, WIDTH), Expression::constant(code & 7, WIDTH));
                let expression = Expression::binary(operator, left, right);
                let (expected, width) = expression.evaluate(&|_| unreachable!(), &[]);
                let bits = evaluator.bits(&expression).unwrap();
                let value: u64 =
                    bits.iter().enumerate().map(|(at, bit)| u64::from(bit.is_true()) << at).sum();
                assert_eq!((value, bits.len() as u32), (expected, width), "{operator} on {code}");
                let (wide, _) = Expression::Resize(5, Box::new(expression.clone().inverted()))
                    .evaluate(&|_| unreachable!(), &[]);
                let bits = evaluator.bits(&Expression::Resize(5, Box::new(expression.inverted()))).unwrap();
                let value: u64 =
                    bits.iter().enumerate().map(|(at, bit)| u64::from(bit.is_true()) << at).sum();
                assert_eq!(value, wide);
            }
        }
    }
}

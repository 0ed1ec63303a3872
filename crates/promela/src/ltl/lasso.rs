//! The truth of a formula on a word that ends in a cycle, straight from the definition of its operators.

use crate::ast::{Expr, Formula};

/// Whether a formula holds at the beginning of a word of `length` letters whose last is followed by that at `start`.
/// `letter` tells whether a proposition holds at a place.
pub(crate) fn holds(
    formula: &Formula,
    length: usize,
    start: usize,
    letter: &mut dyn FnMut(&Expr, usize) -> bool,
) -> bool {
    Word { length, start }.truth(formula, letter)[0]
}

struct Word {
    length: usize,
    start: usize,
}

impl Word {
    fn next(&self, at: usize) -> usize {
        if at + 1 < self.length { at + 1 } else { self.start }
    }

    /// Where a formula holds.
    fn truth(&self, formula: &Formula, letter: &mut dyn FnMut(&Expr, usize) -> bool) -> Vec<bool> {
        let places = 0..self.length;
        let mut two = |a: &Formula, b: &Formula| (self.truth(a, letter), self.truth(b, letter));
        match formula {
            Formula::Prop(expr) => places.map(|at| letter(expr, at)).collect(),
            Formula::Not(a) => self.truth(a, letter).into_iter().map(|holds| !holds).collect(),
            Formula::Next(a) => {
                let a = self.truth(a, letter);
                places.map(|at| a[self.next(at)]).collect()
            }
            Formula::And(a, b) => {
                let (a, b) = two(a, b);
                places.map(|at| a[at] && b[at]).collect()
            }
            Formula::Or(a, b) => {
                let (a, b) = two(a, b);
                places.map(|at| a[at] || b[at]).collect()
            }
            Formula::Implies(a, b) => {
                let (a, b) = two(a, b);
                places.map(|at| !a[at] || b[at]).collect()
            }
            Formula::Equivalent(a, b) => {
                let (a, b) = two(a, b);
                places.map(|at| a[at] == b[at]).collect()
            }
            Formula::Always(a) => {
                let a = self.truth(a, letter);
                places.map(|at| self.from(at).all(|later| a[later])).collect()
            }
            Formula::Eventually(a) => {
                let a = self.truth(a, letter);
                places.map(|at| self.from(at).any(|later| a[later])).collect()
            }
            Formula::Until(a, b) => {
                let (a, b) = two(a, b);
                places.map(|at| self.until(at, &a, &b)).collect()
            }
            Formula::WeakUntil(a, b) => {
                let (a, b) = two(a, b);
                places.map(|at| self.until(at, &a, &b) || self.from(at).all(|later| a[later])).collect()
            }
            Formula::Release(a, b) => {
                let (a, b) = two(a, b);
                let both: Vec<bool> = places.clone().map(|at| a[at] && b[at]).collect();
                places.map(|at| self.until(at, &b, &both) || self.from(at).all(|later| b[later])).collect()
            }
        }
    }

    /// Every place from this one on, in order, until there are no others.
    fn from(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(at), |&at| Some(self.next(at))).take(self.length + 1)
    }

    /// Whether `b` comes to hold, and `a` does until then.
    fn until(&self, at: usize, a: &[bool], b: &[bool]) -> bool {
        self.from(at).find(|&later| b[later] || !a[later]).is_some_and(|later| b[later])
    }
}

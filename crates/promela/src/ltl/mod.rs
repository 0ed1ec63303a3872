//! Formulas of linear temporal logic: from a formula to the never claim that accepts what violates it.
//!
//! | file | what it is |
//! | --- | --- |
//! | `normal` | formulas in negation normal form, each stored once |
//! | `tableau` | a formula to a generalised Büchi automaton |
//! | `buchi` | to a plain Büchi automaton, trimmed |
//! | `claim` | to a never claim, which the search and the interpreter run like any other |
//! | `lasso` | the truth of a formula on an infinite word, without automata: for the replay and the tests |

mod buchi;
mod claim;
mod lasso;
mod normal;
mod tableau;
#[cfg(test)]
mod words;

pub(crate) use claim::claim;
pub(crate) use lasso::holds;
use normal::Atoms;

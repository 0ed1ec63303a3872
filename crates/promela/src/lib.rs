//! Promela models for Selvedge: reader, compiler, semantics, simulation and replay.
//!
//! | file | what it is |
//! | --- | --- |
//! | `reading`, `preprocess`, `lexer`, `parser` | text to syntax tree, on our own: no compiler is needed |
//! | `ast` | the tree, with names resolved |
//! | `lower` | the tree to control graphs and register code |
//! | `program`, `shape`, `vm`, `system` | the compiled semantics: states as bytes, steps as Spin stores them |
//! | `watch` | trace assertions |
//! | `question`, `ltl` | what is asked; formulas to never claims |
//! | `por` | which steps commute |
//! | `interp` | a second, simple semantics, for replay and for the tests |
//! | `check`, `clock`, `trace`, `trail`, `simulate` | verdicts and when to stop, counterexamples, Spin's trails, running a model |
//!
//! ```
//! use selvedge_promela::{Options, check, parse};
//!
//! let text = "bool a, b;
//!     active proctype P() { atomic { !a -> a = 1 }; atomic { !b -> b = 1 }; b = 0; a = 0 }
//!     active proctype Q() { atomic { !b -> b = 1 }; atomic { !a -> a = 1 }; a = 0; b = 0 }";
//! let model = parse(text, "locks.pml", None, &[]).unwrap();
//! let outcome = check(&model, &Options::default(), &mut |_| true).unwrap().outcome;
//! assert_eq!(outcome.violation().unwrap().preemptions, 1);
//! ```

#![forbid(unsafe_code)]

mod ast;
mod check;
mod clock;
mod error;
mod interp;
#[cfg(test)]
mod lassos;
mod lexer;
mod lower;
mod ltl;
mod merge;
mod options;
mod parser;
mod por;
mod preprocess;
mod print;
mod program;
mod question;
mod reading;
mod shape;
mod simulate;
mod system;
mod trace;
mod trail;
#[cfg(test)]
mod twin;
mod vm;
mod watch;

pub use ast::*;
pub use check::{Checked, check, load, load_with, replay};
pub use error::{Diagnostic, Error, Files, Pos};
pub use options::{Claims, Options, Progress, Property, Search, StoreKind};
pub use parser::{parse, parse_with};
pub use question::properties;
pub use reading::{ENDINGS, Reading};
pub use simulate::{Ask, Ended, Guide, simulate};

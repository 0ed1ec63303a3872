//! Random concurrent programs for tests, and what they do, worked out the slow and obvious way.
//!
//! Every search that Selvedge makes is compared with [`enumerate`], which walks through all interleavings of
//! a small [`Program`] by plain recursion and knows nothing of strategies, prefixes, hashes or clocks.
//!
//! | module | what |
//! | --- | --- |
//! | `program` | the programs: a list of statements for each thread, and their one-line form |
//! | `generate` | programs from seeds, and smaller programs from a program |
//! | `machine` | what a program does, step by step, as a state that can be cloned |
//! | `order` | happens-before graphs, written out in full |
//! | `brute` | every execution, with its preemptions, delays, outcome and graph |
//! | `late` | spurious events when they come, for a test |
//! | `race` | data races, by search in the graph of synchronisation |
//! | `interpreter` | a program as one that the stateless engine can run |
//!
//! The library's tests run the same programs a second way: as closures on its own types.

#![forbid(unsafe_code)]

mod brute;
mod generate;
mod interpreter;
#[cfg(test)]
mod late;
mod machine;
mod order;
mod program;
mod race;

pub use brute::{Enumeration, Limits, Run, enumerate};
pub use generate::{Numbers, Theme, generate, smaller};
pub use interpreter::Interpreter;
pub use machine::{End, Machine, Object, Outcome, Performed, Spurious};
pub use order::{Graph, History};
pub use program::{ParseError, Program, Statement};

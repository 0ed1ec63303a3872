//! Promela models for Selvedge: reader, compiler, semantics, replay.
#![forbid(unsafe_code)]

mod ast;
mod check;
mod error;
mod interp;
mod lexer;
mod lower;
mod options;
mod parser;
mod por;
mod preprocess;
mod print;
mod program;
mod shape;
mod simulate;
mod system;
mod trace;
mod trail;
#[cfg(test)]
mod twin;
mod vm;

pub use ast::*;
pub use check::{Checked, check, load, replay};
pub use error::*;
pub use options::{Claims, Options, Progress, Search, StoreKind};
pub use parser::parse;
pub use simulate::{Ended, Guide, simulate};

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
mod system;
mod trace;
mod trail;
mod vm;

pub use ast::*;
pub use check::{Checked, check, load};
pub use error::*;
pub use options::{Claims, Options, Progress, Search, StoreKind};
pub use parser::parse;

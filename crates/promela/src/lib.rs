//! Promela models for Selvedge.
#![forbid(unsafe_code)]
mod ast;
mod error;
mod lexer;
mod parser;
mod preprocess;
mod print;
pub use ast::*;
pub use error::*;
pub use parser::parse;

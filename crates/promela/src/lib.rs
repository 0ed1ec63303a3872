//! Promela models for Selvedge.
#![forbid(unsafe_code)]
mod ast;
mod error;
mod lexer;
mod lower;
mod parser;
mod por;
mod preprocess;
mod print;
mod program;
mod shape;
mod system;
mod vm;
pub use ast::*;
pub use error::*;
pub use parser::parse;
#[doc(hidden)]
pub fn count(m: Model, o: &selvedge_explicit::Options, claim: Option<usize>) -> Result<selvedge_explicit::Report, Error> {
    let p = lower::lower(std::rc::Rc::new(m), claim)?;
    let mut s = system::System::new(&p);
    let r = selvedge_explicit::search(&mut s, o, &mut |_| true);
    Ok(r)
}

//! Front ends of the symbolic engine for text: concurrent Boolean programs (`.bp`) and CPDS files (`.cpds`,
//! `.pds`), read into pushdown networks.
//!
//! ```
//! let text = "decl lock := 0; void main() begin assert(!lock); end";
//! let network = selvedge_boolean::read("a.bp", text)?;
//! let report = selvedge_symbolic::check(&network, &Default::default(), &mut |_| true).unwrap();
//! assert!(report.outcome.holds());
//! # Ok::<(), selvedge_boolean::Error>(())
//! ```

#![forbid(unsafe_code)]

mod ast;
mod cpds;
mod error;
mod lexer;
mod lower;
mod parser;
mod scope;

use selvedge_symbolic::network::Network;

pub use error::Error;

/// The extensions of the files that [`read`] reads.
pub const EXTENSIONS: [&str; 3] = ["bp", "cpds", "pds"];

/// Reads a source file, in the language that its name's extension says; a Boolean program, if it says none.
///
/// # Errors
/// When the text is not one of that language; the error has the place, what was expected and a remedy.
///
/// ```
/// let network = selvedge_boolean::read("two.cpds", "2\nPDA 0 1\n0 0 -> 1 1\n")?;
/// assert_eq!(network.labels.len(), 2);
/// let error = selvedge_boolean::read("two.cpds", "two").unwrap_err();
/// assert_eq!(error.to_string(), "two.cpds:1:1: expected the number of global states, found `two`");
/// # Ok::<(), selvedge_boolean::Error>(())
/// ```
pub fn read(file: &str, text: &str) -> Result<Network, Error> {
    if file.ends_with(".cpds") || file.ends_with(".pds") {
        return cpds::read(file, text);
    }
    lower::lower(file, &parser::parse(file, text)?)
}

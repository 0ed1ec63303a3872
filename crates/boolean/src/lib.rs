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

use selvedge_symbolic::Pattern;
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
    match is_cpds(file) {
        true => cpds::read(file, text, None),
        false => lower::lower(file, &parser::parse(file, text)?),
    }
}

/// Whether [`read`] reads a file with this name as a CPDS file.
pub fn is_cpds(file: &str) -> bool {
    file.ends_with(".cpds") || file.ends_with(".pds")
}

/// Reads a CPDS file whose first configuration is in a text of its own, with a name for errors.
///
/// # Errors
/// As [`read`].
///
/// ```
/// let text = "2\nPDA 0 1\n0 0 -> 1 1\n";
/// let network = selvedge_boolean::read_from("two.cpds", text, ("two.init", "1|0"))?;
/// assert_eq!(network.globals[0].initial, selvedge_symbolic::network::Initial::Value(1));
/// # Ok::<(), selvedge_boolean::Error>(())
/// ```
pub fn read_from(file: &str, text: &str, (name, initial): (&str, &str)) -> Result<Network, Error> {
    cpds::read(file, text, Some((name, initial)))
}

/// Reads a goal for a network that was read from a CPDS file: `STATE|SYMBOL,SYMBOL`, the global state and what is on top
/// of each stack, with anything below; `-` for an empty stack. The text has a name for errors.
///
/// # Errors
/// When the text is not that, or the network has no such state, thread or symbol.
///
/// ```
/// let network = selvedge_boolean::read("two.cpds", "2\nPDA 0 1\n0 0 -> 1 1\n")?;
/// let goal = selvedge_boolean::goal(&network, "two.spec", "1|1")?;
/// assert_eq!(goal.globals, [Some(1)]);
/// assert!(selvedge_boolean::goal(&network, "two.spec", "1|7").is_err());
/// # Ok::<(), selvedge_boolean::Error>(())
/// ```
pub fn goal(network: &Network, name: &str, text: &str) -> Result<Pattern, Error> {
    cpds::goal(network, name, text)
}

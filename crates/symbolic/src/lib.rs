//! The symbolic engine: context-bounded reachability of pushdown networks, with BDDs over regular sets of
//! configurations.
//!
//! Recursive programs with several threads, all values of their variables at once, and a verdict that is exact
//! within k contexts. After Suwimonteerabuth, Esparza, Schwoon: Symbolic Context-Bounded Analysis of
//! Multithreaded Java Programs (SPIN 2008).
//!
//! ```
//! use selvedge_core::Verdict;
//! use selvedge_symbolic::expression::{Expression, Place};
//! use selvedge_symbolic::network::*;
//! use selvedge_symbolic::{Options, check};
//!
//! // Two processes that run the same: claim a flag that is not claimed, in two steps.
//! let mut network = Network { globals: vec![Variable::new("claimed", 1)], ..Network::default() };
//! network.procedures.push(Procedure { name: "claim".into(), locals: Vec::new() });
//! let procedure = ProcedureId(0);
//! let looks = network.add_label("looks", procedure);
//! let claims = network.add_label("claims", procedure);
//! let checks = network.add_label("checks", procedure);
//! let both = network.add_label("both", procedure);
//! network.labels[both.index()].violation = Some("both have claimed it".into());
//! let free = Expression::global(0).equals(0, 1);
//! let mut rule = |from, to, guard: Expression, value: Option<bool>| {
//!     let place = Target::Place(Place::Global(0));
//!     let assignments = value.map(|value| Assignment { target: place, value: Expression::truth(value) });
//!     let assignments = assignments.into_iter().collect();
//!     let effect = Effect::Step { to };
//!     network.rules.push(Rule { from, effect, inputs: vec![], guard, assignments, text: String::new() });
//! };
//! rule(looks, checks, free.clone(), None);
//! rule(checks, claims, free.clone(), Some(true));
//! rule(checks, both, free.inverted(), None);
//! for name in ["one", "other"] {
//!     network.processes.push(Process { name: name.into(), entry: looks });
//! }
//!
//! let report = check(&network, &Options::default(), &mut |_| true)?;
//! let Verdict::Violated(violation) = report.outcome.verdict else { panic!("it is there") };
//! assert_eq!(violation.contexts, Some(3));
//! # Ok::<(), selvedge_symbolic::Error>(())
//! ```
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`network`], [`expression`] | what is checked: symbolic pushdown networks, as data |
//! | `fork` | thread creation, reduced to a fixed number of processes |
//! | [`bdd`] | the one file that names the BDD crate |
//! | `encoding`, `bits` | a network in BDDs, its relations made on demand |
//! | `automaton`, `post_star` | regular sets of local configurations, and what a process reaches in a context |
//! | [`split`](mod@split), `context_bounded` | view tuples: Algorithms 1 and 2 |
//! | [`Pattern`], `goal`, [`check`](fn@check) | questions, and the loop over k |
//! | `conversation` | what the thread of a search and its caller tell each other: progress, and the end |
//! | `converge` | when the answer holds for every k |
//! | `provenance`, `witness`, `replay` | counterexamples |
//! | [`interpreter`] | the slow, simple meaning that all of this is tested against |
//! | `agreement` | the tests that eager, lazy and explicit search reach the same, and that they can fail |
//! | [`generate`], [`reach`], [`promela`] | random networks, everything that is reachable, the same as a Promela model: for tests |

#![forbid(unsafe_code)]
// A BDD's identity, which is what is hashed, does not change.
#![allow(clippy::mutable_key_type)]

#[cfg(test)]
mod agreement;
mod automaton;
pub mod bdd;
mod bits;
mod check;
mod configurations;
mod context_bounded;
mod converge;
mod conversation;
mod encoding;
mod error;
pub mod expression;
mod fork;
pub mod generate;
mod goal;
pub mod interpreter;
mod marker;
mod memory;
pub mod network;
mod pattern;
mod post_star;
pub mod promela;
mod provenance;
pub mod reach;
mod replay;
pub mod split;
mod witness;

pub use check::{Goal, MOST_THREADS, Options, Progress, Report, check, replay_schedule};
pub use error::Error;
pub use fork::Slots;
pub use pattern::{FramePattern, Pattern, ThreadPattern};
pub use split::Splitting;

//! Searches that store states.
//!
//! A [`TransitionSystem`] says what a state is and which steps each process can take from it; a search
//! visits the states, in one of several orders and with one of several stores, and reports the first
//! violation or how much it has ruled out. Nothing here knows Promela.
//!
//! | search | order | what it is for |
//! | --- | --- | --- |
//! | [`Search::Layered`] | by preemptions, then by steps | every bound at once, the simplest counterexample |
//! | [`Search::Dfs`] | depth first | the least memory |
//! | [`Search::Bfs`] | breadth first | the shortest counterexample |
//! | [`Search::Bcs`] | depth first under a bound | the paper's Figures 3 and 5, for comparison |

#![forbid(unsafe_code)]

mod hash;
mod search;
mod store;
mod system;

pub use search::{Found, Limits, Options, Problem, Progress, Report, Row, Search, Stop, StoreKind, search};
pub use system::{Fault, Successor, Successors, TransitionSystem};

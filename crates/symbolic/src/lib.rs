//! x
#![forbid(unsafe_code)]
mod automaton;
pub mod bdd;
mod bits;
mod check;
mod configurations;
mod context_bounded;
mod converge;
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
mod post_star;
mod provenance;
pub mod reach;
mod replay;
pub mod split;
mod witness;

pub use check::{Goal, Options, Progress, Report, check, replay_schedule};
pub use error::Error;
pub use fork::Slots;
pub use marker::{Mark, Marker};
pub use split::Splitting;

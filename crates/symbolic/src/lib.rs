//! x
#![forbid(unsafe_code)]
pub mod bdd;
mod automaton;
mod bits;
mod configurations;
mod context_bounded;
mod encoding;
mod error;
pub mod expression;
mod fork;
pub mod generate;
pub mod interpreter;
pub mod network;
mod post_star;
pub mod reach;
pub mod split;

pub use error::Error;
pub use fork::Slots;

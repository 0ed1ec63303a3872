//! x
#![forbid(unsafe_code)]
pub mod bdd;
mod error;
pub mod expression;
mod fork;
pub mod interpreter;
pub mod network;

pub use error::Error;
pub use fork::Slots;

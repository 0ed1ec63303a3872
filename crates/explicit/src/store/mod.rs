//! The visited states: exactly, or as hashes.

mod exact;
mod lossy;

pub(crate) use exact::{Exact, Handle, PLACE_BITS};
pub(crate) use lossy::Lossy;

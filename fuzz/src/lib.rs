//! What each fuzz target does with a text. Nothing may panic, and what comes out must be sound.
//!
//! The files are also modules of the tests that read damaged texts: crates/boolean/tests/mutations.rs,
//! crates/promela/tests/mutation.rs, crates/report/tests/damaged.rs.

pub mod damage;
pub mod network;
pub mod promela;
pub mod result;

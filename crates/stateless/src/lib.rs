//! The stateless engine: it runs a program again and again, each time under another schedule, and never
//! stores a state of the program.
//!
//! A program under test is a [`Program`]; one run of it is an [`Execution`], which stops before every
//! visible operation and waits to be told which thread goes on. [`explore()`] is the one loop over
//! executions; which executions it runs is up to a [`Strategy`]. The paper behind the engine is Musuvathi
//! and Qadeer, *Iterative Context Bounding for Systematic Testing of Multithreaded Programs* (PLDI 2007).
//!
//! The engine knows nothing of Rust, coroutines or pthreads: see the crate `selvedge` for a program that is
//! a Rust closure.

#![forbid(unsafe_code)]

mod config;
mod context_bound;
mod counterexample;
mod coverage;
mod deadline;
mod explore;
mod fair;
mod foresee;
mod gate;
mod graph;
mod happens_before;
mod lattice;
mod livelock;
mod local_state;
mod memory;
mod observe;
mod program;
mod race;
mod record;
mod settings;
pub mod strategy;

pub use context_bound::ContextBound;
pub use coverage::Coverage;
pub use deadline::Deadline;
pub use explore::{Explorer, Progress, Ran, explore, replay};
pub use gate::Gate;
pub use happens_before::StateHash;
pub use memory::size;
pub use program::{
    Ahead, Description, Error, Event, Execution, LaunchError, LocalEvent, Onward, Plan, Program, Site, State,
    Stop, StopKind,
};
pub use record::{Pending, PointRecord, Record};
pub use settings::Settings;
pub use strategy::{Choice, Finished, Point, Prefix, Report, Strategy, Wanted};

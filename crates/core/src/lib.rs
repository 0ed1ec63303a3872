//! The vocabulary that Selvedge's three engines share: what an operation is, what is bounded, how an
//! execution is written down, and what a result claims.
//!
//! Nothing here searches, prints or reads a file. The engines (stateless, explicit, symbolic) compute in
//! their own ways and meet only in these types, so that one report and one command serve all of them.
//!
//! ```
//! use selvedge_core::{Bounds, Guarantee};
//!
//! let guarantee = Guarantee { bounds: Bounds { preemptions: Some(2), ..Bounds::default() }, ..Guarantee::default() };
//! assert_eq!(
//!     guarantee.to_string(),
//!     "every execution with at most 2 preemptions has been checked; a remaining bug needs at least 3"
//! );
//! ```

#![forbid(unsafe_code)]

mod assumption;
mod bound;
mod clock;
mod coverage;
mod id;
mod op;
mod schedule;
mod trace;
mod verdict;

pub use assumption::{Assumption, AssumptionKind, Assumptions};
pub use bound::{Bounds, Measure};
pub use clock::VectorClock;
pub use coverage::{CoverageRow, Mark, Marker, Remark, RemarkKind, Statistics};
pub use id::{ObjectId, ThreadId, ThreadIter, ThreadSet};
pub use op::{Access, MemoryOrder, Op, OpKind};
pub use schedule::{Decision, Schedule, ScheduleParseError};
pub use trace::{Location, Step, Trace};
pub use verdict::{Gap, Guarantee, Outcome, Verdict, Violation, ViolationKind};

//! C and C++ programs as programs that the stateless engine runs again and again.
//!
//! A [`NativeProgram`] is a dynamically linked executable, as it is. It is loaded once, with the runtime of
//! `crates/pthread` preloaded; each execution is a process that is forked from it before `main`. This crate is the
//! controlling side: it reads what the runtime writes of each step, and answers with decisions.
//!
//! ```no_run
//! use selvedge_native::{NativeProgram, Search};
//!
//! let program = NativeProgram::open("./a.out".as_ref()).unwrap().arguments(["2".into()]);
//! let outcome = Search::default().check(&program, None, &mut |_| ()).unwrap();
//! println!("{:?}", outcome.verdict);
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `launch.rs` | which executables can be checked; starting one |
//! | `cache.rs` | the folder of what programs are linked against |
//! | `compiler.rs` | compiling programs that tell of every access |
//! | `unseen.rs` | code in a program that does not tell of its accesses |
//! | `words.rs` | what the words that a compiler is given ask for |
//! | `area.rs` | the memory that is shared with it |
//! | `execution.rs` | an execution, a step at a time; in `execution/waiting.rs` what becomes of one that does not come back |
//! | `cores.rs` | the core that a job is on |
//! | `ahead.rs` | executions that are run before they are asked for, on other cores |
//! | `kept.rs` | such executions until they are asked for |
//! | `mirror.rs` | threads and objects as the log tells of them |
//! | `describe.rs` | steps and waits in words |
//! | `symbols.rs` | source lines and names |
//! | `told.rs` | what the log has more of an execution that people are told of |
//! | `search.rs` | a strategy, and limits |
//! | `interrupt.rs` | being asked to stop |
//! | `stuck.rs` | what a program does that does not come back |
//! | `suspects.rs` | what a program may depend on beside its schedule |

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod ahead;
mod area;
mod cache;
mod compiler;
mod cores;
mod describe;
mod execution;
mod interrupt;
mod kept;
mod launch;
mod mirror;
#[path = "../../pthread/src/protocol.rs"]
mod protocol;
mod search;
mod stuck;
mod suspects;
mod symbols;
mod told;
mod unseen;
mod words;

pub use ahead::Ahead;
pub use compiler::compiler;
pub use interrupt::interrupts;
pub use launch::{NativeProgram, NotCheckable};
pub use search::Search;
pub use selvedge_stateless::strategy::{Named, Parameters};

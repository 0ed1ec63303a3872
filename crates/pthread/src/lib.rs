//! The runtime that is preloaded into a C or C++ program, so that Selvedge controls its threads.
//!
//! It stands in for the functions of pthreads, C11 threads, clocks and exits, and simulates them. The program's threads
//! are real ones, of which one runs at a time. The controlling side is `crates/native`; `protocol.rs` is what the two say
//! to each other. docs/decisions/0030 has the reasons.
//!
//! | file | what |
//! | --- | --- |
//! | `start.rs` | taking over before `main`; a process for each execution |
//! | `runtime.rs` | threads, objects, who runs next, virtual time |
//! | `slot.rs` | which object a piece of the program's memory is |
//! | `site.rs` | places in the program |
//! | `thread.rs`, `key.rs`, `cancel.rs`, `io.rs`, `signal.rs` | threads |
//! | `mutex.rs`, `cond.rs`, `rwlock.rs`, `barrier.rs`, `sem.rs`, `once.rs`, `c11.rs` | what they synchronise with |
//! | `time.rs` | clocks and sleeping |
//! | `fault.rs` | failed assertions, aborts, crashes |
//! | `heap.rs` | freed memory |
//! | `memory.rs`, `tsan.rs`, `bytes.rs` | accesses to memory and atomics, in programs that are compiled for it |
//! | `verifier.rs` | the intrinsics of verification benchmarks |
//! | `sys.rs` | what is used of the system |
//!
//! Nothing is allocated here: the program's heap is the program's.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod barrier;
mod bytes;
mod c11;
mod cancel;
mod cond;
mod fault;
mod heap;
mod io;
mod key;
mod memory;
mod mutex;
mod once;
mod protocol;
mod runtime;
mod rwlock;
mod sem;
mod signal;
mod site;
mod slot;
mod start;
mod sys;
mod thread;
mod time;
mod tsan;
mod verifier;

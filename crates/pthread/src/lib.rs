//! The runtime that is preloaded into a C or C++ program, so that Selvedge controls its threads.
//!
//! It stands in for the functions of pthreads, C11 threads, clocks and exits, and simulates them. The program's threads
//! take turns on one kernel thread. The controlling side is `crates/native`; `protocol.rs` is what the two say
//! to each other. docs/decisions/0030 has the reasons.
//!
//! | file | what |
//! | --- | --- |
//! | `start.rs` | taking over before `main`; a process for each execution |
//! | `again.rs` | the next execution in the same process: memory is put back |
//! | `runtime.rs` | threads, objects, who runs next |
//! | `onward.rs` | how an execution goes on by itself |
//! | `slot.rs` | which object a piece of the program's memory is |
//! | `site.rs` | places in the program |
//! | `told.rs` | what is around them, in executions that people are told of |
//! | `coroutine.rs`, `shell.rs` | what a thread is made of, and passing from one to another |
//! | `thread.rs`, `attributes.rs`, `key.rs`, `cancel.rs`, `io.rs`, `signal.rs`, `cores.rs` | threads |
//! | `unwind.rs`, `thread_local.rs` | what is done when a thread ends |
//! | `exit.rs` | what is done when the process ends |
//! | `mutex.rs`, `cond.rs`, `rwlock.rs`, `barrier.rs`, `sem.rs`, `once.rs`, `c11.rs` | what they synchronise with |
//! | `glib.rs` | the same of GLib |
//! | `futex.rs` | what it asks the system for itself: futexes |
//! | `time.rs` | virtual time: how operations carry it, clocks and sleeping |
//! | `fault.rs` | failed assertions, aborts, crashes |
//! | `heap.rs` | freed memory |
//! | `memory.rs`, `tsan.rs`, `bytes.rs`, `annotate.rs` | accesses to memory and atomics, in programs that are compiled for it |
//! | `spurious.rs` | waits that end, and exchanges that fail, for no reason |
//! | `spin.rs` (with `spin/shared.rs`) | loops that wait and do not yield |
//! | `state.rs` | a hash of all that the program goes on by |
//! | `verifier.rs` | the intrinsics of verification benchmarks |
//! | `sys.rs` | what is used of the system |
//!
//! Nothing is allocated here: the program's heap is the program's.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod again;
mod annotate;
mod attributes;
mod barrier;
mod bytes;
mod c11;
mod cancel;
mod cond;
mod cores;
mod coroutine;
#[path = "../../stateless/src/strategy/draw.rs"]
mod draw;
mod exit;
mod fault;
mod futex;
mod glib;
mod heap;
mod io;
mod key;
mod memory;
mod mutex;
mod once;
mod onward;
mod protocol;
mod runtime;
mod rwlock;
mod sem;
mod shell;
mod signal;
mod site;
mod slot;
mod spin;
mod spurious;
mod start;
mod state;
mod sys;
mod thread;
mod thread_local;
mod time;
mod told;
mod tsan;
mod unwind;
mod verifier;

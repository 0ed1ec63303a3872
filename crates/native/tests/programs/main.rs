//! Programs in C and C++, compiled and checked. One test binary, so that its parts share what compiles them.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod assumptions;
mod common;
mod conformance;
mod counted;
mod examples;
mod generated;
mod instrumented;
mod jobs;
mod papers;
mod places;
mod pthreads;
mod refused;
mod software;

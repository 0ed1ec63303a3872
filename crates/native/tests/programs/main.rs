//! Programs in C and C++, compiled and checked. One test binary, so that its parts share what compiles them.

mod common;
mod conformance;
mod examples;
mod generated;
mod instrumented;
mod papers;
mod refused;
mod software;

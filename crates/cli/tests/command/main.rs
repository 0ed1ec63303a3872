//! The command as its users meet it. One test binary, so that its parts share the copy of the stub package.

mod common;
#[cfg(unix)]
mod interrupt;
mod mistakes;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native_options;
mod promela;
mod replay;
mod rust;
mod symbolic;

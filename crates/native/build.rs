//! Builds the runtime that is preloaded into programs, so that it is part of whatever uses this crate.
//!
//! By the compiler itself rather than by cargo: it has no dependencies, and must be a shared library whose functions
//! have the names of the C library's, which nothing that is linked into the command may have.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let source = Path::new("../pthread/src");
    println!("cargo::rerun-if-changed={}", source.display());
    // A module of it, by its path.
    println!("cargo::rerun-if-changed=../stateless/src/strategy/draw.rs");
    let variable = |name: &str| std::env::var(name).expect("cargo sets it");
    if variable("CARGO_CFG_TARGET_OS") != "linux" || variable("CARGO_CFG_TARGET_ARCH") != "x86_64" {
        // The crate is empty there.
        return;
    }
    let library = PathBuf::from(variable("OUT_DIR")).join("libselvedge_pthread.so");
    let built = Command::new(variable("RUSTC"))
        .args(["--crate-name", "selvedge_pthread", "--edition", "2024", "--crate-type", "cdylib"])
        .args(["-C", "opt-level=3", "-C", "debuginfo=0", "-C", "strip=symbols"])
        // Places in the program are found along its frames.
        .args(["-C", "force-frame-pointers=yes"])
        // What is linked against it by one name and preloaded by another is the same.
        .args(["-C", "link-arg=-Wl,-soname,libselvedge_pthread.so"])
        .args(["--target", &variable("TARGET")])
        .arg("-o")
        .arg(&library)
        .arg(source.join("lib.rs"))
        .status();
    match built {
        Ok(status) if status.success() => {}
        other => println!("cargo::error=the runtime in crates/pthread does not build: {other:?}"),
    }
}

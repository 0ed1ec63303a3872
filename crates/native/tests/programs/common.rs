//! Compiling C programs and checking them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where Debian has GLib.
pub(crate) const GLIB: &str = "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0";

/// Whether there is a C compiler; without one the test is skipped, by name.
#[track_caller]
pub(crate) fn has(compiler: &str, test: &str) -> bool {
    let works = Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success());
    works || skip(compiler, test)
}

/// Whether a program of Debian's is installed, or another file; without it the test is skipped, by name.
#[track_caller]
pub(crate) fn check_installed(program: &str, test: &str) -> bool {
    Path::new("/usr/bin").join(program).exists() || skip(program, test)
}

#[track_caller]
fn skip(compiler: &str, test: &str) -> bool {
    let required = std::env::var("SELVEDGE_REQUIRE_ORACLES").is_ok_and(|value| value == "1");
    assert!(!required, "{test}: {compiler} is not installed");
    eprintln!("SKIPPED: {test}: {compiler} not installed");
    false
}

/// The folder of C programs.
pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/c").canonicalize().unwrap()
}

/// Where to compile a program to. Another place each time: tests that run at once may compile the same one.
fn place(source: &str, suffix: &str) -> PathBuf {
    static COMPILED: AtomicUsize = AtomicUsize::new(0);
    let number = COMPILED.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}{suffix}-{number}", source.replace(['/', '.'], "-"));
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles a program of the corpus such that it tells of its accesses to memory.
#[track_caller]
pub(crate) fn instrument(source: &str, flags: &[&str]) -> PathBuf {
    instrument_with(["gcc", "g++"], source, flags)
}

/// The same with another compiler, of C and of C++.
#[track_caller]
pub(crate) fn instrument_with(compilers: [&str; 2], source: &str, flags: &[&str]) -> PathBuf {
    let program = place(source, "-instrumented");
    let mut words: Vec<OsString> =
        vec!["-Wall".into(), corpus().join(source).into(), "-o".into(), (&program).into()];
    words.extend(flags.iter().map(OsString::from));
    let compiler = compilers[usize::from(source.ends_with(".cpp"))];
    let output = selvedge_native::compiler(compiler, &words).unwrap().output().unwrap();
    assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Compiles a program of the corpus, and says where it is.
#[track_caller]
pub(crate) fn compile(source: &str, flags: &[&str]) -> PathBuf {
    let is_cpp = source.ends_with(".cpp");
    let program = place(source, "");
    let output = Command::new(if is_cpp { "g++" } else { "gcc" })
        .args(["-g", "-pthread", "-Wall", "-Wno-unused-result", "-D_GNU_SOURCE"])
        .arg("-o")
        .arg(&program)
        .arg(corpus().join(source))
        .args(flags)
        .output()
        .unwrap();
    assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Writes a program, to be compiled, and says where it is.
pub(crate) fn write(name: &str, text: &str) -> String {
    write_file(&format!("{name}.c"), text)
}

/// The same with its ending, for other languages.
pub(crate) fn write_file(name: &str, text: &str) -> String {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&source, text).unwrap();
    source.into_os_string().into_string().unwrap()
}

//! Building and running the program.
//!
//! Its output is kept, the last of it, and shown only if it is needed to understand a failure: a program that
//! is run a million times may print a million times.

use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context as _, anyhow, bail};

use super::target::{Target, Way, cargo, no_cargo};
use crate::interrupt::{self, Interrupted, Told};
use crate::progress::{self, Progress};

/// How much of the end of an output is kept.
const KEPT: usize = 32 * 1024;

/// How a program ended.
pub(super) struct Ended {
    pub(super) success: bool,
    /// In words: "exit status: 101".
    pub(super) status: String,
    /// Whether we were asked to stop.
    pub(super) interrupted: bool,
    /// The end of what it printed.
    output: String,
}

impl Ended {
    /// Shows what it printed.
    pub(super) fn show(&self) {
        let output = self.output.trim_end();
        if !output.is_empty() {
            let _ = writeln!(std::io::stderr(), "{output}");
        }
    }
}

/// Builds the program; a failure shows what cargo said.
pub(super) fn build(target: &Target) -> anyhow::Result<()> {
    let progress = Progress::start(format!("building {}", target.what()));
    let mut command = cargo();
    command.args(target.arguments(true));
    command.args(["--color", if progress::wanted() { "always" } else { "never" }]);
    let output = output(command)?;
    drop(progress);
    if output.status.success() {
        return Ok(());
    }
    let _ = std::io::stderr().write_all(&output.stderr);
    bail!("{} does not build; mend what cargo says above", target.what())
}

/// The names of the target's tests; none if it is not one that has tests.
pub(super) fn tests(target: &Target) -> anyhow::Result<Vec<String>> {
    if target.way == Way::Run {
        return Ok(Vec::new());
    }
    let mut command = cargo();
    command.args(target.arguments(false)).args(["--quiet", "--", "--list", "--format", "terse"]);
    let output = output(command)?;
    let lines = String::from_utf8_lossy(&output.stdout);
    Ok(lines.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_string).collect())
}

/// Runs a command that has nothing to say when it is stopped.
pub(super) fn output(mut command: Command) -> anyhow::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some((_told, child)) = Told::start(&mut command, false).map_err(no_cargo)? {
        let output = child.wait_with_output().context("cannot wait for cargo")?;
        if !interrupt::stopped() {
            return Ok(output);
        }
    }
    Err(Interrupted.into())
}

/// Runs the program, which writes its results to a file. With `show`, what it prints is seen at once.
///
/// When we are asked to stop, so is the program, which ends by writing what it covered.
pub(super) fn run(
    target: &Target,
    tests: &[&str],
    environment: &[(String, String)],
    results: &Path,
    show: bool,
) -> anyhow::Result<Ended> {
    let mut command = cargo();
    command.args(target.arguments(false)).arg("--quiet");
    if target.way == Way::Test {
        // One check at a time: each has the machine to itself, and the results come in order.
        command.args(["--", "--test-threads=1"]).args(show.then_some("--nocapture")).args(tests);
    }
    command.envs(environment.iter().map(|(name, value)| (name, value))).env("SELVEDGE_JSON", results);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    // On a terminal the library draws its progress line itself.
    let own_stderr = !(progress::wanted() || show);
    command.stderr(if own_stderr { Stdio::piped() } else { Stdio::inherit() });
    wait(command, show)
}

fn wait(mut command: Command, show: bool) -> anyhow::Result<Ended> {
    let Some((told, mut child)) = Told::start(&mut command, true).map_err(no_cargo)? else {
        let status = "it was not started".to_string();
        return Ok(Ended { success: false, status, interrupted: true, output: String::new() });
    };
    let stdout = child.stdout.take().map(|pipe| tail(pipe, show));
    let stderr = child.stderr.take().map(|pipe| tail(pipe, show));
    // `cargo test` dies of Ctrl-C before its test does. The pipe ends with the last process that holds it, so
    // reading it to the end waits for the test as well.
    let mut output = Vec::new();
    for reader in [stdout, stderr].into_iter().flatten() {
        output.extend(reader.join().map_err(|_| anyhow!("the reader of the program's output failed"))?);
    }
    let status = child.wait().context("cannot wait for cargo")?;
    drop(told);
    Ok(Ended {
        success: status.success(),
        status: status.to_string(),
        interrupted: interrupt::stopped(),
        output: if show { String::new() } else { String::from_utf8_lossy(&output).into_owned() },
    })
}

/// Reads to the end and returns the last of it.
fn tail(mut pipe: impl Read + Send + 'static, show: bool) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            if show {
                let _ = std::io::stderr().write_all(&buffer[..count]);
            }
            kept.extend_from_slice(&buffer[..count]);
            if kept.len() > 2 * KEPT {
                kept.drain(..kept.len() - KEPT);
            }
        }
        kept
    })
}

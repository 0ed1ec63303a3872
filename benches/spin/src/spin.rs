//! Spin: the verifier is generated, compiled and run.

use crate::catalogue::Model;
use crate::process::{Ran, run};

/// How Spin is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Its raw semantics: no optimisation of the model, no reduction, on after an error.
    Raw,
    /// The same under a bound on context switches.
    Bounded(u32),
    /// Under a bound, with Spin's optimisations of the model.
    Optimised(u32),
}

/// What Spin has found and cost.
pub(crate) struct Spin {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) errors: u64,
    /// Bytes of the states as stored, and of the table.
    pub(crate) store_bytes: u64,
    /// CPU seconds of `spin -a` and gcc.
    pub(crate) preparation: f64,
    /// The verifier itself.
    pub(crate) ran: Ran,
}

/// Asks Spin about a model; `slots` is the base-two logarithm of its table's size.
pub(crate) fn spin(model: &Model, mode: Mode, slots: u32, all_errors: bool) -> Spin {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = model.path.parent().expect("a model is in a folder");
    for entry in std::fs::read_dir(place).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_file() {
            std::fs::copy(&path, folder.path().join(path.file_name().expect("a file"))).expect("a copy");
        }
    }
    let text = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut arguments =
        text(if matches!(mode, Mode::Optimised(_)) { &["-a"] } else { &["-a", "-o1", "-o2", "-o3"] });
    arguments.extend(model.definitions.iter().map(|definition| format!("-D{definition}")));
    arguments.push(model.path.file_name().expect("a file").to_string_lossy().into_owned());
    let generated = run("spin", &arguments, folder.path());
    let mut arguments = text(&["-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOCLAIM", "-DVECTORSZ=2048"]);
    arguments.push("-DMEMLIM=16000".to_string());
    if mode != Mode::Raw {
        // A bounded search has room for eight processes unless told otherwise.
        arguments.extend(text(&["-DBCS", "-DCONSERVATIVE=2"]));
    }
    arguments.extend(text(&["-o", "pan", "pan.c"]));
    let compiled = run("gcc", &arguments, folder.path());
    let mut arguments = vec![format!("-w{slots}"), format!("-m{}", model.depth)];
    if all_errors {
        arguments.push("-c0".to_string());
    }
    if let Mode::Bounded(bound) | Mode::Optimised(bound) = mode {
        arguments.push(format!("-L{bound}"));
    }
    let pan = folder.path().join("pan").display().to_string();
    let ran = run(&pan, &arguments, folder.path());
    assert!(!ran.text.contains("max search depth too small"), "{}: -m is too small", model.name());
    let number = |part: &str| {
        let line = ran.text.lines().find(|line| line.contains(part));
        let line = line.unwrap_or_else(|| panic!("{}: no '{part}' in {}", model.name(), ran.text));
        line.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()).expect("a number")
    };
    let errors = ran.text.split("errors: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    // A model of few states has no line with its memory.
    let megabytes = |part: &str| {
        let line = ran.text.lines().find(|line| line.contains(part));
        line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) * 1048576.0
    };
    Spin {
        states: number("states, stored") as u64,
        transitions: number("transitions (=") as u64,
        errors: errors.and_then(|word| word.parse().ok()).expect("Spin counts its errors"),
        store_bytes: (megabytes("actual memory usage for states") + megabytes("memory used for hash table"))
            as u64,
        preparation: generated.seconds + compiled.seconds,
        ran,
    }
}

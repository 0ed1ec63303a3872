//! What the tests share: the corpus and its directives, and Spin.

#![allow(dead_code)] // Each test file uses a part.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The models of the corpus.
pub(crate) fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/promela");
    let mut list: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("the corpus can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pml"))
        .collect();
    list.sort();
    list
}

/// The first lines of a model.
#[derive(Debug, Default)]
pub(crate) struct Directives {
    /// `holds`, or the kind of the violation.
    pub(crate) expect: String,
    /// The fewest preemptions of a violation.
    pub(crate) preemptions: Option<u32>,
    /// States at each bound.
    pub(crate) rows: Vec<u64>,
    /// How far Spin is asked: `counts` (the default), `verdict`, or `none`.
    pub(crate) oracle: String,
}

impl Directives {
    /// Reads them.
    pub(crate) fn of(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("the model can be read");
        let head = text.split("*/").next().unwrap_or_default();
        let value = |name: &str| {
            head.lines().find_map(|line| {
                line.trim_start_matches(['/', '*', ' '])
                    .strip_prefix(name)?
                    .strip_prefix(':')
                    .map(|v| v.trim().to_string())
            })
        };
        Directives {
            expect: value("expect").unwrap_or_else(|| panic!("{} has no 'expect:'", path.display())),
            preemptions: value("preemptions").map(|v| v.parse().expect("a number of preemptions")),
            rows: value("rows")
                .map_or(Vec::new(), |v| v.split_whitespace().map(|n| n.parse().expect("a number")).collect()),
            oracle: value("oracle").unwrap_or_else(|| "counts".to_string()),
        }
    }
}

/// Whether a test that cannot ask must fail rather than be skipped.
pub(crate) fn required() -> bool {
    std::env::var("SELVEDGE_REQUIRE_ORACLES").is_ok_and(|value| value == "1")
}

/// Whether Spin and a C compiler are here. Says so loudly if not, and fails where they are required.
pub(crate) fn oracles(test: &str) -> bool {
    let missing = ["spin", "gcc"].into_iter().find(|tool| {
        let flag = if *tool == "spin" { "-V" } else { "--version" };
        Command::new(tool).arg(flag).output().is_err()
    });
    let Some(tool) = missing else { return true };
    assert!(!required(), "{test}: {tool} is required and not installed");
    eprintln!("SKIPPED: {test}: {tool} not installed");
    false
}

/// What Spin says about a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spin {
    /// States stored.
    pub(crate) states: u64,
    /// States stored and matched.
    pub(crate) transitions: u64,
    /// Errors.
    pub(crate) errors: u64,
}

/// The folder of the examples in Spin's package; says so loudly if it is not there.
pub(crate) fn examples(test: &str) -> Option<PathBuf> {
    let root = PathBuf::from("/usr/share/doc/spin/examples/Examples");
    if root.is_dir() {
        return Some(root);
    }
    let message = format!("SKIPPED: {test}: the examples of Spin's package are not installed");
    assert!(!required(), "{message}");
    eprintln!("{message}");
    None
}

/// Asks Spin for its raw semantics: no reduction, no optimisation of the model, on after an error.
pub(crate) fn ask_spin(path: &Path, flags: &[&str]) -> Option<Spin> {
    ask_spin_with(path, &["-o1", "-o2", "-o3"], flags)
}

/// Asks Spin without reduction, with options for its optimisations of the model.
pub(crate) fn ask_spin_with(path: &Path, optimisations: &[&str], flags: &[&str]) -> Option<Spin> {
    let (spin, cut) = run_spin(path, optimisations, flags, 1_000_000)?;
    (!cut).then_some(spin)
}

/// Asks Spin breadth first, to a depth; the answer, and whether there is more beyond it.
pub(crate) fn ask_spin_to_depth(path: &Path, depth: u64) -> Option<(Spin, bool)> {
    run_spin(path, &["-o1", "-o2", "-o3"], &["-DNOCLAIM", "-DBFS"], depth)
}

/// Asks Spin which properties of a model are violated: each is a name of an `ltl` block, `progress`, or nothing for the
/// model's own claim or `accept` labels. Of a
/// question that Spin does not answer there is none.
pub(crate) fn ask_spin_for_ever(path: &Path, properties: &[String]) -> Option<Vec<Option<bool>>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::copy(path, folder.path().join("m.pml")).expect("it can be copied");
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(folder.path()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    };
    run("spin", &["-a", "-o1", "-o2", "-o3", "m.pml"])?;
    let compile = |flags: &[&str], name: &str| {
        let plain = ["-O1", "-w", "-DNOREDUCE", "-DNOFAIR", "-DVECTORSZ=4096", "-DMEMLIM=2000"];
        run("gcc", &[&plain, flags, &["-o", name, "pan.c"]].concat())
    };
    compile(&[], "pan")?;
    if properties.iter().any(|property| property == "progress") {
        compile(&["-DNP"], "pan_np")?;
    }
    let violated = |property: &String| {
        let args: &[&str] = match property.as_str() {
            "" => &["-a"],
            "progress" => &["-l"],
            name => &["-a", "-N", name],
        };
        let pan = folder.path().join(if property == "progress" { "pan_np" } else { "pan" });
        let text = run(&pan.display().to_string(), &[args, &["-m1000000", "-w18"]].concat())?;
        let errors =
            text.lines().find_map(|line| line.split("errors: ").nth(1))?.trim().parse::<u64>().ok()?;
        (!text.contains("max search depth too small")).then_some(errors > 0)
    };
    Some(properties.iter().map(violated).collect())
}

fn run_spin(path: &Path, optimisations: &[&str], flags: &[&str], depth: u64) -> Option<(Spin, bool)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let name = path.file_name().expect("a file");
    for entry in std::fs::read_dir(path.parent().expect("a folder")).expect("it can be read") {
        let entry = entry.expect("it can be read").path();
        if entry.is_file() {
            std::fs::copy(&entry, folder.path().join(entry.file_name().expect("a file")))
                .expect("it can be copied");
        }
    }
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(folder.path()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    };
    let name = name.to_string_lossy();
    let generate: Vec<&str> =
        ["-a"].into_iter().chain(optimisations.iter().copied()).chain([&*name]).collect();
    run("spin", &generate)?;
    let mut compile = vec!["-O1", "-w", "-DSAFETY", "-DNOREDUCE", "-DVECTORSZ=4096", "-DMEMLIM=2000"];
    compile.extend_from_slice(flags);
    compile.extend_from_slice(&["-o", "pan", "pan.c"]);
    run("gcc", &compile)?;
    let pan = folder.path().join("pan");
    let text = run(&pan.display().to_string(), &["-c0", &format!("-m{depth}"), "-w18"])?;
    let number = |suffix: &str| {
        let line = text.lines().find(|line| line.contains(suffix))?;
        line.split_whitespace().next()?.parse::<f64>().ok().map(|n| n as u64)
    };
    let errors = text.lines().find_map(|line| line.split("errors: ").nth(1))?.trim().parse().ok()?;
    let spin = Spin { states: number("states, stored")?, transitions: number("transitions (=")?, errors };
    Some((spin, text.contains("max search depth too small")))
}

//! Running the command in a copy of the stub package.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The copy of the stub package; all tests of a process share it, and only read it.
pub(crate) fn stub() -> &'static Path {
    static STUB: OnceLock<PathBuf> = OnceLock::new();
    STUB.get_or_init(|| {
        let to = fresh("stub");
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stub"), &to);
        to
    })
}

/// An empty directory for one use.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", env!("CARGO_CRATE_NAME")));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path.canonicalize().unwrap()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// The command, in the stub package, without what the environment of the tests would tell it.
pub(crate) fn selvedge(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.args(words).current_dir(stub());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SELVEDGE_") {
            command.env_remove(name);
        }
    }
    // Shared by all test processes: the stub has no dependencies and builds in no time.
    command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("stub-target"));
    command.env("CARGO_NET_OFFLINE", "true");
    command
}

/// Runs the command and checks its exit status and that it did not panic.
#[track_caller]
pub(crate) fn run(words: &[&str], status: i32) -> Seen {
    let seen = Seen::from(selvedge(words).output().unwrap());
    assert_eq!(seen.status, Some(status), "{words:?}\n{seen:?}");
    assert!(!seen.err.contains("crates/cli/src"), "{words:?}\n{seen:?}");
    seen
}

/// Runs the line of a report that replays its counterexample, as a shell reads it, where the check was run.
#[track_caller]
pub(crate) fn replay(report: &Seen, status: i32) -> Seen {
    let line = report.out.lines().find_map(|line| line.strip_prefix("Replay: "));
    let line = line.unwrap_or_else(|| panic!("no line to replay with\n{report:?}"));
    let shell = selvedge(&[]);
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(stub());
    for (name, value) in shell.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let seen = Seen::from(command.output().unwrap());
    assert_eq!(seen.status, Some(status), "{line}\n{seen:?}");
    seen
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Seen {
    fn from(output: Output) -> Self {
        Seen {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

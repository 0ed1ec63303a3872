//! Traces are files that anybody may have written: replaying one runs, reads and writes nothing that it names.

use std::path::{Path, PathBuf};

use crate::common::{Seen, fresh, replay, run, selvedge, stub};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::native::{compile, has_gcc};

/// A trace that says that it is from this check.
fn trace(folder: &Path, file: &str, filter: Option<&str>, arguments: &[&str], words: &[&str]) -> PathBuf {
    let trace = serde_json::json!({
        "schema": "selvedge/result/1",
        "subject": filter.unwrap_or("s"),
        "engine": "stateless",
        "verdict": "violated",
        "violation": {
            "kind": "assertion", "message": "", "preemptions": 0, "switches": 0, "schedule": "1A", "trace": [],
        },
        "coverage": [],
        "statistics": {},
        "origin": { "file": file, "filter": filter, "arguments": arguments, "words": words },
    });
    let path = folder.join("bug.json");
    std::fs::write(&path, trace.to_string()).unwrap();
    path
}

/// Replays a trace and names nothing: the whole command is shown, and that is all.
#[track_caller]
fn refused(path: &Path, shown: &str) {
    let seen = run(&["replay", path.to_str().unwrap()], 2);
    assert!(seen.out.is_empty() && seen.err.contains("name what it is to be run on"), "{seen:?}");
    assert!(seen.err.trim_end().ends_with(shown), "{shown}\n{seen:?}");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_trace_starts_no_executable_and_gives_it_no_arguments() {
    if !has_gcc("a_trace_starts_no_executable_and_gives_it_no_arguments") {
        return;
    }
    let folder = fresh("trace-executable");
    let text = "#include <stdio.h>\n\
        int main(int n, char **a) { if (n > 1) remove(a[1]); fclose(fopen(\"ran\", \"w\")); return 0; }\n";
    let program = compile(&folder, text, &[]);
    let precious = folder.join("precious");
    std::fs::write(&precious, "").unwrap();
    let (program, words) = (program.to_str().unwrap(), [precious.to_str().unwrap()]);
    let path = trace(&folder, program, None, &["--race-mode", "--trail", "x"], &words);
    refused(&path, &format!("--race-mode -- {program} {}", words[0]));
    assert!(!stub().join("ran").exists() && precious.exists());
    // Named by the user, it runs, and with the arguments that the user gives.
    let mut command = selvedge(&["replay", path.to_str().unwrap(), "--", program]);
    let seen = Seen::from(command.current_dir(&folder).output().unwrap());
    assert!(folder.join("ran").exists() && precious.exists(), "{seen:?}");
}

#[test]
fn a_trace_builds_no_package() {
    let folder = fresh("trace-package");
    let ran = folder.join("ran");
    std::fs::create_dir_all(folder.join("examples")).unwrap();
    let manifest = "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let writes = format!("fn main() {{ std::fs::write({ran:?}, \"\").unwrap() }}\n");
    for file in ["build.rs", "examples/e.rs"] {
        std::fs::write(folder.join(file), &writes).unwrap();
    }
    let file = folder.join("examples/e.rs");
    let file = file.to_str().unwrap();
    refused(&trace(&folder, file, Some("t"), &[], &[]), &format!("-- {file} t"));
    assert!(!ran.exists());
    // It is the package that would have done so.
    let _ = selvedge(&["check", file]).output().unwrap();
    assert!(ran.exists());
}

const MODEL: &str = "byte x; active proctype P() { x = 1; assert(x == 2) }\n";

#[test]
fn a_trace_reads_and_writes_no_files() {
    let folder = fresh("trace-files");
    let at = |name: &str| folder.join(name).to_str().unwrap().to_string();
    std::fs::write(at("model.pml"), MODEL).unwrap();
    std::fs::write(at("precious"), "as it was").unwrap();
    let path = trace(&folder, &at("model.pml"), None, &["--trail", &at("precious"), "-D", "A=1"], &[]);
    refused(&path, &format!("-D A=1 -- {}", at("model.pml")));
    // A run of the named model, with a schedule of its own, still writes nothing.
    let found = at("found.json");
    run(&["check", &at("model.pml"), "--trace", &found, "--quiet"], 1);
    let mut json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&found).unwrap()).unwrap();
    json["origin"]["arguments"] = serde_json::json!(["--trail", at("precious"), "--json", at("other")]);
    json["origin"]["file"] = "/nowhere".into();
    std::fs::write(&found, json.to_string()).unwrap();
    let seen = run(&["replay", &found, "--", &at("model.pml")], 1);
    assert!(seen.out.contains("assertion violated"), "{seen:?}");
    assert_eq!(std::fs::read_to_string(at("precious")).unwrap(), "as it was");
    assert!(!Path::new(&at("other")).exists());
}

#[test]
fn what_a_trace_says_does_nothing_to_a_terminal_or_a_shell() {
    let folder = fresh("trace-words");
    let hidden = "a.pml\r\x1b[2K; rm -rf ~ 'b'";
    let path = trace(&folder, hidden, None, &[], &["\u{202e}lmp.b"]);
    refused(&path, r"-- $'a.pml\u000d\u001b[2K; rm -rf ~ \'b\'' $'\u202elmp.b'");
    for arguments in [&["--no-such-option"][..], &["--help"], &["--json"]] {
        refused(&trace(&folder, "a.pml", None, arguments, &[]), "selvedge replay TRACE -- FILE");
    }
}

/// What reports print works, wherever the counterexample is from.
#[test]
fn the_line_that_is_printed_replays_the_counterexample() {
    let folder = fresh("replay lines");
    let at = |name: &str| folder.join(name).to_str().unwrap().to_string();
    std::fs::write(at("model.pml"), format!("#if N == 3\n{MODEL}#endif\n")).unwrap();
    let wrong = "decl x := 0; void main() begin x := 1; L: assert(!x); end\n";
    std::fs::write(at("wrong.bp"), wrong).unwrap();
    std::fs::write(at("two.cpds"), "2\nPDA 0 1\n0 0 -> 1 1\n").unwrap();
    for (words, shown) in [
        (vec!["model.pml", "-D", "N=3", "--search", "dfs"], "assertion violated"),
        (vec!["wrong.bp"], "the assertion (!x) fails"),
        (vec!["wrong.bp", "--goal", "main.L", "--threads", "1"], "label L is reached"),
        (vec!["two.cpds", "--goal", "P0.1"], "label 1 is reached"),
    ] {
        for with_trace in [false, true] {
            let file = at(words[0]);
            let mut all = vec!["check", &file];
            all.extend(&words[1..]);
            let bug = at("bug one.json");
            if with_trace {
                all.extend(["--trace", &bug]);
            }
            let seen = run(&all, 1);
            let again = replay(&seen, 1);
            assert!(again.out.contains(shown), "{words:?}\n{seen:?}\n{again:?}");
        }
    }
}

/// A token of many steps fits on no command line.
#[test]
fn a_long_counterexample_is_replayed_from_a_file() {
    let folder = fresh("replay-long");
    let text = "chan c = [1] of { byte };\n\
        active proctype P() { int i; do :: i < 30000 -> c!1; i++ :: else -> break od; assert(false) }\n\
        active proctype Q() { byte b; end: do :: c?b od }\n";
    std::fs::write(folder.join("long.pml"), text).unwrap();
    let words = ["check", "long.pml", "--search", "dfs", "--no-por"];
    let seen = Seen::from(selvedge(&words).current_dir(&folder).output().unwrap());
    assert_eq!(seen.status, Some(1), "{:.2000}", seen.err);
    let line = seen.out.lines().find_map(|line| line.strip_prefix("Replay: ")).unwrap();
    assert!(line.len() < 1000, "{line:.200}");
    let again = std::process::Command::new("bash").args(["-c", line]).current_dir(&folder).output().unwrap();
    assert_eq!(again.status.code(), Some(1), "{line}");
}

/// The first command of the README, and what it prints.
#[test]
fn the_first_command_of_the_readme_prints_a_line_that_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let file = "corpus/rust/examples/bluetooth.rs";
    assert!(readme.contains(&format!("-p selvedge-cli -- check {file}")), "the README begins otherwise");
    let folder = fresh("readme");
    let bug = folder.join("bug.json");
    for words in [&["check", file][..], &["check", file, "--trace", bug.to_str().unwrap()]] {
        let mut command = selvedge(words);
        // The packages of the workspace, where they have been built.
        command.current_dir(&root).env_remove("CARGO_TARGET_DIR");
        let seen = Seen::from(command.output().unwrap());
        assert_eq!(seen.status, Some(1), "{seen:?}");
        let line = seen.out.lines().find_map(|line| line.strip_prefix("Replay: ")).unwrap();
        let again =
            std::process::Command::new("bash").args(["-c", line]).current_dir(&root).output().unwrap();
        let again = Seen::from(again);
        assert_ne!(again.status, Some(0), "{line}\n{again:?}");
        assert!(
            again.out.contains("a request uses the device after")
                || again.err.contains("a request uses the device after"),
            "{line}\n{again:?}"
        );
        assert!(
            again.out.contains("1 execution,") || again.err.contains("1 execution,"),
            "{line}\n{again:?}"
        );
    }
}

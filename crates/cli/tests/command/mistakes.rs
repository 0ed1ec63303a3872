//! Mistakes on the command line and in files: one clear error with a remedy, and exit status 2.

use crate::common::{fresh, run};

#[test]
fn mistakes_are_explained() {
    let folder = fresh("mistakes");
    let at = |name: &str| folder.join(name).to_str().unwrap().to_string();
    std::fs::write(at("model.xyz"), "").unwrap();
    std::fs::write(at("bad.json"), "{\"schema\":\n7}").unwrap();
    std::fs::write(at("empty.json"), "").unwrap();
    std::fs::write(at("binary.json"), [0xff, 0xfe]).unwrap();
    let holds = concat!(
        r#"{"schema":"selvedge/result/1","subject":"s","engine":"e","verdict":"holds","#,
        r#""guarantee":{"complete":true,"assumptions":[]},"coverage":[],"statistics":{}}"#
    );
    std::fs::write(at("holds.json"), holds).unwrap();
    let violated = holds.replace("holds", "violated").replace(
        r#""guarantee":{"complete":true,"assumptions":[]}"#,
        r#""violation":{"kind":"panic","message":"","preemptions":0,"switches":0,"schedule":"1A"}"#,
    );
    std::fs::write(at("violated.json"), violated).unwrap();

    for (words, message) in [
        (vec![], "Usage"),
        (vec!["chekc"], "check"),
        (vec!["check"], "FILE"),
        (vec!["check", "nowhere.rs"], "cannot read nowhere.rs"),
        (vec!["check", &at("")], "is a directory; give the file"),
        (vec!["check", &at("model.xyz")], "it takes\n  Rust: a .rs file"),
        (vec!["check", "examples/holds.rs", "--preemptions", "two"], "invalid value 'two'"),
        (vec!["check", "examples/holds.rs", "--preemptions=-1"], "invalid value '-1'"),
        (vec!["check", "examples/holds.rs", "--jobs", "0"], "invalid value '0'"),
        (vec!["check", "examples/holds.rs", "--jobs", "2"], "--jobs is not an option for Rust files"),
        (vec!["check", "examples/holds.rs", "--time", "soon"], "such as 30s"),
        (vec!["check", "examples/holds.rs", "--memory", "lots"], "such as 4G"),
        (vec!["check", "examples/holds.rs", "--store", "exact"], "--store is not an option for Rust files"),
        (vec!["check", "examples/holds.rs", "--contexts", "4"], "--contexts is not an option for Rust files"),
        (
            vec!["check", "examples/holds.rs", "--strategy", "best"],
            "--strategy: there is no strategy \"best\"",
        ),
        (
            vec!["check", "examples/holds.rs", "--strategy", "dpor", "--preemptions", "0"],
            "--preemptions: the strategy dpor has no bound on preemptions; leave that bound out, or choose",
        ),
        (
            vec!["check", "examples/holds.rs", "--delays", "1", "--preemptions", "0"],
            "--preemptions: the strategy delay has no bound on preemptions",
        ),
        (vec!["check", "examples/holds.rs", "--allow-races"], "add --race-mode"),
        (
            vec!["check", "examples/holds.rs", "--race-mode", "--allow-races", "--strategy", "bpor"],
            "leave --strategy out, or choose icb",
        ),
        (vec!["check", "examples/holds.rs", "--html", "x.html"], "--html is not there yet"),
        (vec!["check", "examples/holds.rs", "--json", "/nowhere/x.json"], "cannot write --json"),
        (vec!["check", "examples/holds.rs", "--trace", "/nowhere/x.json"], "cannot write --trace"),
        (vec!["report", &at("holds.json"), "--html", "x.html"], "--html is not there yet"),
        (vec!["report", &at("none.json")], "cannot read"),
        (vec!["report", &at("bad.json")], "line 2, column 1"),
        (vec!["report", &at("empty.json")], "no result"),
        (vec!["report", &at("binary.json")], "UTF-8"),
        (vec!["replay", &at("holds.json")], "nothing to replay"),
        (vec!["replay", &at("violated.json")], "  selvedge replay TRACE -- FILE"),
        (vec!["replay", &at("none.json")], "cannot read"),
        (vec!["replay", &at("violated.json"), "x.pml"], "unexpected argument 'x.pml'"),
        (vec!["replay", &at("violated.json"), "--", "nowhere.pml"], "cannot read nowhere.pml"),
        (vec!["replay", &at("violated.json"), "--", &at("model.xyz")], "it takes\n  Rust: a .rs file"),
    ] {
        let seen = run(&words, 2);
        assert!(seen.err.contains(message), "{words:?}: {seen:?}");
        assert!(seen.out.is_empty(), "{words:?}: {seen:?}");
    }
}

#[test]
fn help_and_version_are_there() {
    let seen = run(&["--help"], 0);
    assert!(seen.out.contains("VIOLATED") && seen.out.contains("Exit status: 0 holds"), "{seen:?}");
    let seen = run(&["check", "--help"], 0);
    assert!(seen.out.contains("--preemptions <N>"), "{seen:?}");
    assert!(run(&["--version"], 0).out.starts_with("selvedge "));
}

//! Trails both ways: `spin -t` follows ours, and ours follows those of Spin's verifier, wherever claims and traces
//! stand in the text, and whatever stands in an `unless`, an atomic sequence or a `d_step`.

mod common;

use std::path::Path;
use std::process::Command;

use common::oracles;
use selvedge_promela::{Guide, Options, check, parse, simulate};

/// Models with a violation, and whether a process does it rather than the claim. The claims and traces stand before,
/// between and behind the processes. Behind what Spin makes of `for` and `select` are statements whose numbers would be
/// wrong if its were.
const MODELS: [(&str, bool); 18] = [
    (
        "byte x;\nnever { do :: assert(x < 9) od }\nactive proctype P() { if :: x = 1\n:: x = 2\nfi;\nx = x + 1;\n\
         assert(x < 3) }",
        true,
    ),
    (
        "byte x;\nactive proctype P() { x = 1;\n(x == 2);\nx = 3\n}\nnever { do :: x == 3 -> break :: else od }\n\
         active proctype Q() { (x == 1);\nx = 2\n}",
        false,
    ),
    (
        "byte x;\nactive proctype P() { x = 1;\n(x == 2);\nx = 3\n}\nactive proctype Q() { (x == 1);\nx = 2\n}\n\
         never { do :: x == 3 -> break :: else od }",
        false,
    ),
    (
        "chan c = [2] of { byte };\ntrace { do :: c!1 :: c?1 od }\nactive proctype P() { byte i;\n\
         do :: i < 3 -> c!1;\ni++ :: else -> break od;\nassert(false) }\n\
         active proctype Q() { do :: c?_ od }",
        true,
    ),
    (
        "chan c = [2] of { byte };\nactive proctype P() { c!1;\nc!2 }\nnotrace { c!1; c!2 }\n\
         active proctype Q() { byte m; end: do :: c?m od }",
        true,
    ),
    (
        "byte x;\nnever { if :: x == 9 :: else fi; do :: x == 9 -> break :: else od }\nchan c = [1] of { byte };\n\
         trace { do :: c!1; c?1 od }\ninline set(v) { x = v }\nactive proctype P() { set(1);\nc!1;\nset(2) }\n\
         active proctype Q() { c?1;\n(x == 2);\nassert(x == 1) }",
        true,
    ),
    (
        "byte x, i;\nactive proctype P() { for (i : 1 .. 3) { x = x + i }\nunless x == 9;\nx = 7;\nassert(x \
         != 7) }",
        true,
    ),
    (
        "byte x, i;\nactive proctype P() { x = 1 unless for (i : 3 .. 2) { x = x + i };\nx = 7;\nassert(x \
         != 7) }",
        true,
    ),
    ("byte x, i;\nactive proctype P() { select (i : 1 .. 3) unless x == 9;\nx = i;\nassert(x != 3) }", true),
    (
        "byte x, i;\nactive proctype P() { (x == 5) unless select (i : 1 .. 3);\nx = i;\nassert(x != 2) }",
        true,
    ),
    (
        "byte x, i;\nactive proctype P() { atomic { { for (i : 1 .. 2) { x = x + i } } unless x == 9;\nx = \
         7 };\nassert(x != 7) }\nactive proctype Q() { x = 1;\nx = 2 }",
        true,
    ),
    (
        "byte x, i;\nactive proctype P() { { atomic { x = 3;\nselect (i : 1 .. 2);\nx = i } } unless { x == \
         9;\nx = 1 };\nx = x + 4;\nassert(x != 6) }\nactive proctype Q() { i = 0 }",
        true,
    ),
    (
        "byte x, i;\nactive proctype P() { { d_step { for (i : 1 .. 3) { x = x + i } };\nx = x + 1 } unless \
         { x == 9;\nd_step { x = 1;\nx = 2 } };\nx = x + 1;\nassert(x != 8) }",
        true,
    ),
    (
        "byte a[3], x, i;\nactive proctype P() { do :: x < 2 -> { for (i in a) { a[i] = x }\n} unless a[2] \
         == 1;\nx++ :: else -> break od;\nselect (i : 0 .. 2);\nassert(a[i] != 1 || i != 2) }",
        true,
    ),
    ("byte x, y = 2;\nactive proctype P() { x = 1 unless y == 2;\nx = 7;\nassert(x != 7) }", true),
    ("byte x, y = 2;\nactive proctype P() { { x = 1 } unless y == 2;\nx = 7;\nassert(x != 7) }", true),
    (
        "byte x, y = 2;\nactive proctype P() { if :: x = 1 fi unless if :: y == 2 -> x = 3 fi;\nx = 7;\nassert(x != 7) }",
        true,
    ),
    (
        "byte x, y = 2;\nactive proctype P() { atomic { x = 1; x = 2 } unless { y == 2; y = 3 };\nx = 7;\n\
         assert(x != 7) }",
        true,
    ),
];

fn run(folder: &Path, program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(folder).output().expect("the command runs");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The lines of the statements that `spin -t` followed, without those of claims, and of a `d_step` the first.
fn followed(told: &str) -> Vec<u32> {
    let taken = told.lines().filter(|line| line.contains("proc ") && line.contains("\t["));
    // "  4:	proc  0 (P:1) m.pml:7 (state 19)	[x = 8]"
    let mut list: Vec<(&str, u32)> = taken
        .filter_map(|line| {
            let (step, rest) = line.split_once(" (")?;
            Some((step, rest.split("m.pml:").nth(1)?.split(' ').next()?.parse().ok()?))
        })
        .collect();
    list.dedup_by_key(|(step, _)| *step);
    list.into_iter().map(|(_, line)| line).collect()
}

#[test]
fn trails_go_both_ways() {
    if !oracles("trails_go_both_ways") {
        return;
    }
    for (text, by_a_process) in MODELS {
        let model = parse(text, "m.pml", None, &[]).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("m.pml"), text).expect("it can be written");

        // Ours to Spin: the same statements in the same order.
        let checked = check(&model, &Options::default(), &mut |_| true).expect("it is checked");
        let violation = checked.outcome.violation().unwrap_or_else(|| panic!("no violation: {text}"));
        let trail = checked.trail.as_ref().expect("a violation has a trail");
        std::fs::write(folder.path().join("m.pml.trail"), trail).expect("it can be written");
        let told = run(folder.path(), "spin", &["-t", "-p", "m.pml"]);
        let threads = &violation.trace.threads;
        let steps = violation.trace.steps.iter().filter(|step| !threads[step.thread].contains("never"));
        let ours: Vec<u32> = steps
            .filter(|step| !step.op.contains("end"))
            .map(|step| step.location.as_ref().expect("a statement has a place").line)
            .collect();
        assert!(!told.contains("invalid statement") && !told.contains("couldn't find"), "{told}\n{text}");
        assert_eq!(followed(&told), ours, "{told}\n{text}");

        // Spin's to us, statement by statement.
        run(folder.path(), "spin", &["-a", "-o1", "-o2", "-o3", "m.pml"]);
        run(folder.path(), "gcc", &["-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"]);
        std::fs::remove_file(folder.path().join("m.pml.trail")).expect("it was written");
        run(folder.path(), &folder.path().join("pan").display().to_string(), &["-w12"]);
        let trail = std::fs::read_to_string(folder.path().join("m.pml.trail")).expect("Spin finds it too");
        let claimed = trail.contains("-2:");
        // Jumps at the end of a choice within an atomic sequence are lines of Spin's, and no statements of the text.
        let dump = run(folder.path(), &folder.path().join("pan").display().to_string(), &["-d"]);
        let jumps = dump.lines().filter(|line| line.ends_with("=> .(goto)"));
        let jumps: Vec<&str> =
            jumps.filter_map(|line| line.split("[id").nth(1)?.split_whitespace().next()).collect();
        let jump = |line: &str| line.rsplit(':').next().is_some_and(|number| jumps.contains(&number));
        let moves = |line: &&str| !(line.starts_with('-') || claimed && line.contains(":0:") || jump(line));
        let mut lines = Vec::new();
        let ended = simulate(&model, Guide::Trail(&trail), 1_000, &mut |line| lines.push(line.to_string()))
            .unwrap_or_else(|error| panic!("{error}\n{trail}\n{text}"));
        assert_eq!(ended.steps as usize, trail.lines().filter(moves).count(), "{trail}\n{text}");
        assert_eq!(ended.violated, by_a_process, "{lines:?}\n{text}");
    }
}

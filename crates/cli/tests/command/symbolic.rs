//! Boolean programs and CPDS files.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Seen, fresh, replay, run, selvedge};

fn corpus(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/symbolic").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_string()
}

#[test]
fn a_violation_is_shown_with_its_contexts_and_its_lines() {
    let seen = run(&["check", &corpus("bluetooth_v1.bp"), "--contexts", "3"], 1);
    for expected in [
        "VIOLATED",
        "assertion",
        "bluetooth_v1.bp:31:5",
        "2 switches, 3 contexts",
        "every execution with at most 2 contexts has been checked; a remaining bug needs at least",
        "view tuples",
        "+ 19    if (stoppingFlag) then",
        "! 31      assert(!stopped);",
    ] {
        assert!(seen.out.contains(expected), "{expected}\n{}", seen.out);
    }
    let seen = run(&["check", &corpus("bluetooth_v1.bp"), "--contexts", "2"], 0);
    assert!(seen.out.contains("HOLDS") && seen.out.contains("at most 2 contexts"), "{}", seen.out);
}

#[test]
fn both_kinds_of_splitting_give_the_same_answer() {
    for splitting in ["lazy", "eager"] {
        let file = corpus("running_example.cpds");
        let words = ["check", &file, "--contexts", "2", "--goal", "P1.1", "--splitting", splitting];
        let seen = run(&words, 1);
        assert!(seen.out.contains("label 1 is reached"), "{}", seen.out);
    }
}

#[test]
fn the_json_has_a_row_for_each_number_of_contexts() {
    let file = corpus("running_example.cpds");
    let seen = run(&["check", &file, "--contexts", "2", "--json", "-", "--quiet"], 0);
    let result: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(result["engine"], "symbolic");
    let rows = result["coverage"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1]["states"], 4);
    assert_eq!(rows[1]["view_tuples"], 3);
    assert_eq!(rows[1]["measure"], "contexts");
    assert!(rows[1]["bdd_nodes"].as_u64().unwrap() > 0 && rows[1]["heads"].as_u64().unwrap() > 0);
}

#[test]
fn the_json_has_a_mark_for_each_line() {
    let file = corpus("bluetooth_v1.bp");
    let seen = run(&["check", &file, "--contexts", "3", "--json", "-", "--quiet"], 1);
    let result: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    let lines = result["lines"].as_array().unwrap();
    let mark =
        |line: u64| lines.iter().find(|entry| entry["line"] == line).map(|entry| entry["mark"].clone());
    assert_eq!(mark(19), Some("reached".into()));
    assert_eq!(mark(31), Some("violated".into()));
    assert_eq!(mark(1), None);
    assert_eq!(lines[0]["file"].as_str(), Some(file.as_str()));
    for row in result["coverage"].as_array().unwrap() {
        for name in ["view_tuples", "bdd_nodes", "heads", "bound", "measure", "seconds"] {
            assert!(!row[name].is_null(), "{name} is missing: {row}");
        }
    }
    assert!(result["statistics"]["peak_memory_bytes"].as_u64().unwrap() > 0);
}

const CREATES: &str = "decl int<2> sum := 0;
void add(int<2> amount) begin
  sum := sum + amount;
end
void main() begin
  start_thread add(1);
  start_thread add(2);
END:
  skip;
end
";

#[test]
fn a_configuration_is_looked_for_with_the_threads_that_exist() {
    let folder = fresh("symbolic-configurations");
    let file = folder.join("creates.bp");
    std::fs::write(&file, CREATES).unwrap();
    let (file, trace) = (file.to_str().unwrap(), folder.join("trace.json"));
    let trace = trace.to_str().unwrap();
    // Created and not moved; created, and one has ended; only one created; none.
    for (goal, contexts) in [
        ("sum = 0 | main.END | entry of add (amount = 1) | entry of add (amount = 2)", "1"),
        ("sum = 2 | END | entry of add | ", "2"),
        ("sum = 1 | line 7 | ", "2"),
        ("| entry of main", "1"),
        ("sum=3 | | |", "3"),
    ] {
        let words = ["check", file, "--contexts", contexts, "--goal", goal, "--trace", trace];
        let seen = run(&words, 1);
        assert!(seen.out.contains("the configuration is reached"), "{goal}: {}", seen.out);
        let seen = replay(&seen, 1);
        assert!(seen.out.contains("the configuration is reached"), "{goal}: {}", seen.out);
    }
    for (goal, status) in [
        ("sum = 1 | END | entry of add (amount = 1) | ", 0),
        ("sum = 0 | line 7", 0),
        ("sum = 3 | | | | ", 2),
        ("sum = 3", 2),
        ("sum = 9 | | | ", 2),
        ("| NOWHERE | ", 2),
    ] {
        let words = ["check", file, "--contexts", "5", "--goal", goal];
        // A goal without a stack is a label.
        let seen = run(&words, status);
        assert!(status == 0 || !seen.err.is_empty(), "{goal}");
    }
}

#[test]
fn the_limit_on_created_threads_is_named() {
    let folder = fresh("symbolic-threads");
    let file = folder.join("creates.bp");
    std::fs::write(&file, CREATES).unwrap();
    let file = file.to_str().unwrap();
    let seen = run(&["check", file, "--contexts", "5"], 0);
    for expected in
        ["every execution has been checked", "No execution within the bound creates more than 2 threads"]
    {
        assert!(seen.out.contains(expected), "{expected}\n{}", seen.out);
    }
    let seen = run(&["check", file, "--contexts", "2", "--threads", "1", "--json", "-"], 0);
    for expected in [
        "every execution with at most 2 contexts and at most 1 created thread has been checked",
        "needs at least 3 contexts or 2 created threads",
        "Some executions create more than 1 thread",
    ] {
        let words = seen.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected), "{expected}\n{}", seen.err);
    }
    assert!(
        seen.out.contains(r#""guarantee":{"contexts":2,"threads":1,"complete":false,"assumptions":[]}"#),
        "{}",
        seen.out
    );
    let seen = run(&["check", file, "--threads", "4000000000"], 2);
    assert!(seen.err.contains("at most 64"), "{}", seen.err);
}

#[test]
fn ctrl_c_keeps_what_was_covered() {
    // Eager splitting on wide values takes for ever.
    let folder = fresh("symbolic-interrupt");
    let file = folder.join("long.bp");
    let text = std::fs::read_to_string(corpus("vector_java6.bp")).unwrap().replace("int<8>", "int<16>");
    std::fs::write(&file, text).unwrap();
    let mut command = selvedge(&["check", file.to_str().unwrap(), "--contexts", "3", "--splitting", "eager"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let seen = Seen::from(child.wait_with_output().unwrap());
    assert_eq!(seen.status, Some(3), "{seen:?}");
    assert!(seen.out.contains("it was interrupted"), "{seen:?}");
}

#[test]
fn a_counterexample_replays() {
    let trace = fresh("symbolic").join("trace.json");
    let trace = trace.to_str().unwrap();
    for file in ["bluetooth_v3.bp", "created_threads.bp", "lock_order.bp"] {
        let file = corpus(file);
        for words in [&["--trace", trace][..], &[]] {
            let seen = run(&[&["check", &file, "--contexts", "4"], words].concat(), 1);
            let kind = seen.out.lines().nth(2).unwrap().to_string();
            let again = replay(&seen, 1);
            assert!(again.out.starts_with("VIOLATED") && again.out.contains(&kind), "{}", again.out);
        }
    }
}

#[test]
fn mistakes_have_a_place_and_a_remedy() {
    let folder = fresh("symbolic-mistakes");
    let file = folder.join("bad.bp");
    std::fs::write(&file, "void main() begin\n  x := 1;\nend\n").unwrap();
    let file = file.to_str().unwrap();
    let seen = run(&["check", file], 2);
    assert!(seen.err.contains("bad.bp:2:3: no variable is called `x`; declare it"), "{}", seen.err);
    let good = corpus("bluetooth_v1.bp");
    for (words, expected) in [
        (vec!["check", &good, "--goal", "NOWHERE"], "no label is called `NOWHERE`"),
        (vec!["check", &good, "--splitting", "hard"], "use lazy or eager"),
        (vec!["check", &good, "--preemptions", "2"], "--preemptions is not an option"),
    ] {
        let seen = run(&words, 2);
        assert!(seen.err.contains(expected), "{}", seen.err);
    }
}

#[test]
fn too_little_memory_is_inconclusive() {
    let seen = run(&["check", &corpus("vector_java5.bp"), "--contexts", "3", "--memory", "64K"], 3);
    assert!(seen.out.contains("INCONCLUSIVE") && seen.out.contains("--memory"), "{}", seen.out);
}

#[test]
fn a_network_has_its_first_configuration_and_its_goal_in_files() {
    let folder = fresh("symbolic-files");
    let at = |name: &str| folder.join(name).to_str().unwrap().to_string();
    std::fs::write(at("n.pds"), "2\nPDA 0 1\n0 0 -> 1 1\n1 1 -> 0 5\n").unwrap();
    std::fs::write(at("n.init"), "1|1\n").unwrap();
    std::fs::write(at("n.spec"), "0|5\n").unwrap();
    let (net, init, spec) = (at("n.pds"), at("n.init"), at("n.spec"));
    let trace = at("bug.json");
    for goal in [spec.as_str(), "0|5", "state = 0 | P0.5", "state = 0 | 5 / ..."] {
        for words in [&["--initial", init.as_str()][..], &["--initial", "1|1"]] {
            let seen = run(&[&["check", &net, "--goal", goal, "--trace", &trace], words].concat(), 1);
            assert!(
                seen.out.contains("the configuration is reached") && seen.out.contains("1 step"),
                "{seen:?}"
            );
            assert!(replay(&seen, 1).out.contains("the configuration is reached"));
        }
    }
    // From the first symbol it is a step more.
    assert!(run(&["check", &net, "--goal", "0|5"], 1).out.contains("2 steps"));
    let program = corpus("bluetooth_v1.bp");
    for (words, expected) in [
        (["check", &net, "--goal", "0|6"], "--goal:1:3: P0 has no stack symbol 6"),
        (["check", &net, "--goal", "nowhere.spec"], "--goal nowhere.spec: No such file"),
        (["check", &net, "--initial", "/dev/zero"], "--initial /dev/zero is not a regular file"),
        (["check", &net, "--initial", "7|0"], "--initial:1:1: there is no global state 7"),
        (["check", &program, "--initial", "0|0"], "--initial is for pushdown networks"),
        (["check", &program, "--goal", "0|0"], "expected `name = value`, found `0`"),
    ] {
        let seen = run(&words, 2);
        assert!(seen.err.contains(expected), "{words:?}: {seen:?}");
    }
}

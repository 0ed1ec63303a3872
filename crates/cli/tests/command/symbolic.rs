//! Boolean programs and CPDS files.

use std::path::Path;

use crate::common::{fresh, run};

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
fn a_counterexample_replays() {
    let trace = fresh("symbolic").join("trace.json");
    let trace = trace.to_str().unwrap();
    for file in ["bluetooth_v3.bp", "created_threads.bp", "lock_order.bp"] {
        let file = corpus(file);
        run(&["check", &file, "--contexts", "4", "--trace", trace], 1);
        let seen = run(&["replay", trace], 1);
        assert!(seen.out.contains("VIOLATED"), "{}", seen.out);
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

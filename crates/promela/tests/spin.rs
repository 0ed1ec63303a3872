//! Spin is asked about the corpus and about the examples of its own package: the same verdict, the same
//! number of stored states and of transitions.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Directives, ask_spin, ask_spin_to_depth, examples, models, oracles};
use selvedge_promela::{Claims, Options, Search, check, load};

/// Runs a function over a list on two threads; the messages of those that failed.
fn over(list: &[PathBuf], check: impl Fn(&Path) -> Result<(), String> + Sync) -> Vec<String> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(message) = check(path) {
                        failures.lock().expect("no thread panics").push(message);
                    }
                }
            });
        }
    });
    failures.into_inner().expect("no thread panics")
}

fn compare(path: &Path, claims: Claims, counts: bool) -> Result<(), String> {
    let name = path.display();
    let model = load(path, &[]).map_err(|error| format!("{name}: {error}"))?;
    let flags: &[&str] = if claims == Claims::Ignore { &["-DNOCLAIM"] } else { &[] };
    let spin = ask_spin(path, flags).ok_or_else(|| format!("{name}: Spin gave no answer"))?;
    let options = Options { search: Search::Dfs, all_errors: true, claims, ..Options::default() };
    let checked = check(&model, &options, &mut |_| true).map_err(|error| format!("{name}: {error}"))?;
    let ours = &checked.outcome.statistics;
    if (spin.errors > 0) != checked.outcome.violation().is_some() {
        return Err(format!("{name}: Spin finds {} errors, ours {}", spin.errors, checked.errors));
    }
    if counts && (ours.states, ours.transitions) != (Some(spin.states), Some(spin.transitions)) {
        return Err(format!("{name}: Spin {spin:?}, ours {:?} {:?}", ours.states, ours.transitions));
    }
    Ok(())
}

#[test]
fn the_corpus_counts_as_in_spin() {
    if !oracles("the_corpus_counts_as_in_spin") {
        return;
    }
    let failures = over(&models(), |path| match Directives::of(path).oracle.as_str() {
        "none" => Ok(()),
        kind => compare(path, Claims::Safety, kind == "counts"),
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Millions of states: compared with `SELVEDGE_LONG` only. Both leaders have 5,422,354.
const LONG: [&str; 2] = ["leader.pml", "leader_pre.pml"];
/// Not compared, and why. Ours was run once without reduction for 90 seconds with 5 GiB, on a loaded machine: the
/// states are those stored when the time or the memory was used up. None of the seven was finished. They are compared
/// below: `pftp` and `priorities` to a depth, the others with smaller constants.
const LEFT_OUT: [(&str, &str); 8] = [
    ("life.pml", "more than 3,084,809 states of 427 bytes and 20,480,168 transitions in 90 s"),
    ("priorities.pml", "more than 100,663,298 states and none matched in 5 GiB; compared to a depth below"),
    (
        "App.F.pftp.pml",
        "more than 25,684,171 states of 170 bytes in 90 s; with queues of 1, more than 29,413,829 in 120 s",
    ),
    ("p108.pml", "more than 14,661,988 states of up to 765 bytes in 5 GiB"),
    ("ex_6.pml", "more than 49,848,461 states in 90 s"),
    ("ltl_gen.pml", "more than 33,751,108 states and none matched in 5 GiB"),
    (
        "patterns.pml",
        "Spin writes no verifier, as it refuses the operator X; without its formulas it is compared below",
    ),
    ("petersonN.pml", "more than 100,670,304 states in 5 GiB"),
];

#[test]
fn the_examples_of_spin_count_as_in_spin() {
    let test = "the_examples_of_spin_count_as_in_spin";
    if !oracles(test) {
        return;
    }
    let Some(root) = examples(test) else { return };
    let long = std::env::var_os("SELVEDGE_LONG").is_some();
    let mut list = Vec::new();
    for folder in [root.clone(), root.join("Book_1991"), root.join("Exercises"), root.join("LTL")] {
        for entry in std::fs::read_dir(folder).expect("the examples can be read") {
            let path = entry.expect("the examples can be read").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            let left_out = LEFT_OUT.iter().any(|(left_out, _)| *left_out == name);
            if name.ends_with(".pml") && !left_out && (long || !LONG.contains(&name.as_str())) {
                list.push(path);
            }
        }
    }
    list.sort();
    assert!(list.len() > 50, "{} examples", list.len());
    let failures = over(&list, |path| {
        let text = String::from_utf8_lossy(&std::fs::read(path).expect("it can be read")).into_owned();
        let begins = |line: &str| ["never", "trace", "notrace"].iter().any(|word| line.starts_with(word));
        let claimed = text.lines().any(|line| begins(line.trim_start())) || text.contains("claim.h");
        let claims = if claimed { Claims::Safety } else { Claims::Ignore };
        compare(path, claims, true)
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Spin refuses a formula of this example; the model itself is compared.
#[test]
fn an_example_counts_as_in_spin_without_its_formulas() {
    let test = "an_example_counts_as_in_spin_without_its_formulas";
    if !oracles(test) {
        return;
    }
    let Some(root) = examples(test) else { return };
    let text = std::fs::read_to_string(root.join("LTL/patterns.pml")).expect("it can be read");
    let kept: String =
        text.lines().filter(|line| !line.contains("ltl ")).map(|line| line.to_string() + "\n").collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("patterns.pml");
    std::fs::write(&path, kept).expect("it can be written");
    compare(&path, Claims::Ignore, true).unwrap_or_else(|error| panic!("{error}"));
}

/// What Spin's grammar allows and few texts use.
const ACCEPTED: [&str; 14] = [
    "byte a, b; proctype A() { a++; a++ } proctype B() { b++; b++ } init { atomic { run A() priority 1; run B() priority 4 } }",
    "byte a, b; active proctype A() priority 1 { a++; a++ } active proctype B() priority 4 { b++; b++; (a == 1); b++ }",
    "byte a -> byte b = 2; active proctype P() { byte c -> byte d = 3 -> c = d; a = b; assert(a == 2) } -> byte e;",
    "proctype P(byte a;; byte b) { assert(a + b == 3) } init { run P(1, 2) }",
    "chan c = [2] of { byte }; byte x = 3; active proctype P() { c!3; c?(eval(x)); c!4; c?(x); assert(x == 4) }",
    "chan c = [2] of { byte, byte }; byte x = 3, y; active proctype P() { c!3, 4; c?(eval(x), y); assert(y == 4) }",
    "chan c = [2] of { byte, byte, byte }; byte x = 3, y; active proctype P() { c!3(4, 5); c?[(eval(x), y, _)];\n\
     c?<(eval(x), y, _)>; assert(y == 4); c?x, (y, (_)); c!(3)(4, 5); c?eval(x)(y, (x)); assert(x == 5) }",
    "byte g; active proctype P() { if :: g == 1 -> skip :: else g = 2; g = 3 fi; assert(g == 3) }",
    "byte g; active proctype P() { do :: g == 1 -> break :: else byte x = 1; g = x od; x = 2; assert(x == 2) }",
    "byte g; active proctype P() { if :: g == 1 :: else L: { g = 1 } g = 2 fi; atomic { g = 3 } g = 4; assert(g == 4) }",
    "inline f() { g = 2 } byte g; active proctype P() { byte i; f() g = 3; for (i : 1 .. 2) { g = i } g = 4;\n\
     g = 5 unless { g == 2 } g = 6 }",
    "byte g; active [2] proctype P() { byte i; for (i : 1 .. 2) { g = g + i } unless g == 5; select (i : 1 .. 2) unless\n\
     g == 6; g = i }",
    "byte g; active proctype P() { { byte x; x = 1; g = x }; { byte x; x = 2; g = x } byte x; x = 3; g = x }",
    "byte g; active [2] proctype P() { do :: g < 4 unless g == 2 -> g++ od }",
];

/// Writes a model into a folder of its own: Spin copies the neighbours of a model.
fn write(folder: &Path, number: usize, text: &str) -> PathBuf {
    let own = folder.join(number.to_string());
    std::fs::create_dir(&own).expect("it can be made");
    std::fs::write(own.join("m.pml"), text).expect("it can be written");
    own.join("m.pml")
}

#[test]
fn what_spins_grammar_allows_counts_as_in_spin() {
    if !oracles("what_spins_grammar_allows_counts_as_in_spin") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let list: Vec<PathBuf> =
        (0..ACCEPTED.len()).map(|number| write(folder.path(), number, ACCEPTED[number])).collect();
    let failures = over(&list, |path| compare(path, Claims::Safety, true));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Examples that are too large as they are, with smaller constants: the file, what is replaced, and whether the result
/// has so many states that it is compared with `SELVEDGE_LONG` only.
const SMALLER: [(&str, &str, &str, bool); 7] = [
    ("life.pml", "#define MAX\t5", "#define MAX 3", false),
    ("Book_1991/p108.pml", "ack(3, 3, ch)", "ack(2, 1, ch)", false),
    ("Exercises/ex_6.pml", "#define MaxSeq\t3", "#define MaxSeq 1", false),
    ("Exercises/ex_6.pml", "#define MaxSeq\t3", "#define MaxSeq 2", true),
    ("LTL/ltl_gen.pml", "DEPTH_LIMIT\t4", "DEPTH_LIMIT 2", false),
    ("LTL/petersonN.pml", "#define N\t5", "#define N 3", false),
    ("Book_1991/p108.pml", "ack(3, 3, ch)", "ack(2, 2, ch)", true),
];

#[test]
fn large_examples_made_smaller_count_as_in_spin() {
    let test = "large_examples_made_smaller_count_as_in_spin";
    if !oracles(test) {
        return;
    }
    let Some(root) = examples(test) else { return };
    let long = std::env::var_os("SELVEDGE_LONG").is_some();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut list = Vec::new();
    for (number, (name, large, small, slow)) in SMALLER.into_iter().enumerate() {
        let text = std::fs::read_to_string(root.join(name)).expect("it can be read");
        assert!(text.contains(large), "{name} has no {large}");
        if long || !slow {
            list.push(write(folder.path(), number, &text.replace(large, small)));
        }
    }
    let failures = over(&list, |path| compare(path, Claims::Ignore, true));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Breadth first to a depth, where there are too many states for all of them.
fn compare_to_depths(path: &Path, replaced: &[[&str; 2]], depths: [u64; 3]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let name = path.display();
    let file = path.file_name().expect("a file").to_string_lossy().into_owned();
    let stem = file.trim_end_matches("pftp.pml");
    // With the files that it includes, which begin alike.
    for entry in std::fs::read_dir(path.parent().expect("a folder")).expect("it can be read") {
        let entry = entry.expect("it can be read");
        let part = entry.file_name().to_string_lossy().into_owned();
        if part.starts_with(stem) {
            let mut text = std::fs::read_to_string(entry.path()).expect("it can be read");
            for [from, to] in replaced {
                text = text.replace(from, to);
            }
            std::fs::write(folder.path().join(part), text).expect("it can be written");
        }
    }
    let path = folder.path().join(file);
    let model = load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    for depth in depths {
        let (spin, cut) = ask_spin_to_depth(&path, depth).expect("Spin answers");
        assert!(cut, "{name} has no more than {depth} levels");
        // Spin counts from the first state, ours the states of a path.
        let options = Options {
            search: Search::Bfs,
            all_errors: true,
            claims: Claims::Ignore,
            depth: Some(depth + 1),
            ..Options::default()
        };
        let checked = check(&model, &options, &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(checked.outcome.statistics.states, Some(spin.states), "{name} to depth {depth}");
    }
}

/// Spin counts each statement of an atomic sequence, and both halves of a handshake, as a level of its own, and ours
/// counts one for all. `priorities` is a chain, with a state a level either way, and `pftp` is given without them.
#[test]
fn examples_without_an_end_count_as_in_spin_to_a_depth() {
    let test = "examples_without_an_end_count_as_in_spin_to_a_depth";
    if !oracles(test) {
        return;
    }
    let Some(root) = examples(test) else { return };
    compare_to_depths(&root.join("priorities.pml"), &[], [20, 40, 60]);
    let plain = [["atomic", ""], ["[0] of", "[1] of"]];
    compare_to_depths(&root.join("Book_1991/App.F.pftp.pml"), &plain, [10, 30, 40]);
}

/// What a claim can ask about processes: where they are, and whether they can move. `np_` is not compared: Spin's
/// verifier has it true throughout unless it looks for non-progress cycles. No process ends here: Spin's verifier
/// deletes a process that could end when it is asked whether it is enabled.
const QUESTIONS: [&str; 9] = [
    "pc_value(0) > 0",
    "pc_value(0) == 1",
    "pc_value(0) >= 5 || x < 2",
    "pc_value(0) != 4",
    "pc_value(0) < 9",
    "pc_value(1) == 2 || pc_value(0) < pc_value(1)",
    "enabled(0)",
    "enabled(1) || !enabled(0)",
    "_last == 0 || x == 0",
];

#[test]
fn questions_of_a_claim_about_processes_are_answered_as_by_spin() {
    if !oracles("questions_of_a_claim_about_processes_are_answered_as_by_spin") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = |question: &str| {
        format!(
            "byte x;\nactive proctype A() {{ x = 1; if :: x = 2 :: x = 5; x = 6 unless x == 4 fi; atomic {{ x = 4; x = 3 }}; \
             do :: x < 5 -> x++ :: else -> break od; end: false }}\n\
             active proctype B() {{ x = 3; end: (x == 9); x = 7 }}\n\
             never {{ do :: {question} :: x == 2 -> break od }}\n"
        )
    };
    let list: Vec<PathBuf> =
        (0..QUESTIONS.len()).map(|number| write(folder.path(), number, &model(QUESTIONS[number]))).collect();
    let failures = over(&list, |path| compare(path, Claims::Safety, true));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

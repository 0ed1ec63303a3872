//! Texts made to exhaust stack, memory or time: each is refused with a place, quickly, and without a panic.

use std::time::{Duration, Instant};

use selvedge_promela::{Error, Options, check, load, parse};

const MANY: usize = 100_000;

fn process(body: &str) -> String {
    format!("byte x, a[2];\nactive proctype P() {{ {body} }}\n")
}

/// Something nested: opened, a core, and closed as often.
fn nested(open: &str, core: &str, close: &str, times: usize) -> String {
    open.repeat(times) + core + &close.repeat(times)
}

fn refused(name: &str, text: &str, expected: &str) {
    let start = Instant::now();
    let result = parse(text, "h.pml", None, &[]).and_then(|model| {
        let options = Options { time: Some(Duration::from_secs(1)), ..Options::default() };
        check(&model, &options, &mut |_| true)
    });
    let error = result.map(|_| ()).expect_err(name).to_string();
    assert!(error.starts_with("h.pml:") && error.contains(expected), "{name}: {error:.300}");
    assert!(start.elapsed() < Duration::from_secs(20), "{name} took {:?}", start.elapsed());
}

#[test]
fn nesting_is_bounded() {
    for (open, core, close) in [
        ("x = (", "1", ")"),
        ("{ ", "skip", " }"),
        ("if :: ", "skip", " fi"),
        ("do :: ", "skip", " od"),
        ("atomic { ", "skip", " }"),
        ("d_step { ", "skip", " }"),
        ("a[", "0", "] = 1"),
    ] {
        let text = match open.strip_prefix("x = ") {
            Some(open) => format!("x = {}", nested(open, core, close, MANY)),
            None if open == "a[" => format!("{} = 1", nested("a[", "0", "]", MANY)),
            None => nested(open, core, close, MANY),
        };
        refused(open, &process(&text), "nested too deep");
    }
    for prefix in ["- ", "~ ", "! "] {
        refused(prefix, &process(&format!("x = {}1", prefix.repeat(MANY))), "nested too deep");
    }
    refused(
        "conditions",
        &process(&format!("x = {}", nested("(1 -> ", "1", " : 0)", MANY))),
        "nested too deep",
    );
    refused("ltl", &(process("skip") + "ltl p { " + &"[] ".repeat(MANY) + "(x == 1) }"), "nested too deep");
    // What is not closed ends as well.
    refused("open", &process(&"if :: x++ ".repeat(MANY)), "expected");
}

#[test]
fn chains_are_bounded() {
    for operator in ["+", "&&", "||", "==", "<<"] {
        let chain = vec!["x"; MANY].join(operator);
        refused(operator, &process(&format!("x = {chain}")), "operators in a row");
    }
    // A long one that is allowed goes through every part of the tool.
    let chain = vec!["x"; 400].join("+");
    let model = parse(&process(&format!("x = {chain}; assert(x == {chain})")), "h.pml", None, &[]).unwrap();
    assert!(check(&model, &Options::default(), &mut |_| true).unwrap().outcome.holds());
}

#[test]
fn macros_end() {
    let doubling: String = (1..60).map(|n| format!("#define m{n} m{} + m{}\n", n - 1, n - 1)).collect();
    refused("doubling", &format!("#define m0 x\n{doubling}{}", process("x = m59")), "too much text");
    let functions: String =
        (1..60).map(|n| format!("#define f{n}(x) f{}(x) + f{}(x)\n", n - 1, n - 1)).collect();
    refused("functions", &format!("#define f0(x) x\n{functions}{}", process("x = f59(x)")), "too much text");
    let nest = nested("f(", "x", ")", 40);
    refused(
        "arguments",
        &format!("#define f(x) x + x\n{}", process(&format!("x = {nest}"))),
        "too much text",
    );
    let deep = nested("f(", "x", ")", 5000);
    refused("deep", &format!("#define f(x) x\n{}", process(&format!("x = {deep}"))), "too much text");
    let round = "#define p q\n#define q p\n".to_string();
    refused("round", &format!("{round}{}", process("x = p")), "not declared");
    let condition = format!("#if {}\n#endif\n{}", nested("(", "1", ")", MANY), process("skip"));
    refused("#if", &condition, "not a constant expression");
}

#[test]
fn inlines_and_types_end() {
    let doubling: String =
        (1..39).map(|n| format!("inline f{n}() {{ f{}(); f{}() }}\n", n - 1, n - 1)).collect();
    let text = format!("byte x;\ninline f0() {{ x++ }}\n{doubling}active proctype P() {{ f38() }}");
    refused("inlines", &text, "too much text");
    refused("itself", "inline f() { f() }\nactive proctype P() { f() }", "nested too deep");
    for (name, field) in [("fields", "T a; T b"), ("arrays", "T a[9]"), ("deep", "T a")] {
        let types: String = (1..200)
            .map(|n| format!("typedef T{n} {{ {} }}\n", field.replace('T', &format!("T{}", n - 1))))
            .collect();
        let text = format!("typedef T0 {{ byte x }}\n{types}T199 t;\nactive proctype P() {{ skip }}");
        refused(name, &text, "is too large");
    }
}

#[test]
fn files_that_include_each_other_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (one, two) = (folder.path().join("one.pml"), folder.path().join("two.pml"));
    std::fs::write(&one, "#include \"two.pml\"\n#include \"two.pml\"\nactive proctype P() { skip }").unwrap();
    std::fs::write(&two, "#include \"one.pml\"\n#include \"one.pml\"\n").unwrap();
    let start = Instant::now();
    let error = load(&one, &[]).expect_err("it has no end").to_string();
    assert!(error.contains("include each other without end") && error.contains(".pml:1:"), "{error:.300}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    std::fs::write(&one, "#include \"three.pml\"\n").unwrap();
    assert!(matches!(load(&one, &[]), Err(Error::Read { .. })));
}

/// An atomic sequence that goes round for ever is a violation that is shown in time, and replays.
#[test]
fn an_endless_step_is_shown() {
    let text = "byte x; active proctype P() { atomic { again: x = 1 }; goto again }";
    let model = parse(text, "h.pml", None, &[]).expect("it is a model");
    let start = Instant::now();
    let outcome = check(&model, &Options::default(), &mut |_| true).expect("it is checked").outcome;
    let violation = outcome.violation().expect("it does not end");
    assert_eq!(violation.kind.name(), "step-limit");
    let again = selvedge_promela::replay(&model, selvedge_promela::Claims::Check, &violation.schedule);
    assert!(again.expect("it replays").outcome.violation().is_some());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// What Spin refuses, refused here too.
#[test]
fn what_spin_refuses_is_refused() {
    for (number, text) in REFUSED.iter().enumerate() {
        let error = parse(text, "h.pml", None, &[]).expect_err(text).to_string();
        assert!(error.starts_with("h.pml:1:"), "{number}: {error}");
    }
    if std::process::Command::new("spin").arg("-V").output().is_err() {
        let required = std::env::var("SELVEDGE_REQUIRE_ORACLES").is_ok_and(|value| value == "1");
        assert!(!required, "spin is required and not installed");
        eprintln!("SKIPPED: what_spin_refuses_is_refused: spin not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for text in REFUSED {
        std::fs::write(folder.path().join("h.pml"), text).expect("it can be written");
        let mut spin = std::process::Command::new("spin");
        let output = spin.args(["-a", "h.pml"]).current_dir(folder.path()).output().expect("Spin runs");
        let told = String::from_utf8_lossy(&output.stdout).to_lowercase();
        assert!(told.contains("error"), "Spin accepts {text}: {told}");
    }
}

const REFUSED: [&str; 14] = [
    "chan c = [2] of { byte }; active proctype P() { byte m; for (m in c) { skip } }",
    "typedef M { byte a; int b }; chan c = [2] of { byte }; active proctype P() { M m; for (m in c) { skip } }",
    "typedef M { byte a }; chan c; active proctype P() { M m; for (m in c) { skip } }",
    "byte x; active proctype P() { L: x = 1 unless { x == 2 } }",
    "byte x; active proctype P() { { L: x = 1 } unless { x == 2 } ; goto L }",
    "byte x[3]; active proctype P() { for (x : 1..2) { skip } }",
    "byte x; active proctype P() { if :: else -> skip :: else -> x = 1 fi }",
    "byte x; active proctype P(byte a = 3) { x = a }",
    "byte P; active proctype P() { skip }",
    "mtype = { a, b }; byte a; active proctype P() { skip }",
    "hidden chan c = [1] of { byte }; active proctype P() { c!1 }",
    "byte c = [1] of { byte }; active proctype P() { skip }",
    "byte x; active proctype bit() { x++ }",
    "byte x; active proctype P() { x = 1; eval: goto eval }",
];

/// More processes than there can be, from the start: a violation without steps, not a defect.
#[test]
fn too_many_processes_at_the_start_are_a_violation() {
    let text = "byte x; active [255] proctype P() { x++ } active [2] proctype Q() { x++ }";
    let model = parse(text, "h.pml", None, &[]).expect("it is a model");
    let outcome = check(&model, &Options::default(), &mut |_| true).expect("it is checked").outcome;
    let violation = outcome.violation().expect("there are too many");
    assert!(violation.message.contains("more than 255 processes") && violation.trace.steps.is_empty());
}

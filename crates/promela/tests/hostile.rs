//! Texts made to exhaust stack, memory or time: each is refused with a place, quickly, and without a panic.

use std::time::{Duration, Instant};

use std::path::{Path, PathBuf};

use selvedge_promela::{Error, Options, Reading, check, load, load_with, parse, parse_with};

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
    let error = load(&one, &[]).expect_err("it is not there").to_string();
    assert!(error.starts_with("one.pml:1:1: 'three.pml' is no file below the model's folder"), "{error}");
}

/// A model and a secret beside its folder; what reading the model says.
fn including(secret: &Path, text: &str, folders: &[PathBuf]) -> Result<(), String> {
    let folder = secret.parent().unwrap().join("model");
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    std::fs::write(folder.join("m.pml"), text).unwrap();
    let start = Instant::now();
    let result = load_with(&folder.join("m.pml"), &Reading { folders, ..Reading::default() });
    assert!(start.elapsed() < Duration::from_secs(5), "{text} took {:?}", start.elapsed());
    result.map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn only_regular_files_below_the_models_folder_are_included() {
    let outer = tempfile::tempdir().expect("a temporary folder");
    let secret = outer.path().join("secret.pml");
    std::fs::write(&secret, "hunter2:x:0\n").unwrap();
    let absolute = secret.display().to_string();
    let tail = "\nactive proctype P() { skip }\n";
    let refused = |name: &str| {
        let error = including(&secret, &format!("#include \"{name}\"{tail}"), &[]).expect_err(name);
        assert!(error.starts_with("m.pml:1:1: ") && error.contains("is no file below"), "{name}: {error}");
        assert!(!error.contains("hunter2"), "{name}: {error}");
    };
    for name in ["../secret.pml", "sub/../../secret.pml", &absolute, "/etc/passwd", "/dev/zero", "/dev/stdin"]
    {
        refused(name);
    }
    // A file that is not there is told in the same words.
    refused("../nothing.pml");
    refused("/nowhere/at/all");
    let model = outer.path().join("model");
    assert!(std::process::Command::new("mkfifo").arg(model.join("pipe.pml")).status().unwrap().success());
    refused("pipe.pml");
    refused("sub");
    std::os::unix::fs::symlink(&secret, model.join("link.pml")).unwrap();
    refused("link.pml");
    // Below it, and in folders that the user allows, also through another.
    std::fs::write(model.join("sub/x.pml"), "byte x;\n").unwrap();
    assert_eq!(including(&secret, &format!("#include \"sub/x.pml\"{tail}"), &[]), Ok(()));
    let shared = outer.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::write(shared.join("a.pml"), "#include \"b.pml\"\n").unwrap();
    std::fs::write(shared.join("b.pml"), "byte b;\n").unwrap();
    refused("../shared/a.pml");
    for name in ["../shared/a.pml", "a.pml"] {
        let text = format!("#include \"{name}\"{tail}");
        assert_eq!(including(&secret, &text, std::slice::from_ref(&shared)), Ok(()), "{name}");
    }
}

#[test]
fn what_is_not_named_as_a_model_is_not_quoted() {
    let outer = tempfile::tempdir().expect("a temporary folder");
    let secret = outer.path().join("secret");
    let model = outer.path().join("model");
    std::fs::create_dir_all(&model).unwrap();
    std::fs::write(model.join("passwords"), "hunter2 = 3\n#define TOKEN hunter2\n#error hunter2\n").unwrap();
    let text = "#include \"passwords\"\nactive proctype P() { TOKEN = 1 }";
    let error = including(&secret, text, &[]).expect_err("it is no model");
    assert!(error.contains("passwords:1:1: this is not Promela"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    // What is named as a model is.
    std::fs::rename(model.join("passwords"), model.join("passwords.h")).unwrap();
    let error = including(&secret, &text.replace("passwords", "passwords.h"), &[]).expect_err("no model");
    assert!(error.contains("hunter2"), "{error}");
}

#[test]
fn models_have_a_budget_of_bytes() {
    let outer = tempfile::tempdir().expect("a temporary folder");
    let secret = outer.path().join("secret");
    let model = outer.path().join("model");
    std::fs::create_dir_all(&model).unwrap();
    let long = "/* nothing */\n".repeat(400_000);
    std::fs::write(model.join("long.pml"), &long).unwrap();
    let tail = "\nactive proctype P() { skip }\n";
    assert_eq!(including(&secret, &format!("#include \"long.pml\"{tail}"), &[]), Ok(()));
    let error = including(&secret, &format!("#include \"long.pml\"\n#include \"long.pml\"{tail}"), &[]);
    let error = error.expect_err("too long");
    assert!(
        error.contains("m.pml:2:1: 'long.pml' cannot be included: a model and what it includes"),
        "{error}"
    );
    let error = including(&secret, &(long.repeat(2) + tail), &[]).expect_err("too long");
    assert!(error.contains("m.pml: cannot be read: a model and what it includes are at most"), "{error}");
    let error = load(Path::new("/dev/zero"), &[]).expect_err("not a file").to_string();
    assert!(error.contains("it is not a regular file"), "{error}");
}

/// Text that doubles with each line: names that are glued, strings, arguments.
#[test]
fn texts_that_macros_make_have_a_budget() {
    let glued: String = (1..40).map(|n| format!("#define g{n}(x) g{}(x ## x)\n", n - 1)).collect();
    let start = Instant::now();
    refused("glued", &format!("#define g0(x) x\n{glued}{}", process("x = g39(abcdefgh)")), "too much text");
    let texts: String = (1..60).map(|n| format!("#define s{n}(x) s{}(#x #x)\n", n - 1)).collect();
    refused("texts", &format!("#define s0(x) x\n{texts}{}", process("printf(s59(a))")), "too much text");
    let many = "x ## y ".repeat(3_000);
    let argument = "a ".repeat(30_000);
    refused(
        "joined",
        &format!("#define j(x) {many}\n{}", process(&format!("j({argument})"))),
        "too much text",
    );
    // A call that is never closed is looked through again and again.
    refused("open", &format!("#define f(x) x\n{}", process(&"f( ".repeat(MANY * 2))), "too much text");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn too_many_active_processes_are_refused_at_once() {
    for count in ["256", "1000000000"] {
        let text = format!("active [{count}] proctype P() {{ skip }}");
        refused(count, &text, "and at most 255 can run");
    }
}

/// Who reads a model can be told to stop, wherever it is.
#[test]
fn the_reading_of_a_model_can_be_stopped() {
    let looks = std::cell::Cell::new(0);
    let doubling: String = (1..19).map(|n| format!("#define m{n} m{} + m{}\n", n - 1, n - 1)).collect();
    let inlines: String =
        (1..15).map(|n| format!("inline f{n}() {{ f{}(); f{}() }}\n", n - 1, n - 1)).collect();
    let preprocessed = format!("#define m0 x\n{doubling}{}", process("m18"));
    let parsed = format!("byte x; inline f0() {{ x++ }}\n{inlines} active proctype P() {{ f14() }}");
    for text in [preprocessed, parsed] {
        for last in [1, 2, 5] {
            looks.set(0);
            let go_on = || {
                looks.set(looks.get() + 1);
                looks.get() < last
            };
            let reading = Reading { go_on: &go_on, ..Reading::default() };
            let stopped = parse_with(&text, "h.pml", None, &reading);
            assert!(matches!(stopped, Err(Error::Stopped)), "{last}: {stopped:?}");
        }
    }
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
    let again = selvedge_promela::replay(&model, &Options::default(), &violation.schedule);
    assert!(again.expect("it replays").outcome.violation().is_some());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// What Spin refuses, refused here too.
#[test]
fn what_spin_refuses_is_refused() {
    for (number, text) in REFUSED.iter().enumerate() {
        let checked = parse(text, "h.pml", None, &[])
            .and_then(|model| check(&model, &Options::default(), &mut |_| true).map(|_| ()));
        let error = checked.expect_err(text).to_string();
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

const REFUSED: [&str; 46] = [
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
    "byte x; active proctype P() { byte x; x = 2 }",
    "byte x; active proctype P() { x = 1; { byte x; x = 2 } }",
    "active proctype P() { byte x; { byte x; x = 1 }; x = 2 }",
    "active proctype P(byte x) { { byte x; x = 2 } }",
    "active proctype P() { if :: byte x; x = 2 :: byte x; x = 3 fi }",
    "inline f(x) { byte y; y = x } active proctype P() { byte y; f(y) }",
    "byte a[3]; byte b; active proctype P() { b = a }",
    "byte a[3]; active proctype P() { a = 1 }",
    "byte a[3]; active proctype P() { a++ }",
    "byte a[3]; chan c = [1] of { byte }; active proctype P() { c!a; c?a }",
    "typedef T { byte a[3] } T t; byte b; active proctype P() { b = t.a }",
    "typedef T { byte a } T t[2]; byte b; active proctype P() { b = t.a }",
    "chan c[2] = [1] of { byte }; active proctype P() { c!1; len(c) == 0 }",
    "proctype P(;) { skip } init { run P() }",
    "proctype P(byte a;) { skip } init { run P(1) }",
    "proctype P(byte a,) { skip } init { run P(1) }",
    "proctype P(byte a, byte b) { skip } init { run P(1, 2) }",
    "proctype P(byte a -> byte b) { skip } init { run P(1, 2) }",
    "proctype P(byte a) { skip } init { run P(1,) }",
    "proctype P(byte a) { skip } init { run P(1, 2) }",
    "typedef T { byte a -> byte b } T t; init { t.a = 1 }",
    "inline f(a b) { skip } init { f(1, 2) }",
    "chan c = [1] of { byte,, byte }; init { skip }",
    "chan c = [1] of { byte, }; init { skip }",
    "byte g; active proctype P() { if :: skip fi g = 3 }",
    "byte g; active proctype P() { do :: break od g = 3 }",
    "byte g; active proctype P() { byte i; select (i : 1 .. 3) g = 5 }",
    "byte g; active proctype P() { g = 0 unless g == 1 unless g == 2 }",
    "byte g; active proctype P() { d_step { g = 1 unless g == 2 } }",
    "byte g; active proctype P() { if :: g == 0 :: else unless g == 2 fi }",
    "chan c = [1] of { byte, byte }; byte x; active proctype P() { c!(3, 4); c?x, x }",
    "chan c = [1] of { byte }; byte x; active proctype P() { c!1; c?(x + 1) }",
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

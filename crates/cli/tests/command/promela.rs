//! Promela models.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Seen, fresh, run, selvedge};

fn corpus(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/promela").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_string()
}

fn written(name: &str, text: &str) -> String {
    let path = fresh(name).join("model.pml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

/// A handshake, a buffered message, and an assertion that fails.
const MESSAGES: &str = "chan r = [0] of { byte, byte };\nchan c = [2] of { byte };\n\
    active proctype A() { byte x; r!1,2; c?x; c?x; assert(x == 8) }\n\
    active proctype B() { byte x, y; r?x,y; c!6; c!7 }\n";

#[test]
fn limits_end_in_an_answer_that_says_what_was_covered() {
    let model = written(
        "promela-limits",
        "byte x; active [4] proctype P() { byte i, t; do :: i < 9 -> t = x; x = t + 1; i++ :: else -> break od }",
    );
    for (option, value, reason) in [
        ("--memory", "2M", "the memory limit of 2097152 bytes was reached"),
        ("--time", "100ms", "the time limit of 0.1 s was reached"),
    ] {
        let seen = run(&["check", &model, option, value], 3);
        assert!(seen.out.contains("INCONCLUSIVE") && seen.out.contains(reason), "{}", seen.out);
        // The bounds that were finished, and their rows.
        assert!(
            seen.out.contains("at most 0 preemptions") || seen.out.contains("with at most"),
            "{}",
            seen.out
        );
        let seen = run(&["check", &model, option, value, "--json", "-", "--quiet"], 3);
        let result: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
        assert_eq!(result["verdict"], "inconclusive");
        assert_eq!(result["guarantee"]["complete"], false);
        let rows = result["coverage"].as_array().unwrap();
        assert_eq!(rows.last().unwrap()["bound"], result["guarantee"]["preemptions"]);
        assert!(result["statistics"]["states"].as_u64() > rows.last().unwrap()["states"].as_u64());
    }
}

#[test]
fn a_random_run_is_the_same_for_the_same_seed() {
    let model = corpus("producer_consumer.pml");
    let words =
        |seed: &'static str| ["simulate", &model, "--seed", seed, "--steps", "60"].map(str::to_string);
    let run = |seed| Seen::from(selvedge(&words(seed).each_ref().map(String::as_str)).output().unwrap());
    let (one, again, other) = (run("5"), run("5"), run("6"));
    assert!(one.out.lines().count() > 20, "{}", one.out);
    assert_eq!(one.out, again.out);
    assert_ne!(one.out, other.out);
}

#[test]
fn a_simulation_follows_a_trail_and_shows_columns_and_arrows() {
    let model = written("promela-trail", MESSAGES);
    let folder = fresh("promela-trail-out");
    let (trail, trace) = (folder.join("t.trail"), folder.join("t.json"));
    let (trail, trace) = (trail.to_str().unwrap(), trace.to_str().unwrap());
    run(&["check", &model, "--trail", trail, "--trace", trace, "--quiet"], 1);
    let seen = run(&["simulate", &model, "--trail", trail], 1);
    let lines: Vec<&str> = seen.out.lines().collect();
    assert_eq!(lines[0].trim(), "0  r!1,2 --> B (1): r?x,y");
    // The second process has the second column.
    assert!(lines[1].starts_with("    1                        c!6 --> [6]"), "{}", seen.out);
    assert!(seen.out.contains("assertion violated") && seen.out.contains("--> c?x"), "{}", seen.out);
    let seen = run(&["replay", trace, "--", &model], 1);
    let column = |text: &str| {
        let line = seen
            .out
            .lines()
            .find(|line| line.contains(text))
            .unwrap_or_else(|| panic!("{text}\n{}", seen.out));
        line.chars().position(|c| !c.is_ascii_digit() && c != ' ').unwrap()
    };
    let (a, b) = (column("r!1,2 → B (1)"), column("r?x,y ← A (0)"));
    assert!(a < b, "{}", seen.out);
    assert_eq!((column("c!6 →"), column("c!7 →")), (b, b));
    // A receive names the step that sent what it takes.
    let step = |text: &str| {
        seen.out
            .lines()
            .find(|line| line.contains(text))
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .to_string()
    };
    assert_eq!(column(&format!("c?x ← step {}", step("c!6 →"))), a);
    assert_eq!(column(&format!("c?x ← step {}", step("c!7 →"))), a);
}

/// Somebody's choices, from standard input: bad ones are asked for again, `q` and the end of the input stop.
#[test]
fn an_interactive_run_does_as_it_is_told() {
    let model = written("promela-interactive", MESSAGES);
    let run = |input: &str| {
        let mut child = selvedge(&["simulate", &model, "--interactive"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Seen::from(child.wait_with_output().unwrap())
    };
    let seen = run("0\nnonsense\n7\n0\nq\n");
    assert_eq!(seen.status, Some(0), "{seen:?}");
    assert_eq!(seen.out.matches("give a number from 0 to 0, or q").count(), 2, "{}", seen.out);
    assert!(seen.out.contains("A (0): --> c?x") && seen.out.contains("B (1): c!7"), "{}", seen.out);
    // The second of two: B goes on, and then A receives.
    let seen = run("0\n0\n1\n");
    assert!(seen.out.contains("c!7 --> [7]"), "{}", seen.out);
    assert_eq!(seen.status, Some(0));
    let seen = run("0\n0\n0\n0\n0\n0\n0\n0\n");
    assert_eq!(seen.status, Some(1), "{seen:?}");
    assert!(seen.out.contains("assertion violated"), "{}", seen.out);
}

#[test]
fn values_that_do_not_fit_are_warned_of() {
    let seen = run(&["check", &corpus("truncated.pml")], 0);
    assert!(
        seen.out.contains("HOLDS") && seen.out.contains("values that do not fit are cut at 8 places"),
        "{}",
        seen.out
    );
    assert!(seen.out.contains("truncated.pml:11:") && seen.out.contains("and 3 more"), "{}", seen.out);
    let seen = run(&["simulate", &corpus("truncated.pml")], 0);
    assert!(seen.out.contains("256 does not fit and becomes 0"), "{}", seen.out);
}

/// The lines of unreached statements, as Spin's verifier gives them.
#[test]
fn unreached_code_is_what_spin_finds_unreached() {
    let required = std::env::var("SELVEDGE_REQUIRE_ORACLES").is_ok_and(|value| value == "1");
    if Command::new("spin").arg("-V").output().is_err()
        || Command::new("gcc").arg("--version").output().is_err()
    {
        assert!(!required, "spin and gcc are required");
        eprintln!("SKIPPED: unreached_code_is_what_spin_finds_unreached: spin or gcc not installed");
        return;
    }
    let unreached = "byte x;\ninit {\n\tx = 1;\n\tif\n\t:: x == 2 ->\n\t\tx = 3;\n\t\tgoto out\n\t:: else\n\tfi;\n\
        \tdo\n\t:: x < 3 -> x++\n\t:: x == 7 ->\n\t\tbreak\n\t:: else ->\n\t\tgoto out\n\tod;\n\tx = 9;\nout:\n\tx = 4\n}\n\
        proctype Never() {\n\tx = 5\n}\n"
        .to_string();
    let texts = [
        unreached,
        std::fs::read_to_string(corpus("philosophers.pml")).unwrap(),
        std::fs::read_to_string(corpus("alternating_bit.pml")).unwrap(),
        std::fs::read_to_string(corpus("unless_escape.pml")).unwrap(),
        std::fs::read_to_string(corpus("mutex_peterson.pml")).unwrap(),
    ];
    for (number, text) in texts.iter().enumerate() {
        let model = written(&format!("promela-unreached-{number}"), text);
        let folder = Path::new(&model).parent().unwrap();
        let tool = |program: &str, args: &[&str]| {
            let output = Command::new(program).args(args).current_dir(folder).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        tool("spin", &["-a", "-o1", "-o2", "-o3", "model.pml"]);
        tool("gcc", &["-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"]);
        let told = tool(folder.join("pan").to_str().unwrap(), &["-c0", "-w12"]);
        // "	model.pml:6, state 2, "x = 3""
        let mut spin: Vec<u32> = told
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("model.pml:"))
            .filter(|line| line.contains(", state ") && !line.contains("-end-"))
            .map(|line| line.split(',').next().unwrap().parse().unwrap())
            .collect();
        spin.sort_unstable();
        spin.dedup();
        let words =
            ["check", &model, "--search", "dfs", "--no-por", "--all-errors", "--quiet", "--json", "-"];
        let seen = Seen::from(selvedge(&words).output().unwrap());
        let result: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
        let remarks = result["remarks"].as_array().map_or(&[][..], Vec::as_slice);
        let (ends, rest): (Vec<_>, Vec<_>) =
            remarks.iter().partition(|remark| remark["text"].as_str().unwrap().contains("-end-"));
        let line = |remark: &&serde_json::Value| {
            let place = remark["location"].as_str().unwrap().strip_prefix("model.pml:").unwrap();
            place.split(':').next().unwrap().parse::<u32>().unwrap()
        };
        let mut ours: Vec<u32> = rest.iter().map(line).collect();
        ours.sort_unstable();
        ours.dedup();
        // Spin has a guard for reached once control was there. Here one that never held is listed too.
        let guard = |line: &&u32| text.lines().nth(**line as usize - 1).unwrap().contains("::");
        let more: Vec<&u32> = ours.iter().filter(|line| !spin.contains(line)).collect();
        assert!(more.iter().all(guard), "{more:?}\n{text}\n{told}\n{}", seen.out);
        assert!(spin.iter().all(|line| ours.contains(line)), "{text}\n{told}\n{}", seen.out);
        let end = told.lines().any(|line| line.contains("\"-end-\""));
        assert_eq!(!ends.is_empty(), end, "{told}\n{}", seen.out);
    }
}

/// What the text says of statements is in the JSON too, and in the text that is made of it.
#[test]
fn the_json_has_the_remarks() {
    let model = written(
        "promela-remarks",
        "byte x;\nactive proctype P() { x = 300;\nif :: x == 1 -> x = 2 :: else fi }",
    );
    let seen = run(&["check", &model, "--json", "-"], 0);
    let result: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    let remarks = result["remarks"].as_array().expect("there are remarks");
    let has = |kind: &str, text: &str, line: &str| {
        remarks.iter().any(|remark| {
            let place = remark["location"].as_str().is_some_and(|place| place.contains(line));
            remark["kind"] == kind && remark["text"].as_str().is_some_and(|t| t.contains(text)) && place
        })
    };
    assert!(has("truncated", "x = 300", ":2:") && has("unreached", "x = 2", ":3:"), "{}", seen.out);
    assert!(!has("unreached", "x = 300", ":2:"), "{}", seen.out);
    let result = Path::new(&model).with_file_name("result.json");
    std::fs::write(&result, &seen.out).unwrap();
    let again = run(&["report", result.to_str().unwrap()], 0);
    let (cut, dead) = again.out.split_once("Unreached:\n").unwrap_or_else(|| panic!("{}", again.out));
    assert!(cut.contains("values that do not fit are cut at 1 place:\n  model.pml:2:"), "{cut}");
    assert!(
        dead.contains("model.pml:3:") && dead.contains("P: x = 2") && !dead.contains("x = 300"),
        "{dead}"
    );
    // The same as the check itself prints.
    assert_eq!(again.out, seen.err);
}

/// A claim watches: its steps are no switches of the program, in the text and in the JSON.
#[test]
fn the_steps_of_a_claim_are_no_switches() {
    let text = |claim: &str| {
        format!(
            "byte x;\nactive proctype P() {{ x = 1; x = 2; assert(x != 3) }}\n\
             active proctype Q() {{ (x == 2); x = 3 }}\n{claim}"
        )
    };
    let switches = |name: &str, claim: &str| {
        let model = written(name, &text(claim));
        let seen = run(&["check", &model, "--json", "-"], 1);
        let result: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
        let violation = &result["violation"];
        let threads = violation["threads"].as_array().unwrap().len();
        let count = violation["switches"].as_u64().unwrap();
        let heading = format!("({} preemption, {count} switches", violation["preemptions"]);
        assert!(seen.err.contains(&heading), "{heading}\n{}", seen.err);
        (count, threads)
    };
    let plain = switches("promela-switches", "");
    let claimed = switches("promela-switches-claim", "never { do :: x < 9 od }");
    assert_eq!((plain, claimed), ((2, 2), (2, 3)));
}

/// What a store cannot do is refused, not done in another way.
#[test]
fn stores_of_hashes_refuse_what_they_cannot_do() {
    let model = corpus("producer_consumer.pml");
    for (words, expected) in [
        (&["--search", "bfs", "--store", "bitstate=1M"][..], "need the states themselves"),
        (&["--shortest", "--store", "hashcompact"], "need the states themselves"),
        (&["--store", "bitstate=1M,0"], "with K from 1 to 32"),
        (&["--store", "bitstate=1M,33"], "with K from 1 to 32"),
        (&["--store", "bitstate=999999T"], "not enough memory for the bit array"),
        (&["--store", "bitstate=many"], "bitstate=many"),
        (&["--store", "full"], "give exact, hashcompact or bitstate=SIZE"),
    ] {
        let mut all = vec!["check", model.as_str()];
        all.extend_from_slice(words);
        let seen = run(&all, 2);
        assert!(seen.err.contains(expected), "{}", seen.err);
    }
    let seen = run(&["check", &model, "--store", "bitstate=1M", "--search", "dfs"], 3);
    assert!(seen.out.contains("expected coverage"), "{}", seen.out);
}

/// A store of hashes and labels that ask of infinite executions are named, in the text and in the JSON.
#[test]
fn what_an_answer_assumes_is_named() {
    let lost = written(
        "promela-assumes-lost",
        "byte x, done; active [3] proctype P() { byte t; t = x; x = t + 1; done++ }\n\
         active proctype L() { done == 3 -> assert(x > 1) }",
    );
    for store in ["hashcompact", "bitstate=1M"] {
        let seen = run(&["check", &lost, "--search", "bcs", "--store", store], 1);
        let (_, below) = seen.out.split_once("Below it: every execution with at most 0").unwrap();
        assert!(below.contains("Assuming: no two states with one hash."), "{store}: {}", seen.out);
        let seen = run(&["check", &lost, "--search", "bcs", "--store", store, "--json", "-", "--quiet"], 1);
        let result: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
        assert!(seen.out.contains("\"key\":\"lossy-store\""), "{store}: {result}");
    }
    let live = written("promela-assumes-live", "byte x; active proctype P() { progress: x = 1 }");
    let seen = run(&["check", &live], 0);
    assert!(seen.out.contains("Assuming: safety properties only."), "{}", seen.out);
}

/// Models have many endings, and a folder more from which they may include.
#[test]
fn models_are_known_by_their_endings_and_include_from_folders_given() {
    let folder = fresh("promela-endings");
    let shared = fresh("promela-shared");
    std::fs::write(shared.join("x.h"), "byte x;\n").unwrap();
    for ending in ["pml", "promela", "prom", "spin", "pm", "prm", "pr"] {
        let path = folder.join(format!("model.{ending}"));
        std::fs::write(&path, "#include \"x.h\"\nactive proctype P() { x = 1 }").unwrap();
        let path = path.to_str().unwrap();
        let seen = run(&["check", path], 2);
        assert!(seen.err.contains(":1:1: 'x.h' is no file below the model's folder"), "{}", seen.err);
        run(&["check", path, "-I", shared.to_str().unwrap()], 0);
        run(&["simulate", path, "-I", shared.to_str().unwrap()], 0);
    }
}

/// The time of a check begins with the reading of the model.
#[test]
fn the_time_limit_holds_for_the_reading_of_a_model() {
    let folder = fresh("promela-slow");
    // Each line is read again and again: twenty times as much text as there is.
    let text = "#define f(x) x\nbyte x; active proctype P() {\n".to_string()
        + &"x = f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(1))))))))))))))));\n".repeat(8_000)
        + "}\n";
    let path = folder.join("slow.pml");
    std::fs::write(&path, text).unwrap();
    let seen = run(&["check", path.to_str().unwrap(), "--time", "1ms"], 3);
    let told = seen.out.replace('\n', " ");
    assert!(told.contains("the time limit of 0.001 s was reached before the search began"), "{told}");
}

#[test]
fn every_property_has_a_verdict_and_a_replay_of_its_own() {
    let model = corpus("live/starvation.pml");
    let seen = run(&["check", &model], 1);
    for line in [
        "HOLDS: starvation.pml: excludes",
        "VIOLATED: starvation.pml: served",
        "the property 'some' is violated",
    ] {
        assert!(seen.out.contains(line), "{line}\n{}", seen.out);
    }
    let one = run(&["check", &model, "--ltl", "served"], 1);
    assert!(one.out.contains("and so on for ever") && !one.out.contains("excludes"), "{}", one.out);
    let token = one.out.split("--replay ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let again = run(&["check", &model, "--ltl", "served", "--replay", token.expect("a token")], 1);
    assert!(again.out.contains("and so on for ever"), "{}", again.out);
    let own = run(&["check", &model, "--formula", "<> (in[0] && in[1])"], 1);
    assert!(own.out.contains("the property '<> (in[0] && in[1])' is violated"), "{}", own.out);
    assert!(run(&["check", &model, "--formula", "[] (!in[0] || !in[1])"], 0).out.contains("final"));
    assert!(run(&["check", &model, "--formula", "[] (in[0]"], 2).err.contains("--formula:1:"));
    assert!(run(&["check", &model, "--formula", "in[0] } ltl q { in[1]"], 2).err.contains("one formula"));
    assert!(run(&["check", &model, "--progress", "--no-claim"], 2).err.contains("give one of them"));
    let bound = run(&["check", &model, "--ltl", "served", "--preemptions", "2"], 2);
    assert!(bound.err.contains("a bound on preemptions is not supported with liveness yet"), "{}", bound.err);
}

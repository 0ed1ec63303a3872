//! Bad input never panics: models with bytes changed, cut out, doubled or swapped are refused or checked, and trails
//! followed. What is done with each is what the fuzz targets do.

mod common;
#[path = "../../../fuzz/src/damage.rs"]
#[allow(unreachable_pub)] // It is a part of a library there.
mod damage;
#[path = "../../../fuzz/src/promela.rs"]
#[allow(unreachable_pub)]
mod promela;

use std::path::Path;

use common::models;
use selvedge_promela::{Claims, Options, check, parse};

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

const SPICE: [&str; 24] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "::",
    "->",
    ";",
    "if",
    "fi",
    "do",
    "od",
    "atomic",
    "d_step",
    "unless",
    "!",
    "?",
    "99999999999",
    "#if",
    "#define x x",
    "\"",
    "é",
    "timeout",
];

/// The seeds of a fuzz target.
fn seeds(target: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("there are seeds")
        .map(|entry| entry.expect("it is there").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("it can be read")).collect()
}

#[test]
fn damaged_trails_do_not_panic() {
    for text in seeds("trail") {
        promela::trail(&text);
        let words =
            ["\n", ":", "-2:1:-2\n", "-4:-4:-4\n", "-1", "18446744073709551616", "0:0:1\n", "7:1:3\n", "é"];
        damage::copies(&text, &words, 500).for_each(|copy| promela::trail(&copy));
    }
}

#[test]
fn damaged_models_do_not_panic() {
    let mut texts: Vec<String> =
        models().iter().map(|path| std::fs::read_to_string(path).expect("it can be read")).collect();
    texts.extend(seeds("promela"));
    for text in &texts {
        assert!(promela::model(text), "{text}");
    }
    let mut dice = Dice(7);
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..2500 {
        let mut text: Vec<char> = texts[round % texts.len()].chars().collect();
        for _ in 0..1 + dice.roll(4) {
            let at = dice.roll(text.len());
            match dice.roll(5) {
                0 => {
                    text.remove(at);
                }
                1 => {
                    let end = (at + dice.roll(40)).min(text.len());
                    text.drain(at..end);
                }
                2 => {
                    let end = (at + dice.roll(60)).min(text.len());
                    let copy: Vec<char> = text[at..end].to_vec();
                    let to = dice.roll(text.len());
                    text.splice(to..to, copy);
                }
                3 => text[at] = char::from(32 + dice.roll(95) as u8),
                _ => {
                    text.splice(at..at, SPICE[dice.roll(SPICE.len())].chars());
                }
            }
            if text.is_empty() {
                text.push(' ');
            }
        }
        let text: String = text.into_iter().collect();
        if promela::model(&text) {
            accepted += 1;
        } else {
            refused += 1;
        }
    }
    assert!(refused > 500 && accepted > 100, "{refused} refused, {accepted} accepted");
}

#[test]
fn every_error_is_reported_with_its_place() {
    let text = "byte x;\nactive proctype P() {\n  y = 1;\n  x = ;\n  goto nowhere;\n  c_code { x++; }\n}\n";
    let error = parse(text, "bad.pml", None, &[]).expect_err("it has errors").to_string();
    assert!(error.contains("bad.pml:3:3: 'y' is not declared"), "{error}");
    assert!(error.contains("bad.pml:4:7: expected an expression"), "{error}");
    assert!(error.contains("bad.pml:6:3: c_code embeds C code"), "{error}");
}

#[test]
fn what_is_not_there_for_liveness_is_refused_with_a_remedy() {
    let text = "byte x; active proctype P() { x = 1 } ltl p { <> (x == 1) }";
    let model = parse(text, "live.pml", None, &[]).expect("it is a model");
    let plain = Options::default;
    for (options, option) in [
        (Options { preemptions: Some(0), ..plain() }, "--preemptions"),
        (Options { store: selvedge_promela::StoreKind::HashCompact, ..plain() }, "--store"),
        (Options { all_errors: true, ..plain() }, "--all-errors"),
        (Options { search: selvedge_promela::Search::Bfs, ..plain() }, "--search"),
        (Options { search: selvedge_promela::Search::Bcs, ..plain() }, "--search"),
        (Options { free_cycles: true, ..plain() }, "--free-cycles"),
    ] {
        let error = check(&model, &options, &mut |_| true).expect_err("it is refused").to_string();
        assert!(error.contains("infinite executions") && error.contains("--no-claim"), "{error}");
        assert!(error.contains(option), "{error}");
    }
    let without = Options { claims: Claims::Ignore, ..Options::default() };
    assert!(check(&model, &without, &mut |_| true).expect("safety is checked").outcome.holds());
}

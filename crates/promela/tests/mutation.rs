//! Bad input never panics: models with bytes changed, cut out, doubled or swapped are refused or checked.

mod common;

use std::time::Duration;

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

#[test]
fn damaged_models_do_not_panic() {
    let texts: Vec<String> =
        models().iter().map(|path| std::fs::read_to_string(path).expect("it can be read")).collect();
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
        match parse(&text, "damaged", None, &[]) {
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
            Ok(model) => {
                accepted += 1;
                let options = Options {
                    memory: Some(1 << 22),
                    time: Some(Duration::from_millis(30)),
                    claims: Claims::Safety,
                    ..Options::default()
                };
                // Refused, checked or given up: anything but a panic.
                let _ = check(&model, &options, &mut |_| true);
            }
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
fn liveness_is_refused_with_a_remedy() {
    let text = "byte x; active proctype P() { x = 1 } ltl p { <> (x == 1) }";
    let model = parse(text, "live.pml", None, &[]).expect("it is a model");
    let error =
        check(&model, &Options::default(), &mut |_| true).expect_err("liveness is refused").to_string();
    assert!(error.contains("infinite executions") && error.contains("--no-claim"), "{error}");
    let without = Options { claims: Claims::Ignore, ..Options::default() };
    assert!(check(&model, &without, &mut |_| true).expect("safety is checked").outcome.holds());
}

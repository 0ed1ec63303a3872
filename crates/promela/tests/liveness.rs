//! Infinite executions: the models of `corpus/promela/live` and generated ones, beside Spin.
//!
//! The first lines of a model name its properties with their verdicts: an `ltl` block, `:never:`, `progress` for cycles
//! without progress labels, or `acceptance` for `accept` labels without a claim.

mod common;

use std::path::{Path, PathBuf};

use common::{ask_spin_for_ever, oracles};
use selvedge_core::{AssumptionKind, Violation};
use selvedge_promela::{Claims, Model, Options, Property, check, load, parse, properties, replay};

fn live() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/promela/live");
    let entries = std::fs::read_dir(folder).expect("the corpus is there");
    let mut list: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    list.sort();
    list
}

/// The properties of a model with whether they are violated.
fn expected(path: &Path) -> Vec<(String, bool)> {
    let text = std::fs::read_to_string(path).expect("the model can be read");
    let head = text.split("*/").next().unwrap_or_default();
    let line = |line: &str| {
        let (name, verdict) = line.trim_start_matches([' ', '*']).rsplit_once(": ")?;
        match verdict {
            "holds" => Some((name.to_string(), false)),
            "violated" => Some((name.to_string(), true)),
            _ => None,
        }
    };
    head.lines().filter_map(line).collect()
}

fn asked(name: &str) -> Options {
    let property = match name {
        "acceptance" => Property::Own,
        "progress" => Property::Progress,
        name => Property::Named(name.to_string()),
    };
    Options { property, ..Options::default() }
}

fn violation(model: &Model, options: &Options) -> Option<Violation> {
    let outcome = check(model, options, &mut |_| true).unwrap_or_else(|error| panic!("{error}")).outcome;
    if outcome.holds() {
        let guarantee = outcome.guarantee().expect("it holds");
        assert!(
            guarantee.complete && guarantee.bounds == Default::default()
                || guarantee.bounds.preemptions.is_some()
        );
        return None;
    }
    let found = outcome.violation().expect("there is a verdict").clone();
    // The schedule is enough to see the same again.
    let again = replay(model, options, &found.schedule).unwrap_or_else(|error| panic!("{error}"));
    let again = again.outcome.violation().expect("a replay ends in a violation").clone();
    assert_eq!((again.kind, &again.message, &again.trace), (found.kind, &found.message, &found.trace));
    if let Some(start) = found.trace.loop_start {
        assert!(start < found.trace.steps.len());
    }
    Some(found)
}

#[test]
fn every_property_has_its_verdict_and_spin_agrees() {
    let ask = oracles("every_property_has_its_verdict_and_spin_agrees");
    let (mut verdicts, mut cycles, mut wrong) = ([0, 0], 0, Vec::new());
    let list = live();
    assert!(list.len() >= 12, "{} models", list.len());
    for path in list {
        let name = path.display();
        let model = load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let expected = expected(&path);
        for known in properties(&model) {
            assert!(expected.iter().any(|(name, _)| *name == known), "{name}: {known} has no verdict");
        }
        for (property, violated) in &expected {
            let found = violation(&model, &asked(property));
            if found.is_some() != *violated {
                wrong.push(format!("{name}: {property} is not as expected"));
            }
            verdicts[usize::from(*violated)] += 1;
            cycles += u32::from(found.is_some_and(|found| found.trace.loop_start.is_some()));
        }
        if ask {
            let own = |name: &String| {
                if [":never:", "acceptance"].contains(&&**name) { String::new() } else { name.clone() }
            };
            let names: Vec<String> = expected.iter().map(|(name, _)| own(name)).collect();
            let spin =
                ask_spin_for_ever(&path, &names).unwrap_or_else(|| panic!("{name}: Spin gave no answer"));
            let wanted: Vec<Option<bool>> = expected.iter().map(|(_, violated)| Some(*violated)).collect();
            if spin != wanted {
                wrong.push(format!("{name}: Spin finds {spin:?} on {names:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(verdicts.iter().all(|&count| count >= 15) && cycles >= 15, "{verdicts:?} {cycles}");
}

/// What Spin makes of formulas without parentheses: each pair must be the same formula.
#[test]
fn operators_bind_as_in_spin() {
    for (bare, grouped) in [
        ("p -> q -> r", "(p -> q) -> r"),
        ("p <-> q -> r", "(p <-> q) -> r"),
        ("p || q && r", "p || (q && r)"),
        ("[] p U q", "([] p) U q"),
        ("p U q U r", "(p U q) U r"),
        ("! p U q", "(!p) U q"),
        ("p -> q U r", "p -> (q U r)"),
        ("! [] p && q", "(! ([] p)) && q"),
        ("[] <> p U <> q", "([] (<> p)) U (<> q)"),
        ("always p implies eventually q", "([] p) -> (<> q)"),
        ("p release q weakuntil r", "(p V q) W r"),
        ("p /\\ q \\/ r", "(p && q) || r"),
    ] {
        let read = |formula: &str| {
            let text = format!("bool p, q, r; active proctype P() {{ p = 1 }} ltl f {{ {formula} }}");
            let model = parse(&text, "f.pml", None, &[]).unwrap_or_else(|error| panic!("{error}"));
            shape(&model.ltl[0].formula)
        };
        assert_eq!(read(bare), read(grouped), "{bare}");
    }
}

/// A formula without its places in the text.
fn shape(formula: &selvedge_promela::Formula) -> String {
    let text = format!("{formula:?}");
    let mut parts = text.split("Pos {");
    let first = parts.next().unwrap_or_default().to_string();
    first + &parts.map(|part| part.split_once('}').map_or("", |(_, rest)| rest)).collect::<String>()
}

#[test]
fn a_formula_whose_proposition_goes_wrong_is_a_violation() {
    for (proposition, kind) in [("a[n] == 0", "assertion"), ("1 / (3 - n) >= 0", "crash")] {
        let text = format!(
            "byte n; byte a[3]; active proctype P() {{ do :: n < 3 -> n++ :: n == 3 -> skip od }} ltl p {{ [] ({proposition}) }}"
        );
        let model = parse(&text, "wrong.pml", None, &[]).unwrap_or_else(|error| panic!("{error}"));
        let found = violation(&model, &Options::default()).expect("it goes wrong");
        assert_eq!(found.kind.name(), kind, "{}", found.message);
    }
}

#[test]
fn several_properties_are_not_checked_as_one() {
    let text = "byte n; active proctype P() { n = 1 } ltl p { <> (n == 1) } ltl q { <> (n == 2) }";
    let model = parse(text, "two.pml", None, &[]).unwrap_or_else(|error| panic!("{error}"));
    let error = check(&model, &Options::default(), &mut |_| true).expect_err("which one?").to_string();
    assert!(error.contains("--ltl NAME (p, q)"), "{error}");
    assert!(violation(&model, &asked("p")).is_none());
    assert!(violation(&model, &asked("q")).is_some());
    let error = check(&model, &asked("r"), &mut |_| true).expect_err("there is none").to_string();
    assert!(error.contains("no property 'r'") && error.contains("p, q"), "{error}");
    let both = Options { claims: Claims::Ignore, ..asked("p") };
    assert!(check(&model, &both, &mut |_| true).is_err());
}

#[test]
fn labels_that_no_question_was_about_stay_an_assumption() {
    let text = "byte n; active proctype P() { do :: n < 3 -> progress: n++ :: else -> accept: n = 0 od }";
    let model = parse(&format!("{text} ltl p {{ []<> (n == 3) }}"), "l.pml", None, &[]).unwrap();
    let left = |options: &Options| {
        let outcome = check(&model, options, &mut |_| true).unwrap_or_else(|error| panic!("{error}")).outcome;
        let guarantee = outcome.guarantee().expect("it holds").clone();
        assert!(guarantee.assumptions.contains(AssumptionKind::SafetyOnly));
        guarantee.assumptions.to_string()
    };
    assert_eq!(left(&asked("p")), "no question about accept and progress labels");
    assert_eq!(left(&asked("progress")), "no question about accept labels");
    assert_eq!(left(&Options { claims: Claims::Ignore, ..Options::default() }), "safety properties only");
}

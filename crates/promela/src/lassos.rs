//! Liveness against brute force: every short lasso of the interpreter's state graph, with the formula's truth on it
//! worked out from the definition, without automata. The other direction is the replay's: what the search shows is a
//! lasso on which the interpreter finds the formula false.

#[path = "../tests/common/mod.rs"]
mod common;

use crate::ast::Model;
use crate::interp::{Interpreter, State};
use crate::ltl::holds;
use crate::twin::{Dice, edges, generate, times};
use crate::{Options, Property, check, parse};

/// A random formula, with its operators in Spin's several spellings. `next` allows X.
pub(crate) fn formula(dice: &mut Dice, size: u64, next: bool) -> String {
    if size <= 1 {
        let atoms = ["(x > 0)", "(y == 1)", "b", "(x == y)", "(len(e) > 0)", "(x == 2)", "!b", "(x < 2)"];
        return dice.pick(&atoms).to_string();
    }
    if next && dice.roll(4) == 0 {
        return format!("X ({})", formula(dice, size - 1, next));
    }
    let one = ["[]", "<>", "!", "always", "eventually", "[]<>", "<>[]"];
    if dice.roll(2) == 0 {
        let operator = dice.pick(&one);
        return format!("{operator} ({})", formula(dice, size - 1, next));
    }
    let two = ["&&", "||", "->", "<->", "U", "W", "V", "until", "weakuntil", "release", "implies", "/\\"];
    let (operator, left) = (dice.pick(&two), 1 + dice.roll(size - 1));
    let right = (size - left).max(1);
    format!("({}) {operator} ({})", formula(dice, left, next), formula(dice, right, next))
}

/// Lassos of a model.
struct Lassos<'m> {
    interpreter: Interpreter<'m>,
    model: &'m Model,
    /// Steps that may still be tried.
    budget: u32,
}

impl Lassos<'_> {
    /// Whether a lasso that begins with this path violates the formula.
    fn violated(&mut self, path: &mut Vec<State>, most: usize) -> bool {
        let last = path.last().expect("a path has a state").clone();
        if let Some(start) = path[..path.len() - 1].iter().position(|state| *state == last)
            && self.is_false(&path[..path.len() - 1], start)
        {
            return true;
        }
        let next: Vec<State> = (0..last.procs.len())
            .flat_map(|pid| edges(&self.interpreter, &last, pid))
            .filter_map(|(_, _, next, _)| next)
            .collect();
        if next.is_empty() {
            // It has ended, and stays as it is.
            return self.is_false(path, path.len() - 1);
        }
        for state in next {
            if path.len() > most || self.budget == 0 {
                return false;
            }
            self.budget -= 1;
            path.push(state);
            let found = self.violated(path, most);
            path.pop();
            if found {
                return true;
            }
        }
        false
    }

    fn is_false(&self, path: &[State], start: usize) -> bool {
        let mut letter = |expr: &crate::ast::Expr, at: usize| {
            self.interpreter.eval(&path[at], None, expr).is_ok_and(|value| value != 0)
        };
        !holds(&self.model.ltl[0].formula, path.len(), start, &mut letter)
    }
}

#[test]
fn no_short_lasso_violates_what_holds() {
    let mut seen = [0_u32; 3];
    for seed in 0..1200 * times() {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1a550);
        let size = 2 + dice.roll(5);
        let text = format!("{}ltl p {{ {} }}", looping(seed), formula(&mut dice, size, true));
        let model = parse(&text, "lasso", None, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let checked = check(&model, &Options::default(), &mut |_| true);
        let outcome = checked.unwrap_or_else(|error| panic!("{error}\n{text}")).outcome;
        let interpreter = Interpreter::new(&model, None, true);
        let Ok(first) = interpreter.initial() else { continue };
        let mut lassos = Lassos { interpreter, model: &model, budget: 3000 };
        let violated = lassos.violated(&mut vec![first], 8);
        assert!(!(violated && outcome.holds()), "a lasso violates it\n{text}");
        assert!(outcome.holds() || outcome.violation().is_some(), "no verdict\n{text}");
        seen[usize::from(violated) + usize::from(!outcome.holds())] += 1;
        if let Some(violation) = outcome.violation() {
            let again = crate::replay(&model, &Options::default(), &violation.schedule);
            let again = again.unwrap_or_else(|error| panic!("{error}\n{text}")).outcome;
            assert_eq!(
                again.violation().map(|v| (v.kind, v.trace.loop_start)),
                Some((violation.kind, violation.trace.loop_start)),
                "{text}"
            );
        }
    }
    // Held; violated by longer lassos only; violated by short ones.
    assert!(seen.iter().all(|&count| count > 10) && seen[2] > 100, "{seen:?}");
    println!("{seen:?}");
}

/// Each model is asked about several formulas, its `accept` labels and progress.
#[test]
fn spin_gives_the_same_verdicts_on_generated_models() {
    if !common::oracles("spin_gives_the_same_verdicts_on_generated_models") {
        return;
    }
    const FORMULAS: usize = 6;
    let (mut seen, mut unread) = ([[0_u32; 2]; 3], 0);
    for seed in 0..4 * times() {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5b1a);
        let labelled = labels(&looping(seed + 5000), &mut dice);
        let mut text = labelled.clone();
        for number in 0..FORMULAS {
            let size = 2 + dice.roll(6);
            // Spin has this spelling for -f alone.
            let formula = formula(&mut dice, size, false).replace("/\\", "&&");
            text += &format!("ltl f{number} {{ {formula} }}\n");
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut ask = |text: &str, kind: usize, properties: &[String]| {
            let path = folder.path().join("m.pml");
            std::fs::write(&path, text).expect("it can be written");
            let spin = common::ask_spin_for_ever(&path, properties);
            let spin = spin.unwrap_or_else(|| panic!("Spin gave no answer\n{text}"));
            let model = parse(text, "m.pml", None, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
            for (name, theirs) in properties.iter().zip(spin) {
                let Some(theirs) = theirs else {
                    unread += 1;
                    continue;
                };
                let property = match name.as_str() {
                    "" => Property::Own,
                    "progress" => Property::Progress,
                    name => Property::Named(name.to_string()),
                };
                let checked = check(&model, &Options { property, ..Options::default() }, &mut |_| true);
                let outcome = checked.unwrap_or_else(|error| panic!("{name}: {error}\n{text}")).outcome;
                assert_eq!(outcome.violation().is_some(), theirs, "Spin says {theirs} of '{name}'\n{text}");
                seen[kind][usize::from(theirs)] += 1;
            }
        };
        // Spin counts `accept` labels of processes for a formula too, so they are asked about apart.
        let formulas: Vec<String> = (0..FORMULAS).map(|number| format!("f{number}")).collect();
        ask(&text.replace("accept", "some"), 0, &formulas);
        ask(&labelled.replace("accept", "some"), 1, &["progress".to_string()]);
        // With -a, Spin reports no invalid end state: here every place is a valid one.
        ask(&everywhere_valid(&labelled), 2, &[String::new()]);
    }
    let of = |verdict: usize| seen.iter().map(|counts| counts[verdict]).sum::<u32>();
    assert!(of(0) >= 4 && of(1) >= 4, "{seen:?}");
    // Spin refuses a jump to a `d_step`, and some models have longer paths than it is told to follow.
    assert!(unread * 2 < seen[0].iter().sum::<u32>(), "{unread} of {seen:?}");
    println!("{seen:?} {unread}");
}

/// Marks some statements that begin a line: with `progress` and `accept` labels.
fn labels(text: &str, dice: &mut Dice) -> String {
    let mut number = 0;
    let mut marked = |line: &str| {
        let own = ["x", "y", "t", "b", "c!", "c?", "e!", "e?", "r!", "r?"]
            .iter()
            .any(|word| line.starts_with(word));
        if !own || dice.roll(4) != 0 {
            return line.to_string();
        }
        number += 1;
        format!("{}_{number}: {line}", dice.pick(&["progress", "accept"]))
    };
    let (head, body) = text.split_once("active").expect("a process starts");
    let lines: Vec<String> = body.lines().map(&mut marked).collect();
    format!("{head}active{}\n", lines.join("\n"))
}

/// A model that cannot end anywhere but where all may: a process that goes on for ever.
fn everywhere_valid(text: &str) -> String {
    format!("{text}active proctype Clock() {{ bit z; do :: z = 1 - z od }}\n")
}

/// A random model whose processes begin again at their end, or end.
pub(crate) fn looping(seed: u64) -> String {
    let text = generate(seed * 2).replace("assert", "skip; 1 || ");
    match seed % 3 {
        0 => text,
        _ => text
            .replace("byte t;\n", "byte t;\nagain: ")
            .replace("  skip }", "  if :: x > 0 -> x-- :: else fi; goto again }"),
    }
}

//! Automata against the definition: random formulas on random words that end in a cycle.

use super::buchi::{Buchi, Target};
use super::claim::automaton;
use super::lasso::holds;
use crate::ast::{Expr, ExprKind, Formula, Place, VarRef};
use crate::error::Pos;

/// A small pseudo-random generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn proposition(number: usize, line: u32) -> Formula {
    let at = Pos { file: 0, line, column: 1 };
    let place = Place { var: VarRef::Global(number), path: Vec::new(), at };
    Formula::Prop(Expr { kind: ExprKind::Place(place), at })
}

fn formula(dice: &mut Dice, size: u64) -> Formula {
    if size <= 1 {
        // The same proposition at different places of the text is one.
        return match dice.roll(12) {
            0 => Formula::Prop(Expr { kind: ExprKind::Const(dice.roll(2) as i32), at: Pos::default() }),
            n => proposition(n as usize % 3, dice.roll(9) as u32),
        };
    }
    let pair = |dice: &mut Dice| {
        let left = 1 + dice.roll(size - 1);
        (Box::new(formula(dice, left)), Box::new(formula(dice, (size - 1).saturating_sub(left).max(1))))
    };
    let kind = dice.roll(14);
    if kind < 7 {
        let part = Box::new(formula(dice, size - 1));
        return match kind {
            0 | 1 => Formula::Not(part),
            2 | 3 => Formula::Next(part),
            4 => Formula::Always(part),
            5 => Formula::Eventually(part),
            _ => Formula::Always(Box::new(Formula::Eventually(part))),
        };
    }
    let (a, b) = pair(dice);
    match kind {
        7 => Formula::And(a, b),
        8 => Formula::Or(a, b),
        9 => Formula::Implies(a, b),
        10 => Formula::Equivalent(a, b),
        11 => Formula::Until(a, b),
        12 => Formula::WeakUntil(a, b),
        _ => Formula::Release(a, b),
    }
}

/// Whether an automaton accepts a word of letters (the propositions that hold, as bits): a path through the product that
/// comes back to an accepting pair, by nothing but reachability.
fn accepts(automaton: &Buchi, atoms: &super::Atoms, word: &[u8], start: usize) -> bool {
    let variable = |atom: u32| match &atoms.list[atom as usize].kind {
        ExprKind::Place(Place { var: VarRef::Global(number), .. }) => *number,
        _ => unreachable!("a proposition is a variable"),
    };
    // The pairs reached from one in a step or more; true if everything is accepted from one of them.
    let reach = |from: (usize, usize)| {
        let (mut open, mut seen) = (vec![from], std::collections::HashSet::new());
        while let Some((state, at)) = open.pop() {
            let next = if at + 1 < word.len() { at + 1 } else { start };
            for (label, target) in &automaton.states[state].steps {
                if !label.iter().all(|(&atom, &wanted)| (word[at] >> variable(atom) & 1 == 1) == wanted) {
                    continue;
                }
                match *target {
                    Target::Everything => return (true, seen),
                    Target::State(state) => {
                        if seen.insert((state, next)) {
                            open.push((state, next));
                        }
                    }
                }
            }
        }
        (false, seen)
    };
    let (everything, mut pairs) = reach((0, 0));
    pairs.insert((0, 0));
    everything || pairs.iter().any(|pair| automaton.states[pair.0].accepting && reach(*pair).1.contains(pair))
}

#[test]
fn automata_accept_the_words_on_which_their_formulas_hold() {
    let times = crate::twin::times();
    let mut dice = Dice(0x17_1ea5e);
    let (mut verdicts, mut largest, mut refused) = ([0_u32; 2], 0, 0);
    for number in 0..6000 * times {
        let size = 2 + number % 9;
        let formula = formula(&mut dice, size);
        let (Ok(yes), Ok(no)) = (automaton(&formula, true), automaton(&formula, false)) else {
            refused += 1;
            continue;
        };
        largest = largest.max(yes.0.states.len()).max(no.0.states.len());
        for _ in 0..12 {
            let word: Vec<u8> = (0..1 + dice.roll(6)).map(|_| dice.roll(8) as u8).collect();
            let start = dice.roll(word.len() as u64) as usize;
            let mut letter = |expr: &Expr, at: usize| match &expr.kind {
                ExprKind::Place(Place { var: VarRef::Global(number), .. }) => word[at] >> number & 1 == 1,
                ExprKind::Const(value) => *value != 0,
                _ => unreachable!("a proposition is a variable"),
            };
            let truth = holds(&formula, word.len(), start, &mut letter);
            verdicts[usize::from(truth)] += 1;
            assert_eq!(accepts(&yes.0, &yes.1, &word, start), truth, "{formula:?}\n{word:?} from {start}");
            assert_eq!(accepts(&no.0, &no.1, &word, start), !truth, "not {formula:?}\n{word:?} from {start}");
        }
    }
    assert!(verdicts.iter().all(|&count| count > 10_000), "{verdicts:?}");
    assert!(refused < 10, "{refused} refused");
    println!("largest {largest}");
}

#[test]
fn a_safety_formula_needs_no_acceptance() {
    let always = |f| Formula::Always(Box::new(f));
    let implies = |a, b| Formula::Implies(Box::new(a), Box::new(b));
    let next = |f| Formula::Next(Box::new(f));
    let safe = [
        always(proposition(0, 1)),
        always(implies(proposition(0, 1), next(next(proposition(1, 1))))),
        Formula::WeakUntil(Box::new(proposition(0, 1)), Box::new(proposition(1, 1))),
        Formula::Release(Box::new(proposition(0, 1)), Box::new(always(proposition(1, 1)))),
    ];
    for formula in safe {
        let (automaton, _) = automaton(&formula, false).expect("it is small");
        assert!(automaton.states.iter().all(|state| !state.accepting), "{formula:?}\n{automaton:?}");
    }
    let live = Formula::Eventually(Box::new(proposition(0, 1)));
    let (automaton, _) = automaton(&live, false).expect("it is small");
    assert!(automaton.states.iter().any(|state| state.accepting));
}

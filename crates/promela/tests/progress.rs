//! `np_`: the same as naming every progress label of every process, which Spin is asked about.

mod common;

use common::{ask_spin, oracles};
use selvedge_promela::{Claims, Options, Search, check, parse};

/// A process type, the number of a process, and a label.
type Label = (&'static str, u32, &'static str);

/// Processes with progress labels, and the labels of each process by its number.
const MODELS: [(&str, &[Label]); 5] = [
    (
        "byte x;\nactive proctype P() { do :: x < 3 -> x++ :: x == 2 -> progress: x = 0 :: else -> break od }\n\
         active proctype Q() { x = 1; progress_a: x = 2; x = 3 }",
        &[("P", 0, "progress"), ("Q", 1, "progress_a")],
    ),
    (
        "bool b;\nactive [2] proctype P() { do :: !b -> b = true; progress: b = false :: b -> skip od }",
        &[("P", 0, "progress"), ("P", 1, "progress")],
    ),
    // On a goto, on a composite, within an atomic sequence, at the end.
    (
        "byte x;\nactive proctype P() { again: x = 1 - x; progress: goto again }\nactive proctype Q() { x = 1 }",
        &[("P", 0, "progress")],
    ),
    (
        "byte x;\nactive proctype P() { progress: if :: x = 1 :: x = 2 fi; atomic { x = 3; progress2: x = 4 }; x = 0 }\n\
         active proctype Q() { x > 1; x = 7 }",
        &[("P", 0, "progress"), ("P", 0, "progress2")],
    ),
    (
        "chan c = [0] of { byte };\nactive proctype P() { c!1; progress: c!2; skip }\n\
         active proctype Q() { byte x; c?x; progress: c?x }",
        &[("P", 0, "progress"), ("Q", 1, "progress")],
    ),
];

#[test]
fn np_is_the_absence_of_every_progress_label() {
    if !oracles("np_is_the_absence_of_every_progress_label") {
        return;
    }
    for (number, (processes, labels)) in MODELS.iter().enumerate() {
        let named: Vec<String> =
            labels.iter().map(|(name, pid, label)| format!("!{name}[{pid}]@{label}")).collect();
        let named = named.join(" && ");
        let mut verdicts = [0, 0];
        // The claim ends after two states in a row with, or without, progress; or moves with it for ever.
        for claim in [
            "never { do :: NP :: !NP -> break od; do :: NP -> break :: !NP od }",
            "never { do :: skip :: !NP -> !NP -> break od }",
            "never { do :: NP :: !NP -> NP od }",
        ] {
            let model = |np: &str| format!("{processes}\n{}", claim.replace("NP", &format!("({np})")));
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join("m.pml");
            std::fs::write(&path, model(&named)).expect("it can be written");
            let spin = ask_spin(&path, &[]).expect("Spin answers");
            let parsed = parse(&model("np_"), "np.pml", None, &[]).expect("it is a model");
            let options = Options {
                search: Search::Dfs,
                all_errors: true,
                claims: Claims::Safety,
                ..Options::default()
            };
            let ours = check(&parsed, &options, &mut |_| true).expect("it is checked");
            let counts = (ours.outcome.statistics.states, ours.outcome.statistics.transitions);
            assert_eq!(counts, (Some(spin.states), Some(spin.transitions)), "{number} {claim}");
            assert_eq!(ours.outcome.violation().is_some(), spin.errors > 0, "{number} {claim}");
            verdicts[usize::from(spin.errors > 0)] += 1;
        }
        assert!(verdicts[0] > 0 && verdicts[1] > 0, "{number}: {verdicts:?}");
    }
}

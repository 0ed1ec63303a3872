//! Every model of the corpus gives the verdict, the bound and the rows that its first lines say.
//!
//! `expect:` is `holds` or the kind of the violation; `preemptions:` the fewest that a violation needs;
//! `rows:` the states at each bound.

mod common;

use common::{Directives, models};
use selvedge_promela::{Checked, Claims, Options, Search, check, load, replay};

/// Questions about infinite executions have models of their own.
fn safety() -> Options {
    Options { claims: Claims::Safety, ..Options::default() }
}

#[test]
fn every_model_gives_its_expected_verdict() {
    let list = models();
    assert!(list.len() >= 40, "{} models", list.len());
    for path in list {
        let directives = Directives::of(&path);
        let model = load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let name = path.display();
        let checked = check(&model, &safety(), &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e}"));
        let outcome = &checked.outcome;
        let verdict = outcome.violation().map_or("holds", |violation| violation.kind.name());
        assert_eq!(verdict, directives.expect, "{name}");
        if verdict == "holds" {
            assert!(outcome.guarantee().is_some_and(|guarantee| guarantee.complete), "{name}");
        }
        if let Some(violation) = outcome.violation() {
            if let Some(preemptions) = directives.preemptions {
                assert_eq!(violation.preemptions, preemptions, "{name}");
            }
            assert_eq!(violation.trace.preemptions(), violation.preemptions, "{name}");
            // The schedule is enough to see the same violation again.
            let again =
                replay(&model, &safety(), &violation.schedule).unwrap_or_else(|e| panic!("{name}: {e}"));
            let again = again.outcome.violation().expect("a replay ends in a violation").clone();
            assert_eq!((again.kind, &again.message), (violation.kind, &violation.message), "{name}");
        }
        let full = Options { all_errors: true, ..safety() };
        let rows = check(&model, &full, &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e}")).outcome.rows;
        if !directives.rows.is_empty() {
            let states: Vec<u64> = rows.iter().filter_map(|row| row.states).collect();
            assert_eq!(states, directives.rows, "{name}");
        }
        // The depth-first form of the bounded search stores the same states at every bound.
        for (bound, row) in rows.iter().enumerate().take(3) {
            let options = Options {
                search: Search::Bcs,
                preemptions: Some(bound as u32),
                at_bound: true,
                all_errors: true,
                ..safety()
            };
            let states = check(&model, &options, &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(states.outcome.statistics.states, row.states, "{name} at bound {bound}");
        }
        // Reduction and the other orders find a violation exactly where there is one.
        for search in [Search::Dfs, Search::Bfs] {
            let options = Options { search, reduce: true, ..safety() };
            let other = check(&model, &options, &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(other.outcome.violation().is_some(), verdict != "holds", "{name} {search:?}");
        }
    }
}

/// The layered search fires no more transitions than the unbounded one.
#[test]
fn all_bounds_cost_no_more_than_none() {
    for path in models() {
        let model = load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let run = |search| {
            let options = Options { search, all_errors: true, ..safety() };
            check(&model, &options, &mut |_| true).unwrap_or_else(|e| panic!("{e}")).outcome.statistics
        };
        let (layered, plain) = (run(Search::Layered), run(Search::Dfs));
        assert_eq!(layered.states, plain.states, "{}", path.display());
        assert_eq!(layered.transitions, plain.transitions, "{}", path.display());
    }
}

/// Going on from bound to bound stores what the layers store, and ends where they end.
#[test]
fn bcs_from_bound_to_bound_agrees_with_the_layers() {
    let mut violated = 0;
    for path in models() {
        let name = path.display();
        let model = load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        for all_errors in [false, true] {
            let run = |search| {
                let options = Options { search, all_errors, ..safety() };
                check(&model, &options, &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e}"))
            };
            let (bcs, layered) = (run(Search::Bcs), run(Search::Layered));
            let states = |checked: &Checked| {
                checked.outcome.rows.iter().map(|row| (row.bound, row.states)).collect::<Vec<_>>()
            };
            assert_eq!(states(&bcs), states(&layered), "{name}");
            assert_eq!(bcs.outcome.guarantee(), layered.outcome.guarantee(), "{name}");
            let fewest = |checked: &Checked| checked.outcome.violation().map(|found| found.preemptions);
            assert_eq!(fewest(&bcs), fewest(&layered), "{name}");
            violated += u32::from(fewest(&bcs).is_some());
        }
    }
    assert!(violated > 10, "{violated} violations");
}

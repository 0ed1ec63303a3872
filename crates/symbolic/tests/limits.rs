//! Running out of memory or time is no verdict, and keeps what was finished.

use std::time::{Duration, Instant};

use selvedge_core::Verdict;
use selvedge_symbolic::expression::{Expression, Operator, Place};
use selvedge_symbolic::network::{
    Assignment, Effect, Initial, Network, Procedure, ProcedureId, Process, Rule, Target, Variable,
};
use selvedge_symbolic::{Error, Goal, Options, Splitting, check};

/// Two processes that multiply numbers of many bits: the product's middle bits have no small BDD.
fn multiplier(width: u32) -> Network {
    let any = |name: &str| Variable { initial: Initial::Any, ..Variable::new(name, width) };
    let mut network =
        Network { globals: vec![any("a"), any("b"), Variable::new("c", width)], ..Network::default() };
    network.procedures.push(Procedure { name: "p".into(), locals: Vec::new() });
    let first = network.add_label("first", ProcedureId(0));
    let second = network.add_label("second", ProcedureId(0));
    let step = |from, to, target, value| Rule {
        from,
        effect: Effect::Step { to },
        inputs: Vec::new(),
        guard: Expression::truth(true),
        assignments: vec![Assignment { target: Target::Place(Place::Global(target)), value }],
        text: "multiplies".into(),
    };
    let product = |a, b| Expression::binary(Operator::Multiply, Expression::global(a), Expression::global(b));
    network.rules.push(step(first, second, 0, Expression::global(1)));
    network.rules.push(step(second, first, 2, product(0, 1)));
    for name in ["one", "other"] {
        network.processes.push(Process { name: name.into(), entry: first });
    }
    network
}

#[test]
fn a_full_store_is_inconclusive() {
    let options = Options { memory: 1 << 20, count: 0, converge: false, ..Options::default() };
    let report = check(&multiplier(16), &options, &mut |_| true).unwrap();
    let Verdict::Inconclusive(gap) = &report.outcome.verdict else { panic!("{:?}", report.outcome.verdict) };
    assert!(gap.reason.contains("1 MiB") && gap.reason.contains("--memory"), "{}", gap.reason);
}

#[test]
fn what_was_finished_is_kept() {
    // Large enough for the first contexts, too small for all.
    let network = multiplier(7);
    let mut kept = None;
    for kilobytes in [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096] {
        let memory = kilobytes << 10;
        let options = Options { contexts: 6, memory, count: 0, converge: false, ..Options::default() };
        let report = check(&network, &options, &mut |_| true).unwrap();
        if let Verdict::Inconclusive(gap) = &report.outcome.verdict
            && let Some(covered) = &gap.covered
        {
            assert_eq!(covered.bounds.contexts, report.outcome.rows.last().map(|row| row.bound));
            kept = Some(covered.bounds);
        }
    }
    assert!(kept.is_some(), "some size is enough for some bounds");
}

#[test]
fn a_time_limit_is_inconclusive() {
    let options = Options { time: Some(Duration::ZERO), ..Options::default() };
    let report = check(&multiplier(4), &options, &mut |_| true).unwrap();
    assert!(matches!(report.outcome.verdict, Verdict::Inconclusive(_)));
}

#[test]
fn each_number_of_contexts_is_told_and_can_be_the_last() {
    let options = Options { contexts: 5, converge: false, count: 0, ..Options::default() };
    let mut told = Vec::new();
    check(&multiplier(3), &options, &mut |progress| {
        told.push(progress.contexts);
        true
    })
    .unwrap();
    told.dedup();
    assert_eq!(told, [1, 2, 3, 4, 5]);
    let report = check(&multiplier(3), &options, &mut |progress| progress.contexts < 3).unwrap();
    let Verdict::Inconclusive(gap) = &report.outcome.verdict else { panic!("{:?}", report.outcome.verdict) };
    assert_eq!(gap.reason, "it was interrupted");
    assert_eq!(gap.covered.as_ref().and_then(|covered| covered.bounds.contexts), Some(2));
}

#[test]
fn no_contexts_hold_nothing() {
    let options = Options { contexts: 0, ..Options::default() };
    let report = check(&multiplier(2), &options, &mut |_| true).unwrap();
    assert!(matches!(report.outcome.verdict, Verdict::Inconclusive(_)));
}

#[test]
fn an_unknown_goal_is_an_error_that_names_others() {
    let options = Options { goal: Goal::Label("frist".into()), ..Options::default() };
    let error = check(&multiplier(2), &options, &mut |_| true).unwrap_err();
    assert!(matches!(error, Error::UnknownLabel { .. }));
    assert!(error.to_string().contains("p.first"), "{error}");
}

#[test]
fn a_network_that_is_not_well_formed_is_an_error() {
    let mut network = multiplier(2);
    network.rules[0].guard = Expression::global(9);
    let error = check(&network, &Options::default(), &mut |_| true).unwrap_err();
    assert!(error.to_string().contains("rule 0 from first"), "{error}");
}

/// Globals that may be anything, as many as it takes to have a tuple for each valuation and never come to an end.
fn many_tuples() -> Network {
    let mut network = multiplier(12);
    network.rules.truncate(1);
    network
}

#[test]
fn a_search_ends_when_it_is_asked_to_and_when_its_time_is_over() {
    for (name, network, splitting) in [
        // One operation on a BDD takes minutes.
        ("a product", multiplier(20), Splitting::Lazy),
        // One split makes millions of tuples.
        ("tuples", many_tuples(), Splitting::Eager),
    ] {
        let options = Options { splitting, count: 0, ..Options::default() };
        const AFTER: Duration = Duration::from_millis(400);
        for time in [None, Some(AFTER)] {
            let options = Options { time, ..options.clone() };
            let begun = Instant::now();
            let report =
                check(&network, &options, &mut |_| time.is_some() || begun.elapsed() < AFTER).unwrap();
            let took = begun.elapsed();
            let Verdict::Inconclusive(gap) = &report.outcome.verdict else {
                panic!("{name}: {:?}", report.outcome.verdict)
            };
            let reason =
                if time.is_some() { "the time limit of 400ms was reached" } else { "it was interrupted" };
            assert_eq!(gap.reason, reason, "{name}");
            assert!(took > AFTER && took < AFTER + Duration::from_secs(1), "{name}: {took:?}");
        }
    }
}

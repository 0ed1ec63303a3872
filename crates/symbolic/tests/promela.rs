//! Generated networks without recursion, translated to Promela and checked by the explicit engine: the same heads
//! at every number of contexts, and the same verdict about a label.
//!
//! `SELVEDGE_LONG=1` makes many more networks.

use std::collections::BTreeSet;

use selvedge_core::Verdict;
use selvedge_promela::{Options as Explicit, Search, check as check_model, parse};
use selvedge_symbolic::generate::{Random, Shape, network};
use selvedge_symbolic::interpreter::Interpreter;
use selvedge_symbolic::network::{LabelId, Network};
use selvedge_symbolic::promela::{Extent, Model, Question, translate};
use selvedge_symbolic::reach::{self, reachable};
use selvedge_symbolic::{Goal, Options, Splitting, check};

const CONTEXTS: u32 = 3;
/// Calls go to procedures with larger numbers, of which there are at most three.
const DEPTH: usize = 4;

fn run(seed: u64, model: &Model) -> selvedge_promela::Checked {
    let parsed = parse(&model.text, "network.pml", None, &[]);
    let parsed = parsed.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", model.text));
    let options = Explicit { search: Search::Bfs, ..Explicit::default() };
    check_model(&parsed, &options, &mut |_| true).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

type Heads = BTreeSet<(usize, LabelId, Vec<u64>)>;

/// The heads within 0, 1, ... contexts, as the explicit engine finds them.
fn explicit_heads(seed: u64, model: &Model) -> Vec<Heads> {
    let checked = run(seed, model);
    assert!(
        matches!(checked.outcome.verdict, Verdict::Holds(_)),
        "seed {seed}: {:?}",
        checked.outcome.verdict
    );
    let unreached: BTreeSet<u32> = checked.unreached.iter().map(|(_, place, _)| place.line).collect();
    let within = |bound: u32| {
        let here = |probe: &&selvedge_symbolic::promela::Probe| {
            probe.contexts <= bound && !unreached.contains(&probe.line)
        };
        let head =
            |probe: &selvedge_symbolic::promela::Probe| (probe.process, probe.label, probe.globals.clone());
        model.probes.iter().filter(here).map(head).collect()
    };
    (0..=CONTEXTS).map(within).collect()
}

/// Compares one network; answers whether it could be compared, and the first bound of the label that was asked for.
fn compare(seed: u64, network: &Network, threads: u32) -> Option<Option<u32>> {
    // Small ones only: the model's states are many times the network's configurations.
    Interpreter::new(network, threads).unwrap().reachable(CONTEXTS, DEPTH, 1500)?;
    let extent = Extent { contexts: CONTEXTS, threads, depth: DEPTH };
    let model = translate(network, extent, Question::Heads)?;
    let explicit = explicit_heads(seed, &model);
    let splitting = if seed.is_multiple_of(2) { Splitting::Lazy } else { Splitting::Eager };
    let symbolic = reach::Extent { contexts: CONTEXTS, threads, splitting, depth: DEPTH, limit: 15_000 };
    let symbolic = reachable(network, &symbolic).unwrap().expect("it fits");
    for (bound, (explicit, symbolic)) in explicit.iter().zip(&symbolic).enumerate() {
        assert_eq!(*explicit, symbolic.heads, "seed {seed}, {bound} contexts");
    }
    // And a verdict, about a label that needs several contexts where there is one.
    let first = |label: LabelId| {
        let found = explicit.iter().position(|heads| heads.iter().any(|head| head.1 == label));
        found.map(|bound| bound.max(1) as u32)
    };
    let mut labels = (0..network.labels.len() as u32).map(LabelId);
    let label = labels
        .find(|&label| first(label).is_some_and(|bound| bound > 1))
        .unwrap_or_else(|| LabelId(Random::new(seed).below(network.labels.len() as u64) as u32));
    let found = first(label);
    for contexts in 1..=CONTEXTS {
        let model = translate(network, Extent { contexts, ..extent }, Question::Label(label))?;
        let explicit = run(seed, &model).outcome.violation().is_some();
        let goal = Goal::Label(network.full_name(label));
        let memory = 16 << 20;
        let options = Options {
            contexts,
            splitting,
            goal,
            threads,
            memory,
            converge: false,
            count: 0,
            ..Options::default()
        };
        let symbolic = check(network, &options, &mut |_| true).unwrap().outcome.violation().is_some();
        assert_eq!(explicit, symbolic, "seed {seed}, {label:?} within {contexts} contexts");
        assert_eq!(
            explicit,
            found.is_some_and(|found| found <= contexts),
            "seed {seed}, {contexts} contexts"
        );
    }
    Some(found)
}

fn compare_many(first: u64, shape: Shape, threads: u32, ordinary: u64) {
    let long = std::env::var_os("SELVEDGE_LONG").is_some();
    let count = if long { ordinary * 20 } else { ordinary };
    let (mut compared, mut late, mut absent) = (0, 0, 0);
    for seed in first..first + count {
        match compare(seed, &network(seed, shape), threads) {
            None => continue,
            Some(None) => absent += 1,
            Some(Some(bound)) => late += u64::from(bound > 1),
        }
        compared += 1;
    }
    assert!(compared * 2 >= count, "only {compared} of {count} networks were small enough");
    assert!(late > 0 && absent > 0, "{late} labels at later bounds, {absent} not at all");
}

#[test]
fn two_processes() {
    compare_many(30_000_000, Shape { processes: 2, recursion: false, forks: false, rich: false }, 0, 150);
}

#[test]
fn two_rich_processes() {
    compare_many(31_000_000, Shape { processes: 2, recursion: false, forks: false, rich: true }, 0, 150);
}

#[test]
fn three_processes() {
    compare_many(32_000_000, Shape { processes: 3, recursion: false, forks: false, rich: true }, 0, 100);
}

#[test]
fn created_threads() {
    compare_many(33_000_000, Shape { processes: 1, recursion: false, forks: true, rich: true }, 2, 150);
}

//! On generated networks, eager splitting, lazy splitting and an explicit search reach the same, at every bound.
//!
//! `SELVEDGE_NETWORKS=N` sets how many networks of each kind are made.

use std::collections::{BTreeSet, HashSet};

use selvedge_symbolic::generate::{Shape, network};
use selvedge_symbolic::interpreter::{Configuration, Interpreter};
use selvedge_symbolic::network::LabelId;
use selvedge_symbolic::reach::{Extent, reachable};
use selvedge_symbolic::split::Splitting;

const CONTEXTS: u32 = 4;
/// Stacks up to here are compared.
const DEPTH: usize = 4;
/// Stacks up to here are entered by the explicit search.
const EXPLICIT_DEPTH: usize = 9;

fn heads(configurations: &HashSet<Configuration>) -> BTreeSet<(usize, LabelId, Vec<u64>)> {
    let mut heads = BTreeSet::new();
    for configuration in configurations {
        for (process, thread) in configuration.threads.iter().enumerate() {
            if let Some(top) = thread.stack.last() {
                heads.insert((process, top.label, configuration.globals.clone()));
            }
        }
    }
    heads
}

fn shallow(configurations: &HashSet<Configuration>) -> HashSet<Configuration> {
    let fits = |configuration: &&Configuration| {
        configuration.threads.iter().all(|thread| thread.stack.len() <= DEPTH)
    };
    configurations.iter().filter(fits).cloned().collect()
}

/// Compares one network; answers whether it could be compared, and whether its stacks were bounded.
fn compare(seed: u64, shape: Shape, threads: u32) -> Option<bool> {
    let network = network(seed, shape);
    let interpreter = Interpreter::new(&network, threads).expect("generated networks are well formed");
    let (explicit, cut) = interpreter.reachable(CONTEXTS, EXPLICIT_DEPTH, 12_000)?;
    let extent = |splitting| Extent { contexts: CONTEXTS, threads, splitting, depth: DEPTH, limit: 15_000 };
    let lazy = reachable(&network, &extent(Splitting::Lazy)).unwrap().expect("it fits");
    let eager = reachable(&network, &extent(Splitting::Eager)).unwrap().expect("it fits");
    for (bound, explicit) in explicit.iter().enumerate() {
        let (lazy, eager) = (&lazy[bound], &eager[bound]);
        assert_eq!(lazy.heads, eager.heads, "seed {seed} {shape:?}, {bound} contexts: lazy and eager heads");
        // Each gives up writing them out by itself, where one context has too many.
        let (configurations, others) = (lazy.configurations.as_ref()?, eager.configurations.as_ref()?);
        assert_eq!(configurations, others, "seed {seed} {shape:?}, {bound} contexts: lazy and eager");
        let explicit_shallow = shallow(explicit);
        // With a cut, the explicit search may miss what is only reachable through deep stacks.
        if let Some(missing) = explicit_shallow.difference(configurations).next() {
            panic!("seed {seed} {shape:?}, {bound} contexts: the symbolic search misses {missing:?}");
        }
        if let Some(extra) = configurations.difference(&explicit_shallow).next() {
            panic!("seed {seed} {shape:?}, {bound} contexts (cut: {cut}): it has {extra:?} besides");
        }
        assert_eq!(
            heads(explicit),
            lazy.heads,
            "seed {seed} {shape:?}, {bound} contexts (cut: {cut}): heads"
        );
    }
    Some(!cut)
}

fn compare_many(first: u64, shape: Shape, threads: u32, ordinary: u64) {
    let count =
        std::env::var("SELVEDGE_NETWORKS").ok().and_then(|count| count.parse().ok()).unwrap_or(ordinary);
    let (mut compared, mut bounded) = (0, 0);
    for seed in first..first + count {
        if let Some(without_cut) = compare(seed, shape, threads) {
            compared += 1;
            bounded += u64::from(without_cut);
        }
    }
    assert!(compared * 10 >= count * 6, "only {compared} of {count} networks were small enough");
    assert!(bounded * 10 >= compared, "only {bounded} of {compared} had bounded stacks");
}

#[test]
fn two_plain_processes() {
    let shape = Shape { processes: 2, recursion: true, forks: false, rich: false };
    compare_many(1_000_000, shape, 0, 700);
}

#[test]
fn two_rich_processes() {
    let shape = Shape { processes: 2, recursion: true, forks: false, rich: true };
    compare_many(2_000_000, shape, 0, 700);
}

#[test]
fn three_processes_without_recursion() {
    let shape = Shape { processes: 3, recursion: false, forks: false, rich: true };
    compare_many(3_000_000, shape, 0, 700);
}

#[test]
fn created_threads() {
    let shape = Shape { processes: 1, recursion: false, forks: true, rich: true };
    compare_many(4_000_000, shape, 2, 700);
}

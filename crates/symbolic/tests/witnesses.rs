//! On generated networks, a label, configuration or deadlock is found at exactly the bound at which the explicit
//! search has it, and its counterexample replays (the check itself replays it, and fails if it does not).

use std::collections::HashSet;

use selvedge_core::Verdict;
use selvedge_symbolic::generate::{Random, Shape, network};
use selvedge_symbolic::interpreter::{Configuration, Interpreter};
use selvedge_symbolic::network::{LabelId, Network};
use selvedge_symbolic::{Goal, Options, Splitting, check, replay_schedule};

const CONTEXTS: u32 = 3;

fn options(seed: u64, goal: Goal, threads: u32) -> Options {
    let splitting = if seed.is_multiple_of(2) { Splitting::Lazy } else { Splitting::Eager };
    Options {
        contexts: CONTEXTS,
        splitting,
        goal,
        threads,
        memory: 8 << 20,
        converge: false,
        count: 0,
        ..Options::default()
    }
}

/// Checks a report against the first bound at which the explicit search has what was looked for.
fn expect(network: &Network, options: &Options, bound: Option<usize>, about: &str) {
    let report = check(network, options, &mut |_| {}).unwrap();
    match (&report.outcome.verdict, bound) {
        (Verdict::Violated(violation), Some(bound)) => {
            let contexts = bound.max(1) as u32;
            let below = violation.below.map_or(0, |guarantee| guarantee.bounds.contexts.unwrap_or(0));
            assert_eq!(below + 1, contexts, "{about}: found too early or too late");
            assert!(violation.contexts.unwrap() <= contexts, "{about}: {:?}", violation.contexts);
            assert_eq!(violation.trace.switches(), violation.switches, "{about}");
            // The schedule alone leads to the same violation.
            let schedule = violation.schedule.to_string().parse().unwrap();
            let again = replay_schedule(network, options, &schedule).unwrap();
            let again = again.outcome.violation().unwrap_or_else(|| panic!("{about}: not again"));
            assert_eq!((&again.message, &again.trace), (&violation.message, &violation.trace), "{about}");
        }
        (Verdict::Violated(_), None) => panic!("{about}: found, and yet it is not there"),
        (_, Some(bound)) => panic!("{about}: missed at {bound} contexts"),
        (Verdict::Holds(_), None) => {}
        // More threads were created than there was room for.
        (Verdict::Inconclusive(_), None) => {}
    }
}

fn first(layers: &[HashSet<Configuration>], has: impl Fn(&Configuration) -> bool) -> Option<usize> {
    layers.iter().position(|layer| layer.iter().any(&has))
}

fn top(configuration: &Configuration, thread: usize) -> Option<LabelId> {
    configuration.threads[thread].stack.last().map(|frame| frame.label)
}

fn layers(network: &Network, threads: u32) -> Option<Vec<HashSet<Configuration>>> {
    let interpreter = Interpreter::new(network, threads).unwrap();
    let (layers, cut) = interpreter.reachable(CONTEXTS, 8, 6_000)?;
    (!cut).then_some(layers)
}

fn count(default: u64) -> u64 {
    std::env::var("SELVEDGE_NETWORKS").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

fn each(
    first_seed: u64,
    shape: Shape,
    threads: u32,
    mut of: impl FnMut(u64, Network, &[HashSet<Configuration>]),
) {
    let mut compared = 0;
    for seed in first_seed..first_seed + count(500) {
        let network = network(seed, shape);
        if let Some(layers) = layers(&network, threads) {
            of(seed, network, &layers);
            compared += 1;
        }
    }
    assert!(compared * 4 > count(500), "only {compared} networks were small enough");
}

#[test]
fn configurations() {
    let shape = Shape { processes: 2, recursion: true, forks: false, rich: true };
    each(10_000_000, shape, 0, |seed, network, layers| {
        let mut random = Random::new(seed);
        let mut all: Vec<_> = layers[CONTEXTS as usize].iter().cloned().collect();
        all.sort_unstable();
        for _ in 0..3 {
            let wanted = all[random.below(all.len() as u64) as usize].clone();
            let bound = first(layers, |configuration| *configuration == wanted);
            expect(&network, &options(seed, Goal::Configuration(wanted), 0), bound, &format!("seed {seed}"));
        }
    });
}

fn labels(first_seed: u64, shape: Shape, threads: u32) {
    each(first_seed, shape, threads, |seed, network, layers| {
        let mut random = Random::new(seed);
        let label = LabelId(random.below(network.labels.len() as u64) as u32);
        let at = |configuration: &Configuration| {
            (0..configuration.threads.len()).any(|thread| top(configuration, thread) == Some(label))
        };
        // A created thread that has not moved is not seen at its entry: look for one that has.
        let is_child = network.rules.iter().any(|rule| {
            matches!(rule.effect, selvedge_symbolic::network::Effect::Fork { child, .. } if child == label)
        });
        if is_child {
            return;
        }
        let goal = Goal::Label(network.label(label).name.clone());
        expect(
            &network,
            &options(seed, goal, threads),
            first(layers, at),
            &format!("seed {seed} label {label:?}"),
        );
    });
}

#[test]
fn labels_of_two_processes() {
    labels(11_000_000, Shape { processes: 2, recursion: true, forks: false, rich: true }, 0);
}

#[test]
fn labels_of_three_processes() {
    labels(12_000_000, Shape { processes: 3, recursion: false, forks: false, rich: false }, 0);
}

#[test]
fn labels_of_created_threads() {
    labels(13_000_000, Shape { processes: 1, recursion: false, forks: true, rich: true }, 2);
}

#[test]
fn deadlocks() {
    let shape = Shape { processes: 2, recursion: true, forks: false, rich: true };
    each(14_000_000, shape, 0, |seed, mut network, layers| {
        let mut random = Random::new(seed);
        for label in &mut network.labels {
            label.blocks = random.percent(60);
        }
        let interpreter = Interpreter::new(&network, 0).unwrap();
        let has_rules = |label: LabelId| network.rules.iter().any(|rule| rule.from == label);
        let stands = |configuration: &Configuration, thread: usize| match top(configuration, thread) {
            None => (true, false),
            Some(label) => {
                let stuck = !interpreter.is_enabled(configuration, thread);
                let blocks = network.label(label).blocks;
                (stuck && (blocks || !has_rules(label)), stuck && blocks)
            }
        };
        let is_deadlock = |configuration: &Configuration| {
            let all: Vec<_> = (0..2).map(|thread| stands(configuration, thread)).collect();
            all.iter().all(|stand| stand.0) && all.iter().any(|stand| stand.1)
        };
        // With a switch guard, who is running matters, and a configuration does not say.
        if network.switch_guard.is_some() {
            return;
        }
        expect(
            &network,
            &options(seed, Goal::Violation, 0),
            first(layers, is_deadlock),
            &format!("seed {seed}"),
        );
    });
}

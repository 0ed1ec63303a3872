//! On generated networks, a label, configuration or deadlock is found at exactly the bound at which the explicit
//! search has it, and its counterexample replays (the check itself replays it, and fails if it does not).

use std::collections::HashSet;

use selvedge_core::Verdict;
use selvedge_symbolic::generate::{Random, Shape, network};
use selvedge_symbolic::interpreter::{Configuration, Interpreter};
use selvedge_symbolic::network::{LabelId, Network};
use selvedge_symbolic::{Goal, Options, Pattern, Splitting, check, replay_schedule};

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
    let report = check(network, options, &mut |_| true).unwrap();
    match (&report.outcome.verdict, bound) {
        (Verdict::Violated(violation), Some(bound)) => {
            let contexts = bound.max(1) as u32;
            let below =
                violation.below.as_ref().map_or(0, |guarantee| guarantee.bounds.contexts.unwrap_or(0));
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
        (Verdict::Inconclusive(gap), None) => panic!("{about}: {gap:?}"),
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

/// Looks for configurations that are reachable, for some with a value changed, and for some with values or the lower
/// parts of stacks left open.
fn configurations(first_seed: u64, shape: Shape, threads: u32) {
    let (mut found, mut absent, mut created, mut opened) = (0, 0, 0, 0);
    each(first_seed, shape, threads, |seed, network, layers| {
        let mut random = Random::new(seed);
        let mut all: Vec<_> = layers[CONTEXTS as usize].iter().cloned().collect();
        all.sort_unstable();
        for round in 0..3 {
            let mut wanted = Pattern::from(&all[random.below(all.len() as u64) as usize]);
            let global = random.below(wanted.globals.len() as u64) as usize;
            let width = network.globals[global].width;
            match round {
                0 => {}
                1 => wanted.globals[global] = Some(random.below(1 << width)),
                _ => {
                    wanted.globals[global] = None;
                    for thread in &mut wanted.threads {
                        thread.registers.fill(None);
                        thread.stack.iter_mut().for_each(|frame| frame.locals.fill(None));
                    }
                }
            }
            for thread in wanted.threads.iter_mut().filter(|thread| !thread.stack.is_empty()) {
                if random.percent(40) {
                    thread.stack.drain(..random.below(thread.stack.len() as u64) as usize);
                    thread.open = true;
                }
            }
            opened += u64::from(wanted.threads.iter().any(|thread| thread.open));
            let bound = first(layers, |configuration| wanted.matches(configuration));
            found += u64::from(bound.is_some());
            absent += u64::from(bound.is_none());
            created += u64::from(wanted.threads.len() > network.processes.len());
            let about = format!("seed {seed}, {wanted:?}");
            expect(&network, &options(seed, Goal::Configuration(wanted), threads), bound, &about);
        }
    });
    assert!(found * 5 > count(500) && absent * 50 > count(500), "{found} found, {absent} absent");
    assert!(opened > found / 4, "{opened} open");
    assert!(created * 10 > count(500) || threads == 0, "{created} with created threads");
}

#[test]
fn configurations_of_two_processes() {
    configurations(10_000_000, Shape { processes: 2, recursion: true, forks: false, rich: true }, 0);
}

#[test]
fn configurations_of_created_threads() {
    configurations(15_000_000, Shape { processes: 1, recursion: false, forks: true, rich: true }, 2);
    configurations(16_000_000, Shape { processes: 2, recursion: true, forks: true, rich: true }, 1);
}

fn labels(first_seed: u64, shape: Shape, threads: u32) {
    each(first_seed, shape, threads, |seed, network, layers| {
        let mut random = Random::new(seed);
        let label = LabelId(random.below(network.labels.len() as u64) as u32);
        let at = |configuration: &Configuration| {
            (0..configuration.threads.len()).any(|thread| top(configuration, thread) == Some(label))
        };
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

fn deadlocks(first_seed: u64, shape: Shape, created: u32) {
    let mut found = 0;
    each(first_seed, shape, created, |seed, mut network, layers| {
        let mut random = Random::new(seed);
        for label in &mut network.labels {
            label.blocks = random.percent(60);
        }
        let interpreter = Interpreter::new(&network, created).unwrap();
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
            let threads = 0..configuration.threads.len();
            let all: Vec<_> = threads.map(|thread| stands(configuration, thread)).collect();
            all.iter().all(|stand| stand.0) && all.iter().any(|stand| stand.1)
        };
        // With a switch guard, who is running matters, and a configuration does not say.
        if network.switch_guard.is_some() {
            return;
        }
        let bound = first(layers, is_deadlock);
        found += u64::from(bound.is_some());
        expect(&network, &options(seed, Goal::Violation, created), bound, &format!("seed {seed}"));
    });
    assert!(found * 25 > count(500), "only {found} deadlocks");
}

#[test]
fn deadlocks_of_two_processes() {
    deadlocks(14_000_000, Shape { processes: 2, recursion: true, forks: false, rich: true }, 0);
}

#[test]
fn deadlocks_of_created_threads() {
    deadlocks(17_000_000, Shape { processes: 1, recursion: false, forks: true, rich: true }, 2);
}

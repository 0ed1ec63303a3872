//! On generated networks, eager splitting, lazy splitting and an explicit search reach the same, at every bound.
//!
//! `SELVEDGE_NETWORKS=N` sets how many networks of each kind are made; `SELVEDGE_LONG=1` makes many.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use crate::encoding::Encoding;
use crate::expression::Expression;
use crate::generate::{Shape, network};
use crate::interpreter::{Configuration, Interpreter};
use crate::network::{Effect, LabelId, Network};
use crate::reach::{CAPACITY, Extent, Level, levels};
use crate::split::Splitting;

const CONTEXTS: u32 = 4;
/// Stacks up to here are compared.
const DEPTH: usize = 4;
/// Networks with more configurations than this are left out.
const MOST: usize = 5_000;
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

/// What is done to an engine before it is compared.
type Damage<'a> = &'a dyn Fn(&mut Encoding);

/// What a search reaches with an engine that is damaged so.
fn search(network: &Network, threads: u32, splitting: Splitting, damage: Damage<'_>) -> Vec<Level> {
    let (network, slots) = network.with_slots(threads);
    let mut encoding =
        Encoding::new(Rc::new(network), CAPACITY, &Default::default(), false).expect("it fits");
    damage(&mut encoding);
    let extent = Extent { contexts: CONTEXTS, threads, splitting, depth: DEPTH, limit: 15_000 };
    levels(&encoding, &slots, &extent).expect("it fits")
}

/// Compares one network; answers whether it could be compared, and whether its stacks were bounded. An error is a
/// difference.
fn compare(network: &Network, threads: u32, damage: Damage<'_>) -> Result<Option<bool>, String> {
    let interpreter = Interpreter::new(network, threads).expect("generated networks are well formed");
    let Some((explicit, cut)) = interpreter.reachable(CONTEXTS, EXPLICIT_DEPTH, MOST) else {
        return Ok(None);
    };
    let lazy = search(network, threads, Splitting::Lazy, damage);
    let eager = search(network, threads, Splitting::Eager, damage);
    for (bound, explicit) in explicit.iter().enumerate() {
        let (lazy, eager) = (&lazy[bound], &eager[bound]);
        if lazy.heads != eager.heads {
            return Err(format!("{bound} contexts: lazy and eager have different heads"));
        }
        // Each gives up writing them out by itself, where one context has too many.
        let (Some(configurations), Some(others)) = (&lazy.configurations, &eager.configurations) else {
            return Ok(None);
        };
        if configurations != others {
            return Err(format!("{bound} contexts: lazy and eager have different configurations"));
        }
        let explicit_shallow = shallow(explicit);
        if let Some(missing) = explicit_shallow.difference(configurations).next() {
            return Err(format!("{bound} contexts: the symbolic search misses {missing:?}"));
        }
        // With a cut, the explicit search may miss what is only reachable through deep stacks.
        if let Some(extra) = configurations.difference(&explicit_shallow).next() {
            return Err(format!("{bound} contexts (cut: {cut}): it has {extra:?} besides"));
        }
        if heads(explicit) != lazy.heads {
            return Err(format!("{bound} contexts (cut: {cut}): different heads"));
        }
    }
    Ok(Some(!cut))
}

fn compare_many(first: u64, shape: Shape, threads: u32) {
    let ordinary = if std::env::var_os("SELVEDGE_LONG").is_some() { 15_000 } else { 1000 };
    let asked = std::env::var("SELVEDGE_NETWORKS").ok().and_then(|count| count.parse().ok());
    let count: u64 = asked.unwrap_or(ordinary);
    let (mut compared, mut bounded) = (0, 0);
    for seed in first..first + count {
        match compare(&network(seed, shape), threads, &|_| {}) {
            Ok(None) => {}
            Ok(Some(without_cut)) => {
                compared += 1;
                bounded += u64::from(without_cut);
            }
            Err(difference) => panic!("seed {seed} {shape:?}, {difference}"),
        }
    }
    assert!(compared * 10 >= count * 6, "only {compared} of {count} networks were small enough");
    assert!(bounded * 10 >= compared, "only {bounded} of {compared} had bounded stacks");
}

#[test]
fn two_plain_processes() {
    compare_many(1_000_000, PLAIN, 0);
}

#[test]
fn two_rich_processes() {
    compare_many(2_000_000, RICH, 0);
}

#[test]
fn three_processes_without_recursion() {
    let shape = Shape { processes: 3, recursion: false, forks: false, rich: true };
    compare_many(3_000_000, shape, 0);
}

#[test]
fn created_threads() {
    compare_many(4_000_000, CREATING, 2);
}

#[test]
fn created_threads_with_recursion() {
    let shape = Shape { processes: 2, recursion: true, forks: true, rich: true };
    compare_many(6_000_000, shape, 1);
}

const PLAIN: Shape = Shape { processes: 2, recursion: true, forks: false, rich: false };
const RICH: Shape = Shape { processes: 2, recursion: true, forks: false, rich: true };
const CREATING: Shape = Shape { processes: 1, recursion: false, forks: true, rich: true };

/// Changes rules that an engine has before it makes their relations.
fn change_rules(encoding: &mut Encoding, change: impl Fn(&mut crate::network::Rule)) {
    let mut network = (*encoding.network).clone();
    network.rules.iter_mut().for_each(change);
    encoding.network = Rc::new(network);
}

/// The tests can fail: engines that are wrong in one way each.
#[test]
fn engines_with_a_flaw_are_caught() {
    let flaws: [(&str, Shape, Damage<'_>); 11] = [
        ("a context forgets with which globals it began", PLAIN, &|encoding| {
            encoding.start_is_now = encoding.store.truth();
        }),
        ("lazy splitting never splits", PLAIN, &|encoding| {
            encoding.start_is_other = encoding.store.truth();
        }),
        ("Algorithm 2 leaves confluent values in one class", PLAIN, &|encoding| {
            encoding.start_less_other = encoding.store.falsity();
        }),
        ("contexts end within atomic sections", RICH, &|encoding| {
            encoding.may_switch = encoding.store.truth();
        }),
        ("a return forgets what is below the frame below", PLAIN, &|encoding| {
            encoding.rename.below_to_entry = encoding.store.renaming([]);
        }),
        ("a return goes to callers with other globals", PLAIN, &|encoding| {
            let entry = encoding.globals(crate::encoding::Block::Entry);
            let names = encoding.store.cube(entry).expect("it fits");
            let kept = std::mem::replace(&mut encoding.quantify.locals, names);
            encoding.quantify.saved_and_entry = kept;
        }),
        ("a call keeps the globals of its entry where they were", PLAIN, &|encoding| {
            encoding.rename.into_middle = encoding.store.renaming([]);
        }),
        ("the last rule of a label is dropped", PLAIN, &|encoding| {
            for rules in encoding.rules_by_label.iter_mut().filter(|rules| rules.len() > 1) {
                rules.pop();
            }
        }),
        ("guards are not looked at", PLAIN, &|encoding| {
            change_rules(encoding, |rule| rule.guard = Expression::truth(true));
        }),
        ("a jump is a step", RICH, &|encoding| {
            change_rules(encoding, |rule| {
                if let Effect::Jump { to } = rule.effect {
                    let fresh = |a: &crate::network::Assignment| {
                        !matches!(a.target, crate::network::Target::Fresh(_))
                    };
                    rule.assignments.retain(fresh);
                    rule.effect = Effect::Step { to };
                }
            });
        }),
        ("a created thread does not get its arguments", CREATING, &|encoding| {
            change_rules(encoding, |rule| {
                if rule.text == "starts" {
                    rule.assignments.clear();
                }
            });
        }),
    ];
    for (flaw, shape, damage) in flaws {
        let threads = if shape.forks { 2 } else { 0 };
        let seeds = 5_000_000..5_000_400;
        let caught = seeds.clone().find(|&seed| compare(&network(seed, shape), threads, damage).is_err());
        let Some(caught) = caught else { panic!("{flaw}: not caught on any of {} networks", seeds.count()) };
        // It is the flaw that was caught, not the engine.
        assert_eq!(compare(&network(caught, shape), threads, &|_| {}).err(), None, "{flaw}, seed {caught}");
    }
}

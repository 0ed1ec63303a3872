//! Partial-order reduction against brute force: on thousands of generated programs each reduced search must
//! reach what a plain enumeration of all interleavings reaches within the same bounds.
//!
//! `SELVEDGE_LONG=N` runs N times as many programs. Those that it adds have fewer executions, so that there can be
//! many of them; `--nocapture` shows how many were verified. `SELVEDGE_SEED=N` has those that yield begin with another one.

mod figures;
mod verify;

use selvedge_stateless::strategy::Named;
use selvedge_testgen::{Limits, Program, Theme, generate, smaller};
use verify::{Case, Verified};

const LIMITS: Limits = Limits { executions: 2_000, ..Limits::NONE };

/// Something that is to be so of a program.
type Property = fn(&Case) -> Verified;

fn verify_with(program: &Program, limits: Limits, property: Property) -> Option<Verified> {
    Case::new(program, limits).map(|case| property(&case))
}

/// Verifies a property of the programs of a theme. All that are different are counted; the first few are made
/// as small as they get.
fn verify_theme(theme: Theme, limits: Limits, programs: u64, property: Property) {
    const SHOWN: usize = 8;
    const FEW: usize = 150;
    let times: u64 = std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut verified, mut different) = (0, 0);
    let mut shown = Vec::new();
    for seed in 0..programs * times {
        let program = generate(theme, seed);
        let limits = if seed < programs { limits } else { Limits { executions: FEW, ..limits } };
        match verify_with(&program, limits, property) {
            None => {}
            Some(Ok(())) => verified += 1,
            Some(Err(first)) => {
                different += 1;
                if shown.len() == SHOWN {
                    continue;
                }
                let fails =
                    |program: &Program| matches!(verify_with(program, limits, property), Some(Err(_)));
                let mut smallest = program.clone();
                while let Some(next) = smaller(&smallest).into_iter().find(&fails) {
                    smallest = next;
                }
                let why = verify_with(&smallest, limits, property).and_then(Verified::err).unwrap_or(first);
                shown.push(format!("{theme:?} {seed}: {smallest}\n    {why}"));
            }
        }
    }
    assert!(
        different == 0,
        "{different} of {theme:?} with {limits:?}, {verified} as they should be:\n  {}",
        shown.join("\n  ")
    );
    println!("{theme:?}: {verified} of {} programs verified", programs * times);
    let enough = if times > 1 { 3 } else { 2 };
    assert!(verified * enough >= programs * times, "most programs must be small enough to enumerate");
}

const THEMES: [Theme; 7] = [
    Theme::Atomics,
    Theme::Locks,
    Theme::Condvars,
    Theme::Threads,
    Theme::Cells,
    Theme::Mixed,
    Theme::Readers,
];

fn verify_all(limits: Limits, programs: u64, property: Property) {
    for theme in THEMES {
        verify_theme(theme, limits, programs, property);
    }
}

#[test]
fn dpor_reaches_every_terminal_order_and_local_state() {
    verify_all(LIMITS, 37, |case| case.dpor(true));
}

#[test]
fn dpor_without_the_optimisations() {
    verify_all(LIMITS, 20, |case| case.dpor(false));
}

#[test]
fn bpor_reaches_every_local_state_within_the_preemption_bound() {
    verify_all(LIMITS, 25, |case| case.bpor(true));
}

#[test]
fn bpor_without_the_optimisations() {
    verify_all(LIMITS, 12, |case| case.bpor(false));
}

/// Where a context begins a thread sleeps, and what it is to come before has to wait for another one as well.
#[test]
fn bpor_adds_more_than_a_thread_that_sleeps_where_a_context_begins() {
    let programs = [
        "spawn 1; spawn 2; add 0; load 1 | yield; add 0 | choose 2; store 1 1",
        "spawn 1; spawn 2; add 0; load 1 | yield; add 0 | add 2; store 1 1",
    ];
    for program in programs {
        for property in [|case: &Case| case.bpor(true), |case: &Case| case.bpor(false)] {
            let program: Program = program.parse().expect("a program");
            let limits = Limits { executions: 50_000, ..LIMITS };
            let verified = verify_with(&program, limits, property).expect("it is small enough");
            verified.unwrap_or_else(|why| panic!("{program}: {why}"));
        }
    }
}

/// Several readers keep a writer out together, and it has to come before all of them.
#[test]
fn a_writer_gets_past_several_readers() {
    verify_theme(Theme::Readers, LIMITS, 100, |case| case.dpor(true));
    verify_theme(Theme::Readers, LIMITS, 60, |case| case.dpor(false));
    verify_theme(Theme::Readers, LIMITS, 60, |case| case.bpor(true));
    verify_theme(Theme::Readers, LIMITS, 40, |case| case.bpor(false));
}

#[test]
fn bpor_within_the_fair_bound() {
    for yields in 0..=1 {
        let limits = Limits { yields: Some(yields), max_steps: 40, ..LIMITS };
        verify_theme(Theme::Spins, limits, 33, |case| case.bpor_fair());
        verify_theme(Theme::Mixed, limits, 20, |case| case.bpor_fair());
    }
}

#[test]
fn bpor_within_both_bounds() {
    for yields in 0..=1 {
        let limits = Limits { yields: Some(yields), max_steps: 40, ..LIMITS };
        verify_theme(Theme::Spins, limits, 33, |case| case.bpor(true));
        verify_theme(Theme::Condvars, limits, 20, |case| case.bpor(true));
        verify_theme(Theme::Mixed, limits, 20, |case| case.bpor(true));
    }
}

#[test]
fn cb_por_reaches_every_terminal_order_within_the_bound_once() {
    verify_all(LIMITS, 25, |case| case.cb_por());
}

/// Where threads are joined, executions are not looked at to their ends.
#[test]
fn cb_por_reaches_every_terminal_order_once_where_threads_are_joined() {
    verify_theme(Theme::Joins, LIMITS, 150, |case| case.cb_por());
    verify_theme(Theme::Joins, LIMITS, 50, |case| case.once_within_bounds(Named::Optimal));
    verify_theme(Theme::Joins, LIMITS, 20, |case| case.cb_por_remembering(12));
}

#[test]
fn cb_por_with_room_for_few_states_misses_nothing() {
    verify_all(LIMITS, 10, |case| {
        [0, 12, 100].into_iter().try_for_each(|states| case.cb_por_remembering(states))
    });
}

#[test]
fn cb_por_within_the_fair_bound() {
    for yields in 0..=1 {
        let limits = Limits { yields: Some(yields), max_steps: 40, ..LIMITS };
        verify_theme(Theme::Spins, limits, 20, |case| case.cb_por());
        verify_theme(Theme::Mixed, limits, 20, |case| case.cb_por());
    }
}

/// Yields in a row were cut off, and the sentence did not say so: a false "every execution has been checked".
#[test]
fn the_sentence_names_the_fair_bound_where_it_cuts_something_off() {
    let limits = Limits { max_steps: 60, executions: 6_000, ..LIMITS };
    verify_theme(Theme::Yields, limits, 150, |case| case.sentence());
    for theme in [Theme::Spins, Theme::Condvars, Theme::Threads, Theme::Mixed] {
        verify_theme(theme, limits, 30, |case| case.sentence());
    }
}

#[test]
fn a_search_that_changes_its_strategy_reaches_every_local_state_within_the_bound() {
    verify_all(LIMITS, 12, |case| case.changes_strategy());
    for theme in [Theme::Joins, Theme::Yields] {
        verify_theme(theme, LIMITS, 12, |case| case.changes_strategy());
    }
}

#[test]
fn cb_por_all_reaches_every_state_within_the_bound() {
    verify_all(LIMITS, 15, |case| case.cb_por_all());
}

#[test]
fn optimal_runs_every_terminal_order_once() {
    verify_all(LIMITS, 400, |case| case.optimal());
}

#[test]
fn optimal_within_a_bound_runs_every_terminal_order_within_it_once() {
    verify_all(LIMITS, 60, |case| case.once_within_bounds(Named::Optimal));
}

/// Every search, where waits may end and exchanges may fail without a reason.
#[test]
fn every_search_with_spurious_wakeups_and_failures() {
    for (spurious, programs) in [(1, 25), (2, 10)] {
        let limits = Limits { spurious, ..LIMITS };
        for theme in [Theme::Atomics, Theme::Condvars, Theme::Threads, Theme::Mixed] {
            verify_theme(theme, limits, programs, |case| case.dpor(true));
            verify_theme(theme, limits, programs, |case| case.dpor(false));
            verify_theme(theme, limits, programs, |case| case.bpor(true));
            verify_theme(theme, limits, programs, |case| case.cb_por());
            verify_theme(theme, limits, programs, |case| case.optimal());
            verify_theme(theme, limits, programs, |case| case.once_within_bounds(Named::Optimal));
        }
    }
}

/// Programs of some threads with some steps each: more than can be enumerated.
#[test]
fn optimal_reaches_what_other_searches_reach_on_larger_programs() {
    verify_larger(|seed| generate_larger(seed, false));
}

#[test]
fn optimal_reaches_what_other_searches_reach_where_values_decide() {
    verify_larger(|seed| generate_larger(seed, true));
}

fn verify_larger(generate: impl Fn(u64) -> Program) {
    let times: u64 = std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut verified, mut wrong) = (0, Vec::new());
    let mut all = verify::Counts::default();
    for seed in 0..40 * times {
        let program = generate(seed);
        match verify::optimal_among_others(&program) {
            None => {}
            Some(Ok(counts)) => {
                verified += 1;
                all.iter_mut().flatten().zip(counts.iter().flatten()).for_each(|(all, one)| *all += one);
            }
            Some(Err(why)) => wrong.push(format!("{seed}: {program}\n    {why}")),
        }
    }
    assert!(wrong.is_empty(), "{verified} as they should be, but:\n  {}", wrong.join("\n  "));
    println!("{verified} of {} larger programs verified", 40 * times);
    for (bound, [orders, optimal, bpor, unbounded]) in all.iter().enumerate() {
        println!(
            "bound {bound}: {orders} orders, optimal {optimal}, bpor {bpor}, optimal without a bound {unbounded}"
        );
        // What does not fit its memory may be run again.
        assert!(optimal * 20 <= orders * 21, "nearly as few executions as there are orders");
    }
    assert!(verified * 3 >= 40 * times, "most programs must be small enough to search");
}

/// Numbers that look random, each below another.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    move |n| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % n
    }
}

/// Two to four threads, which do the same kinds of things to the same few objects; and, if values are to decide, not to
/// the same ones whatever they choose and read.
fn generate_larger(seed: u64, decides: bool) -> Program {
    let mut below = numbers(seed);
    let (threads, objects) = (2 + below(3), 1 + below(3));
    let (length, kinds) =
        (if threads == 2 { 3 + below(6) } else { 1 + below(3) }, [3, 6, 8, 8][below(4) as usize]);
    let (length, kinds) = if decides { (length.div_ceil(2), 12) } else { (length, kinds) };
    let mut body = || {
        let mut statements = Vec::new();
        for _ in 0..length {
            let object = below(objects);
            statements.push(match below(kinds) {
                0 => format!("load {object}"),
                1 => format!("add {object}"),
                2 => format!("store {object} 1"),
                3 => format!("lock {object}; load {}; unlock {object}", below(objects)),
                4 => format!("lock {object}; unlock {object}"),
                5 => format!("try-lock {object}; unlock {object}"),
                6 => format!("choose 2; store-next {object}"),
                7 => format!("choose 2; load {object}"),
                8 => format!("choose 2; unless 0; store {object} 1; unless 1; load {}", below(objects)),
                9 => format!("choose 3; unless 1; add {object}"),
                10 => format!("choose 2; unless {}; lock {object}; unlock {object}", below(2)),
                _ => format!("load {object}; unless {}; add {}", below(2), below(objects)),
            });
        }
        statements.join("; ")
    };
    let bodies: Vec<String> = (0..threads).map(|_| body()).collect();
    let spawns: Vec<String> = (1..threads).map(|thread| format!("spawn {thread}")).collect();
    format!("{}; {}", spawns.join("; "), bodies.join(" | ")).parse().expect("a program")
}

/// Three threads, which do few things to few objects and yield between them: with more executions than most that are generated
/// otherwise, so that there is more for a bound to cut off.
fn generate_yielding(seed: u64) -> Program {
    let mut below = numbers(seed);
    let objects = 1 + below(2);
    let mut body = || {
        let statements = (0..1 + below(3)).map(|_| match below(9) {
            0 => "yield".to_string(),
            1 => "choose 2".to_string(),
            2 => "park-timeout".to_string(),
            3 => format!("try-lock {}", below(objects)),
            4 => format!("lock {0}; unlock {0}", below(objects)),
            5 | 6 => format!("add {}", below(objects)),
            7 => format!("store {} 1", below(objects)),
            _ => format!("load {}", below(objects)),
        });
        statements.collect::<Vec<_>>().join("; ")
    };
    let bodies = [body(), body(), body()];
    format!("spawn 1; spawn 2; {}", bodies.join(" | ")).parse().expect("a program")
}

#[test]
fn what_is_reached_where_threads_yield() {
    let times: u64 = std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let begin: u64 = std::env::var("SELVEDGE_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let limits = Limits { executions: 5_000, ..LIMITS };
    let properties: [(&str, Property); 6] = [
        ("bpor", |case| case.bpor(true)),
        ("bpor-plain", |case| case.bpor(false)),
        ("dpor", |case| case.dpor(true)),
        ("cb-por", |case| case.cb_por()),
        ("optimal", |case| case.optimal()),
        ("optimal within bounds", |case| case.once_within_bounds(Named::Optimal)),
    ];
    let (mut verified, mut wrong) = (0, Vec::new());
    for seed in begin..begin + 12 * times {
        let program = generate_yielding(seed);
        let Some(case) = Case::new(&program, limits) else { continue };
        verified += 1;
        for (name, property) in properties {
            if let Err(why) = property(&case) {
                wrong.push(format!("{seed}: {program}\n    {name}: {why}"));
            }
        }
    }
    println!("{verified} of {} programs verified", 12 * times);
    assert!(wrong.is_empty(), "{verified} were verified, but:\n  {}", wrong.join("\n  "));
    assert!(verified * 2 >= 12 * times, "most programs must be small enough to enumerate");
}

#[test]
fn optimal_within_the_fair_bound() {
    for yields in 0..=1 {
        let limits = Limits { yields: Some(yields), max_steps: 40, ..LIMITS };
        for theme in [Theme::Spins, Theme::Mixed] {
            verify_theme(theme, limits, 20, |case| case.optimal());
            verify_theme(theme, limits, 20, |case| case.once_within_bounds(Named::Optimal));
        }
    }
}

/// A thread yields, and creates one that waits for another, which it creates after it has yielded again: that the last one is
/// created holds back who has yielded more often.
fn generate_late(seed: u64) -> Program {
    let mut below = numbers(seed);
    let mut some = |most: u64| -> Vec<String> {
        let words = (0..below(most + 1)).map(|_| match below(7) {
            0 | 1 => format!("yields {}", 1 + below(2)),
            2 => "yield".to_string(),
            3 => format!("add {}", below(2)),
            4 => format!("store {} 1", below(2)),
            5 => format!("lock {0}; unlock {0}", below(2)),
            _ => format!("load {}", below(2)),
        });
        words.collect()
    };
    let (before, between, after) = (some(2), some(2), some(1));
    let creates = [before, vec!["spawn 1".into()], between, vec!["spawn 2".into()], after].concat();
    let waits = [some(1), vec!["spin-until 0 1".into()], some(1)].concat();
    let sets = [some(1), vec!["store 0 1".into()], some(1)].concat();
    let bodies = [creates, waits, sets].map(|body| body.join("; "));
    bodies.join(" | ").parse().expect("a program")
}

#[test]
fn bpor_where_threads_that_have_yielded_create_others() {
    let mut verified = 0;
    for (seed, yields) in (0..250).flat_map(|seed| [(seed, 0), (seed, 1)]) {
        let limits = Limits { yields: Some(yields), max_steps: 40, executions: 1_000, ..LIMITS };
        let program = generate_late(seed);
        for property in [|case: &Case| case.bpor_fair(), |case: &Case| case.bpor(true)] {
            match verify_with(&program, limits, property) {
                None => {}
                Some(Ok(())) => verified += 1,
                Some(Err(why)) => panic!("{seed}, yields {yields}: {program}\n    {why}"),
            }
        }
    }
    assert!(verified > 500, "most programs must be small enough to enumerate: {verified}");
}

//! Limits on time and memory, and interruptions: a clean end that says what was covered.

use std::time::Duration;

use selvedge_core::{Outcome, Verdict};
use selvedge_promela::{Options, Progress, Search, StoreKind, check, parse};

/// Three processes that lose each other's updates; with `bad`, one that is not content when all but a few are lost.
fn counters(bad: bool) -> selvedge_promela::Model {
    let last = if bad { "active proctype L() { done == 3 -> assert(x > 2) }" } else { "" };
    let top = if bad { 3 } else { 5 };
    let text = format!(
        "byte x, done;\nactive [3] proctype P() {{ byte i, t; do :: i < {top} -> t = x; x = t + 1; i++ \
         :: else -> break od; done++ }}\n{last}"
    );
    parse(&text, "counters.pml", None, &[]).expect("it is a model")
}

fn run(options: &Options, bad: bool, progress: &mut dyn FnMut(Progress) -> bool) -> Outcome {
    check(&counters(bad), options, progress).expect("it is checked").outcome
}

fn gap(outcome: &Outcome) -> (&str, Option<u32>) {
    match &outcome.verdict {
        Verdict::Inconclusive(gap) => {
            let covered = gap.covered.as_ref();
            assert!(covered.is_none_or(|guarantee| !guarantee.complete));
            (&gap.reason, covered.and_then(|guarantee| guarantee.bounds.preemptions))
        }
        other => panic!("{other:?}"),
    }
}

const SEARCHES: [Search; 4] = [Search::Layered, Search::Dfs, Search::Bfs, Search::Bcs];

#[test]
fn the_memory_limit_is_kept_and_named() {
    let limit = 4 << 20;
    for search in SEARCHES {
        let options = Options { search, memory: Some(limit), ..Options::default() };
        let outcome = run(&options, false, &mut |_| true);
        let (reason, covered) = gap(&outcome);
        assert!(reason.contains("memory limit of 4194304 bytes"), "{search:?}: {reason}");
        let statistics = &outcome.statistics;
        // A table that grows doubles; the limit is looked at between two growths.
        assert!(statistics.peak_memory_bytes.expect("it is counted") < 3 * limit, "{search:?}");
        assert!(statistics.states.expect("they are counted") > 10_000, "{search:?}");
        // What was covered are the bounds that were finished, and their rows are there.
        let bounded = matches!(search, Search::Layered | Search::Bcs);
        assert_eq!(covered.is_some(), bounded, "{search:?}");
        assert_eq!(outcome.rows.last().map(|row| row.bound), covered, "{search:?}");
    }
}

#[test]
fn the_depth_limit_is_kept_and_named() {
    for search in [Search::Dfs, Search::Bfs] {
        let states = |depth| {
            let options = Options { search, depth, ..Options::default() };
            let outcome = run(&options, false, &mut |_| true);
            (outcome.statistics.states.expect("they are counted"), outcome)
        };
        let (some, outcome) = states(Some(8));
        assert!(gap(&outcome).0.contains("8"), "{search:?}: {}", gap(&outcome).0);
        let (more, _) = states(Some(9));
        let (all, outcome) = states(None);
        assert!(some < more && more < all && outcome.holds(), "{search:?}: {some} {more} {all}");
    }
}

#[test]
fn the_time_limit_is_kept_and_named() {
    for search in SEARCHES {
        for store in [StoreKind::Exact, StoreKind::HashCompact] {
            let time = Duration::from_millis(30);
            let options = Options { search, store, time: Some(time), ..Options::default() };
            let outcome = run(&options, false, &mut |_| true);
            let (reason, covered) = gap(&outcome);
            assert!(reason.contains("time limit of 0.03 s"), "{search:?}: {reason}");
            assert!(outcome.statistics.elapsed >= time && outcome.statistics.elapsed < 100 * time);
            assert_eq!(outcome.rows.last().map(|row| row.bound).filter(|_| covered.is_some()), covered);
        }
    }
}

#[test]
fn an_interruption_is_no_time_limit() {
    let options = Options { time: Some(Duration::from_secs(600)), ..Options::default() };
    let outcome = run(&options, false, &mut |progress| progress.states < 1000);
    assert!(gap(&outcome).0.contains("interrupted"), "{}", gap(&outcome).0);
}

/// Where the way to a violation cannot be shown, the answer says that there is one, and vouches only for less.
#[test]
fn a_limit_in_the_second_pass_says_that_there_is_a_violation() {
    for search in [Search::Layered, Search::Bcs] {
        let whole = run(&Options { search, ..Options::default() }, true, &mut |_| true);
        let bound = whole.violation().expect("there is one").preemptions;
        assert!(bound > 0);
        // The second pass begins where the number of states falls.
        let (mut most, mut second) = (0, false);
        let outcome = run(&Options { search, ..Options::default() }, true, &mut |progress| {
            second |= progress.states < most;
            most = most.max(progress.states);
            !second
        });
        assert!(second, "{search:?}");
        let (reason, covered) = gap(&outcome);
        let expected = format!("a violation with {bound} preemption");
        assert!(reason.contains("interrupted") && reason.contains(&expected), "{search:?}: {reason}");
        assert_eq!(covered, Some(bound - 1), "{search:?}");
        assert_eq!(outcome.rows.last().map(|row| row.bound), Some(bound - 1), "{search:?}");
    }
}

/// The time limit holds in the second pass too: it ends within the limit, whichever pass it is in.
#[test]
fn the_second_pass_has_the_same_time_limit() {
    let mut shown = Duration::ZERO;
    let whole = run(&Options::default(), true, &mut |progress| {
        shown = progress.elapsed;
        true
    });
    assert!(whole.violation().is_some());
    // Two thirds of the time that both passes take: the first is over, the second is not.
    let limit = shown * 2 / 3;
    let options = Options { time: Some(limit), ..Options::default() };
    let outcome = run(&options, true, &mut |progress| {
        // The clock is looked at every few thousand steps.
        assert!(progress.elapsed < limit + Duration::from_secs(2), "{:?} of {limit:?}", progress.elapsed);
        true
    });
    if let Verdict::Inconclusive(gap) = &outcome.verdict {
        assert!(gap.reason.contains("time limit"), "{}", gap.reason);
    }
}

/// Models of which one step, one state, or what comes after the search takes long.
const SLOW: [(&str, &str); 5] = [
    (
        "a d_step",
        "byte x; active [3] proctype P() { int i; do :: d_step { i = 0; do :: i < 3500000 -> i++ :: else -> break od; \
         x++ } od }",
    ),
    (
        "an atomic sequence",
        "byte x; active [3] proctype P() { int i; do :: atomic { i = 0; do :: i < 900000 -> i++ :: else -> break od; \
         x++ } od }",
    ),
    (
        "guards",
        "byte x; active [200] proctype P() { int i; do :: d_step { x < 0 -> skip } :: d_step { i = 0; do :: i < 100000 \
         -> i++ :: else -> break od; x == 255 } od }",
    ),
    (
        "a long way",
        "int x; active proctype P() { do :: x < 3000000 -> x++ :: else -> break od; assert(false) }",
    ),
    (
        "many states",
        "int x, y; active [4] proctype P() { do :: x = (x * 5 + 1) % 100003 :: y = (y * 7 + 3) % 100019 od }",
    ),
];

/// The time that this thread has had a processor, where the system tells: a machine that does much else delays nothing.
fn processor_time(since: std::time::Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// Wherever a check is, it ends within a second of being told to.
#[test]
fn a_check_ends_within_a_second_of_being_told_to() {
    for (name, text) in SLOW {
        let model = parse(text, "slow.pml", None, &[]).expect("it is a model");
        for search in SEARCHES {
            for store in [StoreKind::Exact, StoreKind::HashCompact] {
                for reduce in [false, true] {
                    let limit = Duration::from_millis(60);
                    let begin = std::time::Instant::now();
                    let before = processor_time(begin);
                    let options = Options { search, store, reduce, ..Options::default() };
                    let outcome = check(&model, &options, &mut |_| begin.elapsed() < limit);
                    let outcome =
                        outcome.unwrap_or_else(|error| panic!("{name} {search:?}: {error}")).outcome;
                    let took = processor_time(begin) - before;
                    assert!(
                        took < limit + Duration::from_secs(1),
                        "{name} {search:?} {store:?} {reduce}: {took:?}"
                    );
                    let (reason, covered) = gap(&outcome);
                    assert!(reason.contains("interrupted"), "{name} {search:?} {store:?} {reduce}: {reason}");
                    assert!(covered.is_none() || !outcome.rows.is_empty(), "{name} {search:?}");
                }
            }
        }
    }
}

/// The time of a check is that of all that it does.
#[test]
fn a_model_that_takes_long_to_lower_ends_in_time() {
    let many = ":: x == 1 -> x = 2 ".repeat(12_000);
    let text = format!("byte x; active proctype P() {{ {{ if {many} fi }} unless {{ if {many} fi }} }}");
    let model = parse(&text, "slow.pml", None, &[]).expect("it is a model");
    let begin = std::time::Instant::now();
    let before = processor_time(begin);
    let options = Options { time: Some(Duration::from_millis(100)), ..Options::default() };
    let outcome = check(&model, &options, &mut |_| true).expect("it is checked").outcome;
    let took = processor_time(begin) - before;
    assert!(took < Duration::from_millis(1100), "{took:?}");
    assert_eq!(gap(&outcome), ("the time limit of 0.1 s was reached before the search began", None));
}

#[test]
fn a_bit_array_that_there_is_no_room_for_is_refused() {
    let model = counters(false);
    let store = |bytes| StoreKind::Bitstate { bytes, functions: 3 };
    for (bytes, memory) in [(999_999 << 40, None), (1 << 50, None), (1 << 24, Some(1 << 20))] {
        let options = Options { search: Search::Dfs, store: store(bytes), memory, ..Options::default() };
        let error = check(&model, &options, &mut |_| true).expect_err("there is no room").to_string();
        assert!(error.contains("there is not enough memory for the bit array"), "{error}");
    }
    let options = Options { search: Search::Dfs, store: store(1 << 20), ..Options::default() };
    assert!(check(&model, &options, &mut |_| true).is_ok());
}

/// A step that is just long is not called endless; one that comes back to where it was is, and one that can leave is not.
#[test]
fn only_a_step_that_comes_back_to_where_it_was_has_no_end() {
    let outcome = |text: &str| {
        let model = parse(text, "long.pml", None, &[]).unwrap_or_else(|error| panic!("{error}"));
        check(&model, &Options::default(), &mut |_| true)
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
            .outcome
    };
    for long in [
        "int i; active proctype P() { d_step { do :: true -> i++ od } }",
        "int i; active proctype P() { atomic { do :: true -> i++ od } }",
    ] {
        assert!(gap(&outcome(long)).0.contains("its end was not awaited"), "{long}");
    }
    for circle in [
        "int i; active proctype P() { d_step { do :: true -> i = (i + 1) % 70000 od } }",
        "int i; active proctype P() { atomic { do :: true -> i = (i + 1) % 70000 od } }",
        "bit i; active proctype P() { atomic { do :: i = 1 - i :: skip -> i = 1 od } }",
    ] {
        let outcome = outcome(circle);
        let violation = outcome.violation().unwrap_or_else(|| panic!("{circle}"));
        assert_eq!(violation.kind.name(), "step-limit", "{circle}");
    }
    for end in [
        "int i; active proctype P() { d_step { do :: i < 1200000 -> i++ :: else -> break od } }",
        "bit i; active proctype P() { atomic { do :: i = 1 - i :: break od } }",
        "int i; active proctype P() { atomic { do :: i < 200000 -> i++ :: else -> break od } }",
    ] {
        assert!(outcome(end).holds(), "{end}");
    }
    // What fails after it is shown.
    let fails = "int i; active proctype P() { d_step { do :: i < 1200000 -> i++ :: else -> break od; assert(false) } }";
    assert_eq!(outcome(fails).violation().map(|violation| violation.kind.name()), Some("assertion"));
}

//! The running examples of the papers: a naive combination of a reduction with a bound misses a state.

use std::collections::HashSet;

use selvedge_core::{Bounds, Measure};
use selvedge_stateless::strategy::{Bpor, CbPor, Dpor, Named, Optimal, Parameters};
use selvedge_stateless::{
    Choice, Explorer, Finished, Point, Prefix, Report, Settings, StateHash, Strategy, explore, replay,
};
use selvedge_testgen::{Graph, History, Interpreter, Limits, Machine, Performed, Program};

use crate::LIMITS;
use crate::verify::Case;

/// Figure 1 of both papers: one thread does `x := 1; y := 1`, the other `y := 2`. Both final values of `y` are
/// reached without a preemption.
const FIGURE_1: &str = "spawn 1; spawn 2; join 1; join 2 | store 1 1; store 0 1 | store 0 2";

/// Sleep sets, and steps beyond the bound left out: what CB-POR's introduction warns of.
fn sleep_sets_with_a_bound(
    machine: &Machine<'_>,
    last: Option<usize>,
    left: u32,
    mut asleep: Vec<(usize, Performed)>,
    history: &mut History,
    found: &mut HashSet<Graph>,
) {
    let enabled: Vec<usize> = (0..machine.threads()).filter(|thread| machine.enabled(*thread)).collect();
    if enabled.is_empty() {
        found.insert(history.graph());
    }
    for &thread in &enabled {
        let preempts = last.is_some_and(|last| last != thread && enabled.contains(&last));
        if asleep.iter().any(|(other, _)| *other == thread) || u32::from(preempts) > left {
            continue;
        }
        let mut next = machine.clone();
        let done = next.step(thread, None);
        let touches =
            |step: &Performed| step.touches.iter().any(|(o, _)| done.touches.iter().any(|(p, _)| o == p));
        let still = asleep.iter().filter(|(_, step)| !touches(step)).cloned().collect();
        history.push(machine.body(thread), &done);
        sleep_sets_with_a_bound(&next, Some(thread), left - u32::from(preempts), still, history, found);
        history.pop();
        asleep.push((thread, done));
    }
}

/// DPOR that ends executions beyond the bound: what BPOR's introduction warns of.
struct NaiveDpor(Dpor, u32);

impl Strategy for NaiveDpor {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.0.next_prefix(prefix)
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        if point.preemptions > self.1 { Choice::Prune } else { self.0.choose(point) }
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.0.finished(execution);
    }

    fn wants_pending(&self) -> bool {
        true
    }

    fn exhausted(&self) -> Option<Bounds> {
        self.0.exhausted()
    }

    fn cut(&self) -> bool {
        true
    }
}

fn within(found: &crate::verify::Found, preemptions: u32) -> HashSet<StateHash> {
    let orders = found.orders.iter().filter(|(_, least)| **least <= preemptions);
    orders.map(|(order, _)| *order).collect()
}

#[test]
fn figure_1_a_naive_combination_misses_a_state_and_ours_do_not() {
    let program: Program = FIGURE_1.parse().unwrap();
    let case = Case::new(&program, LIMITS).unwrap();
    assert_eq!(case.brute.orders_within(0), 2);
    let mut naive = HashSet::new();
    let machine = Machine::new(&program, false, 0);
    sleep_sets_with_a_bound(&machine, None, 0, Vec::new(), &mut History::default(), &mut naive);
    assert_eq!(naive.len(), 1, "sleep sets with a bound miss one of the two");
    let naive = case.search(&mut NaiveDpor(Dpor::new(), 0)).unwrap();
    assert_eq!(within(&naive, 0).len(), 1, "so does DPOR with a bound");
    assert_eq!(case.search(&mut CbPor::new(Some(0), None)).unwrap().orders.len(), 2);
    assert_eq!(within(&case.search(&mut Bpor::new(Some(0), false)).unwrap(), 0).len(), 2);
    assert_eq!(case.search(&mut Dpor::new()).unwrap().orders.len(), 2);
    assert_eq!(case.search(&mut Optimal::new()).unwrap().executions, 2);
}

/// Watches what `cb-por` makes of executions that have more preemptions than the bound.
struct Beyond {
    inner: CbPor,
    /// How many there were, and how many were reported as others.
    run: u32,
    reported: u32,
}

impl Beyond {
    fn is_beyond(&self, execution: &Finished<'_>) -> bool {
        self.inner.bound().is_some_and(|(_, bound)| execution.preemptions > bound)
    }
}

impl Strategy for Beyond {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.inner.next_prefix(prefix)
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        self.inner.choose(point)
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.run += u32::from(self.is_beyond(execution));
        self.inner.finished(execution);
    }

    fn report(&mut self, execution: &Finished<'_>) -> Report {
        let report = self.inner.report(execution);
        assert_eq!(self.is_beyond(execution), report != Report::AsItIs);
        self.reported += u32::from(report != Report::AsItIs);
        report
    }

    fn wants_pending(&self) -> bool {
        self.inner.wants_pending()
    }

    fn bound(&self) -> Option<(Measure, u32)> {
        self.inner.bound()
    }

    fn exhausted(&self) -> Option<Bounds> {
        self.inner.exhausted()
    }

    fn cut(&self) -> bool {
        self.inner.cut()
    }
}

/// The assertion fails within 1 preemption. `cb-por` finds that in an execution with 2, which is like one with 1.
#[test]
fn what_goes_wrong_beyond_the_bound_is_reported_within_it() {
    let text = "spawn 1; yield; store 0 1; store 0 2 | choose 2; add 1; load 0; assert-not 1";
    let program = Interpreter::new(text.parse().unwrap());
    let mut search = Beyond { inner: CbPor::new(Some(3), None), run: 0, reported: 0 };
    let outcome = explore(&program, &mut search, &Settings::default(), &mut |_| ()).unwrap();
    let violation = outcome.violation().expect("it fails");
    assert_eq!((violation.preemptions, search.run, search.reported), (1, 1, 1));
    let replayed = replay(&program, &violation.schedule, &Settings::default()).unwrap();
    assert_eq!(replayed.violation().map(|again| again.preemptions), Some(1));
    assert_eq!(Case::new(&program.program, LIMITS).unwrap().cb_por(), Ok(()));
}

/// Programs on which a published rule, taken literally, missed something.
#[test]
fn programs_on_which_a_published_rule_was_incomplete() {
    // Backtracking to an enabled thread that sleeps (FG's rule together with sleep sets).
    let asleep = "spawn 1; spawn 2; unpark 1; park-timeout | load 0; park-timeout | unpark 0";
    // The transitive reduction hides a lock behind a failed attempt to take it.
    let failed = "spawn 1; spawn 2; try-lock 0 | lock 0 | try-lock 0";
    let held = "spawn 1; lock 1; try-lock 1 | lock 1";
    // A wake needs its mutex: what it also waits for decides whether a race can be turned round.
    let wake = "spawn 1; lock 0; wait-timeout 0; spawn 2; unlock 0 | lock 0; wait-timeout 0 | notify-all 0";
    for text in [asleep, failed, held, wake] {
        let case = Case::new(&text.parse().unwrap(), LIMITS).unwrap();
        for result in [
            case.dpor(true),
            case.dpor(false),
            case.bpor(true),
            case.bpor(false),
            case.cb_por(),
            case.optimal(),
        ] {
            assert_eq!(result, Ok(()), "{text}");
        }
    }
}

/// Sleeping beside siblings although the bound cut something off (BPOR 5.4 says to leave out only what was
/// added conservatively); races of the reduction alone under a bound; and a failure that ends an execution.
#[test]
fn programs_on_which_bounded_reduction_was_incomplete() {
    for text in [
        FIGURE_1,
        "spawn 1; lock 0; lock 1; unlock 0 | try-lock 0; unlock 0; try-lock 1; unlock 1; try-lock 0",
        "spawn 1; store 1 2; load 1; assert-not 2 | exchange 1 1 2; yield",
    ] {
        let case = Case::new(&text.parse().unwrap(), LIMITS).unwrap();
        for result in [case.bpor(true), case.bpor(false), case.cb_por()] {
            assert_eq!(result, Ok(()), "{text}");
        }
    }
}

/// Two accesses to a tracked cell that race belong to steps that do not conflict otherwise, and whichever comes
/// second ends the execution.
#[test]
fn programs_on_which_a_race_hid_what_comes_after_the_other_access() {
    for text in ["spawn 1; add 1; write 0 | lock 0; write 0", "spawn 1; load 0; write 0 | unpark 0; read 0"] {
        let case = Case::new(&text.parse().unwrap(), LIMITS).unwrap();
        for result in [case.dpor(true), case.dpor(false), case.bpor(true), case.bpor(false), case.cb_por()] {
            assert_eq!(result, Ok(()), "{text}");
        }
    }
}

/// A thread that is created holds back those that have yielded more often.
#[test]
fn programs_on_which_the_fair_bound_alone_was_incomplete() {
    let limits = Limits { yields: Some(0), max_steps: 40, ..LIMITS };
    let text = "yield; spawn 1; yield; spawn 2 | spin-until 0 1 | store 0 1";
    let case = Case::new(&text.parse().unwrap(), limits).unwrap();
    assert_eq!(case.bpor_fair(), Ok(()));
}

/// Where every thread that can be chosen sleeps, and the fair bound holds the others back, the bound has cut something.
#[test]
fn programs_on_which_both_bounds_were_incomplete() {
    let limits = Limits { yields: Some(1), max_steps: 40, ..LIMITS };
    let text = "yield; add 0; spawn 1; spin-until 0 1; spawn 2 | yield; yield; exchange 0 0 2 | store 0 1";
    let case = Case::new(&text.parse().unwrap(), limits).unwrap();
    for result in [case.bpor(true), case.bpor(false), case.bpor_fair(), case.cb_por()] {
        assert_eq!(result, Ok(()));
    }
}

/// Programs on which source sets alone, without wakeup trees, begin executions that turn out to be covered.
#[test]
fn source_sets_begin_executions_that_wakeup_trees_do_not() {
    for (text, orders) in [
        ("spawn 2; spawn 1; load 0 | store 0 2; store 1 1 | store 1 2", 4),
        ("spawn 1; spawn 2; lock 1 | lock 1; lock 0; unlock 1 | lock 0; unlock 0", 3),
        ("spawn 1; spawn 2; lock 0 | lock 0; wait 0 | notify-one 0", 4),
    ] {
        let case = Case::new(&text.parse().unwrap(), LIMITS).unwrap();
        assert_eq!(case.brute.orders_within(u32::MAX), orders, "{text}");
        let (mut dpor, mut optimal) = (Dpor::new(), Optimal::new());
        case.search(&mut dpor).unwrap();
        assert_eq!(case.search(&mut optimal).unwrap().executions, orders as u64, "{text}");
        assert_eq!((dpor.blocked() > 0, optimal.blocked()), (true, 0), "{text}");
    }
}

/// A race that two executions have in common is planned with what does not depend on it, and that is another sequence in
/// the second.
#[test]
fn a_race_is_turned_round_after_every_execution_that_has_it() {
    let text = "spawn 1; spawn 2; spawn 3; spawn 4 | store 1 1 | add 0 | lock 2; load 1; unlock 2; load 0 | add 0; add 0; \
                lock 2; unlock 2";
    let interpreter = Interpreter::new(text.parse().unwrap());
    for strategy in [&mut Dpor::new() as &mut dyn Strategy, &mut Optimal::new()] {
        let mut explorer = Explorer::new(&interpreter, Settings::default()).unwrap();
        explorer.search(strategy, &mut |_| {}).unwrap();
        assert_eq!(explorer.terminal_orders().count(), 32);
    }
    assert!(crate::verify::optimal_among_others(&text.parse().unwrap()).is_some_and(|found| found.is_ok()));
}

/// A step that still sleeps at a leaf of the wakeup tree, because the exchange that was to wake it failed and
/// so only read: that a planned sequence could begin with it does not mean that the sequence is covered.
#[test]
fn a_step_that_sleeps_at_a_leaf_covers_nothing() {
    let text = "spawn 2; spawn 1; store-next 0 | exchange 0 1 2; choose 2; load 0 | load 0";
    assert_eq!(Case::new(&text.parse().unwrap(), LIMITS).unwrap().optimal(), Ok(()));
}

/// The other values of a choice are planned once: a later execution that makes it too has nothing to add.
#[test]
fn a_choice_is_not_planned_again_after_the_next_execution() {
    let text = "spawn 1; choose 2; load 1 | choose 2; load 0; store-next 0";
    assert_eq!(Case::new(&text.parse().unwrap(), LIMITS).unwrap().optimal(), Ok(()));
}

/// A waiter that has been notified only reads its condition variable, also where it has not been run.
#[test]
fn what_a_notified_waiter_does_is_foreseen() {
    let text = "spawn 2; lock 0; spawn 3; wait-timeout 0 |  | notify-all 0 | notify-one 0; lock 0; wait 0";
    let case = Case::new(&text.parse().unwrap(), LIMITS).unwrap();
    let mut optimal = Optimal::new();
    assert_eq!(case.search(&mut optimal).unwrap().executions, case.brute.orders_within(u32::MAX) as u64);
    assert_eq!(optimal.blocked(), 0);
}

/// `optimal` that learns nothing from every fifth execution.
struct Forgetful(Optimal, u64);

impl Strategy for Forgetful {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.0.next_prefix(prefix)
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        self.0.choose(point)
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.1 += 1;
        if !self.1.is_multiple_of(5) {
            self.0.finished(execution);
        }
    }

    fn wants_pending(&self) -> bool {
        true
    }

    fn exhausted(&self) -> Option<Bounds> {
        self.0.exhausted()
    }

    fn cut(&self) -> bool {
        false
    }
}

/// The comparison with brute force can fail.
#[test]
fn flaws_of_an_optimal_search_are_found() {
    let program: Program =
        "spawn 1; spawn 2; add 0; load 1 | add 0; store 1 1 | load 0; load 1".parse().unwrap();
    let case = Case::new(&program, LIMITS).unwrap();
    assert_eq!(case.optimal(), Ok(()));
    let orders = case.brute.orders_within(u32::MAX);
    assert!(case.search(&mut Forgetful(Optimal::new(), 0)).unwrap().orders.len() < orders);
    let told_that_loads_write = case.with_loads_that_write().search(&mut Optimal::new()).unwrap();
    assert!(told_that_loads_write.orders.len() > orders);
}

/// An execution that is ended by one of its steps does not show what would have come after it. Two steps that race
/// for a cell are tried in both orders: in one of them it may take fewer preemptions, or something else may come
/// between them by which they do not race any more.
#[test]
fn a_step_that_ends_an_execution_hides_nothing() {
    for text in [
        "spawn 1; spawn 2 | notify-one 0; write 0; lock 0; unlock 0 | lock 0; write 0",
        "spawn 1; spawn 3; join 3; store 0 2 | lock 0; load 0; write 0 |  | load 0; write 0",
        "spawn 1; spawn 2; store 0 1 | load 0; assert-not 1 | choose 2; store-next 0",
    ] {
        let case = Case::new(&text.parse().unwrap(), LIMITS).unwrap();
        assert_eq!(case.optimal(), Ok(()), "{text}");
        assert_eq!(case.once_within_bounds(Named::Optimal), Ok(()), "{text}");
    }
}

/// How many orders there are in which threads add to one number, each so often, with so many preemptions at most; after
/// an addition by one of them.
fn orders_of_additions(left: [u32; 3], last: Option<usize>, preemptions: u32) -> u64 {
    if left == [0; 3] {
        return 1;
    }
    let after = |thread: usize| {
        let price = u32::from(last.is_some_and(|last| last != thread && left[last] > 0));
        let preemptions = preemptions.checked_sub(price)?;
        let mut left = left;
        left[thread] = left[thread].checked_sub(1)?;
        Some(orders_of_additions(left, Some(thread), preemptions))
    };
    (0..3).filter_map(after).sum()
}

/// An execution has 17 steps, so that 9,248 states are remembered and as many executions for the next bound. There are more
/// of either. The states that the search comes back to are among those that are kept, so that no order is run twice; but
/// what is not kept for the next bound is.
#[test]
fn in_square_memory_only_what_a_lower_bound_had_is_run_again() {
    let text = "spawn 1; spawn 2; spawn 3 | add 0; add 0; add 0; add 0 | add 0; add 0; add 0; add 0 | \
                add 0; add 0; add 0; add 0";
    let program = Interpreter::new(text.parse().unwrap());
    let search = |bound: u32, at_bound: bool| {
        let mut search = Named::Optimal.algorithm(&Parameters { at_bound, ..Parameters::bounded(bound) });
        let mut explorer = Explorer::new(&program, Settings::default()).unwrap();
        let outcome = explorer.search(search.as_mut(), &mut |_| ()).unwrap();
        assert_eq!(outcome.statistics.depth, Some(17));
        (explorer.terminal_orders().count() as u64, outcome.statistics.executions.unwrap())
    };
    let orders = |bound| orders_of_additions([4; 3], None, bound);
    assert_eq!((orders(0), orders(u32::MAX)), (6, 34_650));
    assert_eq!(search(6, true), (orders(6), orders(6)));
    let (found, executions) = search(6, false);
    assert_eq!(found, orders(6));
    assert!((orders(6) + 1..orders(6) * 2).contains(&executions), "{executions}");
}

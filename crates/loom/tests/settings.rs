//! What a `Builder` does with its fields.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::thread;

/// Fails when an update is lost, which needs one preemption.
fn loses() {
    let count = Arc::new(AtomicUsize::new(0));
    let other = count.clone();
    let add = |count: &AtomicUsize| count.store(count.load(SeqCst) + 1, SeqCst);
    let thread = thread::spawn(move || add(&other));
    add(&count);
    thread.join().unwrap();
    assert_eq!(count.load(SeqCst), 2);
}

/// Nothing that could go wrong, in more executions than anybody waits for.
fn endless() {
    let count = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let count = count.clone();
            thread::spawn(move || (0..50).for_each(|_| _ = count.fetch_add(1, SeqCst)))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn report(builder: &Builder, model: fn()) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(|| builder.check(model))).err()?;
    Some(payload.downcast_ref::<String>().expect("a panic has a report").clone())
}

#[test]
fn a_bound_is_a_bound_and_none_is_all() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(0);
    assert_eq!(report(&builder, loses), None);
    for bound in [Some(1), None] {
        builder.preemption_bound = bound;
        let report = report(&builder, loses).expect("it fails");
        assert!(report.contains("assertion") && report.contains("1 preemption"), "{report}");
    }
}

#[test]
fn a_search_that_was_told_to_end_passes() {
    let mut builder = Builder::new();
    builder.max_permutations = Some(20);
    assert_eq!(report(&builder, endless), None);
    let mut builder = Builder::new();
    builder.max_duration = Some(Duration::from_millis(200));
    assert_eq!(report(&builder, endless), None);
}

#[test]
fn an_execution_without_an_end_fails_even_with_a_limit_on_the_search() {
    let mut builder = Builder::new();
    builder.max_permutations = Some(1_000_000);
    let report = report(&builder, || {
        let count = AtomicUsize::new(0);
        while count.fetch_add(1, SeqCst) < usize::MAX {}
    });
    assert!(report.is_some());
}

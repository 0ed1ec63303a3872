//! What several tests need.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use selvedge::{Checker, Strategy};

/// Everything that a closure can return, over all executions.
#[allow(dead_code)] // Not every test needs it.
pub(crate) fn outcomes<T: Ord + Send + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> BTreeSet<T> {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let keep = found.clone();
    let outcome = Checker::new().strategy(Strategy::Dfs).explore(move || {
        let value = f();
        keep.lock().unwrap().insert(value);
    });
    assert!(outcome.holds(), "{:?}", outcome.verdict);
    Arc::into_inner(found).expect("the check is over").into_inner().unwrap()
}

/// What the violation says that a closure has.
#[allow(dead_code)] // Not every test needs it.
pub(crate) fn violation(f: impl Fn() + Send + Sync + 'static) -> String {
    let outcome = Checker::new().explore(f);
    let violation = outcome.violation().unwrap_or_else(|| panic!("{:?}", outcome.verdict));
    violation.message.clone()
}

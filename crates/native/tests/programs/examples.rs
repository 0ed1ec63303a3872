//! The examples of the corpus.

use selvedge_core::ViolationKind;

use crate::common::{check, has};

#[test]
fn an_assertion_that_needs_a_preemption() {
    if !has("gcc", "an_assertion_that_needs_a_preemption") {
        return;
    }
    let outcome = check("examples/counter.c", 2);
    let violation = outcome.violation().unwrap();
    eprintln!("{outcome:#?}");
    assert_eq!((violation.kind, violation.preemptions), (ViolationKind::Assertion, 1));
}

//! What Figures 2 and 3 of Musuvathi and Qadeer, *Iterative Context Bounding* (PLDI 2007) show: searching in the
//! order of preemptions covers more states in as many executions, and few preemptions reach most states.

#[allow(dead_code, reason = "its main function is not called")]
#[path = "../examples/growth.rs"]
mod growth;

use selvedge::Checker;

/// States covered by each search after a thousand executions.
#[test]
fn context_bounding_covers_more_than_depth_bounding() {
    let covered = growth::searches().map(|(name, checker)| {
        let outcome =
            checker.max_executions(1000).explore(growth::fixed(growth::work_stealing_queue::VARIANTS));
        (name, outcome.statistics.states.expect("states are counted"))
    });
    let states = |wanted| covered.iter().find(|(name, _)| *name == wanted).expect("it is compared").1;
    for other in ["dfs", "db:20", "db:40", "idfs"] {
        assert!(states("icb") > 5 * states(other), "{covered:?}");
    }
}

#[test]
fn four_preemptions_cover_the_file_system() {
    let test = growth::fixed(growth::file_system::VARIANTS);
    let within = |preemptions| Checker::new().preemptions(preemptions).explore(test).statistics.states;
    assert_eq!(within(4), within(5));
}

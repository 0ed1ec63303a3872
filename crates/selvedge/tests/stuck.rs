//! A check whose test does not come back says where that is. Each runs in a process of its own, which may be given up.

use std::process::{Command, Output};
use std::time::Duration;

use selvedge::sync::Arc;
use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Says that this process is one of those.
const INSIDE: &str = "STUCK_INSIDE";

/// Runs a test of this file alone, in another process.
fn alone(test: &str, results: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--test-threads=1"]).env(INSIDE, "1");
    command.env("SELVEDGE_PATIENCE", "300ms").env_remove("SELVEDGE_JSON");
    command.envs(results.map(|results| ("SELVEDGE_JSON", results)));
    command.output().unwrap()
}

fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// A lock of std's is held while another thread runs, which waits for it.
#[test]
fn where_a_test_waits_for_ever_is_said() {
    if is_inside() {
        selvedge::check(|| {
            let shared = Arc::new((std::sync::Mutex::new(0), AtomicUsize::new(0)));
            let theirs = shared.clone();
            let thread = selvedge::thread::spawn(move || {
                theirs.1.fetch_add(1, SeqCst);
                *theirs.0.lock().unwrap() += 1;
            });
            let mut guard = shared.0.lock().unwrap();
            *guard += shared.1.load(SeqCst);
            drop(guard);
            thread.join().unwrap();
        });
        return;
    }
    // Results are waited for, so the process ends.
    let results = std::env::temp_dir().join(format!("selvedge-stuck-{}.jsonl", std::process::id()));
    let output = alone("where_a_test_waits_for_ever_is_said", Some(results.to_str().unwrap()));
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("thread 1 has not come to another operation"), "{error}");
    assert!(error.contains("for 300ms, since its operation at ") && error.contains("stuck.rs:"), "{error}");
    assert!(!results.exists(), "nothing has been found out");
}

/// One that only takes long goes on.
#[test]
fn a_test_that_takes_long_goes_on() {
    if is_inside() {
        selvedge::check(|| std::thread::sleep(Duration::from_millis(700)));
        return;
    }
    let output = alone("a_test_that_takes_long_goes_on", None);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(error.contains("main has not come to another operation"), "{error}");
    assert!(error.contains("since it began."), "{error}");
}

/// A new thread runs to its first operation within the step of its creator.
#[test]
fn a_new_thread_that_does_not_come_back_is_not_taken_for_its_creator() {
    if is_inside() {
        selvedge::check(|| {
            let compute = || std::thread::sleep(Duration::from_millis(700));
            selvedge::thread::spawn(compute).join().unwrap();
        });
        return;
    }
    let output = alone("a_new_thread_that_does_not_come_back_is_not_taken_for_its_creator", None);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(error.contains("thread 1 has not come to another operation"), "{error}");
    assert!(error.contains("since it began."), "{error}");
}

//! Ctrl-C: the first lets the program say what it covered, the second ends everything.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Seen, fresh, selvedge};

/// Starts a check in a process group of its own, as a shell does, and waits until its program runs.
fn start(file: &str) -> Child {
    let ready = fresh(&file.replace('/', "-")).join("ready");
    let mut command = selvedge(&["check", file]);
    command.env("STUB_READY", &ready).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let begin = Instant::now();
    while !ready.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{file} did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

/// What the terminal does on Ctrl-C.
pub(crate) fn interrupt(child: &Child) {
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
}

#[test]
fn after_ctrl_c_what_was_covered_is_printed() {
    // Of the test, cargo is the parent, and dies at once.
    for file in ["examples/waits.rs", "tests/waits.rs"] {
        let child = start(file);
        interrupt(&child);
        let seen = Seen::from(child.wait_with_output().unwrap());
        assert_eq!(seen.status, Some(3), "{file}: {seen:?}");
        assert!(seen.out.contains("INCONCLUSIVE: waits"), "{file}: {seen:?}");
    }
}

#[test]
fn checks_that_hold_are_not_the_whole_answer_of_an_interrupted_program() {
    let child = start("examples/waits_after.rs");
    interrupt(&child);
    let seen = Seen::from(child.wait_with_output().unwrap());
    assert_eq!(seen.status, Some(3), "{seen:?}");
    assert!(seen.out.contains("HOLDS: first") && seen.err.contains("was interrupted"), "{seen:?}");
}

#[test]
fn a_second_ctrl_c_ends_a_program_that_does_not_listen() {
    let child = start("examples/stubborn.rs");
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    let begin = Instant::now();
    let seen = Seen::from(child.wait_with_output().unwrap());
    assert_eq!(seen.status, Some(130), "{seen:?}");
    assert!(begin.elapsed() < Duration::from_secs(10));
}

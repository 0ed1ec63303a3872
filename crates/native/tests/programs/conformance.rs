//! Programs that print what each function returns: an ordinary run and runs under control must print the same.

use std::process::{Command, Stdio};

use selvedge_native::{NativeProgram, Search};

use crate::common::{compile, has};

/// What a program prints by itself.
fn natively(program: &std::path::Path) -> String {
    let output = Command::new(program).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), output.status);
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn check(source: &str, executions: u64) {
    check_with(source, executions, &[]);
}

#[track_caller]
fn check_with(source: &str, executions: u64, defined: &[&str]) {
    let compiler = if source.ends_with(".cpp") { "g++" } else { "gcc" };
    if !has(compiler, source) {
        return;
    }
    for level in ["-O0", "-O2"] {
        let flags = &[&[level, "-lm"], defined].concat();
        let path = compile(&format!("conformance/{source}"), flags);
        let expected = natively(&path);
        let program = NativeProgram::open(&path).unwrap();
        for strategy in ["icb", "random"] {
            let search = Search {
                strategy: Some(strategy.into()),
                preemptions: Some(1),
                max_executions: Some(executions),
                ..Search::default()
            };
            let outcome = search.check(&program, None, &mut |_| ()).unwrap();
            assert!(
                outcome.violation().is_none(),
                "{source}: {:#?}\n{}",
                outcome.violation(),
                program.output()
            );
            assert_eq!(program.output(), expected, "{source} {flags:?} {strategy}");
        }
    }
}

#[test]
fn mutexes() {
    check("mutex.c", 100);
}

#[test]
fn robust_mutexes() {
    check("robust.c", 100);
}

#[test]
fn condition_variables() {
    check("condvar.c", 300);
}

#[test]
fn read_write_locks() {
    check("rwlock.c", 100);
}

#[test]
fn barriers_and_spin_locks() {
    check("barrier_spin.c", 300);
}

#[test]
fn semaphores() {
    check("semaphore.c", 100);
}

#[test]
fn threads() {
    check("threads.c", 100);
}

#[test]
fn once_keys_and_cleanup() {
    check("once_keys.c", 200);
}

#[test]
fn cancellation() {
    check("cancel.c", 100);
}

#[test]
fn c11_threads() {
    check("c11.c", 100);
}

#[test]
fn clocks_and_sleeping() {
    check("time.c", 20);
}

#[test]
fn cpp_threads() {
    check("cpp.cpp", 100);
}

#[test]
fn what_each_thread_has_of_its_own() {
    check("own_things.c", 100);
}

#[test]
fn how_threads_end() {
    check("cleanup.c", 20);
}

#[test]
fn thread_locals_and_unwinding() {
    check("thread_local.cpp", 100);
}

#[test]
fn executions_in_one_process_do_not_see_each_other() {
    check_with("fresh.c", 300, &["-DCALLS=0"]);
}

#[test]
fn an_execution_that_changes_its_process_has_it_alone() {
    check_with("fresh.c", 100, &["-DCALLS=1"]);
}

/// In how many processes so many executions are.
fn processes(name: &str, more: &[&str]) -> (usize, u64) {
    let path = compile("conformance/process.c", &[]);
    let log = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&log, "").unwrap();
    let arguments = [log.to_str().unwrap()].into_iter().chain(more.iter().copied()).map(String::from);
    let program = NativeProgram::open(&path).unwrap().arguments(arguments);
    let search = Search { strategy: Some("random".into()), max_executions: Some(50), ..Search::default() };
    let outcome = search.check(&program, None, &mut |_| ()).unwrap();
    assert!(outcome.violation().is_none(), "{:#?}", outcome.violation());
    let lines = std::fs::read_to_string(&log).unwrap();
    let pids: std::collections::BTreeSet<_> = lines.lines().collect();
    let executions = outcome.statistics.executions.unwrap();
    assert!(lines.lines().count() as u64 >= executions, "{lines}");
    (pids.len(), executions)
}

#[test]
fn a_process_runs_many_executions_unless_they_leave_something_behind() {
    if !has("gcc", "a_process_runs_many_executions") {
        return;
    }
    const PR_SET_SYSCALL_USER_DISPATCH: libc::c_int = 59;
    // SAFETY: switches off what is not on; fails where the system does not have it.
    if unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) } != 0 {
        eprintln!("SKIPPED: a_process_runs_many_executions: the system cannot catch system calls");
        return;
    }
    let (one, executions) = processes("clean-executions", &[]);
    assert_eq!((one, executions), (1, 50));
    let (many, executions) = processes("executions-that-leave-their-folder", &["/"]);
    assert!(many as u64 >= executions, "{executions} executions in {many} processes");
}

//! Programs that print what each function returns: an ordinary run and runs under control must print the same.

use std::path::Path;
use std::process::{Command, Stdio};

use selvedge_native::{Named, NativeProgram, Parameters, Search};

use crate::common::{GLIB, check_installed, compile, corpus, has};

/// What a program prints by itself.
fn natively(program: &Path) -> String {
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
                strategy: strategy.parse().unwrap(),
                parameters: Parameters::bounded(1),
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
fn types_that_are_smaller_than_the_librarys() {
    check("small_types.c", 100);
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
fn locks_of_glib() {
    if check_installed(GLIB, "locks_of_glib") {
        check_with("glib.c", 300, &["-l:libglib-2.0.so.0"]);
    }
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
fn cores() {
    check("cores.c", 100);
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
fn error_codes() {
    check("codes.c", 50);
}

#[test]
fn cancellation_at_files_and_sockets() {
    check("cancel_io.c", 10);
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
fn what_is_asked_of_the_system() {
    check("futex.c", 200);
}

#[test]
fn signals_that_a_program_sends_itself() {
    check("signals.c", 100);
}

#[test]
fn what_each_thread_has_of_its_own() {
    check("own_things.c", 100);
}

#[test]
fn memory_that_a_program_maps() {
    check("mapping.c", 20);
}

#[test]
fn how_threads_end() {
    check("cleanup.c", 20);
}

#[test]
fn ways_to_exit() {
    for how in 0..=12 {
        check_with("exits.c", 30, &[&format!("-DHOW={how}")]);
    }
}

#[test]
fn thread_locals_and_unwinding() {
    check("thread_local.cpp", 100);
}

#[test]
fn a_library_stays_as_long_as_it_has_thread_locals() {
    if has("g++", "a_library_stays_as_long_as_it_has_thread_locals") {
        let library = compile("conformance/closed.cpp", &["-shared", "-fPIC", "-DIS_LIBRARY"]);
        check_with("closed.cpp", 100, &[&format!("-DLIBRARY=\"{}\"", library.display()), "-ldl"]);
    }
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
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&log, "").unwrap();
    let arguments = [log.to_str().unwrap()].into_iter().chain(more.iter().copied()).map(String::from);
    let program = NativeProgram::open(&path).unwrap().arguments(arguments);
    let search = Search { strategy: Named::Random, max_executions: Some(50), ..Search::default() };
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

/// Functions of the runtime that no program of the suite calls, and why.
const NOT_CALLED: [(&str, &str); 10] = [
    (
        "__",
        "called by the compiler, the linker or the C library, and intrinsics that an ordinary run does not have",
    ),
    ("reach_error", "an intrinsic that an ordinary run does not have"),
    ("selvedge_choose", "an intrinsic that an ordinary run does not have"),
    ("pthread_yield", "the C library has it for old executables alone"),
    ("_pthread_cleanup_", "the C library has them for old executables alone"),
    ("fork", "an execution with it is refused"),
    ("vfork", "an execution with it is refused"),
    ("_Fork", "an execution with it is refused"),
    ("daemon", "an execution with it is refused"),
    ("clone", "an execution with it is refused"),
];

/// Every function that the runtime stands in for is called by a program of the suite, or has a reason not to be.
#[test]
fn every_function_is_called_by_a_program_of_the_suite() {
    fn sources(place: &Path) -> String {
        if place.is_file() {
            return std::fs::read_to_string(place).unwrap();
        }
        std::fs::read_dir(place).unwrap().map(|entry| sources(&entry.unwrap().path())).collect()
    }
    let programs = sources(&corpus().join("conformance"));
    let runtime = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../pthread/src"));
    let written_out = runtime.split("#[unsafe(no_mangle)]").skip(1).filter_map(|text| {
        let (_, rest) = text.split_once(" fn ")?;
        let name = rest.split(['(', '<']).next()?;
        (!name.starts_with('$')).then_some(name)
    });
    // Those of `io.rs` are in a list.
    let listed = runtime.lines().filter_map(|line| {
        let (text, rest) = line.strip_prefix("    c\"")?.split_once("\" ")?;
        rest.starts_with(&format!("{text}(")).then_some(text)
    });
    // And so are those that are refused, in `start.rs`.
    let refused = runtime.lines().filter_map(|line| {
        let (_, rest) = line.strip_prefix("    b\"")?.split_once("\" ")?;
        rest.split_once('(').map(|(name, _)| name)
    });
    let names: Vec<&str> = written_out.chain(listed).chain(refused).collect();
    assert!(
        names.contains(&"pthread_mutex_lock") && names.contains(&"pwrite64") && names.contains(&"clone"),
        "{names:?}"
    );
    let is_called = |name: &str| {
        programs.match_indices(&format!("{name}(")).any(|(at, _)| {
            let before = programs[..at].chars().next_back();
            !before.is_some_and(|before| before.is_alphanumeric() || before == '_')
        })
    };
    let excused = |name: &str| NOT_CALLED.iter().any(|(begin, _)| name.starts_with(begin));
    let missing: Vec<&&str> = names.iter().filter(|name| !excused(name) && !is_called(name)).collect();
    assert!(missing.is_empty(), "no program of corpus/c/conformance calls {missing:?}");
    for (begin, reason) in NOT_CALLED {
        let needed = names.iter().any(|name| name.starts_with(begin) && !is_called(name));
        assert!(needed, "{begin} is called or gone, and need not be excused ({reason})");
    }
}

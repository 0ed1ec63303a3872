//! Programs that print what each function returns: an ordinary run and runs under control must print the same.

use std::path::Path;
use std::process::{Command, Stdio};

use selvedge_native::{NativeProgram, Search};

use crate::common::{compile, corpus, has};

/// What a program prints by itself.
fn natively(program: &Path) -> String {
    let output = Command::new(program).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), output.status);
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn check(source: &str, executions: u64) {
    let compiler = if source.ends_with(".cpp") { "g++" } else { "gcc" };
    if !has(compiler, source) {
        return;
    }
    for flags in [&["-O0"], &["-O2"]] {
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

/// Functions of the runtime that no program of the suite calls, and why.
const NOT_CALLED: [(&str, &str); 5] = [
    (
        "__",
        "called by the compiler, the linker or the C library, and intrinsics that an ordinary run does not have",
    ),
    ("reach_error", "an intrinsic that an ordinary run does not have"),
    ("selvedge_choose", "an intrinsic that an ordinary run does not have"),
    ("pthread_yield", "the C library has it for old executables alone"),
    ("fork", "an execution with it is refused"),
];

/// Every function that the runtime stands in for is called by a program of the suite, or has a reason not to be.
#[test]
fn every_function_is_called_by_a_program_of_the_suite() {
    let sources = |folder: &Path| -> String {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
    };
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
    let names: Vec<&str> = written_out.chain(listed).collect();
    assert!(names.contains(&"pthread_mutex_lock") && names.contains(&"pwrite64"), "{names:?}");
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

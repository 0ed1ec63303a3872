//! Where counterexamples say that things are: in the program's own source, whatever library it goes by.

use std::path::Path;

use selvedge_core::{Location, Violation};
use selvedge_native::{NativeProgram, Search};

use crate::common::{compile, corpus, has, instrument};

/// What is found in a program.
#[track_caller]
fn found(program: &Path, arguments: &[&str]) -> Violation {
    let program = NativeProgram::open(program).unwrap().arguments(arguments.iter().map(ToString::to_string));
    let outcome = Search::default().check(&program, None, &mut |_| ()).unwrap();
    outcome.violation().unwrap_or_else(|| panic!("{:?}", outcome.verdict)).clone()
}

/// The line of a program that has these words.
#[track_caller]
fn line(source: &str, words: &str) -> u32 {
    let text = std::fs::read_to_string(corpus().join(source)).unwrap();
    text.lines().position(|line| line.contains(words)).unwrap() as u32 + 1
}

#[track_caller]
fn assert_at(location: Option<&Location>, source: &str, words: &str) {
    let location = location.unwrap_or_else(|| panic!("{source}: no place of {words}"));
    assert!(location.file.ends_with(source), "{location}");
    assert_eq!(location.line, line(source, words), "{location}");
}

/// `file:line` as it is in a message.
fn at(source: &str, words: &str) -> String {
    format!("{source}:{}:", line(source, words))
}

#[test]
fn locks_by_guards_are_where_the_guards_are() {
    if !has("g++", "locks_by_guards_are_where_the_guards_are") {
        return;
    }
    let source = "places/guards.cpp";
    for flags in [["-O0", "-std=c++17"], ["-O2", "-std=c++17"]] {
        let violation = found(&compile(source, &flags), &[]);
        let text = format!("{violation:?}");
        assert!(!text.contains("/include/"), "{flags:?}: {text}");
        let steps = &violation.trace.steps;
        let step = |op: &str| steps.iter().find(|step| step.op.starts_with(op)).expect("such a step");
        assert_at(step("try to lock mutex b").location.as_ref(), source, "both(a, b)");
        assert_at(step("read-lock").location.as_ref(), source, "reads(shared)");
        assert_at(step("lock mutex b").location.as_ref(), source, "first(b)");
        assert!(violation.message.contains(&at(source, "second(b)")), "{}", violation.message);
        assert!(violation.message.contains(&at(source, "second(a)")), "{}", violation.message);
    }
}

#[test]
fn races_in_containers_are_where_they_are_used() {
    if !has("g++", "races_in_containers_are_where_they_are_used") {
        return;
    }
    let source = "places/containers.cpp";
    let program = instrument(source, &[]);
    for (argument, words) in [("0", "// vector"), ("1", "// map"), ("2", "// pointer")] {
        let violation = found(&program, &[argument]);
        assert_eq!(violation.kind.name(), "data-race", "{violation:?}");
        assert_at(violation.location.as_ref(), source, words);
        // Both accesses.
        assert_eq!(violation.message.matches(&at(source, words)).count(), 2, "{}", violation.message);
    }
}

#[test]
fn a_crash_in_a_container_is_where_it_is_used() {
    if !has("g++", "a_crash_in_a_container_is_where_it_is_used") {
        return;
    }
    let source = "places/null_map.cpp";
    let violation = found(&compile(source, &["-O0"]), &[]);
    assert_eq!(violation.kind.name(), "crash", "{violation:?}");
    assert_at(violation.location.as_ref(), source, "// the crash");
}

/// What is loaded by an execution is not in the process that it is forked from.
#[test]
fn places_and_variables_of_loaded_libraries_are_named() {
    if !has("g++", "places_and_variables_of_loaded_libraries_are_named") {
        return;
    }
    let source = "places/library.cpp";
    let library = instrument(source, &["-shared", "-fPIC"]);
    let program = instrument("places/loads.c", &["-ldl"]);
    let violation = found(&program, &[library.to_str().unwrap()]);
    assert_eq!(violation.kind.name(), "data-race", "{violation:?}");
    assert_at(violation.location.as_ref(), source, "// the race");
    assert!(violation.message.contains("memory count:"), "{}", violation.message);
    assert_eq!(violation.message.matches(&at(source, "// the race")).count(), 2, "{}", violation.message);
    let lock = violation.trace.steps.iter().find(|step| step.op == "lock mutex count_lock").expect("a lock");
    assert_at(lock.location.as_ref(), source, "// the lock");
}

#[test]
fn who_has_freed_memory_is_said() {
    if !has("gcc", "who_has_freed_memory_is_said") {
        return;
    }
    let source = "examples/double_free.c";
    let message = found(&compile(source, &[]), &[]).message;
    assert!(message.contains("it was freed by drops 1 at "), "{message}");
    assert!(message.contains(&at(source, "free(block)")) && message.ends_with(", in drops"), "{message}");
    let source = "atomics/use_after_free.c";
    let message = found(&instrument(source, &[]), &[]).message;
    assert!(message.contains("it was freed by main at "), "{message}");
    assert!(message.contains(&at(source, "free(block)")) && message.ends_with(", in main"), "{message}");
}

#[test]
fn exceptions_are_where_they_are_thrown_also_with_the_library_in_the_executable() {
    if !has("g++", "exceptions_are_where_they_are_thrown") {
        return;
    }
    let source = "examples/exception.cpp";
    for flags in [&[][..], &["-static-libstdc++"], &["-static-libstdc++", "-static-libgcc"]] {
        let violation = found(&compile(source, flags), &[]);
        assert!(violation.message.contains("an exception is not caught: "), "{flags:?} {violation:?}");
        assert_at(violation.location.as_ref(), source, "throw ");
    }
}

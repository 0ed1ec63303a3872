//! Programs that tell of every access to memory.

use crate::common::{compile, corpus, has, instrument, instrument_with};
use crate::examples::check_program;

fn check_all(compilers: [&str; 2], flags: &[&str], test: &str) {
    if !compilers.iter().all(|compiler| has(compiler, test)) {
        return;
    }
    for entry in std::fs::read_dir(corpus().join("atomics")).unwrap() {
        let source = format!("atomics/{}", entry.unwrap().file_name().into_string().unwrap());
        let language: &[&str] = if source.ends_with(".cpp") { &["-std=gnu++20"] } else { &[] };
        let program = instrument_with(compilers, &source, &[flags, language].concat());
        check_program(&source, &program, &["icb", "cb-por"]);
    }
}

#[test]
fn every_program_with_atomics_is_as_it_says() {
    check_all(["gcc", "g++"], &[], "every_program_with_atomics_is_as_it_says");
}

/// Clang has atomics of sixteen bytes as functions of a library unless it is told that the processor has them.
#[test]
fn every_program_with_atomics_is_as_it_says_with_clang() {
    check_all(["clang", "clang++"], &["-mcx16"], "every_program_with_atomics_is_as_it_says_with_clang");
}

/// In race mode every access is a step, and so a race need not be found to see what it does.
#[test]
fn in_race_mode_accesses_are_steps() {
    if !has("gcc", "in_race_mode_accesses_are_steps") {
        return;
    }
    let steps = |race_mode: bool| {
        let program = selvedge_native::NativeProgram::open(&instrument("atomics/publish.c", &[])).unwrap();
        let program = program.race_mode(race_mode).unwrap();
        let search = selvedge_native::Search { strategy: selvedge_native::Named::Icb, ..Default::default() };
        let outcome = search.check(&program, None, &mut |_| ()).unwrap();
        assert!(outcome.holds(), "{outcome:?}");
        outcome.statistics.depth.unwrap()
    };
    // The write of `data`, its read where it is seen to be ready, and accesses to locals whose address is taken.
    assert!(steps(true) >= steps(false) + 2);
    let plain = selvedge_native::NativeProgram::open(&compile("atomics/publish.c", &[])).unwrap();
    assert!(plain.race_mode(true).unwrap_err().to_string().contains("selvedge cc"));
}

//! Programs from Debian's packages, as they are: no false alarms. What a search covers of them in a test is little; that
//! they are run at all, under schedules that differ, is what is tested.

use std::path::{Path, PathBuf};

use selvedge_core::{Verdict, ViolationKind};
use selvedge_native::{Named, NativeProgram, Parameters, Search};

use crate::common::{GLIB, check_installed, compile, has, instrument, write};

/// A file in the folder of the tests.
fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// Explores a program up to a bound, and perhaps not all of it. Says how many executions there were.
#[track_caller]
fn explore(program: &str, words: &[&str], preemptions: u32, executions: u64) -> u64 {
    let program = NativeProgram::open(Path::new(program)).unwrap().fails_by_status(true);
    let program = program.arguments(words.iter().map(|word| word.to_string()));
    let search = Search {
        strategy: Named::Icb,
        parameters: Parameters::bounded(preemptions),
        max_executions: Some(executions),
        ..Search::default()
    };
    let outcome = search.check(&program, None, &mut |_| ()).unwrap();
    assert!(
        !matches!(outcome.verdict, Verdict::Violated(_)),
        "{words:?}: {outcome:#?}\n{}",
        program.output()
    );
    outcome.statistics.executions.unwrap()
}

#[test]
fn pigz_compresses() {
    if !check_installed("pigz", "pigz_compresses") {
        return;
    }
    let text: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    let input = file("pigz-input", &text);
    let words = ["-p", "2", "-c", input.to_str().unwrap()];
    for preemptions in [0, 1] {
        assert!(explore("/usr/bin/pigz", &words, preemptions, 60) > 20);
    }
}

#[test]
fn pbzip2_compresses() {
    if !check_installed("pbzip2", "pbzip2_compresses") {
        return;
    }
    let text: Vec<u8> = (0..120_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    let input = file("pbzip2-input", &text);
    let words = ["-p2", "-b1", "-c", "-k", input.to_str().unwrap()];
    for preemptions in [0, 1] {
        assert!(explore("/usr/bin/pbzip2", &words, preemptions, 30) > 20);
    }
}

#[test]
fn sort_sorts_with_two_threads() {
    if !check_installed("sort", "sort_sorts_with_two_threads") {
        return;
    }
    // It creates threads for more than 131,072 lines only.
    let lines: String = (0..140_000_u32).map(|n| format!("{:05}\n", n.wrapping_mul(7919) % 99_991)).collect();
    let input = file("sort-input", lines.as_bytes());
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sort-output");
    let words = ["--parallel=2", "-o", output.to_str().unwrap(), input.to_str().unwrap()];
    for preemptions in [0, 1] {
        // Without a preemption one part is sorted after the other, and there is one way to do that.
        assert!(explore("/usr/bin/sort", &words, preemptions, 5) > u64::from(preemptions));
        let sorted = std::fs::read_to_string(&output).unwrap();
        assert!(sorted.lines().is_sorted() && sorted.lines().count() == 140_000);
    }
}

#[test]
fn async_adds_up() {
    if !has("g++", "async_adds_up") {
        return;
    }
    let program = compile("examples/async.cpp", &["-O2"]);
    assert!(explore(program.to_str().unwrap(), &[], 1, 10_000) > 2);
}

/// Two locks of GLib's, taken in this order by a thread, and what they guard.
const GLIB_LOCKS: &str = r#"
#include <pthread.h>
typedef union { void *pointer; unsigned words[2]; } GMutex;
void g_mutex_lock(GMutex *), g_mutex_unlock(GMutex *);
static GMutex first, second;
static int count;
static void *adds(void *order) {
    g_mutex_lock(order ? &first : &second);
    g_mutex_lock(order ? &second : &first);
    count++;
    g_mutex_unlock(&second);
    g_mutex_unlock(&first);
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, adds, &first);
    adds(ORDER);
    pthread_join(thread, 0);
    return count != 2;
}
"#;

#[test]
fn locks_of_glib_are_seen() {
    if !check_installed(GLIB, "locks_of_glib_are_seen") || !has("gcc", "locks_of_glib_are_seen") {
        return;
    }
    let source = write("glib-locks", GLIB_LOCKS);
    for compile in [compile, instrument] {
        let program = compile(&source, &["-DORDER=&first", "-l:libglib-2.0.so.0"]);
        assert!(explore(program.to_str().unwrap(), &[], 2, 1000) > 1);
        let program = compile("conformance/glib.c", &["-l:libglib-2.0.so.0"]);
        assert!(explore(program.to_str().unwrap(), &[], 2, 1000) > 100);
        let program = compile(&source, &["-DORDER=0", "-l:libglib-2.0.so.0"]);
        let program = NativeProgram::open(&program).unwrap();
        let outcome = Search::default().check(&program, None, &mut |_| ()).unwrap();
        let violation = outcome.violation().unwrap();
        assert_eq!((violation.kind, violation.preemptions), (ViolationKind::Deadlock, 1));
    }
}

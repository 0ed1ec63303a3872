//! What an answer assumes is what the program leaned on, and nothing else.

use std::path::Path;

use selvedge_core::{Outcome, Verdict};
use selvedge_native::{Named, NativeProgram, Search};

use crate::common::{compile, has, instrument, instrument_with, write};

/// What two threads do, and what that leans on.
const ATOMICS: [(&str, &str); 18] = [
    ("sink = atomic_load(&x)", ""),
    ("sink = atomic_fetch_add(&x, 1)", ""),
    ("atomic_compare_exchange_strong(&x, &expected, 1)", ""),
    ("atomic_thread_fence(memory_order_seq_cst)", ""),
    // A fence for the compiler, operations of old that have no order to ask for, and what is no atomic.
    ("atomic_signal_fence(memory_order_relaxed)", ""),
    ("__sync_fetch_and_add(&legacy, 1)", ""),
    ("sink = __sync_bool_compare_and_swap(&legacy, 0, 1)", ""),
    ("sink = own", ""),
    ("sink = atomic_load_explicit(&x, memory_order_relaxed)", "sequential consistency"),
    ("sink = atomic_load_explicit(&x, memory_order_acquire)", "sequential consistency"),
    ("atomic_store_explicit(&x, 1, memory_order_release)", "sequential consistency"),
    ("sink = atomic_exchange_explicit(&x, 1, memory_order_acq_rel)", "sequential consistency"),
    ("sink = __atomic_fetch_add(&legacy, 1, __ATOMIC_RELAXED)", "sequential consistency"),
    (
        "atomic_compare_exchange_strong_explicit(&x, &expected, 1, memory_order_seq_cst, memory_order_relaxed)",
        "sequential consistency",
    ),
    ("atomic_thread_fence(memory_order_acquire)", "sequential consistency"),
    ("atomic_compare_exchange_weak(&x, &expected, 1)", "no spurious compare-exchange failures"),
    // It fails for a reason.
    ("expected = 7; atomic_compare_exchange_weak(&x, &expected, 1)", ""),
    (
        "atomic_compare_exchange_weak_explicit(&x, &expected, 1, memory_order_relaxed, memory_order_relaxed)",
        "sequential consistency and no spurious compare-exchange failures",
    ),
];

fn source(operations: &[(&str, &str)]) -> String {
    let cases = operations.iter().enumerate();
    let cases: String =
        cases.map(|(number, (operation, _))| format!("case {number}: {operation}; break;\n")).collect();
    format!(
        "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n#include <threads.h>\n#include <time.h>\n\
         static atomic_int x;\nint legacy;\n\
         static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
         static pthread_cond_t set = PTHREAD_COND_INITIALIZER;\nstatic int flag;\n\
         static mtx_t c11_lock;\nstatic cnd_t c11_set;\nstatic int c11_flag;\n\
         static void *acts(void *which) {{\nint expected = 0, own = 0;\nvolatile int sink = 0;\n\
         struct timespec limit = {{1 << 30, 0}};\n(void)expected; (void)own; (void)sink; (void)limit;\n\
         pthread_mutex_lock(&lock); flag++; pthread_cond_broadcast(&set); pthread_mutex_unlock(&lock);\n\
         mtx_lock(&c11_lock); c11_flag++; cnd_broadcast(&c11_set); mtx_unlock(&c11_lock);\n\
         switch (atoi(which)) {{\n{cases}}}\nreturn NULL;\n}}\n\
         int main(int count, char **words) {{\nmtx_init(&c11_lock, mtx_plain); cnd_init(&c11_set);\npthread_t thread;\n\
         pthread_create(&thread, NULL, acts, words[count - 1]);\nacts(words[count - 1]);\n\
         return pthread_join(thread, NULL);\n}}\n"
    )
}

fn check(program: &NativeProgram) -> Outcome {
    Search::default().check(program, None, &mut |_| ()).unwrap()
}

fn assumed(outcome: &Outcome) -> String {
    let Verdict::Holds(guarantee) = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
    guarantee.assumptions.to_string()
}

#[track_caller]
fn each_leans_on(program: &Path, operations: &[(&str, &str)], spurious: u32) {
    for (number, (operation, expected)) in operations.iter().enumerate() {
        let open = || NativeProgram::open(program).unwrap().arguments([number.to_string()]);
        for jobs in [1, 2] {
            let program = open().spurious(spurious).jobs(jobs).eager(true);
            assert_eq!(assumed(&check(&program)), *expected, "{operation}, {jobs} jobs");
        }
    }
}

#[test]
fn an_atomic_operation_that_is_weaker_than_seqcst_assumes_sequential_consistency() {
    let source = write("leans_on_atomics", &source(&ATOMICS));
    // Clang does not tell which exchanges are weak.
    let with_clang = ATOMICS.map(|(operation, assumed)| {
        let may_be_weak = operation.starts_with("sink = __sync_bool") || operation.contains("expected, 1");
        let fails = operation.starts_with("expected = 7");
        (
            operation,
            match assumed {
                _ if !may_be_weak || fails => assumed,
                "" => "no spurious compare-exchange failures",
                "sequential consistency" => {
                    "sequential consistency and no spurious compare-exchange failures"
                }
                both => both,
            },
        )
    });
    for (compilers, operations) in [(["gcc", "g++"], ATOMICS), (["clang", "clang++"], with_clang)] {
        if has(compilers[0], "an_atomic_operation_that_is_weaker_than_seqcst_assumes_sequential_consistency")
        {
            let program =
                instrument_with(compilers, &source, &["-Wno-unused-value", "-Wno-unused-but-set-variable"]);
            each_leans_on(&program, &operations, 0);
        }
    }
}

#[test]
fn cpp_atomics_are_seen_too() {
    if !has("g++", "cpp_atomics_are_seen_too") {
        return;
    }
    let text = "#include <atomic>\n#include <pthread.h>\nstatic std::atomic<int> x;\n\
                static void *acts(void *) { x.ORDERED; return nullptr; }\n\
                int main() { pthread_t thread; pthread_create(&thread, nullptr, acts, nullptr); acts(nullptr);\n\
                return pthread_join(thread, nullptr); }\n";
    for (operation, expected) in [
        ("fetch_add(1)", ""),
        ("fetch_add(1, std::memory_order_relaxed)", "sequential consistency"),
        ("load(std::memory_order_acquire)", "sequential consistency"),
    ] {
        let source = write("leans.cpp", &text.replace("ORDERED", operation));
        let renamed = source.clone() + ".cpp";
        std::fs::copy(&source, &renamed).unwrap();
        let program = NativeProgram::open(&instrument(&renamed, &[])).unwrap();
        assert_eq!(assumed(&check(&program)), expected, "{operation}");
    }
}

const WAITS: [(&str, &str); 4] = [
    (
        "pthread_mutex_lock(&lock); while (flag < 2) pthread_cond_wait(&set, &lock); pthread_mutex_unlock(&lock)",
        "no spurious wakeups",
    ),
    (
        "pthread_mutex_lock(&lock); if (flag < 2) pthread_cond_timedwait(&set, &lock, &limit); \
         pthread_mutex_unlock(&lock)",
        "no spurious wakeups",
    ),
    (
        "mtx_lock(&c11_lock); while (c11_flag < 2) cnd_wait(&c11_set, &c11_lock); mtx_unlock(&c11_lock)",
        "no spurious wakeups",
    ),
    // What has no contract to wake for no reason does not.
    ("pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); sched_yield()", ""),
];

#[test]
fn a_wait_that_may_end_for_no_reason_assumes_no_spurious_wakeups() {
    if !has("gcc", "a_wait_that_may_end_for_no_reason_assumes_no_spurious_wakeups") {
        return;
    }
    let program = instrument(&write("leans_on_waits", &source(&WAITS)), &["-Wno-unused-but-set-variable"]);
    each_leans_on(&program, &WAITS, 0);
    let bounded = WAITS.map(|(operation, assumed)| {
        // The second one is in no loop, and one of the two threads comes last.
        let is_in_loop = operation.contains("while") && !assumed.is_empty();
        (operation, if is_in_loop { "at most 2 spurious wakeups" } else { "" })
    });
    each_leans_on(&program, &bounded, 2);
}

/// The bug is there only where a wait ends for no reason; every strategy finds it then.
#[test]
fn a_wait_in_an_if_is_found_by_a_spurious_wakeup() {
    if !has("gcc", "a_wait_in_an_if_is_found_by_a_spurious_wakeup") {
        return;
    }
    for program in [compile("examples/wait_in_if.c", &[]), instrument("examples/wait_in_if.c", &[])] {
        let open = || NativeProgram::open(&program).unwrap();
        assert!(check(&open()).holds());
        // Where a thread waits that ran last, pct has another run first.
        for (_, strategy) in Named::ALL.iter().filter(|(_, strategy)| *strategy != Named::Pct) {
            let strategy = *strategy;
            let search = Search { strategy, ..Search::default() };
            let outcome = search.check(&open().spurious(1), None, &mut |_| ()).unwrap();
            let violation =
                outcome.violation().unwrap_or_else(|| panic!("{strategy}: {:?}", outcome.verdict));
            assert_eq!(violation.kind.name(), "assertion", "{strategy}");
            let steps: Vec<_> = violation.trace.steps.iter().map(|step| step.op.as_str()).collect();
            assert!(
                steps.contains(&"wake spuriously from condition variable filled"),
                "{strategy}: {steps:?}"
            );
        }
    }
}

/// A signal that nobody waits for stays lost: a spurious wakeup is allowed, and not promised.
#[test]
fn a_lost_signal_is_found_whatever_the_bound() {
    if !has("gcc", "a_lost_signal_is_found_whatever_the_bound") {
        return;
    }
    let program = compile("examples/lost_signal.c", &[]);
    for spurious in 0..3 {
        let outcome = check(&NativeProgram::open(&program).unwrap().spurious(spurious));
        assert_eq!(outcome.violation().unwrap().kind.name(), "lost-signal", "{spurious}");
    }
}

/// A loop that tries a weak exchange until it succeeds waits, also where whether that fails is decided.
#[test]
fn a_loop_of_weak_exchanges_waits() {
    if !has("gcc", "a_loop_of_weak_exchanges_waits") {
        return;
    }
    let text = "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int locked, inside;\n\
                static void *enters(void *unused) {\nint free = 0;\n\
                while (!atomic_compare_exchange_weak(&locked, &free, 1)) free = 0;\n\
                atomic_fetch_add(&inside, 1);\natomic_store(&locked, 0);\nreturn unused;\n}\n\
                int main(void) {\npthread_t thread;\npthread_create(&thread, NULL, enters, NULL);\nenters(NULL);\n\
                return pthread_join(thread, NULL);\n}\n";
    let program = instrument(&write("weak_lock", text), &[]);
    for spurious in 0..2 {
        let outcome = check(&NativeProgram::open(&program).unwrap().spurious(spurious));
        assert!(outcome.holds(), "{spurious}: {:?}", outcome.verdict);
    }
}

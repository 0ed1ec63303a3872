//! On more cores the answer is the same: verdicts, bounds, counts, counterexamples and what the program printed.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use selvedge_core::Outcome;
use selvedge_native::{Ahead, Named, NativeProgram, Parameters, Search};
use selvedge_testgen::{Statement, Theme, generate};

use crate::common::{compile, corpus, has, instrument, write};

const ALL: [Named; 12] = {
    let mut all = [Named::Icb; 12];
    let mut index = 0;
    while index < all.len() {
        all[index] = Named::ALL[index].1;
        index += 1;
    }
    all
};

/// Everything but times and memory.
fn essence(mut outcome: Outcome) -> Outcome {
    outcome.statistics.elapsed = Duration::ZERO;
    outcome.statistics.peak_memory_bytes = None;
    // How often the first is run again depends on how long that takes.
    outcome.statistics.extra.retain(|(name, _)| name != selvedge_core::Statistics::REPEATED);
    outcome.rows.iter_mut().for_each(|row| row.elapsed = Duration::ZERO);
    outcome
}

/// Checks a program on one core and on more. Says how many executions were run ahead.
#[track_caller]
fn same(open: &dyn Fn() -> NativeProgram, search: &Search) -> Ahead {
    let mut ahead = Ahead::default();
    let mut first = None;
    for jobs in 1..=3 {
        let program = open().jobs(jobs).eager(true);
        let outcome = search.check(&program, None, &mut |_| ()).map(essence);
        // What was printed is of interest in a counterexample.
        let violated = outcome.as_ref().is_ok_and(|outcome| outcome.violation().is_some());
        let found = (outcome, violated.then(|| program.output()));
        match &first {
            None => first = Some(found),
            Some(first) => {
                assert_eq!(*first, found, "{program:?}, {search:?}, {jobs} jobs");
                ahead.used += program.ahead().used;
                ahead.run += program.ahead().run;
                ahead.asked += program.ahead().asked;
            }
        }
    }
    ahead
}

/// Checks a program with some strategies. Says how many executions had been run ahead.
#[track_caller]
fn same_by(strategies: &[Named], open: &dyn Fn() -> NativeProgram, executions: u64) -> u64 {
    let mut used = 0;
    for &strategy in strategies {
        let search = Search { strategy, max_executions: Some(executions), ..Search::default() };
        let ahead = same(open, &search);
        assert!(ahead.run >= ahead.used && ahead.asked >= ahead.used, "{strategy}: {ahead:?}");
        used += ahead.used;
    }
    used
}

fn times() -> Option<usize> {
    std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok())
}

#[test]
fn the_corpus_is_checked_alike() {
    if !has("gcc", "the_corpus_is_checked_alike") || !has("g++", "the_corpus_is_checked_alike") {
        return;
    }
    let mut used = 0;
    for (index, entry) in std::fs::read_dir(corpus().join("examples")).unwrap().enumerate() {
        let source = format!("examples/{}", entry.unwrap().file_name().into_string().unwrap());
        // Each strategy is used on some of them.
        let some = [0, 3, 6, 9].map(|at| ALL[(index + at) % ALL.len()]);
        let strategies = if times().is_some() { &ALL[..] } else { &some };
        let program = compile(&source, &[]);
        let open = || NativeProgram::open(&program).unwrap().fails_by_status(source.contains("status"));
        used += same_by(strategies, &open, 40);
    }
    for source in ["atomics/publish.c", "atomics/race.c", "atomics/verifier.c"] {
        let program = instrument(source, &[]);
        used += same_by(&ALL, &|| NativeProgram::open(&program).unwrap(), 60);
    }
    for (name, variant) in
        [("bluetooth", "correct"), ("work_stealing_queue", "correct"), ("file_system", "4")]
    {
        let program = instrument(&format!("papers/{name}.c"), &[]);
        let open = || NativeProgram::open(&program).unwrap().arguments([variant.to_string()]);
        used += same_by(&ALL, &open, 300);
    }
    assert!(used > 1_000, "only {used} executions had been run ahead");
}

#[test]
fn generated_programs_are_checked_alike() {
    if !has("gcc", "generated_programs_are_checked_alike") {
        return;
    }
    let interpreter = instrument("generated/interpreter.c", &["-DJOBS"]);
    let themes = [Theme::Atomics, Theme::Locks, Theme::Condvars, Theme::Threads, Theme::Cells, Theme::Spins];
    for theme in themes {
        let parks = |statement: &Statement| {
            matches!(statement, Statement::Park | Statement::ParkTimeout | Statement::Unpark(_))
        };
        let programs = (3_000_000..).map(|seed| generate(theme, seed)).filter(|program| !program.has(parks));
        for (program, spurious) in programs.take(2 * times().unwrap_or(1)).zip([0, 1].into_iter().cycle()) {
            let open = || {
                let native = NativeProgram::open(&interpreter).unwrap().spurious(spurious);
                native.arguments([program.to_string()])
            };
            same_by(&ALL, &open, 50);
        }
    }
}

/// The processes that run a program.
fn processes(program: &Path) -> usize {
    let program = program.canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program))
        .count()
}

const LOCKS: &str = "#include <pthread.h>\n#include <stdio.h>\n\
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
    static void *work(void *p) { for (int i = 0; i < 8; i++) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }\n\
    return p; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); work(0); pthread_join(t, 0); puts(\"done\"); }\n";

/// Copies help the search on to the next bound, and what they know then is of use or is not.
#[test]
fn searches_through_many_bounds_are_alike() {
    if !has("gcc", "searches_through_many_bounds_are_alike") {
        return;
    }
    let path = compile(&write("jobs-bounds", LOCKS), &[]);
    let mut used = 0;
    for strategy in [Named::CbPor, Named::CbPorAll, Named::Optimal] {
        for states in [usize::MAX, 2_000] {
            for _ in 0..times().unwrap_or(1) {
                let parameters = Parameters { states, ..Parameters::bounded(6) };
                let search =
                    Search { strategy, parameters, max_executions: Some(5_000), ..Search::default() };
                used += same(&|| NativeProgram::open(&path).unwrap(), &search).used;
            }
        }
    }
    assert!(used > 5_000, "only {used} executions had been run ahead");
}

#[test]
fn no_process_is_left() {
    if !has("gcc", "no_process_is_left") {
        return;
    }
    let path = compile(&write("jobs-locks", LOCKS), &[]);
    let program = NativeProgram::open(&path).unwrap().jobs(3).eager(true);
    let endless = Search { strategy: Named::Icb, parameters: Parameters::bounded(9), ..Search::default() };
    let limited = Search { time: Some(Duration::from_millis(300)), ..endless.clone() };
    let outcome = limited.check(&program, None, &mut |_| ()).unwrap();
    assert!(!outcome.holds() && outcome.violation().is_none());
    assert_eq!(processes(&path), 0);
    static INTERRUPT: AtomicBool = AtomicBool::new(false);
    let began = Instant::now();
    let outcome = endless.check(&program, Some(&INTERRUPT), &mut |at| {
        assert!(processes(&path) > 0, "executions are under way");
        INTERRUPT.store(at.executions > 0, Ordering::Relaxed);
    });
    assert!(outcome.unwrap().violation().is_none());
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(processes(&path), 0);
    assert!(program.ahead().used > 0);
}

/// With two preemptions a thread may see a value on which it stops for good.
const STUCK: &str = "#include <pthread.h>\n#include <unistd.h>\n\
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic int x;\n\
    static void set(int to) { pthread_mutex_lock(&lock); x = to; pthread_mutex_unlock(&lock); }\n\
    static void *work(void *p) { set(1); set(2); return p; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_mutex_lock(&lock); int seen = x;\n\
    pthread_mutex_unlock(&lock); char c; int ends[2]; pipe(ends); while (seen == 1) read(ends[0], &c, 1); pthread_join(t, 0); }\n";

#[test]
fn what_does_not_come_back_is_given_up_when_it_is_asked_for() {
    if !has("gcc", "what_does_not_come_back_is_given_up_when_it_is_asked_for") {
        return;
    }
    let path = compile(&write("jobs-stuck", STUCK), &[]);
    let icb = Search { strategy: Named::Icb, ..Search::default() };
    let stuck = |jobs| {
        let program =
            NativeProgram::open(&path).unwrap().patience(Duration::from_secs(1)).jobs(jobs).eager(true);
        icb.check(&program, None, &mut |_| ()).unwrap_err().to_string()
    };
    let alone = stuck(1);
    assert!(alone.contains("left our control"), "{alone}");
    assert_eq!(stuck(2), alone);
    // Not asked for, it does not matter, though it has been begun.
    let mut asked = 0;
    while asked < 50 {
        let search = Search { max_executions: Some(asked + 1), ..icb.clone() };
        let program = NativeProgram::open(&path).unwrap().patience(Duration::from_secs(1));
        if search.check(&program, None, &mut |_| ()).is_err() {
            break;
        }
        asked += 1;
    }
    assert!((1..50).contains(&asked), "one of the first executions is stuck");
    let search = Search { max_executions: Some(asked), ..icb };
    let began = Instant::now();
    let open = || NativeProgram::open(&path).unwrap().patience(Duration::from_secs(100));
    assert!(same(&open, &search).asked > 0);
    assert!(began.elapsed() < Duration::from_secs(50));
    assert_eq!(processes(&path), 0);
}

/// So many accesses that the log of an execution is full before it ends.
const ACCESSES: &str = "#include <pthread.h>\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
    static int counter;\n\
    static void *work(void *p) { for (int i = 0; i < 4; i++) { pthread_mutex_lock(&lock);\n\
    for (int j = 0; j < 6000; j++) counter++;\n\
    pthread_mutex_unlock(&lock); } return p; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); work(0); pthread_join(t, 0); }\n";

#[test]
fn a_log_that_is_full_is_read_on() {
    if !has("gcc", "a_log_that_is_full_is_read_on") {
        return;
    }
    let program = instrument(&write("jobs-accesses", ACCESSES), &[]);
    let open = || NativeProgram::open(&program).unwrap();
    let search = Search { strategy: Named::Icb, max_executions: Some(30), ..Search::default() };
    assert!(same(&open, &search).used > 0);
}

#[test]
fn a_program_sees_all_cores_in_every_job() {
    if !has("gcc", "cores.c") {
        return;
    }
    let path = compile("conformance/cores.c", &["-O1"]);
    let cores = std::thread::available_parallelism().unwrap().get();
    let open = |count: usize| {
        NativeProgram::open(&path).unwrap().arguments([count.to_string()]).fails_by_status(true)
    };
    let search = Search { strategy: Named::Random, max_executions: Some(200), ..Search::default() };
    assert!(same(&|| open(cores), &search).used > 0, "some of them are run by another job");
    for count in [cores, cores + 1] {
        let outcome = search.check(&open(count), None, &mut |_| ()).unwrap();
        assert_eq!(outcome.violation().is_none(), count == cores, "{outcome:?}");
    }
    // And this thread has them again.
    assert_eq!(std::thread::available_parallelism().unwrap().get(), cores);
}

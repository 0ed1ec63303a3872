//! C and C++ executables: options and limits, and what surrounds a program.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Seen, fresh, replay, run, selvedge};
use crate::native::{COUNTER, compile, has_gcc};

/// The bug of this program needs one preemption.
#[test]
fn every_bound_is_heeded_or_refused() {
    if !has_gcc("every_bound_is_heeded_or_refused") {
        return;
    }
    let program = compile(&fresh("native-bounds"), COUNTER, &[]);
    let check = |words: &str, status: i32| {
        let words: Vec<_> =
            ["check", program.to_str().unwrap()].into_iter().chain(words.split(' ')).collect();
        run(&words, status)
    };
    assert!(check("--delays 0", 0).out.contains("at most 0 delays"));
    assert!(check("--delays 1", 1).out.contains("counter == 2"));
    assert!(check("--depth 3", 0).out.contains("at most 3 steps"));
    let refused = check("--depth 0", 2);
    assert!(refused.err.contains("--depth") && refused.err.contains("1.."), "{refused:?}");
    assert!(check("--depth 50", 1).out.contains("counter == 2"));
    for strategy in ["icb", "dfs", "cb-por", "cb-por-all", "bpor", "bpor-plain", "optimal"] {
        check(&format!("--strategy {strategy} --preemptions 0"), 0);
        check(&format!("--strategy {strategy} --preemptions 1"), 1);
    }
    for (words, message) in [
        ("--strategy delay --preemptions 0", "--preemptions: the strategy delay has no bound on preemptions"),
        ("--strategy depth --preemptions 0", "--preemptions: the strategy depth has no bound on preemptions"),
        ("--strategy dpor --preemptions 0", "or choose one that has it: icb, dfs, cb-por"),
        ("--strategy random --preemptions 0", "leave that bound out"),
        ("--strategy pct --delays 1", "--delays: the strategy pct has no bound on delays"),
        ("--strategy icb --depth 9", "or choose one that has it: depth"),
        ("--strategy dpor --yields 2", "--yields: the strategy dpor has no bound on yields"),
        ("--preemptions 1 --delays 1", "--preemptions: the strategy delay has no bound on preemptions"),
    ] {
        let seen = check(words, 2);
        assert!(seen.err.contains(message) && seen.out.is_empty(), "{words}: {seen:?}");
    }
}

/// Starts a check, waits until its program is stuck, and sends the signals.
fn interrupted(words: &[&str], signals: &[&str]) -> (Seen, Duration) {
    let mut command = selvedge(words);
    let child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let begin = Instant::now();
    for signal in signals {
        let group = format!("-{}", child.id());
        assert!(Command::new("kill").args([*signal, "--", &group]).status().unwrap().success());
    }
    (Seen::from(child.wait_with_output().unwrap()), begin.elapsed())
}

#[test]
fn a_stuck_program_does_not_keep_the_command_from_stopping() {
    if !has_gcc("a_stuck_program_does_not_keep_the_command_from_stopping") {
        return;
    }
    let pipe = "#include <unistd.h>\nint main(void) { int ends[2]; char c; pipe(ends); return read(ends[0], &c, 1); }\n";
    let pipe = compile(&fresh("native-stuck-pipe"), pipe, &[]);
    let endless = "int main(void) { for (volatile int i = 0;; i++) { } }\n";
    let endless = compile(&fresh("native-stuck-loop"), endless, &[]);
    for (program, remark) in [(pipe, "waits in read"), (endless, "comes to no scheduling point")] {
        let program = program.to_str().unwrap();
        for jobs in ["1", "2"] {
            let begin = Instant::now();
            let seen = run(&["check", program, "--jobs", jobs, "--time", "1500ms"], 3);
            assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
            let said = seen.out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("the time limit of 1.5s was reached") && said.contains(remark), "{seen:?}");
            assert!(said.contains("main (") && said.contains("program.c:"), "{seen:?}");
        }
        // As `timeout` does, which signals the process and then its group.
        for signals in [&["-INT"][..], &["-TERM"], &["-TERM", "-TERM"]] {
            let (seen, took) = interrupted(&["check", program], signals);
            assert_eq!(seen.status, Some(3), "{signals:?}: {seen:?}");
            assert!(took < Duration::from_secs(8), "{signals:?}: {took:?}");
            let said = seen.out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("it was interrupted") && said.contains(remark), "{signals:?}: {seen:?}");
        }
    }
}

/// Some hundred milliseconds an execution, with choices that the search does not foresee.
const SLOW: &str = r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int jobs, done;
static void *works(void *argument) {
    pthread_mutex_lock(&lock);
    while (done < 4) {
        while (jobs == 0 && done < 4) pthread_cond_wait(&change, &lock);
        if (jobs == 0) break;
        jobs--;
        pthread_mutex_unlock(&lock);
        for (volatile int i = 0; i < 3000000; i++) { }
        pthread_mutex_lock(&lock);
        done++;
        pthread_cond_broadcast(&change);
    }
    pthread_mutex_unlock(&lock);
    return argument;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, works, 0);
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock);
        jobs++;
        pthread_cond_signal(&change);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
"#;

/// An execution that was begun again when the time was over is no sign of anything but that.
#[test]
fn time_that_is_over_within_an_execution_is_all_that_is_said() {
    if !has_gcc("time_that_is_over_within_an_execution_is_all_that_is_said") {
        return;
    }
    let program = compile(&fresh("native-slow"), SLOW, &[]);
    for time in 0..8 {
        let time = format!("{}ms", 400 + 110 * time);
        let seen = run(&["check", program.to_str().unwrap(), "--time", &time], 3);
        assert!(seen.out.contains("the time limit") && !seen.out.contains("deterministic"), "{seen:?}");
    }
}

#[test]
fn a_memory_limit_ends_the_search() {
    if !has_gcc("a_memory_limit_ends_the_search") {
        return;
    }
    let program = compile(&fresh("native-memory"), &SLOW.replace("3000000", "3"), &[]);
    let seen = run(&["check", program.to_str().unwrap(), "--memory", "1M"], 3);
    assert!(seen.out.contains("the memory limit of 1 MiB was reached"), "{seen:?}");
    assert!(seen.out.contains("Covered: every execution with at most"), "{seen:?}");
}

/// A constructor that does not come back is before any execution.
#[test]
fn a_program_that_does_not_come_to_its_main_heeds_the_time() {
    if !has_gcc("a_program_that_does_not_come_to_its_main_heeds_the_time") {
        return;
    }
    let text = "__attribute__((constructor)) void begin(void) { for (volatile int i = 0;; i++) { } }\n\
                int main(void) { return 0; }\n";
    let program = compile(&fresh("native-stuck-start"), text, &[]);
    let begin = Instant::now();
    let seen = run(&["check", program.to_str().unwrap(), "--time", "1s"], 3);
    assert!(begin.elapsed() < Duration::from_secs(10) && seen.out.contains("the time limit"), "{seen:?}");
}

/// Mutual exclusion by plain variables, which race.
const PETERSON: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <sched.h>
static int wants[2], turn, inside;
static void *enters(void *argument) {
    int me = argument != 0, other = 1 - me;
    wants[me] = 1;
    turn = POLITE ? other : me;
    while (wants[other] && turn == other) sched_yield();
    inside++;
    assert(inside == 1);
    inside--;
    wants[me] = 0;
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, enters, (void *)1);
    enters(0);
    pthread_join(thread, 0);
    assert(inside == 0);
    return 0;
}
"#;

/// A wait in an `if`.
#[test]
fn spurious_wakeups_are_explored_and_named() {
    if !has_gcc("spurious_wakeups_are_explored_and_named") {
        return;
    }
    let source = include_str!("../../../../corpus/c/examples/wait_in_if.c");
    let program = compile(&fresh("native-spurious"), source, &[]);
    let program = program.to_str().unwrap();
    let seen = run(&["check", program], 0);
    assert!(seen.out.contains("no spurious wakeups"), "{seen:?}");
    for more in [&[][..], &["--jobs", "2"]] {
        let seen = run(&[&["check", program, "--spurious", "1"][..], more].concat(), 1);
        assert!(seen.out.contains(" --spurious 1"), "{seen:?}");
        let again = replay(&seen, 1);
        assert!(again.out.contains("wake spuriously from condition variable filled"), "{again:?}");
    }
    let fixed = source.replace("if (!full)", "while (!full)");
    let program = compile(&fresh("native-spurious-fixed"), &fixed, &[]);
    let seen = run(&["check", program.to_str().unwrap(), "--spurious", "2"], 0);
    assert!(seen.out.contains("at most 2 spurious wakeups"), "{seen:?}");
    let seen = run(&["check", program.to_str().unwrap(), "--spurious", "-1"], 2);
    assert!(seen.err.contains("--spurious"), "{seen:?}");
}

#[test]
fn what_a_race_leads_to_is_found_where_races_are_allowed() {
    if !has_gcc("what_a_race_leads_to_is_found_where_races_are_allowed") {
        return;
    }
    let folder = fresh("native-races");
    std::fs::write(folder.join("peterson.c"), PETERSON).unwrap();
    let built = |name: &str, polite: &str| {
        let mut compile = selvedge(&["cc", "-g", polite, "peterson.c", "-o", name]);
        compile.current_dir(&folder).env("XDG_CACHE_HOME", folder.join("cache"));
        assert!(compile.status().unwrap().success());
        folder.join(name).to_str().unwrap().to_string()
    };
    let (right, wrong) = (built("right", "-DPOLITE=1"), built("wrong", "-DPOLITE=0"));
    let allowed = ["--race-mode", "--allow-races"];
    for program in [&right, &wrong] {
        assert!(run(&["check", program], 1).out.contains("data-race"));
        assert!(run(&["check", program, "--race-mode"], 1).out.contains("data-race"));
    }
    for more in [&[][..], &["--jobs", "2"], &["--strategy", "dfs", "--preemptions", "2"]] {
        let seen = run(&[&["check", &right][..], &allowed, more].concat(), 0);
        assert!(seen.out.contains("at most 2 preemptions"), "{seen:?}");
        let seen = run(&[&["check", &wrong][..], &allowed, more].concat(), 1);
        assert!(seen.out.contains("assertion failed: inside == 1"), "{seen:?}");
        // Shown again, with what it was found with.
        let again = replay(&seen, 1);
        assert!(again.out.contains("assertion failed: inside == 1"), "{again:?}");
    }
    // An answer would say nothing: accesses would not be steps, or orders of theirs would be left out.
    let seen = run(&["check", &right, "--allow-races"], 2);
    assert!(seen.err.contains("add --race-mode"), "{seen:?}");
    let seen = run(&["check", &right, "--race-mode", "--allow-races", "--strategy", "cb-por"], 2);
    assert!(seen.err.contains("leave --strategy out"), "{seen:?}");
}

/// What is no regular file is not opened, which might wait for ever.
#[test]
fn what_is_no_regular_file_is_refused() {
    let folder = fresh("native-pipe-file");
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = selvedge(&["check", pipe.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("it waits for the pipe");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = Seen::from(child.wait_with_output().unwrap());
    assert_eq!(seen.status, Some(2), "{seen:?}");
    assert!(seen.err.contains("is not a regular file"), "{seen:?}");

    if !has_gcc("what_is_no_regular_file_is_refused") {
        return;
    }
    let program = compile(&folder, "int main(void) { return 0; }\n", &[]);
    let program = program.to_str().unwrap();
    for (input, message) in
        [(folder.as_path(), "it is a folder; give the file"), (&pipe, "it is not a regular file")]
    {
        let seen = run(&["check", program, "--stdin", input.to_str().unwrap()], 2);
        assert!(seen.err.contains(message), "{seen:?}");
    }
}

/// What the user preloads is preloaded, after the runtime, and processes that the program starts see that alone.
#[test]
fn what_the_user_preloads_is_there() {
    if !has_gcc("what_the_user_preloads_is_there") {
        return;
    }
    let folder = fresh("native-preload");
    std::fs::write(folder.join("pre.c"), "int preloaded(void) { return 42; }\n").unwrap();
    let built =
        Command::new("gcc").args(["-shared", "-fPIC", "pre.c", "-o", "pre.so"]).current_dir(&folder).status();
    assert!(built.unwrap().success());
    let text = r#"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
int preloaded(void) __attribute__((weak));
static void *works(void *argument) { return argument; }
int main(int count, char **arguments) {
    pthread_t thread;
    pthread_create(&thread, 0, works, 0);
    pthread_join(thread, 0);
    assert(preloaded && preloaded() == 42);
    assert(count == 2 && strcmp(getenv("LD_PRELOAD"), arguments[1]) == 0);
    setenv("EXPECTED", arguments[1], 1);
    assert(system("test \"$LD_PRELOAD\" = \"$EXPECTED\" && test -z \"$SELVEDGE_PRELOAD_BEFORE\"") == 0);
    return 0;
}
"#;
    let program = compile(&folder, text, &[]);
    let library = folder.join("pre.so");
    let mut command = selvedge(&["check", program.to_str().unwrap(), "--", library.to_str().unwrap()]);
    let seen = Seen::from(command.env("LD_PRELOAD", &library).output().unwrap());
    assert_eq!(seen.status, Some(0), "{seen:?}");
}

/// What a program that is not deterministic may depend on is named.
#[test]
fn likely_causes_of_nondeterminism_are_named() {
    if !has_gcc("likely_causes_of_nondeterminism_are_named") {
        return;
    }
    let program = |value: &str| {
        format!(
            "#include <fcntl.h>\n#include <pthread.h>\n#include <unistd.h>\n#include <x86intrin.h>\n\
             static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
             static unsigned value(void) {{ unsigned value = 0; {value} return value; }}\n\
             int main(void) {{ for (unsigned i = value() % 1000; i > 0; i--) {{ pthread_mutex_lock(&lock); \
             pthread_mutex_unlock(&lock); }} }}\n"
        )
    };
    let reads =
        program("int f = open(\"/dev/urandom\", O_RDONLY); if (read(f, &value, 4) < 0) return 0; close(f);");
    let counts = program("value = (unsigned)__rdtsc() / 16;");
    for (name, text, cause) in [
        (
            "native-urandom",
            reads,
            "it may be random numbers (/dev/urandom); or files that an execution changes (open)",
        ),
        ("native-rdtsc", counts, "time stamp counter (rdtsc)"),
    ] {
        let program = compile(&fresh(name), &text, &[]);
        let seen = run(&["check", program.to_str().unwrap()], 2);
        assert!(seen.err.contains("not deterministic") && seen.err.contains(cause), "{seen:?}");
    }
}

/// "Holds" of a program that never came to what was to be checked is said with that.
#[test]
fn executions_that_all_fail_are_told_of() {
    if !has_gcc("executions_that_all_fail_are_told_of") {
        return;
    }
    let text = "#include <stdio.h>\nint main(int count, char **all) { if (count > 1) return 0; puts(\"no file\"); return 3; }\n";
    let program = compile(&fresh("native-fails"), text, &[]);
    let program = program.to_str().unwrap();
    let seen = run(&["check", program], 0);
    assert!(seen.out.contains("Every execution ended with exit status 3"), "{seen:?}");
    assert!(seen.out.contains("| no file"), "{seen:?}");
    let seen = run(&["check", program, "--", "file"], 0);
    assert!(!seen.out.contains("exit status"), "{seen:?}");
}

/// However many steps an execution may have, it is ended in time.
#[test]
fn an_execution_without_an_end_heeds_the_time() {
    if !has_gcc("an_execution_without_an_end_heeds_the_time") {
        return;
    }
    let text = "#include <pthread.h>\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
                int main(void) { for (;;) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); } }\n";
    let program = compile(&fresh("native-endless"), text, &[]);
    let program = program.to_str().unwrap();
    let seen = run(&["check", program, "--time", "200ms", "--max-steps", "4000000000"], 3);
    assert!(seen.out.contains("the time limit of 200ms was reached"), "{seen:?}");
    // It is the same again after each round, and nobody else is there.
    let seen = run(&["check", program], 1);
    assert!(seen.out.contains("livelock"), "{seen:?}");
}

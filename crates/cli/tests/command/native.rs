//! C and C++ executables.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Seen, fresh, replay, run, selvedge};
use crate::interrupt::interrupt;

pub(crate) fn has_gcc(test: &str) -> bool {
    if Command::new("gcc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return true;
    }
    let required = std::env::var("SELVEDGE_REQUIRE_ORACLES").is_ok_and(|value| value == "1");
    assert!(!required, "{test}: gcc is not installed");
    eprintln!("SKIPPED: {test}: gcc not installed");
    false
}

/// Compiles a program text.
pub(crate) fn compile(folder: &Path, text: &str, flags: &[&str]) -> PathBuf {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&source, text).unwrap();
    let output = Command::new("gcc")
        .args(["-g", "-pthread", "-o"])
        .arg(&program)
        .arg(&source)
        .args(flags)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// What it reads decides whether it fails.
const READER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *works(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return argument;
}
int main(int count, char **arguments) {
    char line[100] = "nothing";
    fgets(line, sizeof line, stdin);
    pthread_t thread;
    pthread_create(&thread, NULL, works, NULL);
    works(NULL);
    pthread_join(thread, NULL);
    printf("read %s\n", line);
    assert(strcmp(line, "fail") != 0);
    assert(count < 2 || strcmp(arguments[1], "two words") != 0);
    assert(count < 2 || strcmp(arguments[1], "again") != 0 || strcmp(line, "again") == 0);
    assert(count < 3 || strcmp(arguments[0], arguments[2]) == 0);
    return getenv("LD_PRELOAD") != NULL;
}
"#;

#[test]
fn an_executable_gets_its_input_and_arguments() {
    if !has_gcc("an_executable_gets_its_input_and_arguments") {
        return;
    }
    let folder = fresh("native-input");
    let program = compile(&folder, READER, &[]);
    let program = program.to_str().unwrap();
    let seen = run(&["check", program, "--exit-status"], 0);
    assert!(seen.out.contains("HOLDS") && seen.out.contains("every execution"), "{seen:?}");
    let name = format!("./{}", Path::new(program).file_name().unwrap().to_str().unwrap());
    let mut check = selvedge(&["check", &name, "--", "its own name", &name]);
    let seen = Seen::from(check.current_dir(&folder).output().unwrap());
    assert_eq!(seen.status, Some(0), "{seen:?}");
    let input = folder.join("input");
    // Each execution reads it from the beginning.
    std::fs::write(&input, "again").unwrap();
    let seen = run(&["check", program, "--stdin", input.to_str().unwrap(), "--", "again"], 0);
    assert!(seen.out.contains("2 executions"), "{seen:?}");
    std::fs::write(&input, "fail").unwrap();
    let seen = run(&["check", program, "--stdin", input.to_str().unwrap()], 1);
    assert!(seen.out.contains("| read fail") && seen.out.contains("program.c:21"), "{seen:?}");
    assert!(seen.out.contains("--stdin"), "the command that replays it: {seen:?}");
    let (result, trace) = (folder.join("result.json"), folder.join("trace.json"));
    let words = ["--json", result.to_str().unwrap(), "--trace", trace.to_str().unwrap(), "--", "two words"];
    let seen = run(&[&["check", program][..], &words].concat(), 1);
    assert!(seen.out.contains("arguments[1]"), "{seen:?}");
    let json = std::fs::read_to_string(&result).unwrap();
    assert!(json.contains(r#""engine":"stateless""#) && json.contains(r#""kind":"assertion""#), "{json}");
    assert!(json.contains("program.c:"), "{json}");
    let again = replay(&seen, 1);
    assert!(again.out.contains("arguments[1]"), "{again:?}");
}

#[test]
fn a_token_replays_an_execution() {
    if !has_gcc("a_token_replays_an_execution") {
        return;
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/c/examples/counter.c");
    let folder = fresh("native-token");
    let program = compile(&folder, &std::fs::read_to_string(corpus).unwrap(), &[]);
    let program = program.to_str().unwrap();
    let seen = run(&["check", program], 1);
    let again = replay(&seen, 1);
    assert!(
        again.out.contains("assertion failed: counter == 2") && again.out.contains("preempted"),
        "{again:?}"
    );
    assert!(again.out.contains("It was replayed") && !again.out.contains(" 0 steps"), "{again:?}");
    // A trace knows what the search has ruled out.
    let trace = folder.join("trace.json");
    run(&["check", program, "--trace", trace.to_str().unwrap()], 1);
    let again = run(&["replay", trace.to_str().unwrap(), "--", program], 1);
    let below = "Below it: every execution with at most 0 preemptions has been checked";
    assert!(seen.out.contains(below) && again.out.contains(below), "{again:?}");
    let seen = run(&["check", program, "--replay", "1AAAAAAAA"], 2);
    assert!(seen.err.contains("not a schedule"), "{seen:?}");
}

#[test]
fn what_cannot_be_checked_says_why() {
    if !has_gcc("what_cannot_be_checked_says_why") {
        return;
    }
    let folder = fresh("native-errors");
    let program = compile(&folder, "int main(void) { return 0; }\n", &[]);
    let at = |path: &Path| path.to_str().unwrap().to_string();
    let plain = at(&program);

    let option = run(&["check", &plain, "--strategy", "best"], 2);
    assert!(option.err.contains("there is no strategy") && option.err.contains("cb-por"), "{option:?}");
    let option = run(&["check", &plain, "--splitting", "lazy"], 2);
    assert!(option.err.contains("not an option for executable files"), "{option:?}");
    let option = run(&["check", &plain, "--stdin", "not-there"], 2);
    assert!(option.err.contains("there is no such file"), "{option:?}");

    let bytes = std::fs::read(&program).unwrap();
    let refused = |name: &str, bytes: &[u8], expected: &str| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        let seen = run(&["check", &at(&path)], 2);
        assert!(seen.err.contains(expected), "{name}: {seen:?}");
    };
    // Written without the right to be executed.
    refused("not-executable", &bytes, "may not be executed");
    refused("script", b"#!/bin/sh\nexec ./program\n", "is a script; give the executable");
    let mut changed = bytes.clone();
    changed[4] = 1;
    refused("narrow", &changed, "is a 32-bit program");
    changed = bytes.clone();
    changed[18] = 183;
    refused("another-processor", &changed, "for another processor");
    refused("cut-off", &bytes[..60], "is damaged");
    let interpreter = b"/lib64/ld-linux-x86-64.so.2";
    let at_interpreter = bytes.windows(interpreter.len()).position(|window| window == interpreter).unwrap();
    changed = bytes.clone();
    changed[at_interpreter + 1] = b'L';
    refused("no-interpreter", &changed, "needs the program interpreter /Lib64/ld-linux-x86-64.so.2");

    let seen = run(&["check", &at(&folder.join("program.c"))], 2);
    assert!(seen.err.contains("compile it") && seen.err.contains("selvedge cc -g"), "{seen:?}");
    let object = compile(&fresh("native-object"), "int main(void) { return 0; }\n", &["-c"]);
    let seen = run(&["check", &at(&object)], 2);
    assert!(seen.err.contains("is an object file"), "{seen:?}");
    let sanitized =
        "void __asan_init(void) __attribute__((weak));\nint main(void) { return __asan_init != 0; }\n";
    let sanitized = compile(&fresh("native-sanitized"), sanitized, &[]);
    let seen = run(&["check", &at(&sanitized)], 2);
    assert!(seen.err.contains("is built with the address sanitizer"), "{seen:?}");
    let sanitized = "void __lsan_init(void) {}\nint main(void) { return 0; }\n";
    let sanitized = compile(&fresh("native-leaks"), sanitized, &[]);
    let seen = run(&["check", &at(&sanitized)], 2);
    assert!(seen.err.contains("is built with the leak sanitizer"), "{seen:?}");
    for word in ["-fsanitize=undefined,address", "-static"] {
        let seen = run(&["cc", &at(&folder.join("program.c")), word, "-o", &at(&folder.join("none"))], 2);
        assert!(seen.err.contains("cannot be used") && !seen.err.contains("installed"), "{seen:?}");
    }
    // No folder can be made in a file.
    let mut command = selvedge(&["cc", &at(&folder.join("program.c")), "-o", &at(&folder.join("none"))]);
    let seen = Seen::from(command.env("XDG_CACHE_HOME", folder.join("program.c")).output().unwrap());
    assert_eq!(seen.status, Some(2), "{seen:?}");
    assert!(seen.err.contains("XDG_CACHE_HOME") && !seen.err.contains("installed"), "{seen:?}");
    // A static library of the sanitizer's is in the program, a shared one is needed by it.
    let with_library =
        compile(&fresh("native-tsan"), "void __tsan_init(void) {}\nint main(void) { return 0; }\n", &[]);
    let seen = run(&["check", &at(&with_library)], 2);
    assert!(seen.err.contains("the thread sanitizer's own library"), "{seen:?}");
    let folder = fresh("native-libtsan");
    let library = compile(&folder, "int none;\n", &["-shared", "-fPIC", "-Wl,-soname,libtsan.so.2"]);
    std::fs::rename(library, folder.join("libtsan.so")).unwrap();
    let flags = ["-L", &at(&folder), "-Wl,--no-as-needed", "-ltsan"];
    let with_library = compile(&folder, "int main(void) { return 0; }\n", &flags);
    let seen = run(&["check", &at(&with_library)], 2);
    assert!(seen.err.contains("the thread sanitizer's own library"), "{seen:?}");
    let fixed = compile(&fresh("native-static"), "int main(void) { return 0; }\n", &["-static"]);
    let seen = run(&["check", &at(&fixed)], 2);
    assert!(seen.err.contains("is statically linked"), "{seen:?}");
}

/// A program that leaves our control is named, with what it does.
#[test]
fn what_leaves_control_is_named() {
    if !has_gcc("what_leaves_control_is_named") {
        return;
    }
    let forks =
        "#include <unistd.h>\nint spawn(void) { return fork(); }\nint main(void) { return spawn(); }\n";
    let program = compile(&fresh("native-fork"), forks, &[]);
    let seen = run(&["check", program.to_str().unwrap()], 2);
    assert!(seen.err.contains("calls fork") && seen.err.contains("called by spawn"), "{seen:?}");
    assert!(seen.err.contains("program.c:2"), "{seen:?}");

    let pipe = "#include <unistd.h>\nint main(void) { int ends[2]; char c; pipe(ends); return read(ends[0], &c, 1); }\n";
    let program = compile(&fresh("native-pipe"), pipe, &[]);
    let mut command = selvedge(&["check", program.to_str().unwrap(), "--patience", "500ms"]);
    let seen = Seen::from(command.output().unwrap());
    assert_eq!(seen.status, Some(2), "{seen:?}");
    assert!(seen.err.contains("left our control") && seen.err.contains("waits in read"), "{seen:?}");
    assert!(seen.err.contains("called by main") && seen.err.contains("program.c:2"), "{seen:?}");

    let endless = "int main(void) { for (volatile int i = 0;; i++) { } }\n";
    let program = compile(&fresh("native-endless"), endless, &[]);
    let mut command = selvedge(&["check", program.to_str().unwrap(), "--patience", "500ms"]);
    let seen = Seen::from(command.output().unwrap());
    assert_eq!(seen.status, Some(2), "{seen:?}");
    assert!(seen.err.contains("comes to no scheduling point"), "{seen:?}");
    assert!(seen.err.contains("it is in main") && seen.err.contains("program.c:1"), "{seen:?}");
    assert!(seen.err.contains("main runs"), "{seen:?}");
}

/// It was the process that was named, or the first thread. One that has blocked every signal does not say where it is.
#[test]
fn the_thread_that_does_not_come_back_is_named() {
    if !has_gcc("the_thread_that_does_not_come_back_is_named") {
        return;
    }
    for (name, body, what) in [
        ("loop", "for (volatile int i = 0;; i++) { }", "loops 1 runs"),
        (
            "deaf",
            "sigset_t all; sigfillset(&all); pthread_sigmask(SIG_BLOCK, &all, 0); for (;;) { }",
            "loops 1 runs",
        ),
        (
            "pipe",
            "int ends[2]; char c; if (!pipe(ends) && read(ends[0], &c, 1)) { }",
            "loops 1 waits in read",
        ),
    ] {
        let text = format!(
            "#define _GNU_SOURCE\n#include <pthread.h>\n#include <signal.h>\n#include <unistd.h>\n\
             static void *loops(void *unused) {{ {body} return unused; }}\n\
             int main(void) {{ pthread_t thread; pthread_create(&thread, 0, loops, 0); return pthread_join(thread, 0); }}\n"
        );
        let program = compile(&fresh(&format!("native-stuck-{name}")), &text, &[]);
        let mut command = selvedge(&["check", program.to_str().unwrap(), "--patience", "500ms"]);
        let seen = Seen::from(command.output().unwrap());
        assert!(seen.status == Some(2) && seen.err.contains(what), "{name}: {seen:?}");
    }
}

/// An execution that does not end is given up after so many steps, which can be fewer or more.
#[test]
fn the_limit_of_steps_can_be_set() {
    if !has_gcc("the_limit_of_steps_can_be_set") {
        return;
    }
    let locks = "#include <pthread.h>\nint main(void) { pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
                 for (int i = 0; i < 15000; i++) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); } }\n";
    let program = compile(&fresh("native-steps"), locks, &[]);
    let program = program.to_str().unwrap();
    // It was a violation.
    assert!(run(&["check", program], 3).out.contains("not ended after 20000 steps"));
    let seen = run(&["check", program, "--max-steps", "100"], 3);
    assert!(seen.out.contains("not ended after 100 steps") && seen.out.contains("--max-steps"), "{seen:?}");
    let seen = run(&["check", program, "--max-steps", "40000"], 0);
    assert!(seen.out.contains("HOLDS"), "{seen:?}");
}

/// A program that depends on more than its schedule is told so.
#[test]
fn nondeterminism_is_reported() {
    if !has_gcc("nondeterminism_is_reported") {
        return;
    }
    // A file that it counts in outlives each execution.
    let text = r#"
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *works(void *argument) {
    int times = 0;
    FILE *file = fopen(argument, "r+");
    fscanf(file, "%d", &times);
    rewind(file);
    fprintf(file, "%d", times + 1);
    fclose(file);
    for (int i = 0; i < times % 3 + 1; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return argument;
}
int main(int count, char **arguments) {
    pthread_t thread;
    pthread_create(&thread, NULL, works, arguments[1]);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return count - 2;
}
"#;
    let folder = fresh("native-nondeterminism");
    let program = compile(&folder, text, &[]);
    let counter = folder.join("counter");
    std::fs::write(&counter, "0").unwrap();
    let seen = run(&["check", program.to_str().unwrap(), "--", counter.to_str().unwrap()], 2);
    assert!(seen.err.contains("not deterministic") && seen.err.contains("fopen"), "{seen:?}");
}

/// `selvedge cc` in the place of a compiler: to an object, then to a program; what the compiler says is said.
#[test]
fn a_program_is_compiled_for_every_access() {
    if !has_gcc("a_program_is_compiled_for_every_access") {
        return;
    }
    let folder = fresh("native-cc");
    let text = "#include <pthread.h>\nint x;\nvoid *f(void *p) { x++; return p; }\nint main(void) { pthread_t t; \
                pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0); return x != 2; }\n";
    std::fs::write(folder.join("race.c"), text).unwrap();
    std::fs::write(folder.join("wrong.c"), "int main(void) { return y; }\n").unwrap();
    let compile = |compiler: &str, words: &[&str]| {
        let mut command = selvedge(&[&["cc"][..], words].concat());
        command.current_dir(&folder).env("XDG_CACHE_HOME", folder.join("cache")).env("SELVEDGE_CC", compiler);
        Seen::from(command.output().unwrap())
    };
    // By default gcc.
    for compiler in ["", "clang"] {
        if compiler == "clang" && Command::new(compiler).arg("--version").output().is_err() {
            eprintln!("SKIPPED: a_program_is_compiled_for_every_access with clang: not installed");
            continue;
        }
        let seen = compile(compiler, &["-O2", "-Wall", "-Werror", "-c", "race.c", "-o", "race.o"]);
        assert_eq!((seen.status, seen.err.as_str()), (Some(0), ""), "{seen:?}");
        let seen = compile(compiler, &["-Werror", "race.o", "-o", "race"]);
        assert_eq!((seen.status, seen.err.as_str()), (Some(0), ""), "{seen:?}");
        let program = folder.join("race");
        assert!(Command::new(&program).status().unwrap().success(), "it runs by itself");
        let seen = run(&["check", program.to_str().unwrap()], 1);
        assert!(seen.out.contains("data-race at") && seen.out.contains("race.c:"), "{seen:?}");
        assert!(seen.out.contains("data race on memory x"), "{seen:?}");
        let seen = run(&["check", program.to_str().unwrap(), "--race-mode", "--strategy", "icb"], 1);
        assert!(seen.out.contains("data-race"), "{seen:?}");
        let seen = compile(compiler, &["-c", "wrong.c"]);
        assert_eq!(seen.status, Some(1), "{seen:?}");
        assert!(seen.err.contains("wrong.c:1"), "{seen:?}");
    }
    let seen = compile("no-such-compiler", &["-c", "race.c"]);
    assert_eq!(seen.status, Some(2), "{seen:?}");
    assert!(seen.err.contains("cannot compile with no-such-compiler"), "{seen:?}");
}

/// What a build may ask of a compiler is answered as the compiler would.
#[test]
fn the_compiler_is_asked_as_usual() {
    if !has_gcc("the_compiler_is_asked_as_usual") {
        return;
    }
    let folder = fresh("native-words");
    // A length that is a constant to the compilers.
    let fence = "#include <string.h>\nunsigned long two = strlen(\"ab\");\n\
                 void fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }\n";
    for (name, text) in [
        ("fence.c", fence),
        ("nothing.s", ".section .note.GNU-stack,\"\",@progbits\n"),
        ("words", "-c 'fence.c'\n"),
        ("a.hpp", "int a();\n"),
        ("a.h", "int a(void);\n"),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let clang = Command::new("clang").arg("--version").output().is_ok_and(|output| output.status.success());
    if !clang {
        eprintln!("SKIPPED: the_compiler_is_asked_as_usual with clang: not installed");
    }
    let asked = |language: &str, compiler: &str, words: &str, status: i32| {
        let mut command = selvedge(&[language]);
        command.args(words.split_whitespace()).current_dir(&folder);
        command.env("SELVEDGE_CC", compiler).env("SELVEDGE_CXX", compiler.replace("cc", "++"));
        command.env("XDG_CACHE_HOME", folder.join("cache"));
        let seen = Seen::from(command.output().unwrap());
        assert_eq!(seen.status, Some(status), "{compiler} {words}: {seen:?}");
        seen
    };
    // A compiler with a program before it.
    for compiler in ["gcc", "env gcc", "clang"].into_iter().filter(|compiler| clang || *compiler != "clang") {
        assert!(asked("cc", compiler, "-v", 0).err.contains("version"));
        assert!(asked("cc", compiler, "", 1).err.contains("no input files"));
        for words in [
            "-Wall -Wextra -c fence.c",
            "-fsyntax-only fence.c",
            "@words",
            "-c nothing.s",
            "-S -D_FORTIFY_SOURCE=2 fence.c",
            "-print-file-name=libc.so",
            "-x c-header a.h -o a.h.gch",
            "a.h",
        ] {
            let seen = asked("cc", compiler, &format!("-Werror {words}"), 0);
            assert_eq!(seen.err, "", "{compiler} {words}");
        }
    }
    if clang {
        asked("cc", "clang", "-Werror --analyze fence.c", 0);
    }
    if Command::new("g++").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let seen = asked("c++", "gcc", "-Werror -x c++-header a.hpp -o a.hpp.gch", 0);
        assert_eq!(seen.err, "");
        assert!(folder.join("a.hpp.gch").exists());
    }
}

/// What a build asks for on its own account does not hide accesses: the optimiser, checks of sizes, and the sanitizer's
/// own library.
#[test]
fn accesses_are_seen_whatever_a_build_asks_for() {
    if !has_gcc("accesses_are_seen_whatever_a_build_asks_for") {
        return;
    }
    let folder = fresh("native-keep");
    let text = "#include <pthread.h>\n#include <string.h>\nchar a[64] = \"abc\", b[64]; volatile int n = 30, same;\n\
                void *f(void *p) {\n#ifdef COMPARES\nsame = !memcmp(a, \"abc\", 4);\n#elif defined SETS\n\
                memset(a, 0, 16);\n#else\nmemcpy(a, b, n);\n#endif\nreturn p; }\n\
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); a[1] = 1; return pthread_join(t, 0); }\n";
    std::fs::write(folder.join("copies.c"), text).unwrap();
    let mut compilers = vec!["gcc".to_string()];
    let clang = Command::new("sh").args(["-c", "command -v clang"]).output().unwrap();
    if clang.status.success() {
        let path = String::from_utf8(clang.stdout).unwrap();
        std::os::unix::fs::symlink(path.trim(), folder.join("another")).unwrap();
        compilers.push(folder.join("another").to_str().unwrap().to_string());
    } else {
        eprintln!("SKIPPED: accesses_are_seen_whatever_a_build_asks_for with clang: not installed");
    }
    let program = folder.join("copies");
    for compiler in &compilers {
        for words in [
            "-D_FORTIFY_SOURCE=2 -fsanitize=thread",
            "-Wp,-D_FORTIFY_SOURCE=2 -static-libtsan",
            "-DSETS -fsanitize=bounds,thread -fno-sanitize=bounds",
            "-DCOMPARES",
        ] {
            let mut compile = selvedge(&["cc", "-O2", "copies.c", "-o", "copies"]);
            compile.args(words.split_whitespace()).current_dir(&folder);
            compile.env("XDG_CACHE_HOME", folder.join("a cache, here")).env("SELVEDGE_CC", compiler);
            compile.env("SELVEDGE_KEEP_OPTIMISATION", "1");
            let seen = Seen::from(compile.output().unwrap());
            assert_eq!((seen.status, seen.err.as_str()), (Some(0), ""), "{compiler} {words}: {seen:?}");
            let seen = run(&["check", program.to_str().unwrap()], 1);
            assert!(seen.out.contains("data race on memory a"), "{compiler} {words}: {seen:?}");
        }
    }
}

const CHOOSER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <selvedge.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *adds(void *argument) {
    int value = __VERIFIER_nondet_int();
    pthread_mutex_lock(&lock);
    sum += value;
    pthread_mutex_unlock(&lock);
    return argument;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, adds, NULL);
    adds(NULL);
    pthread_join(thread, NULL);
    assert(sum != -5 && sum < 6);
    return 0;
}
"#;

#[test]
fn values_are_explored_from_a_given_range() {
    if !has_gcc("values_are_explored_from_a_given_range") {
        return;
    }
    let folder = fresh("native-nondet");
    std::fs::write(folder.join("chooser.c"), CHOOSER).unwrap();
    let mut compile = selvedge(&["cc", "chooser.c", "-o", "chooser"]);
    compile.current_dir(&folder).env("XDG_CACHE_HOME", folder.join("cache"));
    assert!(compile.status().unwrap().success());
    let program = folder.join("chooser");
    let program = program.to_str().unwrap();
    run(&["check", program], 0);
    run(&["check", program, "--nondet", "-2..2"], 0);
    run(&["check", program, "--nondet", "0..3"], 1);
    let seen = run(&["check", program, "--nondet", "-3..2"], 1);
    let command =
        seen.out.lines().find(|line| line.contains("--replay")).unwrap_or_else(|| panic!("{seen:?}"));
    assert!(command.contains("--nondet -3..2"), "{command}");
    assert!(seen.out.contains("choose: -3") && seen.out.contains("choose: -2"), "{seen:?}");
    for (range, message) in [
        ("3", "expected a range such as 0..2"),
        ("2..0", "smallest value first"),
        ("0..65536", "longer than 65,536 values"),
    ] {
        let seen = run(&["check", program, "--nondet", range], 2);
        assert!(seen.err.contains(message), "{range}: {seen:?}");
    }
}

/// An update is lost between two sections.
pub(crate) const COUNTER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static void *counts(void *argument) {
    pthread_mutex_lock(&lock);
    int seen = counter;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    counter = seen + 1;
    pthread_mutex_unlock(&lock);
    return argument;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, counts, NULL);
    counts(NULL);
    pthread_join(thread, NULL);
    printf("counted to %d\n", counter);
    assert(counter == 2);
    return 0;
}
"#;

#[test]
fn more_cores_give_the_same_answer() {
    if !has_gcc("more_cores_give_the_same_answer") {
        return;
    }
    let program = compile(&fresh("native-jobs"), COUNTER, &[]);
    let program = program.to_str().unwrap();
    let answer = |jobs: &str| {
        let json = run(&["check", program, "--jobs", jobs, "--json", "-"], 1).out;
        let (result, origin) = json.split_once("\"origin\"").unwrap();
        assert!(origin.contains("--jobs"), "{origin}");
        // All but times.
        let parts = result.split(['{', '}', ',']).filter(|part| {
            !part.contains("seconds") && !part.contains("peak_memory") && !part.contains("per_second")
        });
        parts.map(str::to_string).collect::<Vec<_>>()
    };
    let one = answer("1");
    assert!(one.iter().any(|part| part.contains("counted to 1")), "{one:?}");
    assert_eq!(one, answer("2"));
    assert_eq!(one, answer("3"));
}

/// The program that is checked does not die of it, on whichever core, and does not stay behind.
#[test]
fn after_ctrl_c_nothing_is_left_of_an_executable() {
    if !has_gcc("after_ctrl_c_nothing_is_left_of_an_executable") {
        return;
    }
    let text = r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *p) {
    for (int i = 0; i < 9; i++) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
    return p;
}
int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); work(0); pthread_join(t, 0); }
"#;
    let program = compile(&fresh("interrupted-executable"), text, &[]).canonicalize().unwrap();
    let running = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let links = entries.filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok());
        links.filter(|exe| *exe == program).count()
    };
    for jobs in ["1", "2"] {
        let words = ["check", program.to_str().unwrap(), "--strategy", "icb", "--preemptions", "12"];
        let mut command = selvedge(&[&words[..], &["--jobs", jobs]].concat());
        let child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begin = Instant::now();
        while running() == 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "the program did not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(300));
        interrupt(&child);
        let seen = Seen::from(child.wait_with_output().unwrap());
        assert_eq!(seen.status, Some(3), "{jobs} jobs: {seen:?}");
        assert!(seen.out.contains("INCONCLUSIVE"), "{jobs} jobs: {seen:?}");
        assert_eq!(running(), 0, "{jobs} jobs");
    }
}

//! Programs that tell of every access to memory.

use selvedge_core::{AssumptionKind, Verdict};
use selvedge_native::{Named, NativeProgram, Parameters, Search};

use crate::common::{compile, corpus, has, instrument, instrument_with, write, write_file};
use crate::examples::check_program;

fn check_all(compilers: [&str; 2], flags: &[&str], test: &str) {
    if !compilers.iter().all(|compiler| has(compiler, test)) {
        return;
    }
    for entry in std::fs::read_dir(corpus().join("atomics")).unwrap() {
        let source = format!("atomics/{}", entry.unwrap().file_name().into_string().unwrap());
        let text = std::fs::read_to_string(corpus().join(&source)).unwrap();
        let only = text.lines().find_map(|line| line.strip_prefix("// only: "));
        if only.is_some_and(|only| !only.starts_with(compilers[0])) {
            continue;
        }
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

/// Calls of functions of the C library that touch the second byte of `text`.
const CALLS: [&str; 44] = [
    "memcpy(text, other, 30)",
    "memmove(text, other, 30)",
    "memmove(other, text, number)",
    "mempcpy(other, text, 30)",
    "memset(text, 0, 30)",
    "sink = memcmp(other, text, 4)",
    "strcpy(text, \"one\")",
    "stpcpy(text, \"one\")",
    "strncpy(text, \"one\", 4)",
    "strcat(text, \"one\")",
    "strncat(text, \"one\", 8)",
    "sink = strcmp(text, other)",
    "sink = strncmp(text, other, 8)",
    "bzero(text, 16)",
    "bzero(text, number)",
    "explicit_bzero(text, 16)",
    "bcopy(other, text, 30)",
    "sink = bcmp(text, other, 8)",
    "sink = !memchr(text, 'z', 30)",
    "sink = !memrchr(text, 'z', 30)",
    "sink = !rawmemchr(text, 'c')",
    "memccpy(other, text, 'c', 30)",
    "sink = !memmem(text, 30, \"cd\", 2)",
    "sink = strlen(text)",
    "sink = strnlen(text, 30)",
    "sink = !strchr(text, 'c')",
    "sink = !strrchr(text, 'c')",
    "sink = !strchrnul(text, 'c')",
    "sink = strspn(text, \"abc\")",
    "sink = strcspn(text, \"cd\")",
    "sink = !strpbrk(text, \"cd\")",
    "sink = !strstr(text, \"bc\")",
    "sink = !strcasestr(text, \"BC\")",
    "sink = strcasecmp(text, \"ABD\")",
    "sink = strncasecmp(text, \"ABD\", 8)",
    "stpncpy(other, text, 30)",
    "free(strdup(text))",
    "free(strndup(text, 2))",
    "wmemcpy((wchar_t *)text, (wchar_t *)other, 4)",
    "wmemmove((wchar_t *)text, (wchar_t *)other, 4)",
    "wmemset((wchar_t *)text, 0, 4)",
    "sink = wmemcmp((wchar_t *)text, (wchar_t *)other, 4)",
    "sink = wcslen((wchar_t *)text)",
    "wcscpy((wchar_t *)other, (wchar_t *)text)",
];

/// Whatever the compiler makes of a call where it knows the sizes, and the text: without optimisation gcc has
/// instructions of its own for some.
#[test]
fn functions_over_memory_are_seen() {
    let cases: String =
        CALLS.iter().enumerate().map(|(at, call)| format!("case {at}: {call}; break;\n")).collect();
    let text = format!(
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n#include <strings.h>\n\
         #include <wchar.h>\n\
         static char text[64] __attribute__((aligned(8))) = \"abcdefgh\", other[64] = \"abcdefghi\";\n\
         static volatile long number = 30, sink;\n\
         static void *touch(void *which) {{\nswitch (atoi(which)) {{\n{cases}}}\nreturn NULL;\n}}\n\
         int main(int count, char **words) {{\npthread_t thread;\n\
         pthread_create(&thread, NULL, touch, words[count - 1]);\ntext[1] = 'b';\n\
         return pthread_join(thread, NULL);\n}}\n"
    );
    let source = write("functions_over_memory", &text);
    for compilers in [["gcc", "g++"], ["clang", "clang++"]] {
        if !has(compilers[0], "functions_over_memory_are_seen") {
            continue;
        }
        let program = instrument_with(compilers, &source, &["-Wno-unused-result", "-Wno-unused-value"]);
        let missed = CALLS.iter().enumerate().filter(|(at, _)| {
            let program = NativeProgram::open(&program).unwrap().arguments([at.to_string()]);
            let outcome = Search::default().check(&program, None, &mut |_| ()).unwrap();
            outcome.violation().is_none_or(|violation| violation.kind.name() != "data-race")
        });
        let missed: Vec<_> = missed.collect();
        assert!(missed.is_empty(), "{compilers:?}: {missed:?}");
    }
}

/// What is read to be changed is read in a step of its own: no update is lost without a preemption, and with two of them both can count.
#[test]
fn to_change_a_variable_is_to_read_and_to_write_it() {
    let text = "#include <assert.h>\n#include <pthread.h>\nint number;\n\
                static void *add(void *unused) { number++; return unused; }\n\
                int main(void) {\npthread_t threads[2];\n\
                for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, add, NULL);\n\
                for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);\nassert(number == SUM);\n}\n";
    let source = write("changes", text);
    for compilers in [["gcc", "g++"], ["clang", "clang++"]] {
        if !has(compilers[0], "to_change_a_variable_is_to_read_and_to_write_it") {
            continue;
        }
        for (sum, preemptions) in [("-DSUM=1", 0), ("-DSUM=2", 1)] {
            let program = NativeProgram::open(&instrument_with(compilers, &source, &[sum])).unwrap();
            let program = program.race_mode(true).unwrap();
            let search = Search { strategy: Named::Icb, allow_races: true, ..Search::default() };
            let outcome = search.check(&program, None, &mut |_| ()).unwrap();
            let violation = outcome.violation().unwrap_or_else(|| panic!("{compilers:?} {sum}: {outcome:?}"));
            assert_eq!(violation.preemptions, preemptions, "{compilers:?} {sum}");
        }
    }
}

/// What is said to hold of a program whose accesses are not seen says so.
#[test]
fn a_guarantee_says_that_memory_was_not_seen() {
    if !has("gcc", "a_guarantee_says_that_memory_was_not_seen") {
        return;
    }
    let source = "atomics/lost_update.c";
    let check = |executable: &std::path::Path| {
        Search::default().check(&NativeProgram::open(executable).unwrap(), None, &mut |_| ()).unwrap()
    };
    let outcome = check(&compile(source, &[]));
    assert!(
        outcome.holds() && outcome.guarantee().unwrap().assumptions.contains(AssumptionKind::UnseenMemory),
        "{outcome:?}"
    );
    assert_eq!(check(&instrument(source, &[])).violation().unwrap().kind.name(), "assertion");
    let outcome = check(&instrument("atomics/publish.c", &[]));
    assert!(
        outcome.holds() && !outcome.guarantee().unwrap().assumptions.contains(AssumptionKind::UnseenMemory),
        "{outcome:?}"
    );
}

/// Whether a loop is taken for one that waits depends on what its thread has seen, and not on the schedule: within each bound
/// there are as many orders whatever the strategy leaves out.
#[test]
fn every_strategy_finds_the_same_orders_where_loops_wait() {
    if !has("gcc", "every_strategy_finds_the_same_orders_where_loops_wait") {
        return;
    }
    const LOOPS: [&str; 8] = [
        "spin_lock.c",
        "ticket_lock.c",
        "two_loops.c",
        "waits_on_its_stack.cpp",
        "polls_under_lock.c",
        "backs_off.c",
        "tries_again.c",
        "waits_in_many_ways.c",
    ];
    for source in LOOPS {
        let executable = instrument(&format!("atomics/{source}"), &[]);
        let program = NativeProgram::open(&executable).unwrap();
        // With every access a step they are the same loops.
        let each_access = NativeProgram::open(&executable).unwrap().race_mode(true).unwrap();
        let parameters = Parameters { preemptions: Some(0), ..Parameters::default() };
        let outcome =
            Search { parameters, ..Search::default() }.check(&each_access, None, &mut |_| ()).unwrap();
        assert!(outcome.holds(), "{source} in race mode: {outcome:?}");
        let orders = |strategy| {
            let parameters = Parameters { preemptions: Some(3), ..Parameters::default() };
            let search = Search { strategy, parameters, ..Search::default() };
            let outcome = search.check(&program, None, &mut |_| ()).unwrap();
            assert!(outcome.holds(), "{source} {strategy}");
            // One that has run everything stops there.
            let mut orders: Vec<_> = outcome.rows.iter().map(|row| row.distinct).collect();
            orders.resize(4, *orders.last().unwrap());
            orders
        };
        let all = orders(Named::Icb);
        assert!(all[3] > all[0], "{source}: {all:?}");
        for strategy in [Named::CbPor, Named::Bpor, Named::Optimal] {
            assert_eq!(orders(strategy), all, "{source} {strategy}");
        }
    }
}

/// Two threads that keep each other out with plain variables, as benchmarks have it, look at them until they may go on.
#[test]
fn loops_over_plain_variables_wait_too() {
    let text = "#include <assert.h>\n#include <pthread.h>\n#include <stddef.h>\n\
                static int wants[2], turn, inside;\n\
                static void *enter(void *other) {\nint me = other == NULL;\n\
                wants[me] = 1;\nturn = TURN;\nwhile (wants[1 - me] == 1 && turn == 1 - me) {}\n\
                inside = me;\nassert(inside == me);\nwants[me] = 0;\nreturn NULL;\n}\n\
                int main(void) {\npthread_t thread;\npthread_create(&thread, NULL, enter, &turn);\n\
                enter(NULL);\npthread_join(thread, NULL);\n}\n";
    let source = write("keeps_out", text);
    if !has("gcc", "loops_over_plain_variables_wait_too") {
        return;
    }
    for (turn, holds) in [("-DTURN=1-me", true), ("-DTURN=me", false)] {
        let program = NativeProgram::open(&instrument(&source, &[turn])).unwrap();
        let program = program.race_mode(true).unwrap();
        let parameters = Parameters { preemptions: Some(2), ..Parameters::default() };
        let search = Search { strategy: Named::Icb, parameters, allow_races: true, ..Search::default() };
        let outcome = search.check(&program, None, &mut |_| ()).unwrap();
        assert_eq!(outcome.holds(), holds, "{turn}: {outcome:?}");
        let kind = outcome.violation().map(|violation| violation.kind.name());
        assert_eq!(kind, (!holds).then_some("assertion"), "{turn}");
    }
}

/// Its members are templates, of which the library has those for characters.
#[test]
fn strings_of_cpp_are_seen() {
    let text = "#include <mutex>\n#include <string>\n#include <thread>\n\
                static std::string text;\nstatic std::mutex lock;\n\
                template <class F> static void with(F change) {\n#ifdef LOCKED\n\
                std::lock_guard<std::mutex> guard(lock);\n#endif\nchange();\n}\n\
                int main() {\nstd::thread thread([] { with([] { text += \"abc\"; }); });\n\
                with([] { text = \"x\"; });\nthread.join();\n}\n";
    let source = write_file("strings.cpp", text);
    for compilers in [["gcc", "g++"], ["clang", "clang++"]] {
        if !has(compilers[1], "strings_of_cpp_are_seen") {
            continue;
        }
        let check = |flags: &[&str]| {
            let program = NativeProgram::open(&instrument_with(compilers, &source, flags)).unwrap();
            Search::default().check(&program, None, &mut |_| ()).unwrap()
        };
        let outcome = check(&[]);
        let violation = outcome.violation().unwrap_or_else(|| panic!("{compilers:?}: {outcome:?}"));
        assert_eq!(violation.kind.name(), "data-race", "{compilers:?}");
        assert!(check(&["-DLOCKED"]).holds(), "{compilers:?}");
        // Whoever wants no assertions has none, and no races of strings.
        if compilers[1] == "g++" {
            assert!(check(&["-U", "_GLIBCXX_ASSERTIONS"]).holds());
        }
    }
}

/// Programs of the field declare what they use, also where they include the header.
#[test]
fn the_header_agrees_with_what_the_field_declares() {
    let text = "#include <stddef.h>\n#include <selvedge.h>\n\
                typedef unsigned char u8;\ntypedef unsigned short u16;\ntypedef unsigned int u32;\n\
                typedef long long loff_t;\ntypedef unsigned long sector_t;\n\
                #ifdef __cplusplus\ntypedef bool _Bool;\n#else\ntypedef _Bool bool;\n#endif\n\
                extern char __VERIFIER_nondet_char(void);\nextern unsigned char __VERIFIER_nondet_uchar(void);\n\
                extern unsigned char __VERIFIER_nondet_unsigned_char(void);\n\
                extern int __VERIFIER_nondet_int(void);\nextern unsigned int __VERIFIER_nondet_uint(void);\n\
                extern unsigned __VERIFIER_nondet_unsigned(void);\n\
                extern unsigned int __VERIFIER_nondet_unsigned_int(void);\n\
                extern short __VERIFIER_nondet_short(void);\nextern unsigned short __VERIFIER_nondet_ushort(void);\n\
                extern long __VERIFIER_nondet_long(void);\nextern unsigned long __VERIFIER_nondet_ulong(void);\n\
                extern long long __VERIFIER_nondet_longlong(void);\n\
                extern unsigned long long __VERIFIER_nondet_ulonglong(void);\n\
                extern float __VERIFIER_nondet_float(void);\nextern double __VERIFIER_nondet_double(void);\n\
                extern _Bool __VERIFIER_nondet_bool(void);\nextern void *__VERIFIER_nondet_pointer(void);\n\
                extern char *__VERIFIER_nondet_pchar(void);\nextern size_t __VERIFIER_nondet_size_t(void);\n\
                extern u8 __VERIFIER_nondet_u8(void);\nextern u16 __VERIFIER_nondet_u16(void);\n\
                extern u32 __VERIFIER_nondet_u32(void);\nextern loff_t __VERIFIER_nondet_loff_t(void);\n\
                extern sector_t __VERIFIER_nondet_sector_t(void);\n\
                __extension__ extern __int128 __VERIFIER_nondet_int128(void);\n\
                __extension__ extern unsigned __int128 __VERIFIER_nondet_uint128(void);\n\
                extern void __VERIFIER_assume(int);\nextern void __VERIFIER_error(void);\n\
                extern void __VERIFIER_atomic_begin(void);\nextern void __VERIFIER_atomic_end(void);\n\
                void __VERIFIER_assert(int condition) { if (!condition) reach_error(); }\n\
                void reach_error(void) { }\n\
                int main(void) { return __VERIFIER_nondet_bool() + __VERIFIER_nondet_u8(); }\n";
    let (c, cpp) = (write("declarations", text), write_file("declarations.cpp", text));
    for (compiler, source, standard) in [
        ("gcc", &c, "-std=c99"),
        ("gcc", &c, "-std=gnu17"),
        ("g++", &cpp, "-std=c++11"),
        ("clang", &c, "-std=c99"),
        ("clang++", &cpp, "-std=c++11"),
    ] {
        if has(compiler, "the_header_agrees_with_what_the_field_declares") {
            let words = [standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", source];
            let words = words.map(Into::into);
            let output = selvedge_native::compiler(compiler, &words).unwrap().output().unwrap();
            assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Functions of the C library are replaced when a program is linked; what only has such a name stays what it is.
#[test]
fn variables_may_be_named_as_functions_of_old() {
    if !has("gcc", "variables_may_be_named_as_functions_of_old") {
        return;
    }
    let other = write("has_index", "int index = 3;\n");
    let text =
        "#include <assert.h>\nextern int index;\nint main(void) { index++; assert(index == 4); return 0; }\n";
    let program = instrument(&write("uses_index", text), &[&other]);
    let program = NativeProgram::open(&program).unwrap();
    assert!(Search::default().check(&program, None, &mut |_| ()).unwrap().holds());
}

/// They were livelocks, or violations of the limit of steps. What a loop counts in is in a register, in memory, or in a value of the
/// thread's own.
#[test]
fn a_program_that_is_just_long_is_neither_violated_nor_a_livelock() {
    if !has("gcc", "a_program_that_is_just_long_is_neither_violated_nor_a_livelock") {
        return;
    }
    let check = |program: &std::path::Path, race_mode: bool, max_steps: usize| {
        let program = NativeProgram::open(program).unwrap().race_mode(race_mode).unwrap();
        let search = Search { max_steps: Some(max_steps), ..Search::default() };
        search.check(&program, None, &mut |_| ()).unwrap()
    };
    let head = "#include <assert.h>\n#include <pthread.h>\n#include <sched.h>\nstatic int cells[300], count;\n\
                static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic pthread_key_t key;\n\
                static void *work(void *unused) {\n";
    let tail = "return unused; }\nint main(void) {\npthread_t thread;\npthread_key_create(&key, NULL);\n\
                pthread_create(&thread, NULL, work, NULL);\nreturn pthread_join(thread, NULL);\n}\n";
    let programs = [
        ("sums", "int sum = 0; for (int i = 0; i < 300; i++) sum += cells[i]; assert(sum == 0);", true),
        ("yields", "for (int i = 0; i < 300; i++) sched_yield();", false),
        ("counts", "while (count < 300) { count++; sched_yield(); }", false),
        (
            "locks",
            "for (int i = 0; i < 150; i++) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }",
            false,
        ),
        (
            "notes",
            "long i; while ((i = (long)pthread_getspecific(key)) < 300) { pthread_setspecific(key, (void *)(i + 1)); \
             sched_yield(); }",
            false,
        ),
    ];
    for (name, body, race_mode) in programs {
        let source = write(&format!("long_{name}"), &format!("{head}{body}{tail}"));
        let mut compiled = vec![instrument(&source, &[])];
        if !race_mode {
            compiled.extend([compile(&source, &[]), compile(&source, &["-O2"])]);
        }
        for program in compiled {
            let outcome = check(&program, race_mode, 200);
            let Verdict::Inconclusive(gap) = &outcome.verdict else { panic!("{name}: {outcome:?}") };
            assert!(gap.reason.contains("not ended after 200 steps"), "{name}: {gap:?}");
            assert!(gap.reason.contains("--max-steps"), "{name}: {gap:?}");
            assert_eq!(gap.covered, None, "{name}");
            assert!(check(&program, race_mode, 1_000).holds(), "{name}");
        }
    }
}

/// Also where another job was the first to read one.
#[test]
fn inputs_of_which_not_all_are_tried_are_named() {
    if !has("gcc", "inputs_of_which_not_all_are_tried_are_named") {
        return;
    }
    let assumed = |body: &str, jobs: u32| {
        let text = format!(
            "#include <pthread.h>\n#include <selvedge.h>\nstatic int sink;\n\
             static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
             static void *work(void *unused) {{ pthread_mutex_lock(&lock); sink++; pthread_mutex_unlock(&lock); \
             return unused; }}\nint main(void) {{\npthread_t thread;\npthread_create(&thread, NULL, work, NULL);\n\
             pthread_mutex_lock(&lock); if (sink) {{ {body}; }} pthread_mutex_unlock(&lock);\n\
             return pthread_join(thread, NULL);\n}}\n"
        );
        let program = NativeProgram::open(&instrument(&write("inputs", &text), &[])).unwrap();
        let program = program.nondet(-1, 4).unwrap().jobs(jobs).eager(jobs > 1);
        let outcome = Search::default().check(&program, None, &mut |_| ()).unwrap();
        assert!(outcome.holds(), "{outcome:?}");
        outcome.guarantee().unwrap().assumptions.to_string()
    };
    for jobs in [1, 2] {
        assert_eq!(assumed("__VERIFIER_nondet_int()", jobs), "inputs in -1..4");
        assert_eq!(assumed("__VERIFIER_nondet_pointer()", jobs), "null for pointers that are inputs");
        assert_eq!(assumed("__VERIFIER_nondet_bool(); selvedge_choose(0, 1)", jobs), "");
    }
}

/// Objects and libraries that were compiled otherwise, and inline assembler, could synchronise threads without being seen.
#[test]
fn code_that_was_not_seen_is_named() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let source = |name: &str, text: &str| {
        std::fs::write(at(name), text).unwrap();
        at(name)
    };
    let run =
        |command: &mut std::process::Command| assert!(command.status().unwrap().success(), "{command:?}");
    let plain = |words: &[&str]| run(std::process::Command::new(words[0]).args(&words[1..]));
    let main = source(
        "main.c",
        "#include <pthread.h>\n#include <stdio.h>\n#include <math.h>\nint other(void);\n\
         static void *work(void *unused) { return unused; }\nint main(void) {\npthread_t thread;\n\
         pthread_create(&thread, NULL, work, NULL);\nother();\nreturn pthread_join(thread, NULL);\n}\n",
    );
    let quiet = source(
        "quiet.c",
        "int x; int other(void) { __asm__ volatile(\"pause\" ::: \"memory\"); __asm__ volatile(\"\" ::: \"memory\"); \
         return x; }\n",
    );
    let locks = source(
        "locks.c",
        "int x; static void add(int *at) { __asm__ volatile(\"lock; incl %0\" : \"+m\"(*at) :: \"memory\"); }\n\
         int other(void) { add(&x); return x; }\n",
    );
    let assembled =
        source("assembled.s", ".globl other\nother: ret\n.section .note.GNU-stack,\"\",@progbits\n");
    for compiler in ["gcc", "clang"] {
        if !has(compiler, "code_that_was_not_seen_is_named") {
            continue;
        }
        let (object, archive, shared) = (at("plain.o"), at("libplain.a"), at("libshared.so"));
        plain(&[compiler, "-c", &quiet, "-o", &object]);
        plain(&["ar", "rcs", &archive, &object]);
        plain(&[compiler, "-shared", "-fPIC", &quiet, "-o", &shared]);
        let ours = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(Into::into).collect();
            run(&mut selvedge_native::compiler(compiler, &words).unwrap());
        };
        let (seen, unseen, program) = (at("seen.o"), at("locks.o"), at("program"));
        ours(&["-c", &quiet, "-o", &seen]);
        ours(&["-c", &locks, "-o", &unseen, "-MD", "-MF", &at("depends")]);
        let folder = format!("-L{}", folder.path().display());
        let rpath = format!("-Wl,-rpath,{}", folder_of(&shared));
        let cases: [(&[&str], &[&str]); 9] = [
            (&[&quiet, "-lm", "-lpthread"], &[]),
            (&[&seen], &[]),
            (&[&object], &["plain.o"]),
            (&[&folder, "-lplain"], &["libplain.a"]),
            (&[&archive], &["libplain.a"]),
            (&[&folder, "-lshared", &rpath], &["libshared.so"]),
            (&[&locks], &["inline assembler in locks.c"]),
            (&[&unseen], &["inline assembler in locks.c"]),
            (&[&assembled], &["assembled.s"]),
        ];
        for (words, expected) in cases {
            ours(&[&[main.as_str(), "-o", &program], words].concat());
            for is_stripped in [false, true] {
                if is_stripped {
                    plain(&["strip", &program]);
                }
                let native = NativeProgram::open(program.as_ref()).unwrap();
                let outcome = Search::default().check(&native, None, &mut |_| ()).unwrap();
                assert!(outcome.holds(), "{outcome:?}");
                let assumed: Vec<_> = outcome
                    .guarantee()
                    .unwrap()
                    .assumptions
                    .iter()
                    .map(|assumption| assumption.phrase.to_string())
                    .collect();
                let expected: Vec<_> = expected
                    .iter()
                    .map(|name| format!("no synchronisation in code that was not seen ({name})"))
                    .collect();
                assert_eq!(assumed, expected, "{compiler} {words:?}, stripped: {is_stripped}");
            }
            // It runs by itself, too.
            plain(&[&program]);
        }
    }
}

fn folder_of(file: &str) -> String {
    std::path::Path::new(file).parent().unwrap().display().to_string()
}

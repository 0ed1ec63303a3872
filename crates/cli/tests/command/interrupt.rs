//! Ctrl-C, SIGTERM and SIGHUP: the first lets an engine say what it covered, the second ends everything.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Seen, fresh, selvedge};

/// Starts a check in a process group of its own, as a shell does, and waits until its program runs.
fn start(file: &str) -> Child {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let ready = fresh(&format!("{}-{number}", file.replace('/', "-"))).join("ready");
    let mut command = selvedge(&["check", file]);
    command.env("STUB_READY", &ready).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let begin = Instant::now();
    while !ready.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{file} did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

/// What the terminal does on Ctrl-C.
pub(crate) fn interrupt(child: &Child) {
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
}

#[test]
fn after_ctrl_c_what_was_covered_is_printed() {
    // Of the test, cargo is the parent, and dies at once.
    for file in ["examples/waits.rs", "tests/waits.rs"] {
        let child = start(file);
        interrupt(&child);
        let seen = Seen::from(child.wait_with_output().unwrap());
        assert_eq!(seen.status, Some(3), "{file}: {seen:?}");
        assert!(seen.out.contains("INCONCLUSIVE: waits"), "{file}: {seen:?}");
    }
}

#[test]
fn checks_that_hold_are_not_the_whole_answer_of_an_interrupted_program() {
    let child = start("examples/waits_after.rs");
    interrupt(&child);
    let seen = Seen::from(child.wait_with_output().unwrap());
    assert_eq!(seen.status, Some(3), "{seen:?}");
    assert!(seen.out.contains("HOLDS: first") && seen.err.contains("was interrupted"), "{seen:?}");
}

#[test]
fn a_second_ctrl_c_ends_a_program_that_does_not_listen() {
    let child = start("examples/stubborn.rs");
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    let begin = Instant::now();
    let seen = Seen::from(child.wait_with_output().unwrap());
    assert_eq!(seen.status, Some(130), "{seen:?}");
    assert!(begin.elapsed() < Duration::from_secs(10));
}

/// Sends a signal to the command alone, as a supervisor does.
fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Each signal ends a check within a second, with what was covered. The machine may have other work to do: the best of a
/// few attempts counts.
#[track_caller]
fn ends_at_once(name: &str, start: &dyn Fn() -> Child, covered: &str) {
    const LIMIT: Duration = Duration::from_secs(1);
    for number in ["-INT", "-TERM", "-HUP"] {
        let mut took = Vec::new();
        for _ in 0..3 {
            let child = start();
            signal(&child, number);
            let begin = Instant::now();
            let seen = Seen::from(child.wait_with_output().unwrap());
            took.push(begin.elapsed());
            assert_eq!(seen.status, Some(3), "{name}, {number}: {seen:?}");
            let said = seen.out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                said.contains("INCONCLUSIVE") && said.contains("was interrupted"),
                "{name}, {number}: {seen:?}"
            );
            assert!(said.contains(covered), "{name}, {number}: {seen:?}");
            if took.last() <= Some(&LIMIT) {
                break;
            }
        }
        assert!(took.last() <= Some(&LIMIT), "{name}, {number}: {took:?}");
    }
}

/// Starts a check that takes long, and gives it time to finish its first bounds.
fn long(words: &[&str]) -> Child {
    let child = selvedge(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    child
}

#[test]
fn every_signal_ends_a_promela_model() {
    let file = fresh("signals-promela").join("long.pml");
    let text = "byte x; active [6] proctype P() { byte i, t; do :: i < 200 -> t = x; x = t + 1; i++ :: else -> break od }";
    std::fs::write(&file, text).unwrap();
    let words = ["check", file.to_str().unwrap(), "--memory", "2G"];
    ends_at_once("promela", &|| long(&words), "Covered: every execution with at most");
}

#[test]
fn every_signal_ends_a_network() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/symbolic/vector_java6.bp");
    let wide = std::fs::read_to_string(corpus).unwrap().replace("int<8>", "int<16>");
    // Two processes that multiply: one operation on BDDs takes minutes.
    let product = "decl int<20> a, b, c;\nprocess p = f(); process q = f();\n\
        void f() begin a := b; skip; skip; c := a * b; end\n";
    for (name, text, splitting, covered) in
        [("tuples", wide.as_str(), "eager", ""), ("product", product, "lazy", "")]
    {
        let file = fresh(&format!("signals-{name}")).join("long.bp");
        std::fs::write(&file, text).unwrap();
        let words = ["check", file.to_str().unwrap(), "--contexts", "5", "--splitting", splitting];
        ends_at_once(name, &|| long(&words), covered);
    }
}

/// Compiles a program of some threads that lock one mutex again and again.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn executable(name: &str, threads: u32, rounds: u32) -> std::path::PathBuf {
    let text = format!(
        r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *p) {{
    for (int i = 0; i < {rounds}; i++) {{ pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }}
    return p;
}}
int main(void) {{
    pthread_t t[{threads}];
    for (int i = 0; i < {threads}; i++) pthread_create(&t[i], 0, work, 0);
    work(0);
    for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);
}}
"#
    );
    crate::native::compile(&fresh(name), &text, &[])
}

const SOME: &str = "Covered: every execution with at most";

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn every_signal_ends_an_executable() {
    if !crate::native::has_gcc("every_signal_ends_an_executable") {
        return;
    }
    let program = executable("signals-executable", 2, 12);
    for more in [&["--strategy", "icb"][..], &["--strategy", "icb", "--jobs", "2"], &[]] {
        let words = [&["check", program.to_str().unwrap(), "--preemptions", "30"][..], more].concat();
        ends_at_once(&format!("{more:?}"), &|| long(&words), SOME);
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn every_signal_ends_an_executable_on_two_cores() {
    if !crate::native::has_gcc("every_signal_ends_an_executable_on_two_cores") {
        return;
    }
    let program = executable("signals-jobs", 5, 4);
    for jobs in ["1", "2"] {
        let words = ["check", program.to_str().unwrap(), "--preemptions", "30", "--jobs", jobs];
        ends_at_once(jobs, &|| long(&words), SOME);
    }
}

/// A package with a test of three threads that lock one mutex again and again.
fn package(name: &str) -> impl Fn(&[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folder = fresh(name);
    let manifest = format!(
        "[package]\nname = \"long\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n\
         [dependencies]\nselvedge = {{ path = {:?} }}\n",
        root.join("crates/selvedge")
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    std::fs::create_dir_all(folder.join("tests")).unwrap();
    let test = "use selvedge::sync::{Arc, Mutex};\n\
        #[test]\nfn long() {\n    selvedge::check(|| {\n\
        let all = Arc::new(Mutex::new(0));\n\
        let add = |m: Arc<Mutex<u32>>| move || (0..12).for_each(|_| *m.lock().unwrap() += 1);\n\
        let threads = [0, 1].map(|_| selvedge::thread::spawn(add(all.clone())));\n\
        add(all)();\n\
        for thread in threads { thread.join().unwrap() }\n    });\n}\n";
    let file = folder.join("tests/long.rs");
    std::fs::write(&file, test).unwrap();
    let command = move |words: &[&str]| {
        let mut command = selvedge(&[&["check", file.to_str().unwrap()], words].concat());
        // Where the workspace has been built.
        command.env("CARGO_TARGET_DIR", root.join("target")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    // Built before it is timed.
    let built = Seen::from(command(&["--max-executions", "1"]).output().unwrap());
    assert_eq!(built.status, Some(3), "{built:?}");
    command
}

fn rust(name: &str, strategy: &str) {
    let command = package(name);
    let start = || {
        let child = command(&["--preemptions", "30", "--strategy", strategy]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(2500));
        child
    };
    ends_at_once(strategy, &start, SOME);
}

#[test]
fn every_signal_ends_a_rust_program() {
    rust("signals-rust", "icb");
}

#[test]
fn every_signal_ends_the_default_search_of_a_rust_program() {
    rust("signals-rust-default", "cb-por");
}

/// A signal while cargo builds is no mistake in the program.
#[test]
fn a_signal_during_the_build_is_no_mistake() {
    let folder = fresh("signals-build");
    std::fs::create_dir_all(folder.join("examples")).unwrap();
    let manifest = "[package]\nname = \"slow\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let ready = folder.join("ready");
    let build = format!(
        "fn main() {{ std::fs::write({ready:?}, \"\").unwrap(); std::thread::sleep(std::time::Duration::from_secs(60)); }}"
    );
    std::fs::write(folder.join("build.rs"), build).unwrap();
    std::fs::write(folder.join("examples/e.rs"), "fn main() {}").unwrap();
    for number in ["-INT", "-TERM", "-HUP"] {
        let _ = std::fs::remove_file(&ready);
        let mut command = selvedge(&["check", folder.join("examples/e.rs").to_str().unwrap()]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begin = Instant::now();
        while !ready.exists() {
            assert!(begin.elapsed() < Duration::from_secs(60), "the build did not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        signal(&child, number);
        let begin = Instant::now();
        let seen = Seen::from(child.wait_with_output().unwrap());
        assert_eq!(seen.status, Some(3), "{number}: {seen:?}");
        assert!(seen.err.contains("interrupted before a check ended"), "{number}: {seen:?}");
        assert!(begin.elapsed() < Duration::from_secs(2), "{number}: {:?}", begin.elapsed());
    }
}

/// One that is asked once and says nothing is ended.
#[test]
fn a_program_that_does_not_listen_is_ended() {
    let child = start("examples/stubborn.rs");
    signal(&child, "-TERM");
    let begin = Instant::now();
    let seen = Seen::from(child.wait_with_output().unwrap());
    assert_eq!(seen.status, Some(3), "{seen:?}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

//! Selvedge beside loom 0.7 and shuttle 0.9, on the same programs in the same run.
//!
//! `cargo run --release` here measures and writes RESULTS.md; with `-- --quick` it takes a tenth of the time
//! and writes nothing; `-- --only executions|steps|explored|searches|times|memory` measures one thing.

#![expect(clippy::duplicate_mod, reason = "the programs are compiled once for each contender")]

mod allocation;
mod catalogue;
mod clock;
mod contenders;
mod explore;
mod memory;
mod random;
mod steps;
mod table;

use std::process::Command;

#[global_allocator]
static ALLOCATOR: allocation::Counting = allocation::Counting;

/// What is said above each table.
const EXECUTIONS: &str = "## One execution

CPU time of one execution: random scheduling for selvedge and shuttle; loom does not sample, so the mean over \
the first executions of its own exploration. Medians over batches that take turns, and of the ratios between them. Steps are scheduling \
decisions in an execution (means).";
const STEPS: &str = "## One step more

CPU time of one more atomic operation in a long execution: the slope between runs of 1,000 and 3,000. loom's \
first executions, which are those that are timed, seldom switch.";
const EXPLORED: &str = "## Executions explored

Executions within a bound on preemptions, and without one, of the search that is the default of each. selvedge's \
bound is on preemptions alone: every switch that is free is explored at every bound. loom's bound cuts free switches too, so its lower counts \
leave executions out that need no preemption. shuttle has no bound; its search is depth first, and \
gives up an execution that spins for 2,000 steps. Partial orders \
are those that selvedge saw: how many executions a perfect reduction would need.";
const SEARCHES: &str = "## What each of selvedge's searches runs

Executions at a bound at once, and how many partial orders there are within it. `cb-por`, the default, remembers states; with \
a number, so many at most; `optimal`, 32 times the square of the length of an execution. `bpor` remembers none.";
const TIMES: &str = "## What these searches take

CPU time of a whole search at bound 2 at once, in milliseconds, and of one execution of it in microseconds: the least of 3, by \
turns. `icb` runs every schedule. An execution of `cb-por` costs more, because it looks through the states that are new in it: \
what is marked, and with what it costs to come there (decision 10).";
const MEMORY: &str = "## Peak memory

Peak resident memory (VmHWM) of a process that runs the condvar buffer so often.";
const CALLS: &str = "## System calls

All system calls of a process that runs both long programs, counted by strace; the difference between the \
columns is what the steps make.";

struct Options {
    quick: bool,
    only: Option<String>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|argument| argument == "--child") {
        return memory::child(&arguments[1..]);
    }
    let mut options = Options { quick: false, only: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--only" => options.only = rest.next().cloned(),
            _ => panic!(
                "{argument}: expected --quick or --only executions|steps|explored|searches|times|memory"
            ),
        }
    }
    let text = measure(&options);
    if !options.quick && options.only.is_none() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");
        std::fs::write(path, text).expect("RESULTS.md can be written");
    }
}

fn measure(options: &Options) -> String {
    let quick = options.quick;
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    let mut text = String::new();
    let mut say = |part: &str| {
        println!("{part}");
        text += part;
        text.push('\n');
    };
    say("# Selvedge beside loom and shuttle\n");
    say(&format!(
        "Written by `cargo run --release --manifest-path benches/peers/Cargo.toml`. {}\n",
        machine()
    ));
    if wanted("executions") {
        say(&format!("{EXECUTIONS}\n\n{}", random::run(if quick { 3 } else { 9 })));
    }
    if wanted("steps") {
        say(&format!("{STEPS}\n\n{}", steps::run(if quick { 3 } else { 9 })));
    }
    if wanted("explored") {
        say(&format!(
            "{EXPLORED}\n\n{}",
            explore::run(if quick { 500 } else { 10_000 }, if quick { 500 } else { 150_000 })
        ));
    }
    if wanted("searches") {
        say(&format!("{SEARCHES}\n\n{}", explore::searches(if quick { 500 } else { 10_000 })));
    }
    if wanted("times") {
        say(&format!("{TIMES}\n\n{}", explore::times(if quick { 500 } else { 200_000 })));
    }
    if wanted("memory") {
        say(&format!("{MEMORY}\n\n{}", memory::run(if quick { 10_000 } else { 1_000_000 })));
        say(&format!("{CALLS}\n\n{}", memory::run_system_calls()));
    }
    text
}

/// What the figures were measured with.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let output = Command::new("rustc").arg("--version").output();
    let rustc = output.map_or("rustc of unknown version".into(), |output| {
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    });
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(": ")?.1.to_string())
    });
    format!(
        "Machine: {cores} cores, {}, {}, {rustc}; CPU time throughout.",
        model.unwrap_or("unknown processor".into()),
        std::env::consts::OS,
    )
}

//! Peak memory as executions grow, and system calls as steps do; each in a process of its own.

use std::process::Command;

use crate::contenders::{Contender, Loom, Selvedge, Shuttle};
use crate::steps::{execute, shapes};
use crate::table::{Table, grouped};

/// The program of the catalogue that is run: the condvar buffer, which has every kind of wait.
const PROGRAM: usize = 6;

/// The work of the child process: `--child memory selvedge 10000` or `--child steps selvedge 3000`.
pub(crate) fn child(arguments: &[String]) {
    let [what, who, count] = arguments else { panic!("a child takes three arguments: {arguments:?}") };
    let count: u64 = count.parse().expect("a child is given a number");
    match who.as_str() {
        Selvedge::NAME => work::<Selvedge>(what, count),
        Shuttle::NAME => work::<Shuttle>(what, count),
        Loom::NAME => work::<Loom>(what, count),
        _ => panic!("there is no contender {who}"),
    }
}

fn work<C: Contender>(what: &str, count: u64) {
    if what == "memory" {
        C::sample(C::PROGRAMS[PROGRAM], count, 1);
        println!("{}", peak_kilobytes().expect("there is /proc/self/status"));
    } else {
        shapes::<C>().into_iter().for_each(|shape| execute::<C>(shape, count as usize, 20));
    }
}

fn peak_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn peak_after(contender: &str, executions: u64) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let arguments = ["--child", "memory", contender, &executions.to_string()];
    let output = Command::new(program).args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// System calls that a child makes, as strace counts them.
fn system_calls(contender: &str, length: u64) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let summary = std::env::temp_dir().join(format!("selvedge-peers-{}.strace", std::process::id()));
    let status = Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&summary)
        .arg(program)
        .args(["--child", "steps", contender, &length.to_string()])
        .status();
    let text = std::fs::read_to_string(&summary).ok();
    let _ = std::fs::remove_file(&summary);
    if !status.ok()?.success() {
        return None;
    }
    let text = text?;
    let total = text.lines().rfind(|line| line.ends_with("total"))?;
    total.split_whitespace().nth(3)?.parse().ok()
}

/// The table of peak memory.
pub(crate) fn run(most: u64) -> String {
    let sizes: Vec<u64> = [10_000, 100_000, 1_000_000].into_iter().filter(|&size| size <= most).collect();
    let mut header = vec!["executions".to_string()];
    header.extend(sizes.iter().map(|&size| grouped(size)));
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for name in [Selvedge::NAME, Shuttle::NAME, Loom::NAME] {
        let mut cells = vec![format!("{name}: peak, kB")];
        cells.extend(sizes.iter().map(|&size| {
            // loom would take minutes for the largest.
            let tried = name != Loom::NAME || size <= 100_000;
            let peak = if tried { peak_after(name, size) } else { None };
            peak.map_or("–".into(), grouped)
        }));
        table.row(cells);
    }
    table.text()
}

/// The table of system calls.
pub(crate) fn run_system_calls() -> String {
    const LENGTHS: [u64; 2] = [1_000, 3_000];
    let mut table = Table::new(&["20 executions, one thread and two threads", "1,000 steps", "3,000 steps"]);
    for name in [Selvedge::NAME, Shuttle::NAME, Loom::NAME] {
        let calls = LENGTHS.map(|length| system_calls(name, length));
        if calls.contains(&None) {
            return "Not measured: strace is not there, or may not trace.\n".into();
        }
        let mut cells = vec![format!("{name}: system calls in all")];
        cells.extend(calls.iter().flatten().map(|&calls| grouped(calls)));
        table.row(cells);
    }
    table.text()
}

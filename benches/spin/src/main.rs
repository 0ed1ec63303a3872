//! Selvedge beside Spin 6.5, on the same models in the same run.
//!
//! `cargo run --release` here measures and writes RESULTS.md; `-- --only exhaustive|verdict|bounds` measures
//! one thing, `-- --model NAME` one model, and both write nothing. Spin and gcc must be installed.

mod catalogue;
mod child;
mod process;
mod sections;
mod spin;
#[path = "../../peers/src/table.rs"]
mod table;

use std::process::Command;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|argument| argument == "--child") {
        return child::run(&arguments[1..]);
    }
    let (mut only, mut model) = (None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--only" => only = rest.next().cloned(),
            "--model" => model = rest.next().cloned(),
            _ => panic!("{argument}: expected --only exhaustive|verdict|bounds or --model NAME"),
        }
    }
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let model = model.as_deref();
    let mut text = String::new();
    let mut say = |part: &str| {
        println!("{part}");
        text += part;
        text.push('\n');
    };
    say("# Selvedge beside Spin\n");
    say(&format!(
        "Written by `cargo run --release --manifest-path benches/spin/Cargo.toml`. {}\n",
        machine()
    ));
    if wanted("exhaustive") {
        say(&sections::exhaustive(model));
    }
    if wanted("verdict") {
        say(&sections::verdict(model));
    }
    if wanted("bounds") {
        say(&sections::bounds(model));
    }
    if only.is_none() && model.is_none() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");
        std::fs::write(path, text).expect("RESULTS.md can be written");
    }
}

/// What the figures were measured with.
fn machine() -> String {
    let first_line = |program: &str, flag: &str| {
        let output = Command::new(program).arg(flag).output();
        output.ok().and_then(|output| {
            String::from_utf8_lossy(&output.stdout).lines().next().map(|line| line.trim().to_string())
        })
    };
    let tools: Vec<String> = [("rustc", "--version"), ("gcc", "--version"), ("spin", "-V")]
        .into_iter()
        .filter_map(|(program, flag)| first_line(program, flag))
        .collect();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(": ")?.1.to_string())
    });
    format!(
        "Machine: {}; {}. CPU time (user and system) throughout, one core.",
        cpu.unwrap_or("unknown processor".into()),
        tools.join("; ")
    )
}

//! The front ends: each takes one kind of file to an engine. A new one is a file here and a line in
//! [`FRONT_ENDS`].

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
mod promela;
mod rust;
mod symbolic;

use std::io::Read as _;
use std::path::Path;

use anyhow::{anyhow, bail};
use selvedge_core::Schedule;
use selvedge_report::{Origin, Report};
use selvedge_stateless::strategy::Named;

use crate::args::Options;
use crate::output::Status;

/// Every front end; the first that accepts a file gets it.
const FRONT_ENDS: &[&FrontEnd] = &[
    &rust::FRONT_END,
    &promela::FRONT_END,
    &symbolic::FRONT_END,
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    &native::FRONT_END,
];

/// What takes one kind of file to an engine.
pub(crate) struct FrontEnd {
    /// What it is called: "Rust".
    name: &'static str,
    /// The files it takes, for a message: "a .rs file of a cargo package".
    files: &'static str,
    /// Whether the file is one of its kind, by its name or its first bytes.
    accepts: fn(&Path) -> bool,
    /// Whether it can be told which checks of a file to do.
    pub(crate) filters: bool,
    /// The options that it knows, of [`Options`], in groups; any other is refused before it is called.
    options: &'static [&'static [&'static str]],
    /// Checks a file.
    check: fn(&Request<'_>) -> anyhow::Result<Answer>,
}

/// The options of the stateless engine.
const STATELESS: &[&str] = &[
    "--preemptions",
    "--yields",
    "--delays",
    "--depth",
    "--at-bound",
    "--strategy",
    "--race-mode",
    "--allow-races",
    "--spurious",
    "--max-executions",
    "--max-steps",
    "--time",
    "--memory",
    "--seed",
];

impl FrontEnd {
    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|group| group.contains(&option))
    }
}

/// The strategy of the stateless engine that the options choose, by its name or by a bound. What it would not heed is refused,
/// unless one schedule is run again: that has its bounds in itself.
fn strategy(request: &Request<'_>) -> anyhow::Result<Named> {
    let options = request.options;
    let chosen = options.strategy.as_deref().map(|name| name.parse::<Named>()).transpose();
    let chosen = chosen.map_err(|error| anyhow!("--strategy: {error}"))?;
    if request.replay.is_some() {
        return Ok(chosen.unwrap_or_default());
    }
    if options.allow_races && !options.race_mode {
        bail!(
            "--allow-races: without race mode the orders of accesses that race are not explored, so nothing could be \
             said of what they lead to; add --race-mode"
        );
    }
    let mut usual = Named::default();
    if options.allow_races {
        usual = usual.unreduced();
        if let Some(chosen) = chosen.filter(|chosen| chosen.reduces()) {
            bail!(
                "--allow-races: the strategy {chosen} leaves orders of steps out, and which it may is not known where \
                 there are races; leave --strategy out, or choose icb, dfs, delay, depth, random or pct"
            );
        }
    }
    Named::within(chosen, usual, &options.bounds())
        .map_err(|error| anyhow!("--{}: {error}", error.bound.name()))
}

/// The compiler of a source file of C or C++.
fn compiler(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "c" => Some("cc"),
        "C" | "cc" | "cpp" | "cxx" | "c++" => Some("c++"),
        _ => None,
    }
}

/// Whether a file says which program is to interpret it.
fn is_script(path: &Path) -> bool {
    let mut begin = [0; 2];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *b"#!"
}

/// What a front end is asked.
pub(crate) struct Request<'a> {
    /// The file, which exists.
    pub(crate) file: &'a Path,
    /// Only the checks with this in their name.
    pub(crate) filter: Option<&'a str>,
    /// What comes after `--`, for the program itself.
    pub(crate) arguments: &'a [String],
    /// What to search.
    pub(crate) options: &'a Options,
    /// Not to search, but to run this one execution.
    pub(crate) replay: Option<&'a Schedule>,
}

/// What a front end answers.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The results: at least one.
    pub(crate) checked: Vec<Checked>,
    /// Why they are not the whole answer, and the exit status that this deserves.
    pub(crate) reservation: Option<(Status, String)>,
}

/// A result, and how to get it again.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The result.
    pub(crate) report: Report,
    /// What was checked with which options, for a trace file.
    pub(crate) origin: Origin,
    /// The command that replays the counterexample, if there is one.
    pub(crate) replay: Option<String>,
    /// More for the text, after the report.
    pub(crate) notes: Option<String>,
}

pub(crate) use promela::simulate;

/// The front end that takes a file.
pub(crate) fn of(file: &Path) -> anyhow::Result<&'static FrontEnd> {
    let path = file.display();
    let metadata = match std::fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) => bail!("cannot read {path}: {error}; give the file to check"),
    };
    if metadata.is_dir() {
        bail!(
            "{path} is a directory; give the file to check, such as one of its examples/*.rs or tests/*.rs"
        );
    }
    // To open a pipe would wait for somebody who writes to it.
    if !metadata.is_file() {
        bail!("{path} is not a regular file but a pipe, a socket or a device; give the file to check");
    }
    if let Some(front_end) = FRONT_ENDS.iter().find(|front_end| (front_end.accepts)(file)) {
        return Ok(front_end);
    }
    if let Some(compiler) = compiler(file) {
        bail!(
            "{path} is the source of a program; compile it and give the executable: \
             selvedge {compiler} -g {path} -o PROGRAM, then selvedge check ./PROGRAM"
        );
    }
    if is_script(file) {
        bail!(
            "{path} is a script; give the executable that it runs (that of a script of libtool's is in .libs)"
        );
    }
    bail!("{path} is of a kind that Selvedge does not check; it takes\n{}", supported());
}

/// Checks a file with the front end that takes it.
pub(crate) fn check(request: &Request<'_>) -> anyhow::Result<Answer> {
    let path = request.file.display();
    let front_end = of(request.file)?;
    if request.filter.is_some() && !front_end.filters {
        bail!("{path} has a single check, so there is no choosing by name; leave the second argument out");
    }
    if !request.arguments.is_empty() && !front_end.has("--stdin") {
        bail!("{path} takes no arguments of its own; leave out what comes after --");
    }
    for (name, _) in request.options.given() {
        if !front_end.has(name) {
            bail!(
                "{name} is not an option for {} files; they take {}",
                front_end.name,
                front_end.options.concat().join(", ")
            );
        }
    }
    (front_end.check)(request)
}

/// The files that are supported, a line a front end.
fn supported() -> String {
    let lines = FRONT_ENDS.iter().map(|front_end| format!("  {}: {}", front_end.name, front_end.files));
    lines.collect::<Vec<_>>().join("\n")
}

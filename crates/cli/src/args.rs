//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use selvedge_core::Schedule;
use selvedge_stateless::strategy::Bound;

use crate::value::{Memory, Range, Time};

/// Finds concurrency bugs, and says exactly how much it has ruled out.
///
/// Selvedge runs your program under every schedule it needs to, the simplest first, and ends with one of
/// three answers: VIOLATED, with the simplest failing schedule; HOLDS, for every execution up to a bound on
/// preemptions that it names, or for all; INCONCLUSIVE, and why.
///
/// A preemption is a switch away from a thread that could have gone on. Most concurrency bugs need only one
/// or two.
#[derive(Debug, Parser)]
#[command(name = "selvedge", version, after_help = STATUS, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const STATUS: &str = "Exit status: 0 holds; 1 violated; 2 the input or the command line is wrong; \
                      3 inconclusive.";

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // There is one of it.
pub(crate) enum Command {
    /// Check a program: find a bug, or say what has been ruled out
    #[command(after_help = STATUS, allow_negative_numbers = true)]
    Check(Check),
    /// Run a counterexample again, as `check --trace FILE` wrote it
    ///
    /// Only the schedule is taken from the counterexample: nothing is run, read or written that it names. The
    /// program comes after `--`, and the options that the check had are given again; the report of the check ends
    /// with the whole command.
    #[command(after_help = STATUS)]
    Replay(Box<Replay>),
    /// Print a result that `check --json FILE` wrote
    Report(Report),
    /// Compile C as gcc does, such that every access to memory can be checked: CC="selvedge cc"
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Cc(Compile),
    /// Compile C++ as g++ does, such that every access to memory can be checked: CXX="selvedge c++"
    #[command(name = "c++", disable_help_flag = true, disable_version_flag = true)]
    Cxx(Compile),
    /// Run a Promela model: at random, along a trail, or as you choose
    #[command(after_help = STATUS)]
    Simulate(Simulate),
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// What to check: a .rs file that is an example, a test or a binary of a cargo package; a Boolean program
    /// (.bp) or a pushdown network (.cpds, .pds); a Promela model (.pml);
    /// or a C or C++ executable
    pub(crate) file: PathBuf,
    /// Only the checks whose test has this in its name
    pub(crate) filter: Option<String>,
    /// The arguments of the program, if it is an executable
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// Run one schedule: the token that a report gives
    #[arg(long, value_name = "TOKEN")]
    pub(crate) replay: Option<Schedule>,
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What to search. Each engine has some of these; one that it has not is refused.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "What to search")]
pub(crate) struct Options {
    /// Executions with at most N preemptions: 0 first, then 1, up to N (under dfs all at once)
    #[arg(long, value_name = "N")]
    pub(crate) preemptions: Option<u32>,
    /// Executions with at most N contexts (uninterrupted runs of one thread)
    #[arg(long, value_name = "N")]
    pub(crate) contexts: Option<u32>,
    /// Executions in which no thread yields N times more than one that could run instead
    #[arg(long, value_name = "N")]
    pub(crate) yields: Option<u32>,
    /// Executions with at most N departures from a round-robin scheduler (by the strategy delay)
    #[arg(long, value_name = "N")]
    pub(crate) delays: Option<u32>,
    /// Executions of at most N steps (of Rust programs and executables by the strategy depth)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) depth: Option<u32>,
    /// Search at the given bound at once, not from 0 up to it
    #[arg(long)]
    pub(crate) at_bound: bool,
    /// How to search: cb-por (each partial order once, fewest preemptions first), optimal (the same in little memory, or without a bound), bpor, dpor, icb, dfs, delay, depth, random, pct, ...
    #[arg(long, value_name = "NAME")]
    pub(crate) strategy: Option<String>,
    /// Switch threads at every access to shared memory, not only at synchronisation
    #[arg(long)]
    pub(crate) race_mode: bool,
    /// A data race is no violation: look for what it leads to (with --race-mode)
    #[arg(long)]
    pub(crate) allow_races: bool,
    /// Let at most N waits end, and at most N weak compare-exchanges fail, for no reason in an execution (0)
    #[arg(long, value_name = "N")]
    pub(crate) spurious: Option<u32>,
    /// How to split the results of a context: lazy (as little as can be) or eager (for each value)
    #[arg(long, value_name = "NAME")]
    pub(crate) splitting: Option<String>,
    /// Look for this label, not for failing assertions: NAME or PROCEDURE.NAME; or for a configuration: 'x = 1 | LABEL | LABEL', for a pushdown network also 'STATE|SYMBOL,SYMBOL' or a .spec file that has it
    #[arg(long, value_name = "LABEL")]
    pub(crate) goal: Option<String>,
    /// The first configuration of a pushdown network: 'STATE|SYMBOL,SYMBOL', or a file that has it
    #[arg(long, value_name = "FILE")]
    pub(crate) initial: Option<String>,
    /// Let at most N threads be created
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Stop after so many executions
    #[arg(long, value_name = "N")]
    pub(crate) max_executions: Option<u64>,
    /// End an execution that has not ended after N steps (20000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: Option<u32>,
    /// Stop after this time: 30s, 10m, 2h
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<Time>,
    /// Stop before using more memory than this: 512M, 4G
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Memory>,
    /// Use so many cores for an executable; the answer and its counts stay the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: Option<u32>,
    /// The order of a search that stores states: layered (fewest preemptions first), dfs, bfs, bcs
    #[arg(long, value_name = "NAME")]
    pub(crate) search: Option<String>,
    /// How states are remembered: exact, hashcompact, bitstate=SIZE or bitstate=SIZE,K for K bits a state
    #[arg(long, value_name = "KIND")]
    pub(crate) store: Option<String>,
    /// Look at every statement and every interleaving: merge no steps, and leave none out that commute
    #[arg(long)]
    pub(crate) no_por: bool,
    /// The counterexample with the fewest steps (and, in the layered search, the fewest preemptions first)
    #[arg(long)]
    pub(crate) shortest: bool,
    /// Go on after a violation and count the whole graph
    #[arg(long)]
    pub(crate) all_errors: bool,
    /// Check without never claims, trace assertions and ltl blocks
    #[arg(long)]
    pub(crate) no_claim: bool,
    /// Check this ltl block or never claim of the model, not each of them
    #[arg(long, value_name = "NAME")]
    pub(crate) ltl: Option<String>,
    /// Check this formula, written as in an ltl block, not the model's own: '[]<> (x == 1)'
    #[arg(long, value_name = "TEXT")]
    pub(crate) formula: Option<String>,
    /// Look for cycles without progress labels
    #[arg(long)]
    pub(crate) progress: bool,
    /// Do not charge a switch out of a cycle (bcs)
    #[arg(long)]
    pub(crate) free_cycles: bool,
    /// Define a macro of the model: NAME or NAME=VALUE
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// Let the model include files below this folder too, not only below its own
    #[arg(short = 'I', value_name = "FOLDER")]
    pub(crate) include: Vec<PathBuf>,
    /// Write the counterexample as a .trail file for spin -t
    #[arg(long, value_name = "FILE")]
    pub(crate) trail: Option<String>,
    /// Begin random choices here, to get the same ones again
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// What an executable reads from its standard input, which is empty otherwise
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// How long, in real time, a program may take from one scheduling point to the next (20s)
    #[arg(long, value_name = "TIME")]
    pub(crate) patience: Option<Time>,
    /// The values of __VERIFIER_nondet_* in an executable, both ends included (0..2)
    #[arg(long, value_name = "FROM..TO", allow_hyphen_values = true)]
    pub(crate) nondet: Option<Range>,
    /// To exit with a status other than 0 is a violation (executables)
    #[arg(long)]
    pub(crate) exit_status: bool,
}

impl Options {
    /// The bounds of the stateless engine that were given.
    pub(crate) fn bounds(&self) -> Vec<Bound> {
        [
            (Bound::Preemptions, self.preemptions),
            (Bound::Yields, self.yields),
            (Bound::Delays, self.delays),
            (Bound::Depth, self.depth),
        ]
        .into_iter()
        .filter_map(|(bound, given)| given.map(|_| bound))
        .collect()
    }

    /// The options that matter to a single execution, as words of the command line.
    pub(crate) fn of_an_execution(&self) -> impl Iterator<Item = String> {
        const MATTER: [&str; 17] = [
            "--race-mode",
            "--allow-races",
            "--goal",
            "--initial",
            "--threads",
            "--max-steps",
            "--stdin",
            "--patience",
            "--nondet",
            "--exit-status",
            "--no-claim",
            "--ltl",
            "--formula",
            "--progress",
            "--spurious",
            "-D",
            "-I",
        ];
        self.words(|name| MATTER.contains(&name))
    }

    /// The options that were given and whose names are wanted, as words of the command line.
    pub(crate) fn words(&self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = String> {
        let given = self.given().into_iter().filter(move |(name, _)| wanted(name));
        given.flat_map(|(name, value)| [name.to_string()].into_iter().chain(value))
    }

    /// The options that were given, as they are written on the command line, with their values.
    pub(crate) fn given(&self) -> Vec<(&'static str, Option<String>)> {
        let flag = |name, on: bool| on.then_some((name, None));
        fn value<T: ToString>(
            name: &'static str,
            value: &Option<T>,
        ) -> Option<(&'static str, Option<String>)> {
            value.as_ref().map(|value| (name, Some(value.to_string())))
        }
        [
            value("--preemptions", &self.preemptions),
            value("--contexts", &self.contexts),
            value("--yields", &self.yields),
            value("--delays", &self.delays),
            value("--depth", &self.depth),
            flag("--at-bound", self.at_bound),
            value("--strategy", &self.strategy),
            flag("--race-mode", self.race_mode),
            flag("--allow-races", self.allow_races),
            value("--spurious", &self.spurious),
            value("--splitting", &self.splitting),
            value("--goal", &self.goal),
            value("--initial", &self.initial),
            value("--threads", &self.threads),
            value("--max-executions", &self.max_executions),
            value("--max-steps", &self.max_steps),
            value("--time", &self.time),
            value("--memory", &self.memory.map(|memory| memory.0)),
            value("--jobs", &self.jobs),
            value("--seed", &self.seed),
            value("--search", &self.search),
            value("--store", &self.store),
            flag("--no-por", self.no_por),
            flag("--shortest", self.shortest),
            flag("--all-errors", self.all_errors),
            flag("--no-claim", self.no_claim),
            value("--ltl", &self.ltl),
            value("--formula", &self.formula),
            flag("--progress", self.progress),
            flag("--free-cycles", self.free_cycles),
            value("--trail", &self.trail),
            value("--stdin", &self.stdin.as_ref().map(|file| file.display().to_string())),
            value("--patience", &self.patience),
            value("--nondet", &self.nondet),
            flag("--exit-status", self.exit_status),
        ]
        .into_iter()
        .flatten()
        .chain(self.define.iter().map(|define| ("-D", Some(define.clone()))))
        .chain(self.include.iter().map(|folder| ("-I", Some(folder.display().to_string()))))
        .collect()
    }
}

/// Where the answer goes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Where the answer goes")]
pub(crate) struct Output {
    /// Write the result as JSON to this file, one line a check; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the result as a web page (not there yet)
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) html: Option<PathBuf>,
    /// Write the first counterexample to this file, for `selvedge replay`
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print no report; the exit status tells the answer
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The counterexample: a file that `selvedge check --trace FILE` or `--json FILE` wrote
    #[arg(value_name = "TRACE")]
    pub(crate) counterexample: PathBuf,
    /// What to run it on: the file that was checked, and the name of the test or the arguments of the program
    #[arg(last = true, value_name = "FILE")]
    pub(crate) program: Vec<String>,
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Compile {
    /// What the compiler takes
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// The model
    pub(crate) file: PathBuf,
    /// Begin random choices here, to get the same ones again
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Stop after so many steps
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) steps: u64,
    /// Follow a .trail file, Selvedge's or Spin's
    #[arg(long, value_name = "FILE")]
    pub(crate) trail: Option<PathBuf>,
    /// Choose every step yourself
    #[arg(long, short)]
    pub(crate) interactive: bool,
    /// Define a macro of the model: NAME or NAME=VALUE
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// Let the model include files below this folder too, not only below its own
    #[arg(short = 'I', value_name = "FOLDER")]
    pub(crate) include: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The result: a file that `selvedge check --json FILE` wrote; - is standard input
    pub(crate) result: PathBuf,
    /// Write it as a web page (not there yet)
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) html: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}

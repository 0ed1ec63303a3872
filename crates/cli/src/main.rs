//! The `selvedge` command: reads the command line, hands the file to its front end, prints what came of it.
//!
//! The exit status is the answer: 0 holds, 1 violated, 2 the input or the command line is wrong,
//! 3 inconclusive. Nothing is searched here.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod frontend;
mod interrupt;
mod output;
mod progress;
mod replay;
mod value;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Command};
use crate::output::Status;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(status) => status.into(),
        Err(error) => {
            // A standard error that is gone is no reason to die in a worse way.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            let interrupted = error.is::<interrupt::Interrupted>();
            if interrupted { Status::Inconclusive.into() } else { Status::Mistake.into() }
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<Status> {
    match cli.command {
        Command::Check(check) => commands::check(&check),
        Command::Replay(replay) => commands::replay(&replay),
        Command::Report(report) => commands::report(&report),
        Command::Cc(compile) => commands::compile("gcc", "SELVEDGE_CC", &compile),
        Command::Cxx(compile) => commands::compile("g++", "SELVEDGE_CXX", &compile),
        Command::Simulate(simulate) => frontend::simulate(&simulate),
    }
}

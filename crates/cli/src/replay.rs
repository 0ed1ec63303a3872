//! The commands that replay a counterexample, as reports print them.

use std::ffi::OsString;
use std::path::Path;

use clap::Parser as _;
use selvedge_core::Schedule;
use selvedge_report::Origin;

use crate::args::{Cli, Command, Options};
use crate::output::quote;

/// A longer token does not fit on every command line.
const LONGEST_TOKEN: usize = 32 * 1024;

/// The command that replays the counterexample in a trace file, which says itself where it is from. It has the
/// options that matter to an execution and no others; `None` if the trace has options that do not exist.
pub(crate) fn from_trace(trace: &Path, origin: &Origin) -> Option<String> {
    let words = ["selvedge", "check", "FILE"].into_iter().map(str::to_string);
    let Ok(Cli { command: Command::Check(check) }) =
        Cli::try_parse_from(words.chain(origin.arguments.iter().cloned()))
    else {
        return None;
    };
    let mut words = vec!["replay".to_string(), trace.display().to_string()];
    words.extend(check.options.of_an_execution());
    words.extend(["--".to_string(), origin.file.clone()]);
    words.extend(origin.filter.iter().chain(&origin.words).cloned());
    Some(command(&words))
}

/// The command that replays a counterexample without a trace file.
pub(crate) fn from_token(schedule: &Schedule, options: &Options, origin: &Origin) -> String {
    let token = schedule.to_string();
    // What begins like an option is none.
    let file = if origin.file.starts_with('-') { format!("./{}", origin.file) } else { origin.file.clone() };
    let mut words = vec!["check".to_string(), file];
    words.extend(origin.filter.clone());
    let long = token.len() > LONGEST_TOKEN;
    match long {
        false => words.extend(["--replay".to_string(), token].into_iter().chain(options.of_an_execution())),
        true => words.extend(
            ["--trace".to_string(), "bug.json".to_string()].into_iter().chain(options.words(|_| true)),
        ),
    }
    if !origin.words.is_empty() {
        words.push("--".into());
        words.extend(origin.words.iter().cloned());
    }
    match long {
        false => command(&words),
        true => {
            let again =
                from_trace(Path::new("bug.json"), origin).expect("these options have been read before");
            format!("{}; {again}", command(&words))
        }
    }
}

/// This command, as it was called, with these words.
fn command(words: &[String]) -> String {
    let called = std::env::args_os().next().map(OsString::into_string);
    let called = match called {
        Some(Ok(path)) if path.contains('/') => path,
        _ => "selvedge".into(),
    };
    [&called].into_iter().chain(words).map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

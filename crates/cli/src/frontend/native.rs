//! C and C++: a dynamically linked executable that uses pthreads or C11 threads, as it is.

use std::io::Read as _;

use anyhow::{anyhow, bail};
use selvedge_core::{Outcome, Verdict};
use selvedge_native::{NativeProgram, Parameters, Search, interrupts};
use selvedge_report::{Origin, Report};
use selvedge_stateless::Error;

use super::{Answer, Checked, FrontEnd, Request, STATELESS, strategy};
use crate::progress::Progress;
use crate::replay::from_token;

pub(super) const FRONT_END: FrontEnd = FrontEnd {
    name: "executable",
    files: "a dynamically linked C or C++ program for x86_64 Linux; its arguments come after --",
    accepts: |path| {
        let mut magic = [0; 4];
        std::fs::File::open(path)
            .is_ok_and(|mut file| file.read_exact(&mut magic).is_ok() && &magic == b"\x7fELF")
    },
    filters: false,
    options: &[STATELESS, &["--jobs", "--stdin", "--patience", "--nondet", "--exit-status"]],
    check,
};

fn check(request: &Request<'_>) -> anyhow::Result<Answer> {
    // Ctrl-C ends the search, so that it says what it has covered.
    let stop = interrupts();
    let options = request.options;
    let strategy = strategy(request)?;
    let program = NativeProgram::open(request.file)?
        .arguments(request.arguments.iter().cloned())
        .input(options.stdin.clone())
        .fails_by_status(options.exit_status)
        .jobs(options.jobs.unwrap_or(1))
        .spurious(options.spurious.unwrap_or(0));
    let program = program.race_mode(options.race_mode)?;
    let program = match options.nondet {
        Some(range) => program.nondet(range.from, range.to).map_err(|error| anyhow!("--nondet {error}"))?,
        None => program,
    };
    let program = match options.patience {
        Some(time) => program.patience(time.0),
        None => program,
    };
    if let Some(input) = options.stdin.as_ref().filter(|input| !input.is_file()) {
        let problem = match input.metadata() {
            Ok(metadata) if metadata.is_dir() => "it is a folder".to_string(),
            Ok(_) => "it is not a regular file, and each execution reads it from its beginning".to_string(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "there is no such file".to_string(),
            Err(error) => error.to_string(),
        };
        bail!("--stdin {}: {problem}; give the file that the program is to read", input.display());
    }
    let defaults = Parameters::default();
    let search = Search {
        strategy,
        parameters: Parameters {
            preemptions: options.preemptions,
            yields: options.yields.or(defaults.yields),
            delays: options.delays.unwrap_or(defaults.delays),
            depth: options.depth.unwrap_or(defaults.depth),
            at_bound: options.at_bound,
            seed: options.seed.unwrap_or(defaults.seed),
            ..defaults
        },
        max_executions: options.max_executions,
        time: options.time.map(|time| time.0),
        memory: options.memory.map(|memory| memory.0),
        max_steps: options.max_steps.map(|steps| steps as usize),
        allow_races: options.allow_races,
    };
    let file = request.file.display().to_string();
    let outcome = match request.replay {
        Some(schedule) => search.replay(&program, schedule),
        None => {
            let line = Progress::start(file.clone());
            search.check(&program, Some(stop), &mut |at| {
                let bound = at
                    .bound
                    .map_or_else(String::new, |(measure, bound)| format!("{}, ", measure.count(bound)));
                let rate = at.executions as f64 / at.elapsed.as_secs_f64().max(0.001);
                line.say(format!("{file}: {bound}{} executions ({rate:.0}/s)", at.executions));
            })
        }
    };
    let outcome = outcome.map_err(|error| match error {
        Error::Nondeterministic { step, difference, location } => {
            let place = location.map_or_else(String::new, |location| format!(" ({location})"));
            const UNSEEN: &str = "addresses that it prints or compares, memory that it uses uninitialised, or the \
                                  processor's time stamp counter (rdtsc) and random numbers (rdrand)";
            let suspects = match program.suspects().as_slice() {
                [] => format!("look for {UNSEEN}"),
                some => format!("it may be {}; or else look for {UNSEEN}", some.join("; or ")),
            };
            anyhow!(
                "{file} is not deterministic: run again with the same schedule, it differs at step {step}{place}: \
                 {difference}. A checked program must depend on nothing but the schedule; {suspects}"
            )
        }
        error => anyhow!("{file} cannot be checked: {error}"),
    });
    let outcome = with_output(outcome?, &program);
    let origin = Origin {
        file,
        filter: None,
        arguments: options.words(|_| true).collect(),
        words: request.arguments.to_vec(),
    };
    let replay = outcome.violation().map(|violation| from_token(&violation.schedule, options, &origin));
    let status = program.failing_status().filter(|_| outcome.holds());
    let notes = status.map(|status| {
        let printed = printed(&program).map(|lines| format!(" {lines}")).unwrap_or_default();
        format!(
            "Every execution ended with exit status {status}: what is to be checked may not have been run.\n\
             --exit-status makes that a violation.{printed}\n"
        )
    });
    let report = Report { subject: origin.file.clone(), engine: "stateless".into(), outcome };
    Ok(Answer { checked: vec![Checked { report, origin, replay, notes }], reservation: None })
}

/// What the program printed in the counterexample is part of what went wrong.
fn with_output(mut outcome: Outcome, program: &NativeProgram) -> Outcome {
    if let Verdict::Violated(violation) = &mut outcome.verdict
        && let Some(printed) = printed(program)
    {
        violation.message.push('\n');
        violation.message.push_str(&printed);
    }
    outcome
}

/// What the program printed last, if anything.
fn printed(program: &NativeProgram) -> Option<String> {
    let output = program.output();
    if output.trim().is_empty() {
        return None;
    }
    let mut text = String::from("The program printed:");
    for line in output.lines() {
        text.push_str("\n  | ");
        // What would do something to a terminal is shown.
        for letter in line.chars() {
            match letter {
                letter if letter.is_control() && letter != '\t' => text.extend(letter.escape_default()),
                letter => text.push(letter),
            }
        }
    }
    Some(text)
}

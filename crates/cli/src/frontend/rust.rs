//! Rust: an example, a binary, an integration test or the unit tests of a cargo package that uses the
//! `selvedge` library.
//!
//! The engine is in the program, so the program is built and run, with the options in its environment. For
//! each check that ends the library appends its result, one line of JSON, to the file that `SELVEDGE_JSON`
//! names; that is what is read back here.

mod process;
mod target;

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use selvedge_report::Origin;

use super::{Answer, Checked, FrontEnd, Request, STATELESS, strategy};
use crate::interrupt::Interrupted;
use crate::output::{Status, quote};
use crate::progress;
use process::Ended;
use target::{Target, Way};

pub(super) const FRONT_END: FrontEnd = FrontEnd {
    name: "Rust",
    files: "a .rs file that is an example, a test or a binary of a cargo package",
    accepts: |path| path.extension().is_some_and(|extension| extension == "rs"),
    filters: true,
    options: &[STATELESS, &["--patience"]],
    check,
};

/// What the library calls an option: `--race-mode` is `SELVEDGE_RACE_MODE`.
fn variable(option: &str) -> String {
    format!("SELVEDGE_{}", option.trim_start_matches('-').replace('-', "_").to_uppercase())
}

fn check(request: &Request<'_>) -> anyhow::Result<Answer> {
    // What the program's own code chooses is for the library to say.
    strategy(request)?;
    let target = target::find(request.file)?;
    if request.filter.is_some() && target.way == Way::Run {
        bail!(
            "{} is not a test, so there is no choosing by name; leave the second argument out",
            target.what()
        );
    }
    process::build(&target)?;

    let options: Vec<(String, String)> = (request.options.given().into_iter())
        .map(|(name, value)| (variable(name), value.unwrap_or_else(|| "1".into())))
        .collect();
    let directory = tempfile::tempdir().map_err(|error| {
        anyhow!("cannot make a temporary directory: {error}; set TMPDIR to one that you can write to")
    })?;
    let results = directory.path().join("results.jsonl");
    let mut environment = options.clone();
    environment.push(("SELVEDGE_QUIET".into(), "1".into()));
    if progress::wanted() {
        environment.push(("SELVEDGE_PROGRESS".into(), "1".into()));
    }
    let mut tests: Vec<&str> = request.filter.into_iter().collect();
    if let Some(schedule) = request.replay {
        environment.push(("SELVEDGE_REPLAY".into(), schedule.to_string()));
        let known = process::tests(&target)?;
        match request.filter {
            // A schedule is that of one check.
            Some(test) if known.iter().any(|known| known == test) => tests.push("--exact"),
            None if known.len() > 1 => bail!(
                "{} has several tests, and a schedule is that of one; name it after the file: {}",
                target.what(),
                known.join(", ")
            ),
            _ => {}
        }
    }
    let ended = process::run(&target, &tests, &environment, &results, request.replay.is_some())?;
    let checked = read(request, &target, &options, &results, &ended)?;
    let reservation = reservation(&target, &checked, &ended);
    Ok(Answer { checked, reservation })
}

/// The results that the program wrote, or why there is none.
fn read(
    request: &Request<'_>,
    target: &Target,
    options: &[(String, String)],
    results: &Path,
    ended: &Ended,
) -> anyhow::Result<Vec<Checked>> {
    let lines = std::fs::read(results).unwrap_or_default();
    let lines = String::from_utf8_lossy(&lines);
    let reports = if lines.trim().is_empty() {
        Vec::new()
    } else {
        // A program that was killed may have left a part of a line.
        let whole = lines.rfind('\n').map_or("", |end| &lines[..end]);
        let read = selvedge_report::from_json_all(&lines);
        read.or_else(|error| selvedge_report::from_json_all(whole).map_err(|_| error)).with_context(|| {
            format!(
                "cannot read the results of {}; is its `selvedge` of the version of this command?",
                target.what()
            )
        })?
    };
    if reports.is_empty() {
        return Err(no_result(request, target, ended));
    }
    // What names the one test that a schedule is of. A violation is not lost where that cannot be found out.
    let violated = reports.iter().any(|report| report.outcome.violation().is_some());
    let known = if violated { process::tests(target).unwrap_or_default() } else { Vec::new() };
    let checked = reports.into_iter().map(|report| {
        let test = Some(report.subject.as_str()).filter(|subject| known.iter().any(|test| test == subject));
        let filter = test.or(request.filter);
        let replay = report
            .outcome
            .violation()
            .map(|violation| command(target, options, &violation.schedule.to_string(), filter));
        let origin = Origin {
            file: request.file.display().to_string(),
            filter: filter.map(str::to_string),
            arguments: request.options.words(|_| true).collect(),
            words: Vec::new(),
        };
        Checked { report, origin, replay, notes: None }
    });
    Ok(checked.collect())
}

/// The command that replays a counterexample without this one, under a debugger for instance.
fn command(target: &Target, options: &[(String, String)], token: &str, test: Option<&str>) -> String {
    let mut words = vec![format!("SELVEDGE_REPLAY={token}")];
    // Bounds and budgets do not matter to one execution; where the scheduling points and the choices are does.
    const MATTERS: [&str; 4] =
        ["SELVEDGE_RACE_MODE", "SELVEDGE_ALLOW_RACES", "SELVEDGE_MAX_STEPS", "SELVEDGE_SPURIOUS"];
    let matters = |name: &str| MATTERS.contains(&name);
    words.extend(options.iter().filter(|(name, _)| matters(name)).map(|(n, v)| format!("{n}={v}")));
    words.push("cargo".into());
    words.extend(target.arguments(false).iter().map(|word| quote(word)));
    words.extend(test.map(quote));
    words.join(" ")
}

fn no_result(request: &Request<'_>, target: &Target, ended: &Ended) -> anyhow::Error {
    ended.show();
    let what = target.what();
    if ended.interrupted {
        Interrupted.into()
    } else if !ended.success {
        anyhow!(
            "{what} failed before a check ended ({}); see its output above and mend it first",
            ended.status
        )
    } else if let Some(filter) = request.filter {
        anyhow!("no check ran in {what} whose test has {filter:?} in its name; leave the name out to run all")
    } else {
        anyhow!("{what} made no check; call selvedge::check(|| ...) in it, or give another file")
    }
}

/// A program may fail for reasons of its own beside checks that hold, or be stopped before its other checks:
/// that must not look like success.
fn reservation(target: &Target, checked: &[Checked], ended: &Ended) -> Option<(Status, String)> {
    let violated = checked.iter().any(|checked| checked.report.outcome.violation().is_some());
    if ended.success || violated {
        return None;
    }
    if !ended.interrupted {
        ended.show();
    }
    if !checked.iter().all(|checked| checked.report.outcome.holds()) {
        return None;
    }
    let what = target.what();
    Some(if ended.interrupted {
        (
            Status::Inconclusive,
            format!("{what} was interrupted; checks that had not ended are not in the answer"),
        )
    } else {
        let status = &ended.status;
        let message =
            format!("{what} failed ({status}) though its checks hold; see its output and mend it first");
        (Status::Mistake, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_variables_of_the_same_name() {
        for (option, expected) in [
            ("--preemptions", "SELVEDGE_PREEMPTIONS"),
            ("--race-mode", "SELVEDGE_RACE_MODE"),
            ("--max-executions", "SELVEDGE_MAX_EXECUTIONS"),
        ] {
            assert_eq!(variable(option), expected);
        }
    }
}

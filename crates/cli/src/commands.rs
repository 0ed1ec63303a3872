//! What each command does.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use selvedge_core::Verdict;

use crate::args::{Check, Compile, Replay, Report};
use crate::frontend::{self, Answer, Request};
use crate::output::{Sink, Status, emit, refuse_html, style};
use crate::replay;

/// `selvedge check FILE`.
pub(crate) fn check(check: &Check) -> anyhow::Result<Status> {
    let mut sink = Sink::open(&check.output)?;
    let request = Request {
        file: &check.file,
        filter: check.filter.as_deref(),
        arguments: &check.arguments,
        options: &check.options,
        replay: check.replay.as_ref(),
    };
    finish(&mut sink, &frontend::check(&request)?)
}

/// `selvedge replay TRACE -- FILE`.
pub(crate) fn replay(replay: &Replay) -> anyhow::Result<Status> {
    let text = read(&replay.counterexample)?;
    let (report, origin) = selvedge_report::from_json_all_with_origin(&text)
        .with_context(|| replay.counterexample.display().to_string())?
        .into_iter()
        .find(|(report, _)| report.outcome.violation().is_some())
        .ok_or_else(|| {
            anyhow!("{} has no violation, so there is nothing to replay", replay.counterexample.display())
        })?;
    let violation = report.outcome.violation().expect("it was looked for");
    let Some((file, words)) = replay.program.split_first() else {
        let again = origin.and_then(|origin| replay::from_trace(&replay.counterexample, &origin));
        let again = again.unwrap_or_else(|| "selvedge replay TRACE -- FILE".into());
        bail!(
            "a counterexample runs nothing by itself; name what it is to be run on, if you trust it:\n  {again}"
        );
    };
    let file = Path::new(file);
    let (filter, arguments) = match words.split_first() {
        Some((filter, rest)) if frontend::of(file)?.filters => (Some(filter.as_str()), rest),
        _ => (None, words),
    };
    let options = &replay.options;
    let mut sink = Sink::open(&replay.output)?;
    let request = Request { file, filter, arguments, options, replay: Some(&violation.schedule) };
    let mut answer = frontend::check(&request)?;
    for checked in &mut answer.checked {
        // What the search had ruled out below the counterexample is still so.
        if let Verdict::Violated(again) = &mut checked.report.outcome.verdict
            && (again.kind, &again.schedule) == (violation.kind, &violation.schedule)
        {
            again.below = again.below.take().or_else(|| violation.below.clone());
        }
    }
    finish(&mut sink, &answer)
}

/// `selvedge report RESULT.json`.
pub(crate) fn report(report: &Report) -> anyhow::Result<Status> {
    refuse_html(report.html.as_deref())?;
    let text = read(&report.result)?;
    let reports =
        selvedge_report::from_json_all(&text).with_context(|| report.result.display().to_string())?;
    let texts: Vec<String> =
        reports.iter().map(|report| selvedge_report::to_text(report, &style(false), None)).collect();
    emit(&mut std::io::stdout(), &texts.join("\n"))?;
    Ok(Status::Holds)
}

/// `selvedge cc` and `selvedge c++`: the compiler's exit status is the command's. The environment may name another
/// compiler than the usual one.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) fn compile(usual: &str, variable: &str, compile: &Compile) -> anyhow::Result<Status> {
    let named = std::env::var(variable).ok().filter(|name| !name.is_empty());
    let compiler = named.as_deref().unwrap_or(usual);
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::InvalidInput => anyhow!("{error}"),
        _ => anyhow!("cannot compile with {compiler}: {error}; is it installed?"),
    };
    let mut command = selvedge_native::compiler(compiler, &compile.words).map_err(failed)?;
    match command.status().map_err(failed)?.code() {
        Some(0) => Ok(Status::Holds),
        status => std::process::exit(status.unwrap_or(2)),
    }
}

/// Elsewhere there is nothing to compile for.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(crate) fn compile(usual: &str, _: &str, _: &Compile) -> anyhow::Result<Status> {
    bail!("selvedge compiles with {usual} on Linux on x86_64 only")
}

fn finish(sink: &mut Sink, answer: &Answer) -> anyhow::Result<Status> {
    sink.write(&answer.checked)?;
    let worst = answer.checked.iter().map(|checked| Status::of(&checked.report)).max();
    let worst = worst.unwrap_or(Status::Mistake);
    let Some((status, reason)) = &answer.reservation else { return Ok(worst) };
    emit(&mut std::io::stderr(), &format!("error: {reason}\n"))?;
    Ok(worst.max(*status))
}

/// A file's text, or standard input's for `-`.
fn read(path: &Path) -> anyhow::Result<String> {
    const REMEDY: &str = "give a result as `selvedge check --json FILE` writes it";
    if path == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        return read.map(|_| text).map_err(|error| anyhow!("cannot read standard input: {error}; {REMEDY}"));
    }
    std::fs::read_to_string(path)
        .map_err(|error| anyhow!("cannot read {}: {error}; {REMEDY}", path.display()))
}

//! Every program in corpus/symbolic gives what its directives say.
//!
//! Directives stand in comments: `check:` has the options, and the `expect:` after it the outcome: `violated`,
//! `holds` or `inconclusive`, then `always` (for every number of contexts), `deadlock`, `contexts=N`, `line=N`,
//! `run=A,B,C` (the threads of the contexts), `states=N` and `tuples=N` (of the last row), `threads=N` (the limit on
//! created threads, where it cut something off).

use std::path::PathBuf;

use selvedge_core::{Outcome, Verdict, ViolationKind};
use selvedge_symbolic::{Goal, Options, Splitting, check};

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/symbolic")
}

fn options(words: &str) -> Options {
    let mut options = Options { memory: 256 << 20, ..Options::default() };
    let mut words = words.split_whitespace();
    while let Some(word) = words.next() {
        let value = words.next().expect("an option has a value");
        match word {
            "--contexts" => options.contexts = value.parse().unwrap(),
            "--threads" => options.threads = value.parse().unwrap(),
            "--goal" => options.goal = Goal::Label(value.into()),
            "--splitting" if value == "eager" => options.splitting = Splitting::Eager,
            "--splitting" if value == "lazy" => options.splitting = Splitting::Lazy,
            _ => panic!("{word} {value} is not an option"),
        }
    }
    options
}

/// The threads of an outcome's contexts.
fn run(outcome: &Outcome) -> String {
    let trace = &outcome.violation().expect("a run is of a violation").trace;
    let mut names: Vec<&str> = trace.steps.iter().map(|step| trace.threads[step.thread].as_str()).collect();
    names.dedup();
    names.join(",")
}

fn agrees(outcome: &Outcome, expected: &str) -> Result<(), String> {
    if outcome.guarantee().is_some_and(|guarantee| guarantee.bounds.threads.is_some())
        && !expected.contains("threads=")
    {
        return Err("the limit on created threads cut something off".into());
    }
    let mut words = expected.split(' ').peekable();
    let verdict = match outcome.verdict {
        Verdict::Violated(_) => "violated",
        Verdict::Holds(_) => "holds",
        Verdict::Inconclusive(_) => "inconclusive",
    };
    if words.next() != Some(verdict) {
        return Err(format!("it is {verdict}: {:?}", outcome.verdict));
    }
    // A thread's name may have a space in it, and `run` comes last.
    let (words, wanted_run) = match expected.split_once(" run=") {
        Some((before, run)) => (before.split(' ').skip(1).collect::<Vec<_>>(), Some(run)),
        None => (words.collect(), None),
    };
    if let Some(wanted) = wanted_run
        && run(outcome) != wanted
    {
        return Err(format!("the contexts are {}", run(outcome)));
    }
    let complete = matches!(&outcome.verdict, Verdict::Holds(guarantee) if guarantee.complete);
    let number = |name: &str| {
        let row = outcome.rows.last()?;
        row.extra.iter().find(|(other, _)| other == name).map(|&(_, number)| number)
    };
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let is = match name {
            "always" if complete => continue,
            "always" => return Err(format!("only {:?}", outcome.guarantee())),
            "deadlock" => match outcome.violation().map(|violation| violation.kind) {
                Some(ViolationKind::Deadlock) => continue,
                kind => return Err(format!("it is a {kind:?}")),
            },
            "contexts" => match outcome.violation() {
                Some(violation) => violation.contexts.map(u64::from),
                None => outcome.guarantee().and_then(|guarantee| guarantee.bounds.contexts).map(u64::from),
            },
            "line" => {
                outcome.violation().and_then(|violation| violation.location.as_ref()).map(|l| l.line.into())
            }
            "threads" => outcome.guarantee().and_then(|guarantee| guarantee.bounds.threads).map(u64::from),
            "states" => outcome.rows.last().and_then(|row| row.states),
            "tuples" => number("view_tuples"),
            _ => panic!("{word} cannot be expected"),
        };
        if is != Some(value.parse().expect("a number")) {
            return Err(format!("{name} is {is:?}"));
        }
    }
    Ok(())
}

#[test]
fn programs_give_what_they_say() {
    let mut checks = 0;
    let mut wrong = Vec::new();
    let mut paths: Vec<_> = std::fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let network = match selvedge_boolean::read(&name, &text) {
            Ok(network) => network,
            Err(error) => {
                wrong.push(error.to_string());
                continue;
            }
        };
        let mut asked = None;
        for line in text.lines().map(|line| line.trim_start_matches(['/', '#', ' '])) {
            if let Some(words) = line.strip_prefix("check: ") {
                asked = Some(words.to_string());
            } else if let Some(expected) = line.strip_prefix("expect: ") {
                let words = asked.take().expect("a check before what it expects");
                let report = check(&network, &options(&words), &mut |_| true);
                let result = match &report {
                    Ok(report) => agrees(&report.outcome, expected),
                    Err(error) => Err(error.to_string()),
                };
                if let Err(difference) = result {
                    wrong.push(format!("{name}: {words}: expected {expected}, but {difference}"));
                }
                checks += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checks >= 25, "only {checks} checks");
}

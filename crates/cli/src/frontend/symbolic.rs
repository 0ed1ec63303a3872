//! Boolean programs and CPDS files, for the symbolic engine.

use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{anyhow, bail};
use selvedge_boolean::EXTENSIONS;
use selvedge_core::{Mark, Marker, Measure};
use selvedge_report::{Origin, Report};
use selvedge_symbolic::network::Network;
use selvedge_symbolic::{Goal, Options, Pattern, Splitting, check, replay_schedule};

use super::{Answer, Checked, FrontEnd, Request};
use crate::interrupt;
use crate::progress::Progress;
use crate::replay::from_token;

pub(super) const FRONT_END: FrontEnd = FrontEnd {
    name: "pushdown network",
    files: "a concurrent Boolean program (.bp), or a concurrent pushdown system (.cpds, .pds)",
    accepts: |path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
    },
    filters: false,
    options: &[&["--contexts", "--splitting", "--goal", "--initial", "--threads", "--time", "--memory"]],
    check: run,
};

fn run(request: &Request<'_>) -> anyhow::Result<Answer> {
    let stop = interrupt::stop();
    let file = request.file.display().to_string();
    let text = read(request.file)?;
    let network = match &request.options.initial {
        None => selvedge_boolean::read(&file, &text)?,
        Some(_) if !selvedge_boolean::is_cpds(&file) => {
            bail!(
                "--initial is for pushdown networks (.cpds, .pds); a Boolean program gives its globals first values"
            )
        }
        Some(initial) => {
            let (name, initial) = configuration(initial, "--initial")?;
            selvedge_boolean::read_from(&file, &text, (&name, &initial))?
        }
    };
    let options = options(request, &file, &network)?;
    let found = match request.replay {
        Some(schedule) => replay_schedule(&network, &options, schedule)?,
        None => {
            let line = Progress::start(format!("{file}: 1 context"));
            check(&network, &options, &mut |at| {
                line.say(format!(
                    "{file}: {}, {} view tuples, {} BDD nodes",
                    Measure::Contexts.count(at.contexts),
                    at.tuples,
                    at.nodes
                ));
                !stop.load(Ordering::Relaxed)
            })?
        }
    };
    let origin = Origin {
        file: file.clone(),
        filter: None,
        arguments: request.options.words(|_| true).collect(),
        words: Vec::new(),
    };
    let notes = (request.replay.is_none()).then(|| {
        // Of a bound that was not finished it is not known that the limit cuts nothing off.
        let known = found.threads_cut.filter(|&cut| cut || found.outcome.holds());
        let threads = known.map_or(String::new(), |cut| threads(cut, options.threads));
        threads + &marked(&text, &found.outcome.statistics.lines)
    });
    let report = Report { subject: file, engine: "symbolic".into(), outcome: found.outcome };
    let violation = report.outcome.violation();
    let replay = violation.map(|violation| from_token(&violation.schedule, request.options, &origin));
    let checked = vec![Checked { report, origin, replay, notes }];
    Ok(Answer { checked, reservation: None })
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| anyhow!("cannot read {}: {error}; give a text file", path.display()))
}

/// A configuration of a pushdown network, given as it is or as a file, and what to call it in errors.
fn configuration(given: &str, option: &str) -> anyhow::Result<(String, String)> {
    if given.contains('|') {
        return Ok((option.to_string(), given.to_string()));
    }
    let path = Path::new(given);
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok((given.to_string(), read(path)?)),
        Ok(_) => bail!("{option} {given} is not a regular file; give one that has STATE|SYMBOL,SYMBOL"),
        Err(error) => bail!("{option} {given}: {error}; give STATE|SYMBOL,SYMBOL, or a file that has it"),
    }
}

/// Whether a goal is `STATE|SYMBOL,SYMBOL`, or a file with that.
fn is_of_network(goal: &str) -> bool {
    match goal.split_once('|') {
        Some((state, _)) => state.trim().parse::<u64>().is_ok(),
        None => goal.ends_with(".spec"),
    }
}

fn options(request: &Request<'_>, file: &str, network: &Network) -> anyhow::Result<Options> {
    let given = request.options;
    let mut options = Options::default();
    options.contexts = given.contexts.unwrap_or(options.contexts);
    options.threads = given.threads.unwrap_or(options.threads);
    options.time = given.time.map(|time| time.0);
    options.memory = given.memory.map_or(options.memory, |memory| memory.0);
    if let Some(goal) = &given.goal {
        options.goal = if selvedge_boolean::is_cpds(file) && is_of_network(goal) {
            let (name, goal) = configuration(goal, "--goal")?;
            Goal::Configuration(selvedge_boolean::goal(network, &name, &goal)?)
        } else if goal.contains('|') {
            Goal::Configuration(Pattern::parse(network, goal)?)
        } else {
            Goal::Label(goal.clone())
        };
    }
    options.splitting = match given.splitting.as_deref() {
        None | Some("lazy") => Splitting::Lazy,
        Some("eager") => Splitting::Eager,
        Some(other) => bail!("--splitting {other} is not known; use lazy or eager"),
    };
    Ok(options)
}

/// Whether the limit on created threads mattered.
fn threads(cut: bool, limit: u32) -> String {
    let limit = format!("{limit} {}", if limit == 1 { "thread" } else { "threads" });
    if cut {
        format!(
            "Some executions create more than {limit}; they were not followed further (raise --threads).\n\n"
        )
    } else {
        format!("No execution within the bound creates more than {limit}: --threads cut nothing off.\n\n")
    }
}

/// The source with a mark before each line that stands for a place in the program: `+` reached, `-` not reached,
/// `!` violated.
fn marked(text: &str, markers: &[Marker]) -> String {
    if markers.is_empty() {
        return String::new();
    }
    let mut marked =
        String::from("Lines (+ reached, - not reached within the contexts checked, ! violated):\n\n");
    let width = text.lines().count().to_string().len();
    for (index, line) in text.lines().enumerate() {
        let number = index as u32 + 1;
        let sign = match markers.iter().find(|marker| marker.line == number).map(|marker| marker.mark) {
            Some(Mark::Reached) => '+',
            Some(Mark::NotReached) => '-',
            Some(Mark::Violated) => '!',
            None => ' ',
        };
        let line = format!("{sign} {number:width$}  {line}");
        marked.push_str(line.trim_end());
        marked.push('\n');
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marked() {
        let marker = |line, mark| Marker { file: "a.bp".into(), line, mark };
        let markers = [marker(2, Mark::Reached), marker(3, Mark::Violated), marker(4, Mark::NotReached)];
        let text = marked("begin\nskip;\nassert(0);\nskip;\nend\n", &markers);
        let lines: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(lines, ["  1  begin", "+ 2  skip;", "! 3  assert(0);", "- 4  skip;", "  5  end"]);
    }
}

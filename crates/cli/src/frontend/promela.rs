//! Promela: models, checked by the explicit engine.

use std::io::{BufRead as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use selvedge_promela::{Claims, ENDINGS, Error, Guide, Progress, Property, Reading, Search, StoreKind};
use selvedge_report::{Origin, Report};

use super::{Answer, Checked, FrontEnd, Request};
use crate::args::{Options, Simulate};
use crate::interrupt;
use crate::output::Status;
use crate::replay::from_token;
use crate::value::Memory;

pub(super) const FRONT_END: FrontEnd = FrontEnd {
    name: "Promela",
    files: "a .pml model (or .promela, .prom, .spin, .pm, .prm, .pr)",
    accepts: |path| path.extension().is_some_and(|extension| ENDINGS.iter().any(|known| extension == *known)),
    filters: false,
    options: &[&[
        "--preemptions",
        "--depth",
        "--at-bound",
        "--time",
        "--memory",
        "--search",
        "--store",
        "--no-por",
        "--shortest",
        "--all-errors",
        "--no-claim",
        "--ltl",
        "--formula",
        "--progress",
        "--free-cycles",
        "--trail",
        "-D",
        "-I",
    ]],
    check,
};

fn check(request: &Request<'_>) -> anyhow::Result<Answer> {
    let stop = interrupt::stop();
    let begin = Instant::now();
    let mut options = options(request.options)?;
    options.started = Some(begin);
    let mut line = Line::start(stop);
    let model = read(request, begin, stop).map_err(|error| anyhow!("{error}"))?;
    let mut list = Vec::new();
    for asked in questions(request, model.as_ref()) {
        let options = selvedge_promela::Options { property: property(&asked)?, ..options.clone() };
        let checked = match (&model, request.replay) {
            (None, _) => Ok(unread(request)),
            (Some(model), Some(schedule)) => selvedge_promela::replay(model, &options, schedule),
            (Some(model), None) => {
                selvedge_promela::check(model, &options, &mut |progress| line.show(&progress))
            }
        };
        let checked = checked.map_err(|error| anyhow!("{error}"))?;
        let wrote = list.iter().any(|(_, other): &(_, selvedge_promela::Checked)| other.trail.is_some());
        if let (Some(path), Some(trail), false) = (&request.options.trail, &checked.trail, wrote) {
            std::fs::write(path, trail)
                .with_context(|| format!("cannot write {path}; choose another file"))?;
        }
        list.push((asked, checked));
    }
    drop(line);
    let checked = list.into_iter().map(|(asked, checked)| told(request, &asked, checked)).collect();
    Ok(Answer { checked, reservation: None })
}

/// The options of each check: one, or one for each of a model's several properties.
fn questions(request: &Request<'_>, model: Option<&selvedge_promela::Model>) -> Vec<Options> {
    let given = request.options;
    let chosen = given.ltl.is_some() || given.formula.is_some() || given.progress || given.no_claim;
    let names = model.map(selvedge_promela::properties).unwrap_or_default();
    if chosen || names.is_empty() || request.replay.is_some() && names.len() > 1 {
        return vec![given.clone()];
    }
    names.into_iter().map(|name| Options { ltl: Some(name), ..given.clone() }).collect()
}

/// The report of a check.
fn told(request: &Request<'_>, asked: &Options, checked: selvedge_promela::Checked) -> Checked {
    let file = request.file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let progress = asked.progress.then_some("progress");
    let subject = match asked.ltl.as_deref().or(asked.formula.as_deref()).or(progress) {
        Some(":never:") | None => file,
        Some(property) => format!("{file}: {}", property.trim()),
    };
    let origin = Origin {
        file: request.file.display().to_string(),
        filter: None,
        arguments: asked.words(|_| true).collect(),
        words: Vec::new(),
    };
    let violation = checked.outcome.violation();
    let replay = violation.map(|violation| from_token(&violation.schedule, asked, &origin));
    let report = Report { subject, engine: "explicit".to_string(), outcome: checked.outcome };
    Checked { report, origin, replay, notes: None }
}

/// Reads the model; `None` if it was told to stop. The time is that of the reading and the search.
fn read(
    request: &Request<'_>,
    begin: Instant,
    stop: &'static AtomicBool,
) -> Result<Option<selvedge_promela::Model>, Error> {
    let given = request.options;
    let is_over = || given.time.is_some_and(|limit| begin.elapsed() >= limit.0);
    let go_on = || !stop.load(Ordering::Relaxed) && !is_over();
    let reading = Reading {
        definitions: &given.define,
        folders: &given.include,
        formula: given.formula.as_deref(),
        go_on: &go_on,
    };
    match selvedge_promela::load_with(request.file, &reading) {
        Err(Error::Stopped) => Ok(None),
        model => model.map(Some),
    }
}

/// The answer where the reading of the model was stopped.
fn unread(request: &Request<'_>) -> selvedge_promela::Checked {
    let reason = match request.options.time.filter(|_| !interrupt::stop().load(Ordering::Relaxed)) {
        Some(limit) => format!("the time limit of {} s was reached", limit.0.as_secs_f64()),
        None => "the reading of the model was interrupted".to_string(),
    };
    selvedge_promela::Checked::unsearched(&reason)
}

fn options(given: &Options) -> anyhow::Result<selvedge_promela::Options> {
    let search = match given.search.as_deref() {
        None | Some("layered") => Search::Layered,
        Some("dfs") => Search::Dfs,
        Some("bfs") => Search::Bfs,
        Some("bcs") => Search::Bcs,
        Some(other) => bail!("there is no search '{other}'; give layered, dfs, bfs or bcs"),
    };
    let store = match given.store.as_deref() {
        None | Some("exact") => StoreKind::Exact,
        Some("hashcompact") => StoreKind::HashCompact,
        Some(text) => match text.strip_prefix("bitstate=") {
            Some(size) => {
                let (size, functions) = size.split_once(',').unwrap_or((size, "3"));
                let bytes: Memory = size.parse().map_err(|error| anyhow!("--store {text}: {error}"))?;
                let functions = functions.parse().ok().filter(|count| (1..=32).contains(count));
                let functions = functions
                    .ok_or_else(|| anyhow!("--store {text}: expected bitstate=SIZE,K with K from 1 to 32"))?;
                StoreKind::Bitstate { bytes: bytes.0, functions }
            }
            None => bail!("there is no store '{text}'; give exact, hashcompact or bitstate=SIZE"),
        },
    };
    if given.preemptions.is_some() && matches!(search, Search::Dfs | Search::Bfs) {
        bail!("--preemptions goes with --search layered or bcs; leave one of the two out");
    }
    if store != StoreKind::Exact && (search == Search::Bfs || given.shortest) {
        bail!(
            "--search bfs and --shortest need the states themselves; leave --store out, or search dfs or bcs"
        );
    }
    Ok(selvedge_promela::Options {
        search,
        store,
        preemptions: given.preemptions,
        at_bound: given.at_bound,
        reduce: !given.no_por,
        free_cycles: given.free_cycles,
        all_errors: given.all_errors,
        shortest: given.shortest,
        claims: if given.no_claim { Claims::Ignore } else { Claims::Check },
        property: Property::Own,
        memory: given.memory.map(|memory| memory.0),
        time: given.time.map(|time| time.0),
        started: None,
        depth: given.depth.map(u64::from),
    })
}

/// The property that is asked for.
fn property(given: &Options) -> anyhow::Result<Property> {
    let asked = [given.ltl.is_some(), given.formula.is_some(), given.progress, given.no_claim];
    if asked.into_iter().filter(|&asked| asked).count() > 1 {
        bail!("--ltl, --formula, --progress and --no-claim each say what is checked; give one of them");
    }
    let name = given.ltl.as_deref().or(given.formula.as_deref().map(str::trim));
    Ok(match name {
        _ if given.progress => Property::Progress,
        Some(name) => Property::Named(name.to_string()),
        None => Property::Own,
    })
}

/// The progress line: bound, states, rate.
struct Line {
    bar: ProgressBar,
    stop: &'static AtomicBool,
}

impl Line {
    fn start(stop: &'static AtomicBool) -> Self {
        let bar = if crate::progress::wanted() {
            let style =
                ProgressStyle::with_template("{spinner} {msg} ({elapsed})").expect("a constant template");
            let bar = ProgressBar::new_spinner().with_style(style);
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        } else {
            ProgressBar::hidden()
        };
        Line { bar, stop }
    }

    fn show(&mut self, progress: &Progress) -> bool {
        let bound = progress.bound.map_or(String::new(), |bound| format!("preemptions {bound}: "));
        let rate = progress.states as f64 / progress.elapsed.as_secs_f64().max(0.001);
        self.bar.set_message(format!("{bound}{} states, {rate:.0} a second", progress.states));
        !self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// `selvedge simulate FILE`.
pub(crate) fn simulate(given: &Simulate) -> anyhow::Result<Status> {
    let reading = Reading { definitions: &given.define, folders: &given.include, ..Reading::default() };
    let model = selvedge_promela::load_with(&given.file, &reading).map_err(|error| anyhow!("{error}"))?;
    let trail;
    let mut ask;
    let guide = if let Some(path) = &given.trail {
        trail = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}; give a .trail file", path.display()))?;
        Guide::Trail(&trail)
    } else if given.interactive {
        ask = choose;
        Guide::Ask(&mut ask)
    } else {
        Guide::Random(given.seed)
    };
    let mut print = |line: &str| {
        // A reader that has gone ends the listing, not the run.
        let _ = writeln!(std::io::stdout(), "{line}");
    };
    let ended = selvedge_promela::simulate(&model, guide, given.steps, &mut print)
        .map_err(|error| anyhow!("{error}"))?;
    Ok(if ended.violated { Status::Violated } else { Status::Holds })
}

/// Asks which step to take; `None` ends the simulation.
fn choose(options: &[String]) -> Option<usize> {
    for (number, text) in options.iter().enumerate() {
        let _ = writeln!(std::io::stdout(), "  {number}: {text}");
    }
    let _ = write!(std::io::stdout(), "step (0-{}, q to stop)? ", options.len() - 1);
    let _ = std::io::stdout().flush();
    loop {
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "q" => return None,
            text => match text.parse::<usize>() {
                Ok(number) if number < options.len() => return Some(number),
                _ => {
                    let _ =
                        writeln!(std::io::stdout(), "give a number from 0 to {}, or q", options.len() - 1);
                }
            },
        }
    }
}

//! Selvedge in a process of its own, so that time and memory are that of one check from the text on.

use std::path::Path;

use selvedge_promela::{Claims, Options, Search, check, load};

use crate::catalogue::Model;
use crate::process::{self, Ran};

/// What one check has found and cost.
pub(crate) struct Ours {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) violated: bool,
    /// Bytes of the states, the table and the search's own lists.
    pub(crate) store_bytes: u64,
    pub(crate) ran: Ran,
}

/// Checks a model: `search` is `dfs`, `layered` or `bcs`; with a bound, up to that.
pub(crate) fn ours(model: &Model, search: &str, bound: Option<u32>, all_errors: bool) -> Ours {
    let program = std::env::current_exe().expect("the benchmark is a file");
    let mut arguments = vec![
        "--child".to_string(),
        search.to_string(),
        bound.map_or("none".to_string(), |bound| bound.to_string()),
        all_errors.to_string(),
        model.path.display().to_string(),
    ];
    arguments.extend(model.definitions.iter().cloned());
    let ran = process::run(&program.display().to_string(), &arguments, Path::new("."));
    let number = |name: &str| {
        let line = ran.text.lines().find_map(|line| line.strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("{}: no {name} in {:?}", model.name(), ran.text));
        line.trim().parse::<u64>().expect("a number")
    };
    Ours {
        states: number("states"),
        transitions: number("transitions"),
        violated: number("violated") == 1,
        store_bytes: number("bytes"),
        ran,
    }
}

/// The work of the child process.
pub(crate) fn run(arguments: &[String]) {
    let [search, bound, all_errors, path, definitions @ ..] = arguments else {
        panic!("a child takes a search, a bound, all_errors and a model: {arguments:?}")
    };
    let reduce = search == "merged";
    let search = match search.as_str() {
        "dfs" => Search::Dfs,
        "layered" | "merged" => Search::Layered,
        "bcs" => Search::Bcs,
        _ => panic!("there is no search {search}"),
    };
    // Spin is told to leave never claims out, but not traces.
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let claims = if text.contains("trace {") { Claims::Safety } else { Claims::Ignore };
    let options = Options {
        search,
        preemptions: bound.parse().ok(),
        all_errors: all_errors == "true",
        claims,
        reduce,
        ..Options::default()
    };
    let model = load(Path::new(path), definitions).unwrap_or_else(|error| panic!("{path}: {error}"));
    let checked = check(&model, &options, &mut |_| true).unwrap_or_else(|error| panic!("{path}: {error}"));
    let statistics = &checked.outcome.statistics;
    println!("states {}", statistics.states.unwrap_or(0));
    println!("transitions {}", statistics.transitions.unwrap_or(0));
    println!("bytes {}", statistics.peak_memory_bytes.unwrap_or(0));
    println!("violated {}", u32::from(checked.outcome.violation().is_some()));
}

//! Bad input never panics: sources are damaged in many ways, and each gives a network or an error with a place. What is
//! done with each is what the fuzz targets do.
//!
//! `SELVEDGE_MUTATIONS=N` sets how many damaged copies of each source are made.

use std::path::PathBuf;
use std::time::Duration;

use selvedge_symbolic::generate::Random;
use selvedge_symbolic::{Goal, Options, check};

#[path = "../../../fuzz/src/network.rs"]
#[allow(unreachable_pub)] // It is a part of a library there.
mod network;

/// The corpus, and the seeds of the fuzz targets.
fn sources() -> Vec<(String, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["corpus/symbolic", "fuzz/seeds/boolean", "fuzz/seeds/cpds"];
    let mut all: Vec<_> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort();
    all
}

const PIECES: [&str; 50] = [
    "\n---\n",
    "{x==1}",
    "$",
    "7:",
    "<>",
    "0|0",
    "decl",
    "begin",
    "end",
    "if",
    "then",
    "fi",
    "while",
    "do",
    "od",
    ":=",
    ";",
    ",",
    "(",
    ")",
    "[",
    "]",
    "int<",
    "int<33>",
    "int<0>",
    "*",
    "'",
    "!",
    "=>",
    "?",
    ":",
    "goto",
    "start_thread",
    "atomic_end;",
    "return",
    "void",
    "bool<3>",
    "process",
    "constrain",
    "18446744073709551616",
    "0x",
    "//",
    "/*",
    "é",
    "\u{0}",
    "PDA",
    "->",
    "|",
    "-",
    "#",
];

fn damage(text: &str, random: &mut Random) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(4) {
        if text.is_empty() {
            break;
        }
        let at = random.below(text.len() as u64) as usize;
        match random.below(5) {
            0 => drop(text.remove(at)),
            1 => text.truncate(at),
            2 => {
                let to = (at + random.below(30) as usize).min(text.len());
                let piece: Vec<char> = text[at..to].to_vec();
                let into = random.below(text.len() as u64) as usize;
                text.splice(into..into, piece);
            }
            3 => {
                let to = (at + random.below(12) as usize).min(text.len());
                text.drain(at..to);
            }
            _ => {
                let piece = PIECES[random.below(PIECES.len() as u64) as usize];
                text.splice(at..at, format!(" {piece} ").chars().collect::<Vec<_>>());
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn damaged_sources_are_read_or_refused() {
    let count = std::env::var("SELVEDGE_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(1500);
    let (mut read, mut refused, mut checked) = (0, 0, 0);
    for (name, text) in sources() {
        let mut random = Random::new(text.len() as u64);
        for _ in 0..count {
            let damaged = damage(&text, &mut random);
            if selvedge_boolean::is_cpds(&name) {
                network::cpds(&damaged);
            }
            match network::read(&name, &damaged) {
                Some(network) => {
                    read += 1;
                    if random.percent(6) {
                        network::answer(&network, Goal::Violation, Duration::from_secs(2), &damaged);
                        checked += 1;
                    }
                }
                None => refused += 1,
            }
        }
    }
    assert!(
        read > 1000 && refused > 1000 && checked > 100,
        "{read} read, {refused} refused, {checked} checked"
    );
}

#[test]
fn the_seeds_of_the_fuzz_targets_are_read() {
    for (name, text) in sources() {
        match selvedge_boolean::is_cpds(&name) {
            true => network::cpds(&text),
            false => network::boolean(&text),
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (before, after) in [("(", ")"), ("!", ""), ("int<1>(", ")")] {
        let expression = format!("{}1{}", before.repeat(50_000), after.repeat(50_000));
        let text = format!("void main() begin assert({expression}); end");
        let error = selvedge_boolean::read("deep.bp", &text).unwrap_err().to_string();
        assert!(error.contains("nesting"), "{error}");
    }
    let text = format!("void main() begin {} {} end", "while (*) do ".repeat(50_000), "od ".repeat(50_000));
    assert!(selvedge_boolean::read("deep.bp", &text).is_err());
    // Each row and each nesting is allowed, all of them together are not.
    let mut spine = "x".to_string();
    for _ in 0..55 {
        spine = format!("({spine}{})", " + x".repeat(199));
    }
    let text = format!("decl int<8> x; void main() begin x := {spine}; end");
    let error = selvedge_boolean::read("spine.bp", &text).unwrap_err().to_string();
    assert!(error.contains("at most 200 levels"), "{error}");
    // And what is allowed can be checked.
    let text = format!("decl int<8> x; void main() begin x := x{}; assert(x = 0); end", " + x".repeat(190));
    let network = selvedge_boolean::read("row.bp", &text).unwrap();
    assert!(check(&network, &Options::default(), &mut |_| true).unwrap().outcome.violation().is_some());
    for operator in ["=>", "+", "&&"] {
        let rest = format!("{operator} 1 ").repeat(50_000);
        let text = format!("void main() begin assert(1 {rest}); end");
        assert!(selvedge_boolean::read("deep.bp", &text).is_err());
    }
}

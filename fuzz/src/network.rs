//! Boolean programs and CPDS files: each gives a network that is well formed, or an error with a place in the text; and
//! a check of the network gives a verdict.

use std::time::Duration;

use selvedge_symbolic::network::Network;
use selvedge_symbolic::{Error, Goal, Options, check};

/// Between the parts of a text that stands for several files.
const MARK: &str = "\n---\n";

/// Reads a Boolean program, or a CPDS file, by the name's extension; `None` if it is refused.
pub fn read(name: &str, text: &str) -> Option<Network> {
    sound(text, selvedge_boolean::read(name, text))
}

/// What was read is well formed, and an error is about a place in the text.
fn sound(text: &str, result: Result<Network, selvedge_boolean::Error>) -> Option<Network> {
    match result {
        Ok(network) => {
            network.validate().unwrap_or_else(|error| panic!("{error}\n{text}"));
            let (lowered, _) = network.with_slots(2);
            lowered.validate().unwrap_or_else(|error| panic!("with slots: {error}\n{text}"));
            Some(network)
        }
        Err(error) => {
            let place = error.location();
            let lines = text.lines().count().max(1) as u32;
            assert!(place.line >= 1 && place.line <= lines + 1, "{error}\n{text}");
            assert!(place.column.is_some() && !error.to_string().is_empty());
            None
        }
    }
}

/// A check gives a verdict, whatever it is, or a clear error; a counterexample that does not replay is neither.
pub fn answer(network: &Network, goal: Goal, time: Duration, text: &str) {
    let options = Options {
        contexts: 2,
        threads: 1,
        memory: 8 << 20,
        time: Some(time),
        count: 20,
        goal,
        ..Options::default()
    };
    if let Err(error @ Error::Replay { .. }) = check(network, &options, &mut |_| true) {
        panic!("{error}\n{text}");
    }
}

/// The fuzz target `boolean`.
pub fn boolean(text: &str) {
    if let Some(network) = read("f.bp", text) {
        answer(&network, Goal::Violation, Duration::from_millis(50), text);
    }
}

/// The fuzz target `cpds`: a network, and after marks a first configuration and a goal.
pub fn cpds(text: &str) {
    let mut parts = text.split(MARK);
    let rules = parts.next().unwrap_or_default();
    let network = match parts.next() {
        Some(initial) => match selvedge_boolean::read_from("f.cpds", rules, ("f.init", initial)) {
            Err(error) if error.location().file == "f.init" => return,
            result => sound(rules, result),
        },
        None => read("f.cpds", rules),
    };
    let Some(network) = network else { return };
    let goal = match parts.next().map(|goal| selvedge_boolean::goal(&network, "f.spec", goal)) {
        Some(Ok(goal)) => Goal::Configuration(goal),
        _ => Goal::Violation,
    };
    answer(&network, goal, Duration::from_millis(50), text);
}

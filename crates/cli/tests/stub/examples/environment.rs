//! The subject of its result is its environment.
fn main() {
    let mut given: Vec<String> = std::env::vars()
        .filter(|(name, _)| name.starts_with("SELVEDGE_") && name != "SELVEDGE_JSON")
        .map(|(name, value)| format!("{}={value}", name.trim_start_matches("SELVEDGE_")))
        .collect();
    given.sort();
    stub::holds(&given.join(" "));
}

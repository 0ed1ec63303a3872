//! As `environment`, with a violation; and it prints.
fn main() {
    println!("seen in a replay");
    let given = |name| std::env::var(name).unwrap_or_default();
    stub::violated(&format!("race={} replay={}", given("SELVEDGE_RACE_MODE"), given("SELVEDGE_REPLAY")));
}

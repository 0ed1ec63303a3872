//! What benchmarks that write tables share: their one option, and RESULTS.md.

/// Whether `--quick` was given: a tenth of the time, and nothing is written.
pub(crate) fn is_quick() -> bool {
    let mut quick = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => quick = true,
            _ => panic!("{argument}: expected --quick"),
        }
    }
    quick
}

/// Prints tables below their headings as they come, and writes them to a file if one is given.
pub(crate) fn write(
    introduction: &str,
    tables: impl IntoIterator<Item = (&'static str, String)>,
    path: Option<&str>,
) {
    let mut text = introduction.to_string();
    for (heading, table) in tables {
        let part = format!("\n{heading}\n\n{table}");
        println!("{part}");
        text += &part;
    }
    if let Some(path) = path {
        std::fs::write(path, text).expect("RESULTS.md can be written");
    }
}

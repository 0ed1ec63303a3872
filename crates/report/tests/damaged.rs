//! Damaged results and tokens never panic, and what is still read is written and shown. What is done with each is what the
//! fuzz targets do.

#[path = "../../../fuzz/src/damage.rs"]
#[allow(unreachable_pub)] // It is a part of a library there.
mod damage;
#[path = "../../../fuzz/src/result.rs"]
#[allow(unreachable_pub)]
mod result;

use std::path::Path;

fn texts(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let texts = paths.iter().filter(|path| path.extension().is_none_or(|extension| extension == "json"));
    texts.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn damaged_results_are_read_or_refused() {
    let words = [
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "null",
        "-1",
        "1e400",
        "4294967296",
        "\\u001b",
        "\\ud800",
        "\n",
        "\"trace\":[]",
        "\"origin\":{\"file\":\"x\"}",
        "\"loop_start\":0",
        "\"violated\"",
        "\"thread\":9",
        "\"preemption\":true",
        "é",
    ];
    let (mut read, mut refused) = (0, 0);
    for text in texts("fuzz/seeds/result").into_iter().chain(texts("crates/report/tests/golden")) {
        result::json(&text);
        for copy in damage::copies(&text, &words, 400) {
            match result::json(&copy) {
                true => read += 1,
                false => refused += 1,
            }
        }
    }
    assert!(read > 100 && refused > 1000, "{read} read, {refused} refused");
}

#[test]
fn damaged_tokens_are_read_or_refused() {
    let words = ["1", "A", "_", "-", "z", " ", "!", "AAAA", "____________", "é"];
    for text in texts("fuzz/seeds/schedule") {
        assert!(result::token(&text), "{text}");
        damage::copies(&text, &words, 2000).for_each(|copy| {
            result::token(&copy);
        });
    }
}

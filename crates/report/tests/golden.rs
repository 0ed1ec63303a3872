//! Every `golden/NAME.json` is printed as its `.txt` files say: `NAME.txt` at the usual width, `NAME.narrow.txt`
//! in 48 columns, `NAME.color.txt` with colours (the escape character as `␛`). `SELVEDGE_BLESS=1` rewrites them.

use std::path::Path;

use selvedge_report::{Style, from_json, to_json, to_text};

const COMMAND: &str = "selvedge replay bug.json";

#[test]
fn texts_are_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let bless = std::env::var_os("SELVEDGE_BLESS").is_some();
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let input = entry.unwrap().path();
        if input.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        seen += 1;
        let report = from_json(&std::fs::read_to_string(&input).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", input.display()));
        assert_eq!(from_json(&to_json(&report)).unwrap(), report, "{}", input.display());
        for (ending, style, required) in [
            ("txt", Style::default(), true),
            ("narrow.txt", Style { color: false, width: 48 }, false),
            ("color.txt", Style { color: true, width: 100 }, false),
        ] {
            let golden = input.with_extension(ending);
            if !required && !golden.exists() {
                continue;
            }
            let text = to_text(&report, &style, Some(COMMAND)).replace('\x1b', "␛");
            if bless {
                std::fs::write(&golden, &text).unwrap();
            }
            let expected = std::fs::read_to_string(&golden).unwrap_or_default();
            assert_eq!(text, expected, "{} differs; SELVEDGE_BLESS=1 rewrites it", golden.display());
        }
    }
    assert!(seen >= 9);
}

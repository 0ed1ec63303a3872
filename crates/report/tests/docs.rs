//! The example of docs/src/json.md is a result, and is what we write.

use selvedge_report::{from_json, to_json};

#[test]
fn the_example_in_the_book_is_what_we_write() {
    let page = include_str!("../../../docs/src/json.md");
    let mut examples = 0;
    for block in page.split("```json\n").skip(1) {
        let (example, _) = block.split_once("```").expect("a code block ends");
        let report = from_json(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
        let written: serde_json::Value = serde_json::from_str(&to_json(&report)).unwrap();
        let in_book: serde_json::Value = serde_json::from_str(example).unwrap();
        assert_eq!(written, in_book);
        examples += 1;
    }
    assert!(examples >= 2);
}

//! Results and traces as JSON, and schedules as tokens: what is read is written and read as the same, and a report can
//! be made of it.

use selvedge_core::Schedule;
use selvedge_report::{Style, from_json_all_with_origin, to_json_with_origin, to_text};

/// The fuzz target `result`. Answers whether the text has results.
pub fn json(text: &str) -> bool {
    let read = match from_json_all_with_origin(text) {
        Ok(read) => read,
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!(error.line >= 1 && error.line <= lines + 1 && error.column >= 1, "{error}\n{text}");
            return false;
        }
    };
    for (report, origin) in read {
        for width in [1, 40, 100, usize::MAX] {
            let shown = to_text(&report, &Style { color: false, width }, Some("selvedge replay"));
            let odd = |c: char| c.is_control() && c != '\n';
            assert!(!shown.contains(odd), "what does something to a terminal is shown\n{shown:?}");
        }
        let written = to_json_with_origin(&report, origin.as_ref());
        let again = from_json_all_with_origin(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(again, [(report, origin)], "{text}");
    }
    true
}

/// The fuzz target `schedule`. Answers whether the text is one.
pub fn token(text: &str) -> bool {
    match text.parse::<Schedule>() {
        Err(error) => {
            assert!(error.position <= text.len(), "{error}");
            false
        }
        Ok(schedule) => {
            assert_eq!(schedule.to_string().parse::<Schedule>().as_ref(), Ok(&schedule), "{text}");
            true
        }
    }
}

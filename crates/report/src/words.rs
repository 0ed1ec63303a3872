//! Numbers, times and texts as people read them.

use std::time::Duration;

/// A number with its thousands set apart: `1,234,567`.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 step`, `2 steps`. For nouns whose plural is in -s, and -es after -ch.
pub(crate) fn count(n: u64, noun: &str) -> String {
    let ending = match (n, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{ending}", number(n))
}

/// A time in the unit that fits: `0.4 ms`, `12 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 59.5 => format!("{s:.0} s"),
        s => {
            let whole = s.round() as u64;
            match whole / 3600 {
                0 => format!("{} min {} s", whole / 60, whole % 60),
                hours => format!("{hours} h {} min", whole % 3600 / 60),
            }
        }
    }
}

/// An amount of memory: `512 bytes`, `2.0 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1024 {
        return count(n, "byte");
    }
    let mut amount = n as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1023.95 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// How many columns a text takes, at one a character.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text without characters that would move a terminal's cursor or change its colours: what comes from a
/// program under test, or from a file, is shown and never obeyed.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.push_str("    "),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// Breaks a text into lines of at most `limit` columns, at spaces where it can. Never returns no line.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        let used = width(line);
        if used > 0 && used + 1 + width(word) <= limit {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        if used > 0 {
            lines.push(String::new());
        }
        for (index, character) in word.chars().enumerate() {
            if index > 0 && index.is_multiple_of(limit) {
                lines.push(String::new());
            }
            lines.last_mut().expect("there is always a line").push(character);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_thousands_set_apart() {
        for (n, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(n), expected);
        }
    }

    #[test]
    fn times_are_in_the_unit_that_fits() {
        for (seconds, expected) in [
            (0.0, "0.0 ms"),
            (0.0004, "0.4 ms"),
            (0.012, "12 ms"),
            (0.9996, "1.0 s"),
            (1.24, "1.2 s"),
            (59.4, "59 s"),
            (59.6, "1 min 0 s"),
            (200.0, "3 min 20 s"),
            (7500.0, "2 h 5 min"),
        ] {
            assert_eq!(time(Duration::from_secs_f64(seconds)), expected);
        }
    }

    #[test]
    fn memory_is_in_the_unit_that_fits() {
        for (n, expected) in [(1, "1 byte"), (1023, "1,023 bytes"), (2_097_152, "2.0 MiB")] {
            assert_eq!(bytes(n), expected);
        }
    }

    #[test]
    fn lines_break_at_spaces_and_only_long_words_within() {
        for (text, limit, expected) in [
            ("", 5, vec![""]),
            ("lock mutex #1", 20, vec!["lock mutex #1"]),
            ("lock mutex #1", 10, vec!["lock mutex", "#1"]),
            ("abcdefgh ij", 3, vec!["abc", "def", "gh", "ij"]),
            ("é é", 1, vec!["é", "é"]),
        ] {
            assert_eq!(wrap(text, limit), expected, "{text:?} in {limit}");
        }
    }

    #[test]
    fn escape_sequences_are_shown_not_obeyed() {
        assert_eq!(visible("a\u{1b}[31mb\tc"), "a\\u{1b}[31mb    c");
    }
}

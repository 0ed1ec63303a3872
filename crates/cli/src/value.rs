//! Values of options: times, amounts of memory, ranges.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A time, as in `30s`, `500ms`, `10m`, `2h`; a number alone is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text);
        let seconds = match unit {
            "ms" => 0.001,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err("expected a time such as 30s, 500ms, 10m or 2h".into()),
        };
        let number: f64 = number.parse().map_err(|_| "expected a time such as 30s, 500ms, 10m or 2h")?;
        match Duration::try_from_secs_f64(number * seconds) {
            Ok(time) if time.as_millis() > 0 => Ok(Time(time)),
            Ok(_) => Err("a time must be at least 1ms".into()),
            Err(_) => Err("that time is too long".into()),
        }
    }
}

impl fmt::Display for Time {
    /// In whole seconds if it is, else in milliseconds, with the unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.subsec_millis() {
            0 => write!(f, "{}s", self.0.as_secs()),
            _ => write!(f, "{}ms", self.0.as_millis()),
        }
    }
}

/// An amount of memory in bytes, as in `4G`, `512M`; powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory(pub(crate) u64);

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected an amount of memory such as 4G or 512M";
        let (number, unit) = split(text);
        let shift = match unit.to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
            "" => 0,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            "T" => 40,
            _ => return Err(EXPECTED.into()),
        };
        let number: u64 = number.parse().map_err(|_| EXPECTED)?;
        match number.checked_mul(1 << shift) {
            Some(0) => Err("the memory must be more than 0".into()),
            Some(bytes) => Ok(Memory(bytes)),
            None => Err("that is more memory than there can be".into()),
        }
    }
}

/// A range of numbers, as in `0..2`; both ends are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) from: i32,
    pub(crate) to: i32,
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = text.split_once("..").and_then(|(from, to)| {
            let (from, to) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then_some(Range { from, to })
        });
        range.ok_or_else(|| "expected a range such as 0..2 or -1..4, the smallest value first".into())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.to)
    }
}

/// The number at the beginning, and the unit after it.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, expected) in [
            ("30s", Some("30s")),
            ("30", Some("30s")),
            ("1.5s", Some("1500ms")),
            ("500ms", Some("500ms")),
            ("10m", Some("600s")),
            ("2 h", Some("7200s")),
            ("0s", None),
            ("-1s", None),
            ("s", None),
            ("30x", None),
            ("9e999", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(text.parse::<Time>().ok().map(|t| t.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn ranges() {
        for text in ["0..2", "-1..4", "7..7", "-2147483648..2147483647"] {
            assert_eq!(text.parse::<Range>().unwrap().to_string(), text);
        }
        for text in ["", "..", "0", "2..0", "0..", "..2", "a..b", "0..9999999999", "0...2"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }

    #[test]
    fn memory() {
        for (text, expected) in [
            ("4G", Some(4 << 30)),
            ("512M", Some(512 << 20)),
            ("1KiB", Some(1024)),
            ("7", Some(7)),
            ("0", None),
            ("4X", None),
            ("1.5G", None),
            ("99999999999T", None),
        ] {
            assert_eq!(text.parse::<Memory>().ok().map(|m| m.0), expected, "{text}");
        }
    }
}

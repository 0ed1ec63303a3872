//! The decisions that make an execution, and their one-line form.

use std::fmt;
use std::str::FromStr;

use crate::ThreadId;

/// One decision of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Decision {
    /// This thread takes the next step.
    Thread(ThreadId),
    /// The step that was just started goes on with this one of the values it can choose from.
    Value(u32),
}

/// The decisions of an execution in order: enough to run it again.
///
/// It prints as one short token (runs of equal decisions, as base-64 text) and parses back.
///
/// ```
/// use selvedge_core::{Decision, Schedule, ThreadId};
/// let schedule = Schedule(vec![
///     Decision::Thread(ThreadId(0)),
///     Decision::Thread(ThreadId(0)),
///     Decision::Thread(ThreadId(1)),
///     Decision::Value(1),
/// ]);
/// let token = schedule.to_string();
/// assert_eq!(token.parse::<Schedule>().unwrap(), schedule);
/// assert!(token.len() < 12, "{token}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule(pub Vec<Decision>);

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The version of the token's form, its first character.
const VERSION: char = '1';

impl Schedule {
    /// The runs of equal decisions, with their lengths.
    fn runs(&self) -> impl Iterator<Item = (Decision, u32)> + '_ {
        self.0.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32))
    }
}

/// Appends a number, five bits a digit, least first; the sixth bit says that more follow.
fn push_number(text: &mut String, mut number: u64) {
    loop {
        let more = number >= 32;
        text.push(DIGITS[(number % 32) as usize + if more { 32 } else { 0 }] as char);
        number /= 32;
        if !more {
            return;
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A run is a number: the length's low bit says whether it is 1, the next whether it is a value.
        let mut text = String::from(VERSION);
        let mut sum = 0_u64;
        for (decision, length) in self.runs() {
            let (value, number) = match decision {
                Decision::Thread(thread) => (0, u64::from(thread.0)),
                Decision::Value(value) => (1, u64::from(value)),
            };
            push_number(&mut text, number << 2 | value << 1 | u64::from(length > 1));
            if length > 1 {
                push_number(&mut text, u64::from(length - 2));
            }
            sum = check(sum, decision, length);
        }
        text.push(DIGITS[(sum % 64) as usize] as char);
        f.write_str(&text)
    }
}

/// A check digit's worth of protection against a token that was cut short or mistyped.
fn check(sum: u64, decision: Decision, length: u32) -> u64 {
    let code = match decision {
        Decision::Thread(thread) => u64::from(thread.0) << 1,
        Decision::Value(value) => u64::from(value) << 1 | 1,
    };
    (sum ^ code << 32 ^ u64::from(length)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleParseError {
    /// Where in the text, from 0.
    pub position: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for ScheduleParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not a schedule: {} at character {}; copy the whole token that the report printed",
            self.message,
            self.position + 1
        )
    }
}

impl std::error::Error for ScheduleParseError {}

/// No execution is longer than this; a token that says so is not worth the memory.
const LONGEST: u64 = 1 << 26;

impl FromStr for Schedule {
    type Err = ScheduleParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |position: usize, message: &str| {
            Err(ScheduleParseError { position, message: message.to_string() })
        };
        let text = text.trim();
        let Some(body) = text.strip_prefix(VERSION) else {
            return error(0, "expected it to begin with 1");
        };
        let mut digits = Vec::with_capacity(body.len());
        for (index, character) in body.bytes().enumerate() {
            match DIGITS.iter().position(|&digit| digit == character) {
                Some(value) => digits.push(value as u64),
                None => return error(index + 1, "a character that no schedule has"),
            }
        }
        let Some((&expected, digits)) = digits.split_last() else {
            return error(1, "it ends too early");
        };
        let mut digits = Digits { digits, position: 0 };
        let (mut schedule, mut sum) = (Schedule::default(), 0);
        while digits.position < digits.digits.len() {
            let start = digits.position + 1;
            let Some(head) = digits.number() else { return error(text.len(), "it ends too early") };
            let length = if head & 1 == 0 {
                1
            } else {
                match digits.number() {
                    Some(more) => more.saturating_add(2),
                    None => return error(text.len(), "it ends too early"),
                }
            };
            let Ok(operand) = u32::try_from(head >> 2) else {
                return error(start, "a number that is too large");
            };
            if length > LONGEST - schedule.0.len() as u64 {
                return error(start, "more decisions than any execution has");
            }
            let decision =
                if head & 2 == 0 { Decision::Thread(ThreadId(operand)) } else { Decision::Value(operand) };
            schedule.0.extend(std::iter::repeat_n(decision, length as usize));
            sum = check(sum, decision, length as u32);
        }
        if sum % 64 != expected {
            return error(text.len() - 1, "the check character does not fit");
        }
        Ok(schedule)
    }
}

/// The digits of a token, read as numbers.
struct Digits<'a> {
    digits: &'a [u64],
    position: usize,
}

impl Digits<'_> {
    /// The next number; `None` when the digits end within it or it is too large.
    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let digit = *self.digits.get(self.position)?;
            self.position += 1;
            if shift > 50 {
                return None;
            }
            number |= (digit % 32) << shift;
            shift += 5;
            if digit < 32 {
                return Some(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(seed: u64, length: usize) -> Schedule {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        let mut decisions = Vec::new();
        while decisions.len() < length {
            let decision = match next() % 5 {
                0 => Decision::Value(next() % 40),
                _ => Decision::Thread(ThreadId(next() % 300)),
            };
            decisions.extend(std::iter::repeat_n(decision, 1 + next() as usize % 50));
        }
        Schedule(decisions)
    }

    #[test]
    fn every_token_parses_back() {
        for seed in 0..500 {
            let schedule = schedule(seed, seed as usize % 90);
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
    }

    #[test]
    fn damaged_tokens_are_refused_or_parse_but_never_panic() {
        let token = schedule(7, 60).to_string();
        let mut refused = 0;
        for at in 0..token.len() {
            for digit in DIGITS.iter().chain(b" !~") {
                let mut bytes = token.clone().into_bytes();
                bytes[at] = *digit;
                let changed = String::from_utf8(bytes).unwrap();
                refused += usize::from(changed.parse::<Schedule>().is_err());
            }
            refused += usize::from(token[..at].parse::<Schedule>().is_err());
        }
        assert!(refused > token.len() * 60);
        assert!("".parse::<Schedule>().is_err());
        assert!("1________".parse::<Schedule>().is_err());
    }
}

//! The shape of the JSON, `selvedge/result/1`: one struct an object, the fields in the order in which they
//! are written. docs/src/json.md says what each means.
//!
//! These types only mirror the text; [`crate::json`] turns them into the vocabulary of the engines and back.
//! A number that is `None` is left out. Fields that a reader does not know are skipped, so that later
//! versions may add some; in `coverage` and `statistics` unknown numbers are kept.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Origin;

/// What the `schema` field says.
pub(crate) const SCHEMA: &str = "selvedge/result/1";

#[derive(Serialize, Deserialize)]
pub(crate) struct Result1 {
    pub(crate) schema: String,
    pub(crate) subject: String,
    pub(crate) engine: String,
    pub(crate) verdict: Verdict1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) guarantee: Option<Guarantee1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) violation: Option<Violation1>,
    #[serde(default)]
    pub(crate) coverage: Vec<Coverage1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lines: Vec<Line1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<Remark1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    pub(crate) statistics: Statistics1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<Origin>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict1 {
    Holds,
    Violated,
    Inconclusive,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Guarantee1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preemptions: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) contexts: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delays: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) yields: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) threads: Option<u32>,
    pub(crate) complete: bool,
    /// Always written: that it is empty is a claim.
    pub(crate) assumptions: Vec<Assumption1>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Assumption1 {
    pub(crate) key: String,
    pub(crate) phrase: String,
    /// For readers; what is read back follows from the key.
    #[serde(default)]
    pub(crate) sentence: String,
    #[serde(default)]
    pub(crate) remedy: String,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Violation1 {
    pub(crate) kind: String,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) location: Option<String>,
    pub(crate) preemptions: u32,
    pub(crate) switches: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) contexts: Option<u32>,
    pub(crate) schedule: String,
    /// Every thread's name, by number: some may take no step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) threads: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) trace: Vec<Step1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) loop_start: Option<usize>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Step1 {
    pub(crate) step: usize,
    pub(crate) thread: usize,
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) op: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) location: Option<String>,
    #[serde(default)]
    pub(crate) preemption: bool,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Coverage1 {
    pub(crate) bound: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) measure: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) executions: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) distinct: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) states: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) transitions: Option<u64>,
    #[serde(default)]
    pub(crate) seconds: f64,
    #[serde(flatten)]
    pub(crate) extra: Extra,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Remark1 {
    pub(crate) kind: String,
    pub(crate) location: String,
    pub(crate) text: String,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Line1 {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) mark: String,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Statistics1 {
    #[serde(default)]
    pub(crate) seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) peak_memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) executions: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) steps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) states: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) transitions: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) matched: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) growth: Vec<(u64, u64)>,
    #[serde(flatten)]
    pub(crate) extra: Extra,
}

/// Numbers under names that only one engine knows, in the order in which it gave them.
pub(crate) struct Extra(pub(crate) Vec<(Cow<'static, str>, u64)>);

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, number) in &self.0 {
            map.serialize_entry(name, number)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Extra;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Extra, A::Error> {
                let mut numbers = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, serde_json::Value>()? {
                    if let Some(number) = value.as_u64() {
                        numbers.push((Cow::Owned(name), number));
                    }
                }
                Ok(Extra(numbers))
            }
        }
        deserializer.deserialize_map(Numbers)
    }
}

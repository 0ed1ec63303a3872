//! What is written is read back as it was, for thousands of generated results; and damaged text is refused
//! with a place, and never a panic.

use std::borrow::Cow;
use std::time::Duration;

use selvedge_core::{
    Assumption, AssumptionKind, Assumptions, Bounds, CoverageRow, Decision, Gap, Guarantee, Location, Mark,
    Marker, Measure, Outcome, Remark, RemarkKind, Schedule, Statistics, Step, ThreadId, Trace, Verdict,
    Violation, ViolationKind,
};
use selvedge_report::{Report, Style, from_json, from_json_all, to_json, to_text};

/// A small generator of values: the same ones for the same seed.
struct Values(u64);

impl Values {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| make(self))
    }

    fn list<T>(&mut self, longest: u64, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(longest + 1)).map(|_| make(self)).collect()
    }

    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => 0,
            1 => u64::MAX,
            _ => self.below(1 << 31),
        }
    }

    fn small(&mut self) -> u32 {
        self.below(9) as u32
    }

    fn text(&mut self) -> String {
        const PIECES: [&str; 12] =
            ["lock", " ", "\"", "\\", "\n", "é", "mutex #1", "\u{1b}[31m", ":", "𝄞", "\t", "0 -> 1"];
        self.list(6, |values| PIECES[values.below(12) as usize]).concat()
    }

    fn time(&mut self) -> Duration {
        Duration::from_nanos(self.below(1 << 31) * self.below(1 << 20))
    }

    fn location(&mut self) -> Location {
        const FILES: [&str; 4] = ["src/lib.rs", "C:\\x y\\main.rs", "model.pml", "a:b.rs"];
        let file = FILES[self.below(4) as usize].to_string();
        Location { file, line: self.small(), column: self.maybe(Self::small) }
    }

    fn guarantee(&mut self) -> Guarantee {
        let bounds = Bounds {
            preemptions: self.maybe(Self::small),
            contexts: self.maybe(Self::small),
            delays: self.maybe(Self::small),
            yields: self.maybe(Self::small),
            depth: self.maybe(Self::small),
            threads: self.maybe(Self::small),
        };
        let mut assumptions = Assumptions::default();
        for _ in 0..self.below(3) {
            let kind = AssumptionKind::ALL[self.below(AssumptionKind::ALL.len() as u64) as usize];
            assumptions.add(Assumption::new(kind, self.text()));
        }
        Guarantee { bounds, complete: self.below(2) == 0, assumptions }
    }

    fn violation(&mut self) -> Violation {
        let threads: Vec<String> = (0..=self.below(9)).map(|_| self.text()).collect();
        let longest = if self.below(20) == 0 { 700 } else { 12 };
        let steps = self.list(longest, |values| Step {
            thread: values.below(threads.len() as u64) as usize,
            op: values.text(),
            value: values.maybe(Self::text),
            location: values.maybe(Self::location),
            preemption: values.below(3) == 0,
        });
        let loop_start = self
            .maybe(|values| values.below(steps.len().max(1) as u64) as usize)
            .filter(|_| !steps.is_empty());
        Violation {
            kind: ViolationKind::ALL[self.below(15) as usize],
            message: self.text(),
            location: self.maybe(Self::location),
            preemptions: self.small(),
            switches: self.small(),
            contexts: self.maybe(Self::small),
            schedule: Schedule(self.list(30, |values| match values.below(4) {
                0 => Decision::Value(values.small()),
                _ => Decision::Thread(ThreadId(values.small())),
            })),
            trace: Trace { threads, steps, loop_start },
            below: self.maybe(Self::guarantee),
        }
    }

    fn extra(&mut self) -> Vec<(Cow<'static, str>, u64)> {
        let mut names = vec!["view_tuples", "bdd_nodes", "automata", "a name with spaces"];
        self.list(3, |values| {
            let name = names.remove(values.below(names.len() as u64) as usize);
            (Cow::Borrowed(name), values.number())
        })
    }

    fn row(&mut self) -> CoverageRow {
        const MEASURES: [Measure; 4] =
            [Measure::Preemptions, Measure::Contexts, Measure::Delays, Measure::Depth];
        CoverageRow {
            bound: self.small(),
            measure: MEASURES[self.below(4) as usize],
            executions: self.maybe(Self::number),
            distinct: self.maybe(Self::number),
            states: self.maybe(Self::number),
            transitions: self.maybe(Self::number),
            elapsed: self.time(),
            extra: self.extra(),
        }
    }

    fn statistics(&mut self) -> Statistics {
        Statistics {
            elapsed: self.time(),
            peak_memory_bytes: self.maybe(Self::number),
            executions: self.maybe(Self::number),
            steps: self.maybe(Self::number),
            states: self.maybe(Self::number),
            transitions: self.maybe(Self::number),
            matched: self.maybe(Self::number),
            depth: self.maybe(Self::number),
            state_bytes: self.maybe(Self::number),
            growth: self.list(4, |values| (values.number(), values.number())),
            lines: self.list(4, |values| Marker {
                file: values.text(),
                line: values.small(),
                mark: Mark::ALL[values.below(3) as usize],
            }),
            notes: self.list(2, Self::text),
            remarks: self.list(4, |values| Remark {
                kind: RemarkKind::ALL[values.below(2) as usize],
                location: values.location(),
                text: values.text(),
            }),
            extra: self.extra(),
        }
    }

    fn report(&mut self) -> Report {
        let verdict = match self.below(3) {
            0 => Verdict::Holds(self.guarantee()),
            1 => Verdict::Violated(Box::new(self.violation())),
            _ => {
                let covered = self.maybe(Self::guarantee);
                Verdict::Inconclusive(Gap { reason: self.text(), covered })
            }
        };
        let outcome = Outcome { verdict, rows: self.list(4, Self::row), statistics: self.statistics() };
        Report { subject: self.text(), engine: self.text(), outcome }
    }
}

#[test]
fn every_result_is_read_back_as_it_was() {
    for seed in 0..4000 {
        let report = Values(seed).report();
        let text = to_json(&report);
        assert!(!text.contains('\n'), "one line: {text}");
        assert_eq!(from_json(&text), Ok(report), "seed {seed}: {text}");
    }
}

#[test]
fn several_results_are_read_in_order() {
    let reports: Vec<Report> = (0..50).map(|seed| Values(seed).report()).collect();
    let text: String = reports.iter().map(|report| to_json(report) + "\n").collect();
    assert_eq!(from_json_all(&text), Ok(reports));
}

#[test]
fn every_result_has_a_text_at_every_width() {
    for seed in 0..1000 {
        let report = Values(seed).report();
        for width in [0, 1, 20, 60, 100, 1000] {
            let plain = to_text(&report, &Style { color: false, width }, None);
            assert!(!plain.contains('\x1b'), "seed {seed}: what a program says is shown, not obeyed");
            let color = to_text(&report, &Style { color: true, width }, Some("again"));
            assert!(color.ends_with('\n') && plain.ends_with('\n'));
        }
    }
}

#[test]
fn numbers_that_are_not_there_are_left_out() {
    let outcome = Outcome {
        verdict: Verdict::Holds(Guarantee { complete: true, ..Guarantee::default() }),
        rows: vec![CoverageRow::default()],
        statistics: Statistics::default(),
    };
    let report = Report { subject: "s".into(), engine: "e".into(), outcome };
    assert_eq!(
        to_json(&report),
        concat!(
            r#"{"schema":"selvedge/result/1","subject":"s","engine":"e","verdict":"holds","#,
            r#""guarantee":{"complete":true,"assumptions":[]},"#,
            r#""coverage":[{"bound":0,"measure":"preemptions","seconds":0.0}],"statistics":{"seconds":0.0}}"#
        )
    );
}

#[test]
fn damaged_text_is_refused_or_read_but_never_panics() {
    let text = to_json(&Values(4).report());
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        let error = from_json(&text[..end]).expect_err("a part is not a result");
        assert!(error.line == 1 && error.column >= 1 && !error.remedy.is_empty());
    }
    for (at, _) in text.char_indices() {
        for other in ["", "\"", "{", "9", "-", "\u{7f}", "null"] {
            let changed = format!("{}{other}{}", &text[..at], text[at..].get(1..).unwrap_or(""));
            let _ = from_json(&changed);
        }
    }
}

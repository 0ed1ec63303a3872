//! The shape of the JSON turned into the vocabulary of the engines, and back. What does not fit together is
//! an error in words; [`crate::json`] adds the place.

use std::time::Duration;

use selvedge_core::{
    Assumption, AssumptionKind, Assumptions, Bounds, CoverageRow, Gap, Guarantee, Location, Mark, Marker,
    Measure, Outcome, Remark, RemarkKind, Statistics, Step, Trace, Verdict, Violation, ViolationKind,
};

use crate::Report;
use crate::schema::{
    Assumption1, Coverage1, Extra, Guarantee1, Line1, Remark1, Result1, SCHEMA, Statistics1, Step1, Verdict1,
    Violation1,
};

/// Threads beyond this are taken for a mistake in a trace that does not name its threads.
const MOST_THREADS: usize = 1 << 16;

pub(crate) fn write_result(report: &Report) -> Result1 {
    let outcome = &report.outcome;
    let (verdict, gap) = match &outcome.verdict {
        Verdict::Holds(_) => (Verdict1::Holds, None),
        Verdict::Violated(_) => (Verdict1::Violated, None),
        Verdict::Inconclusive(gap) => (Verdict1::Inconclusive, Some(gap.reason.clone())),
    };
    Result1 {
        schema: SCHEMA.to_string(),
        subject: report.subject.clone(),
        engine: report.engine.clone(),
        verdict,
        gap,
        guarantee: outcome.guarantee().map(write_guarantee),
        violation: outcome.violation().map(write_violation),
        coverage: outcome.rows.iter().map(write_row).collect(),
        lines: outcome.statistics.lines.iter().map(write_line).collect(),
        remarks: outcome.statistics.remarks.iter().map(write_remark).collect(),
        notes: outcome.statistics.notes.clone(),
        statistics: write_statistics(&outcome.statistics),
        origin: None,
    }
}

fn write_guarantee(guarantee: &Guarantee) -> Guarantee1 {
    let Bounds { preemptions, contexts, delays, yields, depth, threads } = guarantee.bounds;
    let complete = guarantee.complete;
    let assumptions = guarantee.assumptions.iter().map(write_assumption).collect();
    Guarantee1 { preemptions, contexts, delays, yields, depth, threads, complete, assumptions }
}

fn write_assumption(assumption: &Assumption) -> Assumption1 {
    let Assumption { kind, phrase } = assumption;
    Assumption1 {
        key: kind.key().to_string(),
        phrase: phrase.to_string(),
        sentence: kind.sentence().to_string(),
        remedy: kind.remedy().to_string(),
    }
}

fn read_guarantee(guarantee: Guarantee1) -> Result<Guarantee, String> {
    let Guarantee1 { preemptions, contexts, delays, yields, depth, threads, complete, assumptions } =
        guarantee;
    let bounds = Bounds { preemptions, contexts, delays, yields, depth, threads };
    let assumptions = assumptions.into_iter().map(read_assumption).collect::<Result<Assumptions, _>>()?;
    Ok(Guarantee { bounds, complete, assumptions })
}

fn read_assumption(assumption: Assumption1) -> Result<Assumption, String> {
    let Assumption1 { key, phrase, .. } = assumption;
    let known = AssumptionKind::ALL.into_iter().find(|known| known.key() == key);
    let kind = known.ok_or_else(|| format!("there is no assumption called {key:?}"))?;
    Ok(Assumption::new(kind, phrase))
}

fn write_violation(violation: &Violation) -> Violation1 {
    let trace = &violation.trace;
    let steps = trace.steps.iter().enumerate().map(|(index, step)| Step1 {
        step: index,
        thread: step.thread,
        name: trace.threads.get(step.thread).cloned().unwrap_or_else(|| unnamed(step.thread)),
        op: step.op.clone(),
        value: step.value.clone(),
        location: step.location.as_ref().map(Location::to_string),
        preemption: step.preemption,
    });
    Violation1 {
        kind: violation.kind.name().to_string(),
        message: violation.message.clone(),
        location: violation.location.as_ref().map(Location::to_string),
        preemptions: violation.preemptions,
        switches: violation.switches,
        contexts: violation.contexts,
        schedule: violation.schedule.to_string(),
        threads: Some(trace.threads.clone()),
        trace: steps.collect(),
        loop_start: trace.loop_start,
    }
}

/// What a thread is called that has no name.
pub(crate) fn unnamed(thread: usize) -> String {
    format!("thread {thread}")
}

fn write_row(row: &CoverageRow) -> Coverage1 {
    Coverage1 {
        bound: row.bound,
        measure: Some(row.measure.name().to_string()),
        executions: row.executions,
        distinct: row.distinct,
        states: row.states,
        transitions: row.transitions,
        seconds: row.elapsed.as_secs_f64(),
        extra: Extra(row.extra.clone()),
    }
}

fn write_line(marker: &Marker) -> Line1 {
    Line1 { file: marker.file.clone(), line: marker.line, mark: marker.mark.name().to_string() }
}

fn read_line(line: Line1) -> Result<Marker, String> {
    let Line1 { file, line, mark } = line;
    let known = Mark::ALL.into_iter().find(|known| known.name() == mark);
    let mark = known.ok_or_else(|| format!("there is no mark called {mark:?}"))?;
    Ok(Marker { file, line, mark })
}

fn write_remark(remark: &Remark) -> Remark1 {
    let Remark { kind, location, text } = remark;
    Remark1 { kind: kind.name().to_string(), location: location.to_string(), text: text.clone() }
}

fn read_remark(remark: Remark1) -> Result<Remark, String> {
    let Remark1 { kind, location, text } = remark;
    let known = RemarkKind::ALL.into_iter().find(|known| known.name() == kind);
    let kind = known.ok_or_else(|| format!("there is no remark called {kind:?}"))?;
    Ok(Remark { kind, location: read_location(&location)?, text })
}

fn write_statistics(statistics: &Statistics) -> Statistics1 {
    Statistics1 {
        seconds: statistics.elapsed.as_secs_f64(),
        peak_memory_bytes: statistics.peak_memory_bytes,
        executions: statistics.executions,
        steps: statistics.steps,
        states: statistics.states,
        transitions: statistics.transitions,
        matched: statistics.matched,
        depth: statistics.depth,
        state_bytes: statistics.state_bytes,
        growth: statistics.growth.clone(),
        extra: Extra(statistics.extra.clone()),
    }
}

pub(crate) fn read_result(result: Result1) -> Result<Report, String> {
    let guarantee = result.guarantee.map(read_guarantee).transpose()?;
    let verdict = match result.verdict {
        Verdict1::Holds => {
            Verdict::Holds(guarantee.ok_or("the verdict is \"holds\", and there is no \"guarantee\"")?)
        }
        Verdict1::Violated => {
            let violation =
                result.violation.ok_or("the verdict is \"violated\", and there is no \"violation\"")?;
            Verdict::Violated(Box::new(read_violation(violation, guarantee)?))
        }
        Verdict1::Inconclusive => {
            let reason = result.gap.ok_or("the verdict is \"inconclusive\", and there is no \"gap\"")?;
            Verdict::Inconclusive(Gap { reason, covered: guarantee })
        }
    };
    let rows = result.coverage.into_iter().map(read_row).collect::<Result<_, _>>()?;
    let mut statistics = read_statistics(result.statistics)?;
    statistics.lines = result.lines.into_iter().map(read_line).collect::<Result<_, _>>()?;
    statistics.notes = result.notes;
    statistics.remarks = result.remarks.into_iter().map(read_remark).collect::<Result<_, _>>()?;
    let outcome = Outcome { verdict, rows, statistics };
    Ok(Report { subject: result.subject, engine: result.engine, outcome })
}

fn read_violation(violation: Violation1, below: Option<Guarantee>) -> Result<Violation, String> {
    let kind = ViolationKind::ALL
        .into_iter()
        .find(|kind| kind.name() == violation.kind)
        .ok_or_else(|| format!("there is no kind of violation called {:?}", violation.kind))?;
    let threads = match violation.threads {
        Some(threads) => threads,
        None => threads_of(&violation.trace)?,
    };
    let mut steps = Vec::with_capacity(violation.trace.len());
    for (index, step) in violation.trace.into_iter().enumerate() {
        if step.thread >= threads.len() {
            return Err(format!("step {index} is by thread {}, which is not in \"threads\"", step.thread));
        }
        let location = step.location.as_deref().map(read_location).transpose()?;
        let Step1 { thread, op, value, preemption, .. } = step;
        steps.push(Step { thread, op, value, location, preemption });
    }
    if violation.loop_start.is_some_and(|start| start >= steps.len()) {
        return Err("\"loop_start\" is not a step of the trace".into());
    }
    Ok(Violation {
        kind,
        message: violation.message,
        location: violation.location.as_deref().map(read_location).transpose()?,
        preemptions: violation.preemptions,
        switches: violation.switches,
        contexts: violation.contexts,
        schedule: violation.schedule.parse().map_err(|error| format!("\"schedule\" is {error}"))?,
        trace: Trace { threads, steps, loop_start: violation.loop_start },
        below,
    })
}

/// The names of the threads as the steps tell them.
fn threads_of(steps: &[Step1]) -> Result<Vec<String>, String> {
    let count = steps.iter().map(|step| step.thread.saturating_add(1)).max().unwrap_or(0);
    if count > MOST_THREADS {
        return Err(format!("a step is by thread {}, and there is no \"threads\"", count - 1));
    }
    let mut threads: Vec<String> = (0..count).map(unnamed).collect();
    for step in steps.iter().filter(|step| !step.name.is_empty()) {
        threads[step.thread].clone_from(&step.name);
    }
    Ok(threads)
}

/// `FILE:LINE` or `FILE:LINE:COLUMN`; the file may have colons of its own.
fn read_location(text: &str) -> Result<Location, String> {
    let numbered = |text: &str| {
        let (rest, number) = text.rsplit_once(':')?;
        Some((rest.to_string(), number.parse::<u32>().ok()?))
    };
    let (rest, last) = numbered(text).ok_or_else(|| format!("the location {text:?} is not FILE:LINE"))?;
    Ok(match numbered(&rest) {
        Some((file, line)) => Location { file, line, column: Some(last) },
        None => Location { file: rest, line: last, column: None },
    })
}

fn read_row(row: Coverage1) -> Result<CoverageRow, String> {
    const MEASURES: [Measure; 4] = [Measure::Preemptions, Measure::Contexts, Measure::Delays, Measure::Depth];
    let measure = match row.measure {
        None => Measure::default(),
        Some(name) => MEASURES
            .into_iter()
            .find(|measure| measure.name() == name)
            .ok_or_else(|| format!("there is no bound called {name:?}"))?,
    };
    Ok(CoverageRow {
        bound: row.bound,
        measure,
        executions: row.executions,
        distinct: row.distinct,
        states: row.states,
        transitions: row.transitions,
        elapsed: read_seconds(row.seconds)?,
        extra: row.extra.0,
    })
}

fn read_statistics(statistics: Statistics1) -> Result<Statistics, String> {
    Ok(Statistics {
        elapsed: read_seconds(statistics.seconds)?,
        peak_memory_bytes: statistics.peak_memory_bytes,
        executions: statistics.executions,
        steps: statistics.steps,
        states: statistics.states,
        transitions: statistics.transitions,
        matched: statistics.matched,
        depth: statistics.depth,
        state_bytes: statistics.state_bytes,
        growth: statistics.growth,
        lines: Vec::new(),
        remarks: Vec::new(),
        notes: Vec::new(),
        extra: statistics.extra.0,
    })
}

fn read_seconds(seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{seconds} is not a time in seconds"))
}

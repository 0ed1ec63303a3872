//! What a configuration is to look like: the globals and every stack, with values left open or given.
//!
//! A configuration has a stack for each process that exists at first, and one for each thread that has been
//! created, in the order of their creation. So a pattern with more stacks than there were processes at first asks
//! for configurations in which exactly so many threads have been created; a thread that does not exist yet is not
//! named. One that was created and has not moved is at its entry.

use crate::Error;
use crate::interpreter::{Configuration, Frame, Thread};
use crate::network::{LabelId, Network, Variable};

/// What a frame is to look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FramePattern {
    /// Its label.
    pub label: LabelId,
    /// Its locals; `None` is any value.
    pub locals: Vec<Option<u64>>,
}

/// What a process is to look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadPattern {
    /// Its registers; `None` is any value.
    pub registers: Vec<Option<u64>>,
    /// Its stack, the top last. Empty when the process has ended.
    pub stack: Vec<FramePattern>,
    /// Whether there may be more frames, of any kind, below these.
    pub open: bool,
}

/// What a configuration is to look like.
///
/// ```
/// use selvedge_symbolic::Pattern;
/// use selvedge_symbolic::network::*;
///
/// let mut network = Network { globals: vec![Variable::new("x", 2)], ..Network::default() };
/// network.procedures.push(Procedure { name: "p".into(), locals: Vec::new() });
/// let entry = network.add_label("entry", ProcedureId(0));
/// network.processes.push(Process { name: "only".into(), entry });
/// let pattern = Pattern::parse(&network, "x = 3 | entry")?;
/// assert_eq!(pattern.globals, [Some(3)]);
/// assert!(Pattern::parse(&network, "x = 4 | entry").is_err());
/// # Ok::<(), selvedge_symbolic::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The globals; `None` is any value.
    pub globals: Vec<Option<u64>>,
    /// The processes that exist, those that were created after those that exist at first.
    pub threads: Vec<ThreadPattern>,
}

impl From<&Configuration> for Pattern {
    fn from(configuration: &Configuration) -> Pattern {
        let all = |values: &[u64]| values.iter().copied().map(Some).collect();
        let frame = |frame: &Frame| FramePattern { label: frame.label, locals: all(&frame.locals) };
        let thread = |thread: &Thread| ThreadPattern {
            registers: all(&thread.registers),
            stack: thread.stack.iter().map(frame).collect(),
            open: false,
        };
        Pattern {
            globals: all(&configuration.globals),
            threads: configuration.threads.iter().map(thread).collect(),
        }
    }
}

fn matches(wanted: &[Option<u64>], values: &[u64]) -> bool {
    wanted.len() == values.len()
        && wanted.iter().zip(values).all(|(wanted, value)| wanted.is_none_or(|wanted| wanted == *value))
}

impl ThreadPattern {
    fn matches(&self, thread: &Thread) -> bool {
        let Some(more) = thread.stack.len().checked_sub(self.stack.len()) else { return false };
        matches(&self.registers, &thread.registers)
            && (more == 0 || self.open)
            && self
                .stack
                .iter()
                .zip(&thread.stack[more..])
                .all(|(wanted, frame)| wanted.label == frame.label && matches(&wanted.locals, &frame.locals))
    }
}

impl Pattern {
    /// Whether a configuration looks like this.
    pub fn matches(&self, configuration: &Configuration) -> bool {
        matches(&self.globals, &configuration.globals)
            && self.threads.len() == configuration.threads.len()
            && self.threads.iter().zip(&configuration.threads).all(|(wanted, thread)| wanted.matches(thread))
    }

    /// Whether the globals and the top of each stack decide who looks like this.
    pub(crate) fn is_of_tops(&self) -> bool {
        self.threads.iter().all(|thread| thread.stack.is_empty() || thread.open && thread.stack.len() == 1)
    }

    /// Reads a pattern: `GLOBALS | STACK | STACK …`. Globals are `name = value`, with commas between them; a
    /// stack is its frames, the top first, with slashes between them, and `...` at the end if there may be more; a
    /// frame is `label` or `procedure.label`, and after it `(name = value, …)` for its locals. What is not named may
    /// have any value; an empty stack is that of a process that has ended.
    pub fn parse(network: &Network, text: &str) -> Result<Pattern, Error> {
        let mut parts = text.split('|');
        let globals = values(&network.globals, parts.next().unwrap_or_default())?;
        let registers = vec![None; network.registers.len()];
        let mut threads = Vec::new();
        for part in parts {
            let (part, open) = match part.trim_end().strip_suffix("...") {
                Some(rest) => match rest.trim_end().strip_suffix('/') {
                    Some(frames) => (frames, true),
                    None => return fail("expected a frame and `/` before `...`".into()),
                },
                None => (part, false),
            };
            let mut stack = Vec::new();
            if !part.trim().is_empty() || open {
                for text in part.split('/') {
                    stack.push(frame(network, text.trim())?);
                }
            }
            stack.reverse();
            threads.push(ThreadPattern { registers: registers.clone(), stack, open });
        }
        Ok(Pattern { globals, threads })
    }

    /// That it is one of a network's, when so many threads may be created.
    pub(crate) fn fits(&self, network: &Network, created: u32) -> Result<(), Error> {
        let values = |variables: &[Variable], values: &[Option<u64>]| {
            variables.len() == values.len()
                && variables
                    .iter()
                    .zip(values)
                    .all(|(variable, value)| value.is_none_or(|value| value >> variable.width == 0))
        };
        if !values(&network.globals, &self.globals) {
            return fail("the globals differ in number or width".into());
        }
        let (least, stacks) = (network.processes.len(), self.threads.len());
        let most = least + if network.forks() { created as usize } else { 0 };
        if stacks < least {
            return fail(format!("it has {stacks} stacks, and there are {least} processes from the start"));
        }
        if stacks > most {
            let hint = if network.forks() { " (raise --threads)" } else { ", and none is created" };
            return fail(format!("it has {stacks} stacks, and there are at most {most} threads{hint}"));
        }
        for thread in &self.threads {
            if !values(&network.registers, &thread.registers) {
                return fail("the registers differ in number or width".into());
            }
            for frame in &thread.stack {
                let Some(label) = network.labels.get(frame.label.index()) else {
                    return fail("a label does not exist".into());
                };
                if !values(&network.procedures[label.procedure.index()].locals, &frame.locals) {
                    return fail(format!("the locals at {} differ in number or width", label.name));
                }
            }
        }
        Ok(())
    }
}

fn fail<T>(message: String) -> Result<T, Error> {
    Err(Error::Configuration { message })
}

/// `name = value, name = value`
fn values(variables: &[Variable], text: &str) -> Result<Vec<Option<u64>>, Error> {
    let mut values = vec![None; variables.len()];
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let Some((name, value)) = item.split_once('=') else {
            return fail(format!("expected `name = value`, found `{item}`"));
        };
        let (name, value) = (name.trim(), value.trim());
        let known = |variable: &Variable| variable.name == name && !variable.hidden;
        let Some(index) = variables.iter().position(known) else {
            return fail(format!("no variable there is called `{name}`"));
        };
        let width = variables[index].width;
        match value.parse::<u64>() {
            Ok(value) if value >> width == 0 => {
                if values[index].replace(value).is_some() {
                    return fail(format!("`{name}` is given twice"));
                }
            }
            _ => return fail(format!("expected a value of {width} bits for `{name}`, found `{value}`")),
        }
    }
    Ok(values)
}

/// `procedure.label(name = value)`
fn frame(network: &Network, text: &str) -> Result<FramePattern, Error> {
    let (name, given) = match text.split_once('(') {
        Some((name, rest)) => match rest.trim_end().strip_suffix(')') {
            Some(given) => (name.trim_end(), given),
            None => return fail(format!("expected `)` at the end of `{text}`")),
        },
        None => (text, ""),
    };
    let found = network.labels_called(name);
    match found[..] {
        [label] => Ok(FramePattern { label, locals: values(&network.procedure_of(label).locals, given)? }),
        [] => Err(network.unknown_label(name)),
        _ => {
            let full: Vec<String> = found.iter().map(|&label| network.full_name(label)).collect();
            fail(format!("`{name}` is the name of several labels: {}", full.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Procedure, ProcedureId, Process};

    fn network() -> Network {
        let hidden = Variable { hidden: true, ..Variable::new("h", 1) };
        let mut network = Network { globals: vec![Variable::new("x", 2), hidden], ..Network::default() };
        for name in ["p", "q"] {
            let id = ProcedureId(network.procedures.len() as u32);
            network.procedures.push(Procedure { name: name.into(), locals: vec![Variable::new("l", 1)] });
            network.add_label("both", id);
            network.add_label(format!("only {name}"), id);
        }
        network.processes.push(Process { name: "one".into(), entry: LabelId(0) });
        network
    }

    #[test]
    fn patterns_are_read() {
        let pattern = Pattern::parse(&network(), " x=1 | only q ( l = 1 ) / p.both").unwrap();
        assert_eq!(pattern.globals, [Some(1), None]);
        let stack: Vec<_> = pattern.threads[0].stack.iter().map(|f| (f.label.0, f.locals.clone())).collect();
        assert_eq!(stack, [(0, vec![None]), (3, vec![Some(1)])]);
        assert!(Pattern::parse(&network(), "|").unwrap().threads[0].stack.is_empty());
        let open = Pattern::parse(&network(), "| only p / ...").unwrap();
        assert!(open.threads[0].open && open.threads[0].stack.len() == 1 && open.is_of_tops());
        assert!(!Pattern::parse(&network(), "| only p").unwrap().is_of_tops());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("x | only p", "expected `name = value`, found `x`"),
            ("y = 1 | only p", "no variable there is called `y`"),
            ("h = 1 | only p", "no variable there is called `h`"),
            ("x = 4 | only p", "expected a value of 2 bits for `x`, found `4`"),
            ("x = 1, x = 1 | only p", "`x` is given twice"),
            ("| both", "several labels: p.both, q.both"),
            ("| none", "no label is called `none`"),
            ("| only p(l = 1", "expected `)`"),
            ("| only p / ", "no label is called ``"),
            ("| ...", "expected a frame and `/` before `...`"),
            ("| / ...", "no label is called ``"),
        ] {
            let error = Pattern::parse(&network(), text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        for (text, expected) in [("", "it has 0 stacks"), ("| only p | only p", "at most 1 threads")] {
            let error = Pattern::parse(&network(), text).unwrap().fits(&network(), 2).unwrap_err();
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}

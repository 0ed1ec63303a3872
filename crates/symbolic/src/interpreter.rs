//! An explicit interpreter of networks: the slow, simple meaning that everything symbolic is checked against.
//!
//! It shares the network and its expressions with the symbolic engine and nothing else: no automaton, no slots (a
//! fork makes a thread), and no BDD but for whether a guard holds with some value of inputs that are too many to try. Counterexamples are replayed on it before they are shown, and tests compare
//! [`Interpreter::reachable`], a breadth-first search by contexts, with what the symbolic search reaches.

use std::collections::{BTreeSet, HashSet};

use crate::Error;
use crate::bits;
use crate::expression::{Expression, Place};
use crate::network::{Effect, Initial, LabelId, Network, Procedure, Rule, RuleId, Target, Variable};

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Its label.
    pub label: LabelId,
    /// Its locals, as its label's procedure lists them.
    pub locals: Vec<u64>,
}

/// A process within a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thread {
    /// Its registers.
    pub registers: Vec<u64>,
    /// Its stack, the top last. Empty when the process has ended.
    pub stack: Vec<Frame>,
}

/// A configuration of a network.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Configuration {
    /// The values of the globals.
    pub globals: Vec<u64>,
    /// The processes, those that exist at first before those that were created.
    pub threads: Vec<Thread>,
}

/// Runs a network, configuration by configuration.
///
/// ```
/// use selvedge_symbolic::generate::{Shape, network};
/// use selvedge_symbolic::interpreter::Interpreter;
///
/// let network = network(7, Shape { processes: 2, recursion: true, forks: false, rich: false });
/// let interpreter = Interpreter::new(&network, 0)?;
/// let first = interpreter.initial();
/// assert!(first.iter().all(|configuration| interpreter.is_initial(configuration)));
/// # Ok::<(), selvedge_symbolic::Error>(())
/// ```
#[derive(Debug)]
pub struct Interpreter<'a> {
    network: &'a Network,
    rules: Vec<Vec<RuleId>>,
    threads: usize,
}

/// More inputs than this, in bits, are not enumerated.
const MAX_INPUT_BITS: u32 = 16;

/// Every combination of values for variables of these widths.
fn combinations(widths: &[u32]) -> impl Iterator<Item = Vec<u64>> {
    let bits: u32 = widths.iter().sum();
    assert!(bits <= MAX_INPUT_BITS, "{bits} bits are too many to enumerate");
    let widths = widths.to_vec();
    (0..1_u64 << bits).map(move |mut code| {
        let mut take = |&width: &u32| {
            let value = code & ((1 << width) - 1);
            code >>= width;
            value
        };
        widths.iter().map(&mut take).collect()
    })
}

/// The values of fresh variables: each given, first or, where it may be any, taken from `free`.
fn fresh(variables: &[Variable], given: &[Option<u64>], free: &mut impl Iterator<Item = u64>) -> Vec<u64> {
    let value = |(variable, given): (&Variable, &Option<u64>)| match (given, variable.initial) {
        (Some(given), _) => *given,
        (None, Initial::Value(value)) => value,
        (None, Initial::Any) => free.next().expect("a value for each free variable"),
    };
    variables.iter().zip(given).map(value).collect()
}

fn free_widths(variables: &[Variable], given: impl Fn(usize) -> bool) -> Vec<u32> {
    let free = |(index, variable): (usize, &Variable)| {
        (variable.initial == Initial::Any && !given(index)).then_some(variable.width)
    };
    variables.iter().enumerate().filter_map(free).collect()
}

impl<'a> Interpreter<'a> {
    /// An interpreter that lets so many threads be created.
    pub fn new(network: &'a Network, created: u32) -> Result<Interpreter<'a>, Error> {
        network.validate()?;
        let threads = network.processes.len() + created as usize;
        Ok(Interpreter { network, rules: network.rules_by_label(), threads })
    }

    /// Every initial configuration. Panics if there are more than 2^16.
    pub fn initial(&self) -> Vec<Configuration> {
        let network = self.network;
        let mut widths = free_widths(&network.globals, |_| false);
        for process in &network.processes {
            widths.extend(free_widths(&network.procedure_of(process.entry).locals, |_| false));
        }
        combinations(&widths).map(|free| self.initial_with(free)).collect()
    }

    /// The initial configuration in which the variables that may be anything have these values, in order.
    pub(crate) fn initial_with(&self, free: Vec<u64>) -> Configuration {
        let mut free = free.into_iter();
        let network = self.network;
        let globals = fresh(&network.globals, &vec![None; network.globals.len()], &mut free);
        let thread = |entry: LabelId, free: &mut std::vec::IntoIter<u64>| {
            let locals = &network.procedure_of(entry).locals;
            let locals = fresh(locals, &vec![None; locals.len()], free);
            Thread {
                registers: vec![0; network.registers.len()],
                stack: vec![Frame { label: entry, locals }],
            }
        };
        let threads = network.processes.iter().map(|process| thread(process.entry, &mut free)).collect();
        Configuration { globals, threads }
    }

    /// Whether a configuration is initial.
    pub fn is_initial(&self, configuration: &Configuration) -> bool {
        let network = self.network;
        let fits = |variables: &[Variable], values: &[u64]| {
            variables.len() == values.len()
                && variables.iter().zip(values).all(|(variable, &value)| match variable.initial {
                    Initial::Value(first) => first == value,
                    Initial::Any => value >> variable.width == 0,
                })
        };
        fits(&network.globals, &configuration.globals)
            && configuration.threads.len() == network.processes.len()
            && configuration.threads.iter().zip(&network.processes).all(|(thread, process)| {
                thread.registers.iter().all(|&register| register == 0)
                    && thread.stack.len() == 1
                    && thread.stack[0].label == process.entry
                    && fits(&network.procedure_of(process.entry).locals, &thread.stack[0].locals)
            })
    }

    /// Whether a context may end here.
    pub fn may_switch(&self, configuration: &Configuration) -> bool {
        let read = |place| match place {
            Place::Global(index) => self.global(configuration, index),
            _ => unreachable!("a switch guard names only globals"),
        };
        self.network.switch_guard.as_ref().is_none_or(|guard| guard.evaluate(&read, &[]).0 == 1)
    }

    fn global(&self, configuration: &Configuration, index: u32) -> (u64, u32) {
        (configuration.globals[index as usize], self.network.globals[index as usize].width)
    }

    /// The rules that a process has at its label, applicable or not.
    pub fn rules_of(&self, configuration: &Configuration, thread: usize) -> &[RuleId] {
        match configuration.threads.get(thread).and_then(|thread| thread.stack.last()) {
            Some(frame) => &self.rules[frame.label.index()],
            None => &[],
        }
    }

    /// Every configuration that a process can go to in one step, and by which rule.
    pub fn successors(&self, configuration: &Configuration, thread: usize) -> Vec<(RuleId, Configuration)> {
        let mut all = Vec::new();
        for &id in self.rules_of(configuration, thread) {
            let rule = self.network.rule(id);
            let free = self.fresh_procedure(rule).map_or(Vec::new(), |procedure| {
                free_widths(&procedure.locals, |index| assigns_fresh(rule, index))
            });
            for inputs in combinations(&rule.inputs) {
                for free in combinations(&free) {
                    if let Some(next) = self.fire(configuration, thread, id, &inputs, &free) {
                        all.push((id, next));
                    }
                }
            }
        }
        all
    }

    /// Whether a process can take a step. Values of inputs on which a guard depends are tried one by one; where they
    /// are too many for that, and only there, the guard is asked as a BDD.
    pub fn is_enabled(&self, configuration: &Configuration, thread: usize) -> bool {
        let Some(running) = configuration.threads.get(thread) else { return false };
        let Some(frame) = running.stack.last() else { return false };
        let locals = &self.network.procedure_of(frame.label).locals;
        let read = |place| match place {
            Place::Global(index) => self.global(configuration, index),
            Place::Local(index) => (frame.locals[index as usize], locals[index as usize].width),
            Place::Register(index) => {
                (running.registers[index as usize], self.network.registers[index as usize].width)
            }
        };
        self.rules[frame.label.index()].iter().any(|&id| {
            let rule = self.network.rule(id);
            let holds = |inputs: Vec<u64>| {
                let inputs: Vec<_> = inputs.into_iter().zip(rule.inputs.iter().copied()).collect();
                rule.guard.evaluate(&read, &inputs).0 == 1
            };
            let mut mentioned = BTreeSet::new();
            rule.guard.inputs(&mut mentioned);
            match mentioned.iter().map(|&index| rule.inputs[index as usize]).sum::<u32>() {
                0 => holds(vec![0; rule.inputs.len()]),
                1..=MAX_INPUT_BITS => {
                    // The others do not matter.
                    let width = |(index, &width): (usize, &u32)| {
                        if mentioned.contains(&(index as u32)) { width } else { 0 }
                    };
                    let widths: Vec<u32> = rule.inputs.iter().enumerate().map(width).collect();
                    combinations(&widths).any(holds)
                }
                _ => bits::can_hold(&rule.guard, &rule.inputs, &read),
            }
        })
    }

    fn fresh_procedure(&self, rule: &Rule) -> Option<&Procedure> {
        match rule.effect {
            Effect::Jump { to: label }
            | Effect::Push { callee: label, .. }
            | Effect::Fork { child: label, .. } => Some(self.network.procedure_of(label)),
            Effect::Step { .. } | Effect::Pop => None,
        }
    }

    /// What a rule does with given inputs, and given values of the fresh locals that may be any; `None` where it
    /// does not apply.
    pub fn fire(
        &self,
        configuration: &Configuration,
        thread: usize,
        id: RuleId,
        inputs: &[u64],
        free: &[u64],
    ) -> Option<Configuration> {
        let (network, rule) = (self.network, self.network.rule(id));
        let running = &configuration.threads[thread];
        let frame = running.stack.last()?;
        if frame.label != rule.from {
            return None;
        }
        let locals = &network.procedure_of(frame.label).locals;
        let read = |place| match place {
            Place::Global(index) => self.global(configuration, index),
            Place::Local(index) => (frame.locals[index as usize], locals[index as usize].width),
            Place::Register(index) => {
                (running.registers[index as usize], network.registers[index as usize].width)
            }
        };
        let inputs: Vec<_> = inputs.iter().copied().zip(rule.inputs.iter().copied()).collect();
        let value = |expression: &Expression| expression.evaluate(&read, &inputs).0;
        if value(&rule.guard) == 0 {
            return None;
        }
        let mut next = configuration.clone();
        let mut given = vec![None; self.fresh_procedure(rule).map_or(0, |procedure| procedure.locals.len())];
        if matches!(rule.effect, Effect::Push { .. }) {
            next.threads[thread].registers.fill(0);
        }
        for assignment in &rule.assignments {
            let new = value(&assignment.value);
            let place = match &assignment.target {
                Target::Place(place) => *place,
                Target::Element(array, index) => match array.element(value(index)) {
                    Some(place) => place,
                    None => continue,
                },
                Target::Fresh(index) => {
                    given[*index as usize] = Some(new);
                    continue;
                }
            };
            let running = &mut next.threads[thread];
            match place {
                Place::Global(index) => next.globals[index as usize] = new,
                Place::Local(index) => {
                    running.stack.last_mut().expect("it is running").locals[index as usize] = new;
                }
                Place::Register(index) => running.registers[index as usize] = new,
            }
        }
        let made = self
            .fresh_procedure(rule)
            .map(|procedure| fresh(&procedure.locals, &given, &mut free.iter().copied()));
        let stack = &mut next.threads[thread].stack;
        let made = |label| Frame { label, locals: made.expect("the rule makes a frame") };
        match rule.effect {
            Effect::Step { to } => stack.last_mut().expect("it is running").label = to,
            Effect::Jump { to } => *stack.last_mut().expect("it is running") = made(to),
            Effect::Push { callee, back } => {
                stack.last_mut().expect("it is running").label = back;
                stack.push(made(callee));
            }
            Effect::Pop => drop(stack.pop()),
            Effect::Fork { to, child } => {
                stack.last_mut().expect("it is running").label = to;
                if next.threads.len() >= self.threads {
                    return None;
                }
                let registers = vec![0; network.registers.len()];
                next.threads.push(Thread { registers, stack: vec![made(child)] });
            }
        }
        Some(next)
    }

    /// The configurations that are reachable within 0, 1, ... contexts, as sets that grow. Stacks deeper than
    /// `depth` are not entered; answers whether there were any. `None` if there are more configurations than
    /// `limit`.
    pub fn reachable(
        &self,
        contexts: u32,
        depth: usize,
        limit: usize,
    ) -> Option<(Vec<HashSet<Configuration>>, bool)> {
        let mut seeds = self.initial();
        let mut all: HashSet<Configuration> = seeds.iter().cloned().collect();
        let (mut layers, mut cut) = (vec![all.clone()], false);
        for _ in 0..contexts {
            let mut found = Vec::new();
            for thread in 0..self.threads {
                // What this process reaches from the seeds alone; another process may have reached some of it
                // in this context, and this one still has to go on from there.
                let mut seen: HashSet<Configuration> = HashSet::new();
                let mut stack = seeds.clone();
                while let Some(configuration) = stack.pop() {
                    for (_, next) in self.successors(&configuration, thread) {
                        if next.threads.iter().any(|thread| thread.stack.len() > depth) {
                            cut = true;
                        } else if seen.insert(next.clone()) {
                            stack.push(next);
                        }
                        if seen.len() > limit {
                            return None;
                        }
                    }
                }
                found.extend(seen);
            }
            seeds.clear();
            for configuration in found {
                if all.insert(configuration.clone()) && self.may_switch(&configuration) {
                    seeds.push(configuration);
                }
            }
            if all.len() > limit {
                return None;
            }
            layers.push(all.clone());
        }
        Some((layers, cut))
    }
}

fn assigns_fresh(rule: &Rule, index: usize) -> bool {
    rule.assignments.iter().any(|assignment| assignment.target == Target::Fresh(index as u32))
}

//! Writing out the configurations of a context, one by one: for counting small sets, and for comparing with the
//! interpreter.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use crate::automaton::{Automaton, Edges, Middle, State};
use crate::bdd::{Bdd, Fallible, Variable};
use crate::context_bounded::{Context, Search};
use crate::encoding::{Block, Encoding};
use crate::expression::Place;
use crate::fork::Slots;
use crate::interpreter::{Configuration, Frame, Thread};
use crate::network::LabelId;

/// Values of BDD variables.
pub(crate) type Point = Vec<(Variable, bool)>;

/// Whether a point, in ascending order of its variables, names a variable and gives it 1.
fn is_set(point: &Point, variable: Variable) -> bool {
    debug_assert!(point.is_sorted());
    point.binary_search_by_key(&variable, |&(other, _)| other).is_ok_and(|at| point[at].1)
}

/// The value that a point, in ascending order of its variables, gives to a vector of variables; 0 for those that it
/// does not name.
pub(crate) fn value(point: &Point, variables: &[Variable]) -> u64 {
    let bit = |variable: &Variable| is_set(point, *variable);
    variables.iter().enumerate().map(|(place, variable)| u64::from(bit(variable)) << place).sum()
}

/// The conjunction of a point's literals.
pub(crate) fn cube_of(encoding: &Encoding, point: &Point) -> Fallible<Bdd> {
    let mut sorted = point.clone();
    sorted.sort_unstable();
    let mut cube = encoding.store.truth();
    for &(variable, value) in sorted.iter().rev() {
        cube = encoding.store.literal(variable, value)?.and(&cube)?;
    }
    Ok(cube)
}

/// What remains of a function where a point's variables have its values.
pub(crate) fn at(encoding: &Encoding, relation: &Bdd, point: &Point) -> Fallible<Bdd> {
    let variables = encoding.store.cube(point.iter().map(|&(variable, _)| variable))?;
    relation.and_exists(&cube_of(encoding, point)?, &variables)
}

/// All points of a function over some variables; `None` if there are more than `limit`.
pub(crate) fn points(of: &Bdd, variables: &[Variable], limit: usize) -> Option<Vec<Point>> {
    let mut all = Vec::new();
    of.each_assignment(variables, &mut |point| {
        all.push(point.to_vec());
        all.len() <= limit
    })
    .then_some(all)
}

/// Writes out stacks.
struct Writer<'a> {
    encoding: &'a Encoding,
    /// Deeper stacks are left out.
    depth: usize,
    limit: usize,
    /// Frames looked at; many times the limit is too much, whatever comes of it.
    work: usize,
    too_many: bool,
    too_deep: bool,
}

impl Writer<'_> {
    fn locals(&self, label: LabelId) -> Vec<Variable> {
        let count = self.encoding.network.procedure_of(label).locals.len() as u32;
        let bits =
            |index| self.encoding.bits_of(Place::Local(index), Block::Now, Some(label)).iter().copied();
        (0..count).flat_map(bits).collect()
    }

    fn registers(&self) -> Vec<Variable> {
        let count = self.encoding.network.registers.len() as u32;
        let bits = |index| self.encoding.bits_of(Place::Register(index), Block::Now, None).iter().copied();
        (0..count).flat_map(bits).collect()
    }

    /// The variables that name a state, in a copy.
    fn names(&self, state: State, block: Block) -> Vec<Variable> {
        let State::Middle(middle) = state else { return Vec::new() };
        let mut names = self.encoding.globals(block);
        for index in self.encoding.parameters(middle.entry) {
            names.extend_from_slice(self.encoding.bits_of(Place::Local(index), block, Some(middle.entry)));
        }
        names
    }

    fn frame(&self, label: LabelId, point: &Point) -> Frame {
        let count = self.encoding.network.procedure_of(label).locals.len() as u32;
        let read = |index| value(point, self.encoding.bits_of(Place::Local(index), Block::Now, Some(label)));
        Frame { label, locals: (0..count).map(read).collect() }
    }

    /// The stacks that begin with a transition of the initial state; relations over registers, locals, `Entry`.
    fn threads(
        &mut self,
        initial: &Edges,
        empty: &Bdd,
        middle: &BTreeMap<Middle, Edges>,
    ) -> Fallible<Vec<Thread>> {
        let mut threads = Vec::new();
        let registers = self.registers();
        let count = self.encoding.network.registers.len() as u32;
        let encoding = self.encoding;
        let read = |point: &Point| -> Vec<u64> {
            (0..count)
                .map(|index| value(point, encoding.bits_of(Place::Register(index), Block::Now, None)))
                .collect()
        };
        match points(empty, &registers, self.limit) {
            Some(all) => {
                threads.extend(all.iter().map(|point| Thread { registers: read(point), stack: Vec::new() }));
            }
            None => self.too_many = true,
        }
        for (&(label, to), relation) in initial {
            let variables = [registers.clone(), self.locals(label), self.names(to, Block::Entry)].concat();
            let Some(all) = points(relation, &variables, self.limit) else {
                self.too_many = true;
                continue;
            };
            for point in all {
                let mut stack = vec![self.frame(label, &point)];
                let mut stacks = Vec::new();
                self.below(middle, to, &point, Block::Entry, &mut stack, &mut stacks)?;
                threads.extend(stacks.into_iter().map(|mut stack| {
                    stack.reverse();
                    Thread { registers: read(&point), stack }
                }));
                if threads.len() > self.limit {
                    self.too_many = true;
                    return Ok(threads);
                }
            }
        }
        Ok(threads)
    }

    /// The rests of stacks from a state; `named` is the copy in which the point names it.
    fn below(
        &mut self,
        middle: &BTreeMap<Middle, Edges>,
        state: State,
        point: &Point,
        named: Block,
        stack: &mut Vec<Frame>,
        stacks: &mut Vec<Vec<Frame>>,
    ) -> Fallible<()> {
        self.work += 1;
        if self.too_many || self.work > self.limit.saturating_mul(4) {
            self.too_many = true;
            return Ok(());
        }
        let State::Middle(from) = state else {
            stacks.push(stack.clone());
            return Ok(());
        };
        if stack.len() >= self.depth {
            self.too_deep = true;
            return Ok(());
        }
        let (names, given) = (self.names(state, Block::Entry), self.names(state, named));
        let name: Point =
            names.into_iter().zip(&given).map(|(entry, given)| (entry, is_set(point, *given))).collect();
        for (&(label, to), relation) in middle.get(&from).into_iter().flatten() {
            let here = at(self.encoding, relation, &name)?;
            let variables = [self.locals(label), self.names(to, Block::Below)].concat();
            let Some(all) = points(&here, &variables, self.limit) else {
                self.too_many = true;
                continue;
            };
            for point in all {
                stack.push(self.frame(label, &point));
                self.below(middle, to, &point, Block::Below, stack, stacks)?;
                stack.pop();
            }
        }
        Ok(())
    }
}

/// What writing out a context's configurations gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    All,
    /// Some stacks are deeper than was asked for.
    TooDeep,
    /// There are more than was asked for.
    TooMany,
}

/// Adds to `into` every configuration of a context with stacks no deeper than `depth`.
pub(crate) fn write(
    encoding: &Encoding,
    context: &Context<'_>,
    slots: &Slots,
    depth: usize,
    limit: usize,
    into: &mut HashSet<Configuration>,
) -> Fallible<Written> {
    let (mut starts, nows) = (encoding.globals(Block::Start), encoding.globals(Block::Now));
    starts.sort_unstable();
    let both = [starts.clone(), nows.clone()].concat();
    let Some(pairs) = points(context.globals, &both, limit) else { return Ok(Written::TooMany) };
    let mut writer = Writer { encoding, depth, limit, work: 0, too_many: false, too_deep: false };
    for pair in pairs {
        let is_start = |variable: &Variable| starts.binary_search(variable).is_ok();
        let start: Point = pair.iter().filter(|(variable, _)| is_start(variable)).copied().collect();
        let globals: Vec<u64> = (0..encoding.network.globals.len() as u32)
            .map(|index| value(&pair, encoding.bits_of(Place::Global(index), Block::Now, None)))
            .collect();
        let mut threads: Vec<Vec<Thread>> = Vec::new();
        for (index, view) in context.views.iter().enumerate() {
            threads.push(if index == context.process {
                let saturation = context.saturation;
                let initial = crate::automaton::map_edges(&saturation.initial, |r| at(encoding, r, &pair))?;
                let middle = crate::automaton::map_middle(&saturation.middle, |r| at(encoding, r, &start))?;
                writer.threads(&initial, &at(encoding, &saturation.empty, &pair)?, &middle)?
            } else {
                resting(&mut writer, view, &start)?
            });
        }
        let count = threads.iter().fold(1_usize, |all, own| all.saturating_mul(own.len()));
        if writer.too_many || count > limit {
            return Ok(Written::TooMany);
        }
        let mut chosen = Vec::new();
        let mut all = true;
        combine(
            &threads,
            &mut chosen,
            &mut |threads| match slots.original(encoding, &globals, threads, limit) {
                Some(originals) => into.extend(originals),
                None => all = false,
            },
        );
        if !all || into.len() > limit {
            return Ok(Written::TooMany);
        }
    }
    Ok(if writer.too_deep { Written::TooDeep } else { Written::All })
}

fn resting(writer: &mut Writer<'_>, view: &Rc<Automaton>, start: &Point) -> Fallible<Vec<Thread>> {
    let encoding = writer.encoding;
    let initial = crate::automaton::map_edges(&view.initial, |r| at(encoding, r, start))?;
    let middle = crate::automaton::map_middle(&view.middle, |r| at(encoding, r, start))?;
    writer.threads(&initial, &at(encoding, &view.empty, start)?, &middle)
}

fn combine(lists: &[Vec<Thread>], chosen: &mut Vec<Thread>, visit: &mut dyn FnMut(&[Thread])) {
    let Some((first, rest)) = lists.split_first() else { return visit(chosen) };
    for thread in first {
        chosen.push(thread.clone());
        combine(rest, chosen, visit);
        chosen.pop();
    }
}

/// For each process and label on top of its stack, the globals, over `Now`; only those that are not empty.
pub(crate) type Heads = Vec<BTreeMap<LabelId, Bdd>>;

impl Slots {
    /// The heads of a search, in terms of the network with forks.
    pub(crate) fn heads(&self, search: &Search<'_>) -> Fallible<Heads> {
        let encoding = search.encoding;
        let own = (self.globals..encoding.network.globals.len()).flat_map(|index| {
            encoding.bits_of(Place::Global(index as u32), Block::Now, None).iter().copied()
        });
        let own = encoding.store.cube(own)?;
        let mut all = Heads::new();
        for (process, labels) in search.heads.iter().enumerate() {
            let mut heads = BTreeMap::new();
            let mut add = |label: LabelId, globals: Bdd| {
                let globals = match heads.remove(&label) {
                    Some(known) => globals.or(&known)?,
                    None => globals,
                };
                if !globals.is_false() {
                    heads.insert(label, globals);
                }
                Ok(())
            };
            for (index, globals) in labels.iter().enumerate() {
                if index < self.labels {
                    add(LabelId(index as u32), globals.exists(&own)?)?;
                    continue;
                }
                let waits = process
                    .checked_sub(self.processes)
                    .filter(|&slot| self.waiting[slot].index() == index && !globals.is_false());
                // A thread that has been created and has not moved is at its entry.
                for (number, &entry) in self.entries.iter().enumerate() {
                    if let Some(slot) = waits {
                        let created = self.is_created(encoding, slot, number)?;
                        add(entry, globals.and_exists(&created, &own)?)?;
                    }
                }
            }
            all.push(heads);
        }
        Ok(all)
    }

    /// The configuration of the network with forks that one of the network with slots stands for; several, if a
    /// fresh local may be anything; none, if a thread was created for which there was no slot. `None` if there are more
    /// than `limit`.
    pub(crate) fn original(
        &self,
        encoding: &Encoding,
        globals: &[u64],
        threads: &[Thread],
        limit: usize,
    ) -> Option<Vec<Configuration>> {
        let mut all: Vec<Vec<Thread>> = vec![threads[..self.processes].to_vec()];
        let created = self.started.map_or(0, |started| globals[started as usize]) as usize;
        for (slot, thread) in threads[self.processes..].iter().take(created).enumerate() {
            let waits = thread.stack.len() == 1 && thread.stack[0].label == self.waiting[slot];
            let choices = match waits {
                true => self.about_to_start(encoding, globals, slot, limit)?,
                false => vec![thread.clone()],
            };
            if all.len().saturating_mul(choices.len()) > limit {
                return None;
            }
            all = all
                .into_iter()
                .flat_map(|so_far| {
                    choices.iter().map(move |choice| [so_far.clone(), vec![choice.clone()]].concat())
                })
                .collect();
        }
        let overflown =
            |thread: &Thread| thread.stack.iter().any(|frame| self.overflow.contains(&frame.label));
        if threads.iter().any(overflown) {
            return Some(Vec::new());
        }
        let original = |threads| Configuration { globals: globals[..self.globals].to_vec(), threads };
        Some(all.into_iter().map(original).collect())
    }

    /// A created thread that has not taken its first step, with each value of its locals; `None` if these are more than
    /// `limit`.
    fn about_to_start(
        &self,
        encoding: &Encoding,
        globals: &[u64],
        slot: usize,
        limit: usize,
    ) -> Option<Vec<Thread>> {
        let network = &encoding.network;
        let entry = self.entries[globals[self.entry[slot] as usize] as usize];
        let mut all = vec![Vec::new()];
        for (index, local) in network.procedure_of(entry).locals.iter().enumerate() {
            let given = self.given[&entry].contains(&(index as u32));
            let values: Vec<u64> = match local.initial {
                _ if given => {
                    let mask = (1_u64 << local.width) - 1;
                    vec![globals[self.arguments[slot][index] as usize] & mask]
                }
                crate::network::Initial::Value(value) => vec![value],
                crate::network::Initial::Any if (all.len() as u64) << local.width > limit as u64 => {
                    return None;
                }
                crate::network::Initial::Any => (0..1 << local.width).collect(),
            };
            all = all
                .into_iter()
                .flat_map(|so_far: Vec<u64>| {
                    values.iter().map(move |&value| [so_far.clone(), vec![value]].concat())
                })
                .collect();
        }
        let registers = vec![0; network.registers.len()];
        let thread =
            |locals| Thread { registers: registers.clone(), stack: vec![Frame { label: entry, locals }] };
        Some(all.into_iter().map(thread).collect())
    }
}

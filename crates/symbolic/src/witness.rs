//! Counterexamples: from a reachable head or configuration to the moves that lead there.
//!
//! Every tuple remembers its parent, the process that moved and how the globals changed. So the globals at the
//! ends of the contexts are found by walking back. Given them, the processes are independent of each other: each
//! is run through its own contexts, one saturation with a log a context, from its first frame; then each is
//! walked back through its logs ([`provenance`](crate::provenance)). Where splitting united values of the globals
//! that no view tells apart, there may be several ways back; they are tried in turn.

use std::collections::BTreeMap;

use crate::automaton::{Automaton, Edges, State};
use crate::bdd::{Bdd, Fallible};
use crate::configurations::{Point, at, cube_of};
use crate::context_bounded::Search;
use crate::encoding::{Block, Encoding};
use crate::expression::Place;
use crate::fork::Slots;
use crate::interpreter::{Configuration, Frame, Thread};
use crate::network::{Initial, LabelId};
use crate::pattern::{FramePattern, ThreadPattern};
use crate::post_star::{Saturation, post_star};
use crate::provenance::{Link, Move, Points, Walk, Word, pick};

/// What is wanted of a process at the end.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// Nothing.
    Anything,
    /// That one of these labels is on top, where a predicate over `Now`, registers and locals holds; or that the
    /// stack is empty, if that is allowed.
    Head(BTreeMap<LabelId, Bdd>, bool),
    /// That it looks so.
    Like(ThreadPattern),
}

/// Where an execution ends: after one more context, of a process, from a tuple.
pub(crate) struct End {
    pub(crate) node: usize,
    pub(crate) process: usize,
    /// The globals at the beginning and the end of that context, over `Start` and `Now`.
    pub(crate) globals: Bdd,
    pub(crate) wants: Vec<Want>,
    /// For each slot and entry, what must hold of the locals if the slot's thread was created there and has not
    /// moved, over `Now`; nothing, where it is not said.
    pub(crate) unmoved: Vec<BTreeMap<LabelId, Bdd>>,
}

/// An execution: how it begins, and the moves of each context.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) first: Configuration,
    pub(crate) contexts: Vec<(usize, Vec<Move>)>,
    /// For each slot, the first locals of its thread, if that was created and has not moved.
    pub(crate) unmoved: Vec<Vec<u64>>,
}

/// More ways back than this are not tried.
const MOST_WAYS: usize = 4096;

/// Finds an execution that ends so.
pub(crate) fn execution(search: &Search<'_>, slots: &Slots, end: &End) -> Fallible<Option<Execution>> {
    let encoding = search.encoding;
    let starts = encoding.globals(Block::Start);
    let nows = encoding.globals(Block::Now);
    let mut ways = 0;
    let mut left = end.globals.clone();
    while let Some(point) = pick(&left) {
        ways += 1;
        if ways > MOST_WAYS {
            break;
        }
        let points = Points(encoding);
        let (start, now) =
            (points.read_globals(&point, Block::Start), points.read_globals(&point, Block::Now));
        let mut chain = vec![(end.process, start.clone(), now.clone())];
        if let Some(found) = walk_back(search, slots, end, end.node, start.clone(), &mut chain, &mut ways)? {
            return Ok(Some(found));
        }
        let mut tried: Point = Vec::new();
        points.globals(&mut tried, Block::Start, &start);
        points.globals(&mut tried, Block::Now, &now);
        debug_assert_eq!(tried.len(), starts.len() + nows.len());
        left = left.minus(&cube_of(encoding, &tried)?)?;
    }
    Ok(None)
}

/// Extends a chain of contexts (process, globals before, globals after; the last first) back to the beginning.
fn walk_back(
    search: &Search<'_>,
    slots: &Slots,
    end: &End,
    node: usize,
    value: Vec<u64>,
    chain: &mut Vec<(usize, Vec<u64>, Vec<u64>)>,
    ways: &mut usize,
) -> Fallible<Option<Execution>> {
    let encoding = search.encoding;
    let node = &search.nodes[node];
    let (Some(parent), Some(process)) = (node.parent, node.process) else {
        *ways += 1;
        return through(encoding, slots, end, chain);
    };
    let points = Points(encoding);
    let mut now = Vec::new();
    points.globals(&mut now, Block::Now, &value);
    let mut left = at(encoding, &node.step, &now)?;
    while let Some(point) = pick(&left) {
        let before = points.read_globals(&point, Block::Start);
        chain.push((process, before.clone(), value.clone()));
        let found = walk_back(search, slots, end, parent, before.clone(), chain, ways)?;
        chain.pop();
        if found.is_some() || *ways > MOST_WAYS {
            return Ok(found);
        }
        let mut tried = Vec::new();
        points.globals(&mut tried, Block::Start, &before);
        left = left.minus(&cube_of(encoding, &tried)?)?;
    }
    Ok(None)
}

/// Runs every process through its contexts of a chain.
fn through(
    encoding: &Encoding,
    slots: &Slots,
    end: &End,
    chain: &[(usize, Vec<u64>, Vec<u64>)],
) -> Fallible<Option<Execution>> {
    let network = &encoding.network;
    let mut contexts: Vec<(usize, Vec<Move>)> =
        chain.iter().rev().map(|(process, ..)| (*process, Vec::new())).collect();
    let first_globals = chain.last().map(|(_, before, _)| before.clone()).unwrap_or_default();
    let last_globals = chain.first().map(|(.., after)| after.clone()).unwrap_or_default();
    let mut threads = Vec::new();
    for process in 0..network.processes.len() {
        let own: Vec<usize> = (0..contexts.len()).filter(|&context| contexts[context].0 == process).collect();
        let spans: Vec<_> = own
            .iter()
            .map(|&context| {
                let (_, before, after) = &chain[chain.len() - 1 - context];
                (before.clone(), after.clone())
            })
            .collect();
        let want = &end.wants[process];
        let Some((first, moves)) = run_process(encoding, process, &spans, want, &last_globals)? else {
            return Ok(None);
        };
        threads.push(first);
        for (context, moves) in own.into_iter().zip(moves) {
            contexts[context].1 = moves;
        }
    }
    let first = Configuration { globals: first_globals, threads };
    let mut unmoved = Vec::new();
    for slot in 0..slots.waiting.len() {
        unmoved.push(first_locals(encoding, slots, slot, end, &last_globals)?);
    }
    Ok(Some(Execution { first, contexts, unmoved }))
}

/// The locals with which a slot's thread begins, with the globals at the end; none, if it was not created.
fn first_locals(
    encoding: &Encoding,
    slots: &Slots,
    slot: usize,
    end: &End,
    last_globals: &[u64],
) -> Fallible<Vec<u64>> {
    let number = last_globals[slots.entry[slot] as usize] as usize;
    let Some(&entry) = slots.entries.get(number) else { return Ok(Vec::new()) };
    let points = Points(encoding);
    let mut now = Vec::new();
    points.globals(&mut now, Block::Now, last_globals);
    let mut locals = at(encoding, &slots.first_frame(encoding, slot, number)?, &now)?;
    if let Some(must) = end.unmoved.get(slot).and_then(|entries| entries.get(&entry)) {
        locals = locals.and(&at(encoding, must, &now)?)?;
    }
    Ok(pick(&locals).map_or(Vec::new(), |point| points.read_locals(&point, entry)))
}

/// Runs a process from its first frame through contexts with these globals before and after, to what is wanted.
fn run_process(
    encoding: &Encoding,
    process: usize,
    spans: &[(Vec<u64>, Vec<u64>)],
    want: &Want,
    last_globals: &[u64],
) -> Fallible<Option<(Thread, Vec<Vec<Move>>)>> {
    let entry = encoding.network.processes[process].entry;
    let points = Points(encoding);
    let fixed = |block: Block, values: &[u64]| {
        let mut point = Vec::new();
        points.globals(&mut point, block, values);
        cube_of(encoding, &point)
    };
    let frame = encoding.clear_registers()?.and(&encoding.initial_locals(entry, &Default::default())?)?;
    // A process that never runs has no span; what is wanted of it must hold of its first frame.
    let first_start = spans.first().map_or(last_globals, |(before, _)| before);
    let first = fixed(Block::Start, first_start)?.and(&frame)?;
    let edges = Edges::from([((entry, State::Final), first)]);
    let mut view = Automaton::untrimmed(edges, encoding.store.falsity(), BTreeMap::new());
    let mut saturations: Vec<Saturation> = Vec::new();
    for (number, (before, after)) in spans.iter().enumerate() {
        let saturation = post_star(encoding, &view, &|_| false, &mut || (), true)?;
        if let Some((next, _)) = spans.get(number + 1) {
            let leave = fixed(Block::Start, before)?.and(&fixed(Block::Now, after)?)?;
            let enter = fixed(Block::Start, after)?.and(&fixed(Block::Now, next)?)?;
            view = saturation.leave(encoding, &leave)?.move_on(encoding, &enter)?;
        }
        saturations.push(saturation);
    }
    let (initial, empty, middle, after) = match saturations.last() {
        Some(last) => (&last.initial, &last.empty, &last.middle, &spans[spans.len() - 1].1[..]),
        None => (&view.initial, &view.empty, &view.middle, last_globals),
    };
    let start = spans.last().map_or(last_globals, |(before, _)| before);
    let mut here = Vec::new();
    points.globals(&mut here, Block::Start, start);
    if !spans.is_empty() {
        points.globals(&mut here, Block::Now, after);
    }
    let reader = Reader { encoding, here: &here, start, after, last: last_globals, middle };
    let Some(mut word) = reader.word(initial, empty, want)? else { return Ok(None) };
    let mut all = Vec::new();
    for (number, saturation) in saturations.iter().enumerate().rev() {
        let log = saturation.log.as_ref().expect("a log was asked for");
        let walk = Walk { encoding, log, start: &spans[number].0 };
        let Some((given, moves)) = walk.back(word)? else { return Ok(None) };
        all.push(moves);
        word = given;
        if let Some(earlier) = number.checked_sub(1) {
            word.globals = spans[earlier].1.clone();
        }
    }
    all.reverse();
    let locals = word.links.first().map(|link| link.locals.clone()).unwrap_or_default();
    let thread = Thread { registers: word.registers, stack: vec![Frame { label: entry, locals }] };
    Ok(Some((thread, all)))
}

/// Reads a wanted word from an automaton.
struct Reader<'a> {
    encoding: &'a Encoding,
    /// The globals, in the copies that matter.
    here: &'a Point,
    start: &'a [u64],
    after: &'a [u64],
    /// The globals at the end of the execution, when other processes may have run since.
    last: &'a [u64],
    middle: &'a BTreeMap<crate::automaton::Middle, Edges>,
}

impl Reader<'_> {
    fn word(&self, initial: &Edges, empty: &Bdd, want: &Want) -> Fallible<Option<Word>> {
        let points = Points(self.encoding);
        let globals = self.after.to_vec();
        let may_be_empty = match want {
            Want::Anything => true,
            Want::Head(_, empty) => *empty,
            Want::Like(thread) => thread.stack.is_empty(),
        };
        if may_be_empty {
            let mut ends = at(self.encoding, empty, self.here)?;
            if let Want::Like(thread) = want {
                let mut point = Vec::new();
                points.some(&mut point, Place::Register, Block::Now, None, &thread.registers);
                ends = ends.and(&cube_of(self.encoding, &point)?)?;
            }
            if let Some(point) = pick(&ends) {
                let registers = points.read_registers(&point);
                return Ok(Some(Word { globals, registers, links: Vec::new() }));
            }
        }
        for (&(label, below), relation) in initial {
            let mut wanted = relation.clone();
            match want {
                Want::Anything => {}
                Want::Head(labels, _) => match labels.get(&label) {
                    Some(predicate) => {
                        let mut now = Vec::new();
                        points.globals(&mut now, Block::Now, self.last);
                        wanted = wanted.and(&at(self.encoding, predicate, &now)?)?;
                    }
                    None => continue,
                },
                Want::Like(thread) => match thread.stack.last() {
                    Some(top) if top.label == label => {
                        let mut point = Vec::new();
                        points.some(&mut point, Place::Register, Block::Now, None, &thread.registers);
                        points.some(&mut point, Place::Local, Block::Now, Some(label), &top.locals);
                        wanted = wanted.and(&cube_of(self.encoding, &point)?)?;
                    }
                    _ => continue,
                },
            }
            let wanted = at(self.encoding, &wanted, self.here)?;
            let below_wanted: Option<Vec<FramePattern>> = match want {
                Want::Like(thread) => Some(thread.stack.iter().rev().skip(1).cloned().collect()),
                _ => None,
            };
            let open = matches!(want, Want::Like(thread) if thread.open);
            let mut left = wanted;
            while let Some(point) = pick(&left) {
                let name = points.read_name(&point, below, Block::Entry);
                let (registers, locals) = (points.read_registers(&point), points.read_locals(&point, label));
                let mut links = vec![Link { label, locals, below, name }];
                if self.rest(&mut links, below_wanted.as_deref(), open)? {
                    return Ok(Some(Word { globals, registers, links }));
                }
                // Only the state below can have been wrong.
                let mut tried = Vec::new();
                points.name(&mut tried, below, Block::Entry, &links[0].name);
                if tried.is_empty() {
                    break;
                }
                left = left.minus(&cube_of(self.encoding, &tried)?)?;
            }
        }
        Ok(None)
    }

    /// Completes a word down to the final state, with these frames, and others below them if it is `open`.
    fn rest(&self, links: &mut Vec<Link>, wanted: Option<&[FramePattern]>, open: bool) -> Fallible<bool> {
        let wanted = wanted.filter(|wanted| !(open && wanted.is_empty()));
        let points = Points(self.encoding);
        let last = links.last().expect("a word has a top").clone();
        let State::Middle(state) = last.below else {
            return Ok(wanted.is_none_or(<[FramePattern]>::is_empty));
        };
        if wanted.is_some_and(<[FramePattern]>::is_empty) {
            return Ok(false);
        }
        // Deep recursion can be read round a loop for ever: the final state first, then middle states.
        let edges = self.middle.get(&state).into_iter().flatten();
        for (&(label, below), relation) in edges {
            let mut point = Vec::new();
            points.globals(&mut point, Block::Start, self.start);
            points.name(&mut point, last.below, Block::Entry, &last.name);
            if let Some(wanted) = wanted {
                if wanted[0].label != label {
                    continue;
                }
                points.some(&mut point, Place::Local, Block::Now, Some(label), &wanted[0].locals);
            }
            let cube = cube_of(self.encoding, &point)?;
            let mut left = relation.and(&cube)?;
            while let Some(found) = pick(&left) {
                let name = points.read_name(&found, below, Block::Below);
                let locals = points.read_locals(&found, label);
                if links
                    .iter()
                    .skip(1)
                    .any(|link| link.below == below && link.name == name && link.label == label)
                    && wanted.is_none()
                {
                    // This has been tried on the way here.
                } else {
                    links.push(Link { label, locals, below, name: name.clone() });
                    if self.rest(links, wanted.map(|wanted| &wanted[1..]), open)? {
                        return Ok(true);
                    }
                    links.pop();
                }
                let mut tried = Vec::new();
                points.name(&mut tried, below, Block::Below, &name);
                if tried.is_empty() {
                    break;
                }
                left = left.minus(&cube_of(self.encoding, &tried)?)?;
            }
        }
        Ok(false)
    }
}

/// The first values of variables that may be anything and do not matter are 0; this says which they are.
pub(crate) fn free_values(variables: &[crate::network::Variable], values: &[u64]) -> Vec<u64> {
    let open = |(variable, &value): (&crate::network::Variable, &u64)| {
        (variable.initial == Initial::Any).then_some(value)
    };
    variables.iter().zip(values).filter_map(open).collect()
}

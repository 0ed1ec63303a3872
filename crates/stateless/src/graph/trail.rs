//! The graphs of executions that followed each other, each as what it has more than the one before. What only the
//! search for races needs is left out.

use selvedge_core::{Op, OpKind, ThreadId};

use super::{Event, Graph, ThreadLine};
use crate::gate::Gate;

/// Graphs, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    graphs: Vec<Kept>,
    events: Vec<Event>,
    /// How many preemptions there were after each of them.
    costs: Vec<u32>,
    clocks: Vec<u32>,
    choices: Vec<(u32, u32)>,
    choices_at: Vec<u32>,
    changes: Vec<(u32, u32, u64)>,
    /// Threads, and the events that signalled them after so many of their steps.
    signals: Vec<(ThreadId, u32, u32)>,
    lines: Vec<Line>,
    gates: Vec<Gate>,
    /// The words that objects begin with.
    initials: Vec<u64>,
}

/// What a graph has more than the one before.
#[derive(Debug)]
struct Kept {
    /// So many events it has in common with that one.
    common: usize,
    stopped: bool,
    stride: usize,
    /// Where the next one begins in each list.
    ends: [usize; 9],
}

/// A thread of a graph.
#[derive(Debug)]
struct Line {
    name: u64,
    creator: Option<u32>,
    /// So many gates it has in common with the graph before; and where the others end.
    common: u32,
    gates: usize,
}

impl Trail {
    /// How many graphs there are.
    pub(crate) fn len(&self) -> usize {
        self.graphs.len()
    }

    /// Adds a graph whose first so many events are those of the one that was added before, with the preemptions
    /// that its execution had after each event from there on.
    pub(crate) fn push(&mut self, graph: &Graph, common: usize, costs: impl Iterator<Item = u32>) {
        self.events.extend_from_slice(&graph.events[common..]);
        self.costs.extend(costs);
        self.clocks.extend_from_slice(&graph.clocks[common * graph.stride..]);
        let choices = common.checked_sub(1).map_or(0, |last| graph.choices_at[last]);
        self.choices.extend_from_slice(&graph.choices[choices as usize..]);
        self.choices_at.extend_from_slice(&graph.choices_at[common..]);
        self.changes.extend_from_slice(graph.words.log_from(common as u32));
        self.signals.extend(graph.words.signals().filter(|signal| signal.1 as usize >= common));
        self.initials.extend(graph.words.initials());
        for line in &graph.threads {
            let existed = common > 0 && line.creator.is_none_or(|creator| (creator as usize) < common);
            let stepped = line.events.partition_point(|event| (*event as usize) < common);
            let common = if existed { line.pending.len().min(stepped + 1) } else { 0 };
            self.gates.extend(line.pending[common..].iter().map(|(_, gate)| *gate));
            let (name, creator, gates) = (line.name, line.creator, self.gates.len());
            self.lines.push(Line { name, creator, common: common as u32, gates });
        }
        let (stopped, stride, ends) = (graph.stopped, graph.stride, self.ends());
        self.graphs.push(Kept { common, stopped, stride, ends });
    }

    fn ends(&self) -> [usize; 9] {
        [
            self.events.len(),
            self.clocks.len(),
            self.choices.len(),
            self.changes.len(),
            self.signals.len(),
            self.initials.len(),
            self.lines.len(),
            self.gates.len(),
            self.costs.len(),
        ]
    }

    /// Makes a graph, which is that of the index before, or an empty one, the one with this index. Says how many
    /// events the two have in common, and the preemptions after each event from there on.
    pub(crate) fn restore(&self, index: usize, graph: &mut Graph) -> (usize, &[u32]) {
        let kept = &self.graphs[index];
        let begin = index.checked_sub(1).map_or([0; 9], |before| self.graphs[before].ends);
        let [events, clocks, choices, changes, signals, initials, lines, gates, costs] =
            std::array::from_fn(|list| begin[list]..kept.ends[list]);
        let common = kept.common;
        for event in graph.events.drain(common..).rev() {
            graph.threads[event.thread.index()].events.pop();
        }
        graph.clocks.truncate(common * graph.stride);
        graph.stride = kept.stride;
        graph.stopped = kept.stopped;
        graph.choices_at.truncate(common);
        graph.choices.truncate(graph.choices_at.last().map_or(0, |end| *end as usize));
        graph.threads.resize_with(lines.len(), ThreadLine::default);
        graph.words.restore(common as u32, &self.initials[initials], lines.len());

        let choices_at = &self.choices_at[events.clone()];
        graph.choices_at.extend_from_slice(choices_at);
        graph.choices.extend_from_slice(&self.choices[choices]);
        graph.clocks.extend_from_slice(&self.clocks[clocks]);
        for event in &self.events[events] {
            graph.threads[event.thread.index()].events.push(graph.events.len() as u32);
            graph.events.push(*event);
        }
        let mut gates = gates.start;
        for (line, kept) in graph.threads.iter_mut().zip(&self.lines[lines]) {
            line.name = kept.name;
            line.creator = kept.creator;
            line.pending.truncate(kept.common as usize);
            let theirs = &self.gates[gates..kept.gates];
            line.pending.extend(theirs.iter().map(|gate| (Op::default(), *gate)));
            gates = kept.gates;
            let last = line.events.last().map(|last| graph.events[*last as usize].op.kind);
            line.ended = last == Some(OpKind::End);
        }
        for (event, object, difference) in &self.changes[changes.clone()] {
            graph.words.changed(*object as usize, *event, *difference);
        }
        graph.words.log(&self.changes[changes]);
        for (thread, event, taken) in &self.signals[signals] {
            graph.words.signalled(*thread, *event, *taken);
        }
        (common, &self.costs[costs])
    }
}

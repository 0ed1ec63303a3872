//! What a strategy will most likely decide in an execution, before it is run.
//!
//! An execution that goes on by itself does so without preemption. A strategy that often decides otherwise
//! ([`Strategy::strays`](crate::Strategy::strays)) is asked beforehand, at points of an execution that is made up: each
//! thread's steps are taken to be those that it took when it was last seen so far. Mostly they are; and where they
//! are not, a guess is wrong that nobody relies on.
//!
//! What it does not do: look into steps that choose values, or go beyond what threads have been seen to do.

use selvedge_core::{Decision, Op, OpKind, ThreadId, ThreadSet};

use crate::context_bound::ContextBound;
use crate::fair::Fair;
use crate::gate::Gate;
use crate::happens_before::HappensBefore;
use crate::record::Record;
use crate::settings::Settings;
use crate::strategy::{Choice, Point};

/// What threads have been seen to do.
#[derive(Debug, Default)]
pub(crate) struct Foresight {
    threads: Vec<Line>,
    /// The words that objects begin with.
    initial: Vec<u64>,
    /// The threads that every execution begins with.
    first: Vec<ThreadId>,
    /// How many steps of each thread were learnt from an execution.
    learnt: Vec<u32>,
    /// The execution that is made up.
    course: Course,
    /// What will most likely be decided in the next execution after its prefix.
    pub(crate) likely: Vec<Decision>,
    /// Whether the strategy most likely ends it then.
    pub(crate) ends: bool,
}

/// What a thread has been seen to do.
#[derive(Debug, Default)]
struct Line {
    name: u64,
    steps: Vec<Step>,
    /// What it waits for after so many steps.
    gates: Vec<Gate>,
}

/// A step and what it led to.
#[derive(Debug, Default)]
struct Step {
    op: Op,
    /// It asked for a value.
    chose: bool,
    /// By how much the words of objects changed.
    changes: Vec<(u32, u64)>,
    signalled: Vec<ThreadId>,
    created: Vec<ThreadId>,
}

/// An execution that is made up, so far.
#[derive(Debug, Default)]
struct Course {
    record: Record,
    graph: HappensBefore,
    context: ContextBound,
    fair: Fair,
    /// How many steps each thread has taken.
    taken: Vec<u32>,
    words: Vec<u64>,
    /// The threads that have begun and not ended.
    alive: ThreadSet,
    signalled: ThreadSet,
    enabled: ThreadSet,
    waiting: ThreadSet,
    allowed: ThreadSet,
    held_back: bool,
}

/// The entry with this number, made if it is the next one.
fn at<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

impl Foresight {
    /// Learns from an execution whose threads' next steps were noted.
    pub(crate) fn learn(&mut self, record: &Record) {
        let threads = record.threads();
        for index in 0..threads {
            at(&mut self.threads, index).name = record.name(ThreadId(index as u32));
        }
        for (object, word) in record.initial_words() {
            *at(&mut self.initial, object) = word;
        }
        self.learnt.clear();
        self.learnt.resize(threads, 0);
        self.first.clear();
        self.first.extend(record.pending(0).iter().map(|pending| pending.thread));
        for pending in record.pending(0) {
            *at(&mut self.threads[pending.thread.index()].gates, 0) = pending.gate;
        }
        let mut changes = record.changes().iter().peekable();
        let mut signals = record.signals().iter().peekable();
        let mut thread = ThreadId(0);
        for (index, decision) in record.decisions().iter().enumerate() {
            if let Decision::Thread(next) = *decision {
                thread = next;
            }
            if let Some(Decision::Value(_)) = record.decisions().get(index + 1) {
                continue;
            }
            let Some(number) = self.learnt.get_mut(thread.index()) else { return };
            *number += 1;
            let number = *number as usize;
            let step = at(&mut self.threads[thread.index()].steps, number - 1);
            step.op = record.points()[index].op;
            step.chose = matches!(decision, Decision::Value(_));
            step.changes.clear();
            while let Some((_, object, difference)) = changes.next_if(|change| change.0 as usize <= index) {
                step.changes.push((*object, *difference));
            }
            step.signalled.clear();
            while let Some((_, signalled)) = signals.next_if(|signal| signal.0 as usize <= index) {
                step.signalled.push(*signalled);
            }
            step.created.clear();
            let next = record.pending(index + 1);
            step.created.extend(next.iter().map(|next| next.thread).filter(|other| *other != thread));
            for next in next {
                let line = &mut self.threads[next.thread.index()];
                let number = if next.thread == thread { number } else { 0 };
                *at(&mut line.gates, number) = next.gate;
            }
        }
    }

    /// Finds out how an execution that begins with these decisions most likely goes on.
    pub(crate) fn foresee(
        &mut self,
        decisions: &[Decision],
        settings: &Settings<'_>,
        mut choose: impl FnMut(&Point<'_>) -> Choice,
    ) {
        self.forget();
        self.begin();
        for decision in decisions {
            let &Decision::Thread(thread) = decision else { return };
            if !self.look(settings) || !self.step(thread) {
                return;
            }
        }
        while self.look(settings) && !self.course.allowed.is_empty() {
            let course = &self.course;
            let decisions = course.record.decisions();
            let choice = choose(&Point {
                step: decisions.len(),
                arity: 0,
                enabled: &course.allowed,
                held_back: course.held_back,
                running: course.context.running(),
                preemptible: course.preemptible(),
                preemptions: course.context.preemptions(),
                decisions,
                record: &course.record,
                state: course.graph.hash(),
            });
            self.ends = choice == Choice::Prune;
            let Choice::Take(decision @ Decision::Thread(thread)) = choice else { return };
            self.likely.push(decision);
            if !self.step(thread) || self.likely.len() >= settings.max_steps {
                return;
            }
        }
    }

    /// Forgets what was foreseen.
    pub(crate) fn forget(&mut self) {
        self.likely.clear();
        self.ends = false;
    }

    /// Begins an execution.
    fn begin(&mut self) {
        let course = &mut self.course;
        course.record.clear();
        course.graph.clear();
        course.context = ContextBound::default();
        course.fair.clear();
        course.taken.clear();
        course.taken.resize(self.threads.len(), 0);
        course.words.clear();
        course.words.extend_from_slice(&self.initial);
        course.alive.clear();
        course.signalled.clear();
        for thread in &self.first {
            course.begins(*thread, &self.threads);
        }
    }

    /// Finds out which threads can go on. Says whether that is known of all.
    fn look(&mut self, settings: &Settings<'_>) -> bool {
        let course = &mut self.course;
        course.enabled.clear();
        course.waiting.clear();
        for thread in course.alive.iter() {
            let taken = course.taken[thread.index()] as usize;
            let Some(gate) = self.threads[thread.index()].gates.get(taken) else { return false };
            let word = |object: usize| course.words.get(object).copied().unwrap_or(0);
            let open = gate.object.is_none_or(|object| gate.allows(word(object.index())));
            let signalled = !gate.needs_signal || course.signalled.contains(thread);
            let waits = gate.timed && (open || !gate.needs_signal);
            if open && signalled || waits {
                course.enabled.insert(thread);
                course.waiting.set(thread, !(open && signalled));
            }
        }
        course.held_back = match settings.yields {
            Some(bound) => course.fair.allow(&course.enabled, bound, &mut course.allowed),
            None => {
                course.allowed.copy_from(&course.enabled);
                false
            }
        };
        true
    }

    /// A thread takes its next step, among those that can be chosen. Says whether it is known which step that is.
    fn step(&mut self, thread: ThreadId) -> bool {
        let course = &mut self.course;
        let Some(taken) = course.taken.get_mut(thread.index()) else { return false };
        let step = self.threads[thread.index()].steps.get(*taken as usize);
        let Some(step) = step.filter(|step| !step.chose) else { return false };
        *taken += 1;
        course.record.push(Decision::Thread(thread));
        let preempts = course.context.running() != Some(thread) && course.preemptible();
        course.context.stepped(thread, &step.op, preempts);
        course.graph.step(thread, &step.op);
        if step.op.yields() {
            course.fair.yielded(thread);
        }
        for (object, difference) in &step.changes {
            let word = at(&mut course.words, *object as usize);
            *word = word.wrapping_add(*difference);
        }
        course.signalled.remove(thread);
        for signalled in &step.signalled {
            course.signalled.insert(*signalled);
        }
        if step.op.kind == OpKind::End {
            course.alive.remove(thread);
        }
        for created in &step.created {
            course.begins(*created, &self.threads);
        }
        true
    }
}

impl Course {
    /// There is a thread now.
    fn begins(&mut self, thread: ThreadId, threads: &[Line]) {
        self.alive.insert(thread);
        while self.record.threads() <= thread.index() {
            self.record.note_thread(threads[self.record.threads()].name);
        }
        self.graph.named(thread, threads[thread.index()].name);
    }

    /// Whether a switch away from the running thread would preempt it.
    fn preemptible(&self) -> bool {
        self.context.preemptible(&self.allowed, &self.waiting)
    }
}

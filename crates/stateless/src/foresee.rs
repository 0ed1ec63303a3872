//! What a strategy will most likely decide in an execution, before it is run.
//!
//! An execution that goes on by itself does so without preemption. A strategy that often decides otherwise
//! ([`Strategy::strays`](crate::Strategy::strays)) is asked beforehand, at points of an execution that is made up: each
//! thread's steps are taken to be those that it took when it was last seen so far. Mostly they are; and where they
//! are not, a guess is wrong that nobody relies on.
//!
//! What it does not do: look into steps that choose values, or go beyond what threads have been seen to do.

use std::iter::Peekable;

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
    /// The decisions of the execution that was learnt from last, and how many steps of each thread it has.
    last: Vec<Decision>,
    learnt: Vec<u32>,
    /// A step as it is learnt.
    step: Step,
    /// The execution that is made up, and what it was after some of its steps: the next one most often begins alike.
    course: Course,
    saved: Vec<Saved>,
    /// So many are of this execution.
    saves: usize,
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
#[derive(Debug, Default, PartialEq)]
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
    state: State,
    enabled: ThreadSet,
    waiting: ThreadSet,
    allowed: ThreadSet,
    held_back: bool,
}

/// What it has come to.
#[derive(Debug, Default)]
struct State {
    graph: HappensBefore,
    context: ContextBound,
    fair: Fair,
    /// How many steps each thread has taken.
    taken: Vec<u32>,
    words: Vec<u64>,
    /// The threads that have begun and not ended.
    alive: ThreadSet,
    signalled: ThreadSet,
}

impl State {
    fn copy_from(&mut self, other: &State) {
        self.graph.copy_from(&other.graph);
        self.context = other.context.clone();
        self.fair.copy_from(&other.fair);
        self.taken.clone_from(&other.taken);
        self.words.clone_from(&other.words);
        self.alive.copy_from(&other.alive);
        self.signalled.copy_from(&other.signalled);
    }
}

/// What it had come to after so many steps, with so many threads.
#[derive(Debug, Default)]
struct Saved {
    steps: usize,
    threads: usize,
    state: State,
}

/// After so many steps it is saved.
const STRETCH: usize = 16;

/// Notes something; says whether it is new.
fn note<T: PartialEq>(place: &mut T, now: T) -> bool {
    let is_new = *place != now;
    *place = now;
    is_new
}

/// What a list has from a decision on.
fn from<T>(list: &[T], of: impl Fn(&T) -> u32, decision: usize) -> Peekable<std::slice::Iter<'_, T>> {
    list[list.partition_point(|entry| (of(entry) as usize) < decision)..].iter().peekable()
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
        let mut news = false;
        for index in 0..threads {
            news |= note(&mut at(&mut self.threads, index).name, record.name(ThreadId(index as u32)));
        }
        for (object, word) in record.initial_words() {
            news |= note(at(&mut self.initial, object), word);
        }
        let first = record.pending(0).iter().map(|pending| pending.thread);
        if !first.clone().eq(self.first.iter().copied()) {
            news = true;
            self.first.clear();
            self.first.extend(first);
        }
        for pending in record.pending(0) {
            news |= note(at(&mut self.threads[pending.thread.index()].gates, 0), pending.gate);
        }
        // Of what it has in common with the last one nothing is new; its last step may have gone on otherwise.
        let decisions = record.decisions();
        let common = self.last.iter().zip(decisions).take_while(|(ours, theirs)| ours == theirs).count();
        let mut common = common.saturating_sub(1);
        while matches!(decisions.get(common), Some(Decision::Value(_))) {
            common -= 1;
        }
        self.last.truncate(common);
        self.last.extend_from_slice(&decisions[common..]);
        self.learnt.clear();
        self.learnt.resize(threads, 0);
        for decision in &decisions[..common] {
            if let Decision::Thread(thread) = decision {
                self.learnt[thread.index()] += 1;
            }
        }
        let mut changes = from(record.changes(), |change| change.0, common);
        let mut signals = from(record.signals(), |signal| signal.0, common);
        let mut thread = ThreadId(0);
        for (index, decision) in decisions.iter().enumerate().skip(common) {
            if let Decision::Thread(next) = *decision {
                thread = next;
            }
            if let Some(Decision::Value(_)) = decisions.get(index + 1) {
                continue;
            }
            let Some(number) = self.learnt.get_mut(thread.index()) else { return };
            *number += 1;
            let number = *number as usize;
            let step = &mut self.step;
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
            let known = at(&mut self.threads[thread.index()].steps, number - 1);
            if *known != *step {
                news = true;
                std::mem::swap(known, step);
            }
            for next in next {
                let line = &mut self.threads[next.thread.index()];
                let number = if next.thread == thread { number } else { 0 };
                news |= note(at(&mut line.gates, number), next.gate);
            }
        }
        if news {
            // What was made up may have gone otherwise.
            self.saves = 0;
        }
    }

    /// Finds out how an execution that begins with these decisions most likely goes on.
    pub(crate) fn foresee(
        &mut self,
        decisions: &[Decision],
        settings: &Settings,
        mut choose: impl FnMut(&Point<'_>) -> Choice,
    ) {
        self.make_up(decisions, settings, &mut choose);
        if cfg!(debug_assertions) {
            let found = (self.likely.clone(), self.ends);
            self.saves = 0;
            self.make_up(decisions, settings, &mut choose);
            debug_assert_eq!((&self.likely, self.ends), (&found.0, found.1), "what was saved is still so");
        }
    }

    /// Makes it up.
    fn make_up(
        &mut self,
        decisions: &[Decision],
        settings: &Settings,
        choose: &mut impl FnMut(&Point<'_>) -> Choice,
    ) {
        self.forget();
        let begun = self.begin(decisions);
        for decision in &decisions[begun..] {
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
                running: course.state.context.running(),
                preemptible: course.preemptible(),
                preemptions: course.state.context.preemptions(),
                decisions,
                record: &course.record,
                state: course.state.graph.hash(),
                foreseen: true,
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

    /// Begins an execution with these decisions, as far as one was made up before that begins with them. Says how far.
    fn begin(&mut self, decisions: &[Decision]) -> usize {
        let course = &mut self.course;
        let before = course.record.decisions().iter().zip(decisions);
        let common = before.take_while(|(before, now)| before == now).count();
        self.saves = self.saved[..self.saves].iter().take_while(|saved| saved.steps <= common).count();
        if let Some(saved) = self.saves.checked_sub(1).map(|last| &self.saved[last]) {
            course.record.clear();
            decisions[..saved.steps].iter().for_each(|decision| course.record.push(*decision));
            self.threads[..saved.threads].iter().for_each(|line| course.record.note_thread(line.name));
            course.state.copy_from(&saved.state);
            return saved.steps;
        }
        course.record.clear();
        let state = &mut course.state;
        state.graph.clear();
        state.context = ContextBound::default();
        state.fair.clear();
        state.taken.clear();
        state.taken.resize(self.threads.len(), 0);
        state.words.clear();
        state.words.extend_from_slice(&self.initial);
        state.alive.clear();
        state.signalled.clear();
        for thread in &self.first {
            course.begins(*thread, &self.threads);
        }
        0
    }

    /// Saves what the execution has come to, now and then.
    fn save(&mut self) {
        let steps = self.course.record.len();
        if steps.is_multiple_of(STRETCH) {
            let saved = at(&mut self.saved, self.saves);
            (saved.steps, saved.threads) = (steps, self.course.record.threads());
            saved.state.copy_from(&self.course.state);
            self.saves += 1;
        }
    }

    /// Finds out which threads can go on. Says whether that is known of all.
    fn look(&mut self, settings: &Settings) -> bool {
        let course = &mut self.course;
        course.enabled.clear();
        course.waiting.clear();
        for thread in course.state.alive.iter() {
            let taken = course.state.taken[thread.index()] as usize;
            let Some(gate) = self.threads[thread.index()].gates.get(taken) else { return false };
            let word = |object: usize| course.state.words.get(object).copied().unwrap_or(0);
            let open = gate.object.is_none_or(|object| gate.allows(word(object.index())));
            let passes = gate.is_passed(open, course.state.signalled.contains(thread));
            let waits = gate.timed && (open || !gate.needs_signal);
            if passes || waits {
                course.enabled.insert(thread);
                course.waiting.set(thread, !passes);
            }
        }
        course.held_back = match settings.yields {
            Some(bound) => course.state.fair.allow(&course.enabled, bound, &mut course.allowed),
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
        let Some(taken) = course.state.taken.get_mut(thread.index()) else { return false };
        let step = self.threads[thread.index()].steps.get(*taken as usize);
        let Some(step) = step.filter(|step| !step.chose) else { return false };
        *taken += 1;
        course.record.push(Decision::Thread(thread));
        let preempts = course.state.context.running() != Some(thread) && course.preemptible();
        course.state.context.stepped(thread, &step.op, preempts);
        course.state.graph.step(thread, &step.op);
        if step.op.counted {
            course.state.fair.yielded(thread);
        }
        for (object, difference) in &step.changes {
            let word = at(&mut course.state.words, *object as usize);
            *word = word.wrapping_add(*difference);
        }
        course.state.signalled.remove(thread);
        for signalled in &step.signalled {
            course.state.signalled.insert(*signalled);
        }
        if step.op.kind == OpKind::End {
            course.state.alive.remove(thread);
        }
        for created in &step.created {
            course.begins(*created, &self.threads);
        }
        self.save();
        true
    }
}

impl Course {
    /// There is a thread now.
    fn begins(&mut self, thread: ThreadId, threads: &[Line]) {
        self.state.alive.insert(thread);
        while self.record.threads() <= thread.index() {
            self.record.note_thread(threads[self.record.threads()].name);
        }
        self.state.graph.named(thread, threads[thread.index()].name);
    }

    /// Whether a switch away from the running thread would preempt it.
    fn preemptible(&self) -> bool {
        self.state.context.preemptible(&self.allowed, &self.waiting)
    }
}

//! Executions that are run ahead of time: by one explorer, and taken over by another as it saw them.
//!
//! What an execution does depends on nothing but its decisions. So another explorer need not follow it again, step by step:
//! what was recorded of it is all that a strategy learns from. But the strategy is asked at each of its points, as if it ran
//! now, because it may know more by now. Where it decides otherwise, the execution is run, and goes that way.

use std::sync::Arc;

use selvedge_core::{Assumptions, Decision};

use super::{End, Explorer};
use crate::coverage::Coverage;
use crate::happens_before::StateHash;
use crate::program::Execution;
use crate::record::Tail;
use crate::strategy::{Choice, Lesson, Point, Prefix, Strategy};

/// An execution that was run ahead of time and that no step of its own has ended, as the engine saw it.
///
/// ```
/// use selvedge_stateless::Ran;
/// assert!(Ran::default().size() >= size_of::<Ran>());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// From where it left the way of the execution before it; if the strategy ended it, with one point more than decisions.
    tail: Tail,
    /// How many of its decisions were given as its prefix.
    prefix: usize,
    preemptions: u32,
    state: StateHash,
    /// The states that it reached after its prefix, where they are counted.
    reached: Vec<StateHash>,
    /// The strategy ended it.
    pruned: bool,
    /// The fair bound held a thread back in it.
    held_back: bool,
    /// Accesses to tracked cells were followed; if not, there were none.
    clocks: bool,
    /// The next steps of threads were noted.
    observed: bool,
    /// What it takes for granted.
    assumptions: Assumptions,
    /// What a copy of the strategy has learnt from it.
    lesson: Lesson,
}

impl Ran {
    /// How many bytes it takes, about.
    ///
    /// ```
    /// assert!(selvedge_stateless::Ran::default().size() < 1_000);
    /// ```
    pub fn size(&self) -> usize {
        size_of::<Ran>() + self.tail.size() + size_of_val(&self.reached[..]) + self.lesson.size()
    }
}

/// How far an execution could be taken over.
pub(super) enum TakenOver {
    /// All of it.
    Whole(End),
    /// Up to where the strategy decides otherwise: it is to begin like this.
    Until(Prefix),
    /// It does not fit.
    Not,
}

impl<E: Execution + ?Sized> Explorer<E> {
    /// Runs the executions of a search for the sake of another, until one goes wrong or cannot be run. What they show is
    /// told to the strategy, and each that was run, not taken over, is given to `keep`, which may [note](Self::note_last) it;
    /// nothing is, where it went wrong.
    pub fn run_through(&mut self, strategy: &mut dyn Strategy, keep: &mut dyn FnMut(Option<&mut Self>)) {
        let mut prefix = Prefix::default();
        self.observer.on = strategy.wants_pending();
        while strategy.next_prefix(&mut prefix) {
            self.was_taken_over = false;
            match self.search_once(&prefix, strategy) {
                Ok(End::Stopped(_) | End::Long) | Err(_) => return keep(None),
                Ok(_) if self.ended.stopped => return keep(None),
                Ok(end) => {
                    strategy.finished(&self.finished(&prefix, &end));
                    if !self.was_taken_over {
                        self.lesson.clear();
                        strategy.teach(&mut self.lesson);
                        keep(Some(self));
                    }
                }
            }
        }
    }

    /// Notes the last execution, in which nothing went wrong, from where it left the way of the one before: whoever takes it
    /// over has most often come the same way. What was learnt from it goes with it.
    pub fn note_last(&mut self, run: &mut Ran) {
        run.tail.copy_from(&self.record, self.noted);
        run.prefix = self.prefix_length;
        run.preemptions = self.ended.preemptions;
        run.state = self.ended.state;
        run.reached.clone_from(&self.reached);
        run.pruned = self.ended.at.is_some();
        run.clocks = self.clocks;
        run.observed = self.observer.on;
        run.assumptions.clear();
        self.execution.assume(&mut run.assumptions);
        std::mem::swap(&mut run.lesson, &mut self.lesson);
        if let Some(point) = self.ended.at
            && !self.record.points().is_empty()
        {
            let state = self.observer.on.then_some(self.ended.state);
            run.tail.push_last_choice(point, &self.ended.enabled, state);
        }
        let last = self.ended.at.iter();
        run.held_back = self.record.points().iter().chain(last).any(|point| point.held_back);
    }

    /// Whether executions are taken over at all: what is not kept of them is which local states they were in.
    pub(super) fn is_taken_over(&self) -> bool {
        self.settings.coverage < Coverage::LocalStates && !self.comparing
    }

    /// Takes an execution over that begins with a prefix, as far as the strategy decides as it went. What was recorded of it
    /// becomes what is recorded here.
    pub(super) fn take_over<S: Strategy + ?Sized>(
        &mut self,
        ran: &mut Arc<Ran>,
        prefix: &Prefix,
        strategy: &S,
    ) -> TakenOver {
        let given = prefix.decisions.len();
        let theirs = &ran.tail;
        let records = self.records(strategy);
        let expected = |at: usize, fingerprint: u64| {
            theirs.point(at).is_none_or(|point| point.fingerprint == fingerprint)
        };
        let is_known = self.record.goes_on_to(theirs, &prefix.decisions, self.observer.on)
            && (self.clocks == ran.clocks || theirs.is_whole());
        // What begins as the execution before did must look the same; if not, it is run, and that found out.
        let common = theirs.common(&self.record);
        let looks_the_same =
            self.record.points().get(common).is_none_or(|ours| expected(common, ours.fingerprint))
                && prefix.expect.is_none_or(|fingerprint| given > 0 && expected(given - 1, fingerprint));
        // It may have been found out on the way how it is to begin.
        let is_longer = ran.prefix > self.prefix_length && self.settings.coverage >= Coverage::States;
        let fits = (!is_longer || self.observer.on)
            && is_known
            && theirs.len() >= given
            && records == theirs.has_points()
            && ran.observed == self.observer.on
            && looks_the_same;
        if !fits {
            return TakenOver::Not;
        }
        self.was_taken_over = true;
        self.clocks = ran.clocks;
        self.has_cells |= ran.clocks;
        self.ended.at = None;
        self.ended.stopped = false;
        self.record.go_on_to(theirs, self.observer.on);
        let otherwise = if records { self.first_otherwise(given, strategy) } else { None };
        self.assumptions.merge(&ran.assumptions);
        if let Some((length, Choice::Prune)) = otherwise {
            return self.take_over_until(length);
        }
        self.ended.preemptions = ran.preemptions;
        self.ended.state = ran.state;
        let (held_back, pruned) = (ran.held_back, ran.pruned);
        if is_longer {
            self.find_reached(self.record.len(), Some(ran.state).filter(|_| !pruned));
        } else {
            self.reached.clone_from(&ran.reached);
        }
        self.record.forget_last_choice();
        match Arc::get_mut(ran) {
            Some(ran) => std::mem::swap(&mut self.lesson, &mut ran.lesson),
            None => self.lesson.copy_from(&ran.lesson),
        }
        match otherwise {
            Some((length, Choice::Take(decision))) => {
                let mut decisions = self.record.decisions()[..length].to_vec();
                decisions.push(decision);
                TakenOver::Until(Prefix { decisions, onward: prefix.onward, ..Prefix::default() })
            }
            // It goes as it went.
            _ => {
                self.fair_cut |= held_back;
                TakenOver::Whole(if pruned { End::Pruned } else { End::Complete })
            }
        }
    }

    /// Takes the execution that is recorded over up to where the strategy ends it.
    fn take_over_until(&mut self, length: usize) -> TakenOver {
        if !self.observer.on {
            // Which states it has reached until then is not known.
            self.record.forget_last_choice();
            return TakenOver::Not;
        }
        self.lesson.clear();
        let points = self.record.points();
        self.ended.preemptions = points[length].preemptions;
        self.ended.state = self.record.state(length);
        self.fair_cut |= points[..=length].iter().any(|point| point.held_back);
        self.find_reached(length, None);
        self.record.end_before(length);
        TakenOver::Whole(End::Pruned)
    }

    /// Finds out which states the execution that is recorded has reached after the prefix, within so many decisions: before each
    /// of them, and at its end, or where the strategy has ended it.
    fn find_reached(&mut self, length: usize, end: Option<StateHash>) {
        let theirs = &self.record;
        self.reached.clear();
        if self.settings.coverage >= Coverage::States {
            let is_whole = |at: &usize| theirs.points()[*at].arity == 0;
            let points = self.prefix_length.max(1)..length + usize::from(end.is_none());
            self.reached.extend(points.filter(is_whole).map(|at| theirs.state(at)).chain(end));
        }
    }

    /// The first decision of the execution that is recorded which the strategy would take otherwise now, and how.
    fn first_otherwise<S: Strategy + ?Sized>(
        &mut self,
        given: usize,
        strategy: &S,
    ) -> Option<(usize, Choice)> {
        let (theirs, enabled) = (&self.record, &mut self.allowed);
        for (step, point) in theirs.points().iter().enumerate().skip(given) {
            let mut state = StateHash::default();
            if self.observer.on {
                state = theirs.state(step);
            }
            enabled.copy_from_words(theirs.enabled_words(point));
            let choice = strategy.choose(&Point {
                step,
                arity: point.arity,
                enabled,
                held_back: point.held_back,
                running: point.running,
                preemptible: point.preemptible,
                preemptions: point.preemptions,
                decisions: &theirs.decisions()[..step],
                record: theirs,
                state,
                foreseen: false,
            });
            let went =
                theirs.decisions().get(step).map_or(Choice::Prune, |went: &Decision| Choice::Take(*went));
            if choice != went {
                return Some((step, choice));
            }
        }
        None
    }
}

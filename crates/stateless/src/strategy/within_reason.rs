//! The default: `cb-por` as long as it can look through the states of the executions that it runs, and after that a search
//! whose cost for each execution is polynomial.
//!
//! What `cb-por` has finished stays finished. The bound that it was working on is begun again: with `bpor`, or where there
//! is no bound with `optimal`.

use selvedge_core::{Bounds, Measure};

use super::effort::Looks;
use super::{Bpor, CbPor, Choice, Finished, Lesson, Optimal, Point, Prefix, Report, Strategy, Wanted};
use crate::deadline::Deadline;

/// `cb-por`, or what has taken its place.
pub(super) struct WithinReason {
    search: Search,
    /// The bound on preemptions, if there is one.
    most: Option<u32>,
    /// The fair bound.
    yields: Option<u32>,
}

enum Search {
    CbPor(Box<CbPor>),
    /// With its name, and the bound at which it has taken over.
    Instead(Box<dyn Strategy>, &'static str, u32),
}

impl WithinReason {
    /// This search, which has these bounds, as long as it takes no more looks than this.
    pub(super) fn new(cb_por: CbPor, most: Option<u32>, yields: Option<u32>, looks: Looks) -> Self {
        WithinReason { search: Search::CbPor(Box::new(cb_por.limited(looks))), most, yields }
    }

    fn now(&self) -> &dyn Strategy {
        match &self.search {
            Search::CbPor(search) => search.as_ref(),
            Search::Instead(search, ..) => search.as_ref(),
        }
    }

    fn now_mut(&mut self) -> &mut dyn Strategy {
        match &mut self.search {
            Search::CbPor(search) => search.as_mut(),
            Search::Instead(search, ..) => search.as_mut(),
        }
    }

    /// Takes another search, if `cb-por` has looked at as much as it may. Says whether it has.
    fn changes(&mut self) -> bool {
        let Search::CbPor(search) = &mut self.search else { return false };
        if !search.has_looked_enough() {
            return false;
        }
        let at = search.bound().map_or(0, |(_, bound)| bound);
        let (instead, name): (Box<dyn Strategy>, _) = match self.most {
            Some(most) => (Box::new(Bpor::new(Some(most), self.yields.is_some()).from(at)), "bpor"),
            None => (Box::new(Optimal::new().fair(self.yields)), "optimal"),
        };
        self.search = Search::Instead(instead, name, at);
        true
    }
}

impl Strategy for WithinReason {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.now_mut().next_prefix(prefix) || self.changes() && self.now_mut().next_prefix(prefix)
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        self.now().ahead(wanted)
    }

    fn heed(&mut self, deadline: Deadline) {
        self.now_mut().heed(deadline);
    }

    fn note(&self) -> Option<String> {
        let Search::Instead(_, name, at) = self.search else { return None };
        let begin =
            if self.most.is_some() { format!("From {at} preemptions on") } else { "In the end".into() };
        Some(format!(
            "{begin} the strategy {name} was used: there were too many states to look through for cb-por. It may run an order of \
             steps more than once."
        ))
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        self.now().choose(point)
    }

    fn strays(&self) -> bool {
        self.now().strays()
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.now_mut().finished(execution);
    }

    fn teach(&mut self, lesson: &mut Lesson) {
        self.now_mut().teach(lesson);
    }

    fn report(&mut self, execution: &Finished<'_>) -> Report {
        self.now_mut().report(execution)
    }

    fn bound(&self) -> Option<(Measure, u32)> {
        self.now().bound()
    }

    fn exhausted(&self) -> Option<Bounds> {
        self.now().exhausted()
    }

    fn cut(&self) -> bool {
        self.now().cut()
    }

    fn wants_pending(&self) -> bool {
        true
    }

    fn in_order(&self) -> bool {
        self.now().in_order()
    }
}

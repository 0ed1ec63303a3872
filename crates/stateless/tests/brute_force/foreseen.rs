//! What an execution is told that the search will decide, the search decides; and it finds the same as without.

use std::cell::RefCell;
use std::sync::Mutex;

use selvedge_core::Decision;
use selvedge_stateless::strategy::{Named, Parameters};
use selvedge_stateless::{
    Event, Execution, Explorer, LaunchError, LocalEvent, Plan, Program, Settings, Stop,
};
use selvedge_testgen::{Interpreter, Theme, generate};

/// What was told and what was decided, of all executions.
#[derive(Debug, Default)]
struct Tally {
    /// Executions of which something was foreseen.
    told: u32,
    /// Those in which something else was decided.
    strayed: u32,
    /// Those in which nothing more was decided than that.
    whole: u32,
    /// Those which the strategy was thought to end early, and did.
    ends: u32,
    ended: u32,
}

/// A program whose executions heed plans.
struct Told {
    inner: Interpreter,
    tally: Mutex<Tally>,
}

struct Listener<'p> {
    inner: Box<dyn Execution + 'p>,
    tally: &'p Mutex<Tally>,
    planned: Vec<Decision>,
    told: bool,
    ends: bool,
    decided: RefCell<Vec<Decision>>,
}

impl Program for Told {
    fn launch(&self) -> Result<Box<dyn Execution + '_>, LaunchError> {
        Ok(Box::new(Listener {
            inner: self.inner.launch()?,
            tally: &self.tally,
            planned: Vec::new(),
            told: false,
            ends: false,
            decided: RefCell::default(),
        }))
    }
}

/// All that an execution says is what the one says that it is made of.
macro_rules! as_the_inner_one_says {
    () => {
        as_the_inner_one_says! {
            enabled() -> &selvedge_core::ThreadSet;
            waiting() -> &selvedge_core::ThreadSet;
            thread_count() -> usize;
            all_ended() -> bool;
            pending(thread: selvedge_core::ThreadId) -> selvedge_core::Op;
            gate(thread: selvedge_core::ThreadId) -> selvedge_stateless::Gate;
            is_signalled(thread: selvedge_core::ThreadId) -> bool;
            word(object: selvedge_core::ObjectId) -> u64;
            site() -> selvedge_stateless::Site;
            describe() -> selvedge_stateless::Description;
            thread_name(thread: selvedge_core::ThreadId) -> String;
            object_name(object: selvedge_core::ObjectId) -> String;
            why_blocked(thread: selvedge_core::ThreadId) -> selvedge_stateless::Description;
            locate(site: selvedge_stateless::Site) -> Option<selvedge_core::Location>;
            in_flight() -> Option<Stop>;
        }
    };
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $result {
            self.inner.$name($($argument),*)
        })*

        fn assume(&self, assumptions: &mut selvedge_core::Assumptions) {
            self.inner.assume(assumptions);
        }
    };
}

pub(crate) use as_the_inner_one_says;

/// All that it does, but for how it begins, is what that one does.
macro_rules! as_the_inner_one_does {
    () => {
        fn step(&mut self, decision: Decision) -> Event {
            self.inner.step(decision)
        }

        fn local_events(&mut self) -> &mut Vec<LocalEvent> {
            self.inner.local_events()
        }

        fn finish(&mut self) -> Option<Stop> {
            self.inner.finish()
        }
    };
}

pub(crate) use as_the_inner_one_does;

impl Execution for Listener<'_> {
    fn plan(&mut self, plan: &Plan<'_>) {
        self.planned = [plan.decisions, plan.likely, plan.foreseen].concat();
        self.told = plan.ends || !plan.foreseen.is_empty();
        self.ends = plan.ends;
    }

    fn heeds_plans(&self) -> bool {
        true
    }

    fn restart(&mut self) -> Result<(), LaunchError> {
        self.decided.get_mut().clear();
        self.inner.restart()
    }

    fn step(&mut self, decision: Decision) -> Event {
        self.decided.get_mut().push(decision);
        self.inner.step(decision)
    }

    fn local_events(&mut self) -> &mut Vec<LocalEvent> {
        self.inner.local_events()
    }

    fn finish(&mut self) -> Option<Stop> {
        let mut tally = self.tally.lock().unwrap();
        let decided = self.decided.get_mut();
        let whole = self.planned == *decided;
        tally.told += u32::from(self.told);
        tally.strayed +=
            u32::from(self.told && decided.iter().zip(&self.planned).any(|(one, other)| one != other));
        tally.whole += u32::from(self.told && whole);
        tally.ends += u32::from(self.ends);
        tally.ended += u32::from(self.ends && whole && !self.inner.enabled().is_empty());
        self.inner.finish()
    }

    as_the_inner_one_says! {}
}

/// Explores generated programs with and without plans.
fn tally(strategy: Named, theme: Theme) -> Tally {
    let mut all = Tally::default();
    for seed in 0..100 {
        let told = Parameters::bounded(2);
        let limits = Settings { max_executions: Some(300), keep_going: true, ..Settings::default() };
        let search = |program: &dyn Program| {
            let settings = strategy.settings(&told, limits);
            let mut explorer = Explorer::new(program, settings).unwrap();
            let outcome = explorer.search(strategy.algorithm(&told).as_mut(), &mut |_| ()).unwrap();
            let rows: Vec<_> = outcome.rows.iter().map(|row| (row.bound, row.executions)).collect();
            (outcome.verdict, rows, outcome.statistics.executions, outcome.statistics.steps)
        };
        let inner = Interpreter { spurious: seed as u32 / 4 % 3, ..Interpreter::new(generate(theme, seed)) };
        let program = Told { inner: inner.clone(), tally: Mutex::default() };
        assert_eq!(search(&program), search(&inner), "{strategy}, {theme:?}, seed {seed}");
        let tally = program.tally.into_inner().unwrap();
        all.told += tally.told;
        all.strayed += tally.strayed;
        all.whole += tally.whole;
        all.ends += tally.ends;
        all.ended += tally.ended;
    }
    all
}

#[test]
fn what_is_told_is_decided() {
    let mut all = Tally::default();
    for strategy in [Named::CbPor, Named::CbPorAll] {
        for theme in
            [Theme::Atomics, Theme::Locks, Theme::Condvars, Theme::Threads, Theme::Cells, Theme::Readers]
        {
            let found = tally(strategy, theme);
            let Tally { told, strayed, ends, ended, .. } = found;
            assert!(told > 150, "{strategy}, {theme:?}: {found:?}");
            assert!(strayed * 3 < told, "{strategy}, {theme:?}: {found:?}");
            // An execution of `cb-por` leads to something new, and is not ended before.
            let ended_early = strategy == Named::CbPorAll;
            assert!(!ended_early || ended * 20 >= ends * 17, "{strategy}, {theme:?}: {found:?}");
            all.told += told;
            all.whole += found.whole;
            all.ended += ended;
        }
    }
    // Most is foreseen to the end.
    assert!(all.whole * 2 > all.told && all.ended > 1_000, "{all:?}");
}

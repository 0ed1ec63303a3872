//! A search whose copies go ahead of it, and tell it what they find out and are told, finds just what it finds alone.
//!
//! The copies run in between, here and there and for a while each, as a seed has it, so that what goes wrong does so again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use selvedge_core::Decision;
use selvedge_stateless::strategy::{Named, Parameters};
use selvedge_stateless::{
    Ahead, Event, Execution, Explorer, LaunchError, LocalEvent, Plan, Prefix, Program, Ran, Settings, Stop,
    Strategy,
};
use selvedge_testgen::{Interpreter, Theme, generate};

use crate::foreseen::{as_the_inner_one_does, as_the_inner_one_says};
use crate::taken_over::{Course, all_found, course};

/// A program whose executions copies of a search run ahead.
struct Scouted {
    inner: Interpreter,
    shared: Mutex<Shared>,
}

impl Scouted {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }
}

#[derive(Default)]
struct Shared {
    /// What was run ahead, by how it begins.
    runs: HashMap<Course, Arc<Ran>>,
    /// What a copy has asked for last.
    asked: Course,
    copies: Vec<Box<dyn Strategy + Send>>,
    random: u64,
    /// How many were run ahead, and how many of them were used.
    run: u32,
    used: u32,
}

impl Shared {
    fn below(&mut self, most: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % most
    }
}

/// The search's side.
struct Searcher<'p> {
    inner: Box<dyn Execution + 'p>,
    program: &'p Scouted,
}

/// The side of a copy.
struct Scout<'p> {
    inner: Box<dyn Execution + 'p>,
    program: &'p Scouted,
    /// So many it may still run.
    left: u64,
}

impl Program for Scouted {
    fn launch(&self) -> Result<Box<dyn Execution + '_>, LaunchError> {
        Ok(Box::new(Searcher { inner: self.inner.launch()?, program: self }))
    }
}

impl Execution for Searcher<'_> {
    fn runs_ahead(&self) -> bool {
        true
    }

    fn run_ahead(&mut self, settings: Settings, search: Ahead<'_>) {
        let program = self.program;
        let (mut passes, left, goes_ahead) = {
            let mut shared = program.shared();
            (shared.below(4), shared.below(4), shared.below(4) == 0)
        };
        let mut wanted = |_: &[Decision], _| {
            passes = passes.saturating_sub(1);
            passes == 0
        };
        // There are two at a time: one that was sent now, one that goes on, and what became of others is left to these.
        let mut copies = std::mem::take(&mut program.shared().copies);
        copies.truncate(1);
        copies.extend(search(&mut wanted));
        for copy in &mut copies {
            if goes_ahead {
                copy.go_ahead(&mut |_, _| true);
            }
            let scout = Box::new(Scout { inner: program.inner.launch().unwrap(), program, left });
            let mut explorer = Explorer::with_execution(scout, settings);
            explorer.run_through(copy.as_mut(), &mut |run| {
                if let Some(explorer) = run {
                    let mut copy = Ran::default();
                    explorer.note_last(&mut copy);
                    let mut shared = program.shared();
                    shared.run += 1;
                    let asked = shared.asked.clone();
                    shared.runs.insert(asked, Arc::new(copy));
                }
            });
        }
        copies.reverse();
        program.shared().copies = copies;
    }

    fn was_run(&mut self, plan: &Plan<'_>) -> Option<Arc<Ran>> {
        let mut shared = self.program.shared();
        let found = shared.runs.remove(&course(plan));
        shared.used += u32::from(found.is_some());
        found
    }

    fn restart(&mut self) -> Result<(), LaunchError> {
        self.inner.restart()
    }

    as_the_inner_one_does! {}
    as_the_inner_one_says! {}
}

impl Execution for Scout<'_> {
    fn was_run(&mut self, plan: &Plan<'_>) -> Option<Arc<Ran>> {
        let mut shared = self.program.shared();
        shared.asked = course(plan);
        shared.runs.get(&shared.asked).cloned()
    }

    fn restart(&mut self) -> Result<(), LaunchError> {
        self.left = self.left.checked_sub(1).ok_or_else(|| LaunchError("it is enough".into()))?;
        self.inner.restart()
    }

    as_the_inner_one_does! {}
    as_the_inner_one_says! {}
}

/// A program of which nothing is run ahead, but copies of a search that help it on to the next bound do so, at the same time.
struct Helped {
    inner: Interpreter,
    helpers: Mutex<Vec<JoinHandle<()>>>,
}

/// The side of the search that is helped.
struct Led<'p> {
    inner: Box<dyn Execution + 'p>,
    program: &'p Helped,
}

impl Program for Helped {
    fn launch(&self) -> Result<Box<dyn Execution + '_>, LaunchError> {
        Ok(Box::new(Led { inner: self.inner.launch()?, program: self }))
    }
}

impl Execution for Led<'_> {
    fn runs_ahead(&self) -> bool {
        true
    }

    fn run_ahead(&mut self, _: Settings, search: Ahead<'_>) {
        // Where nothing is wanted there is none but one that helps.
        while let Some(mut helper) = search(&mut |_, _| false) {
            let mut helpers = self.program.helpers.lock().unwrap();
            helpers.push(std::thread::spawn(move || {
                assert!(!helper.next_prefix(&mut Prefix::default()), "it has nothing to run");
            }));
            if helpers.len().is_multiple_of(2) {
                break;
            }
        }
    }

    fn restart(&mut self) -> Result<(), LaunchError> {
        self.inner.restart()
    }

    as_the_inner_one_does! {}
    as_the_inner_one_says! {}
}

#[test]
fn with_help_it_finds_the_same() {
    for strategy in [Named::CbPor, Named::Optimal] {
        let mut helpers = 0;
        for theme in [Theme::Atomics, Theme::Locks, Theme::Threads, Theme::Mixed, Theme::Readers] {
            for seed in 0..12 {
                let states = [usize::MAX, 400][seed as usize % 2];
                let told = Parameters { states, ..Parameters::bounded(4) };
                let limits = Settings { max_executions: Some(1000), keep_going: true, ..Settings::default() };
                let settings = strategy.settings(&told, limits);
                let inner =
                    Interpreter { spurious: seed as u32 / 4 % 3, ..Interpreter::new(generate(theme, seed)) };
                let helped = Helped { inner: inner.clone(), helpers: Mutex::default() };
                let together = all_found(&helped, strategy.algorithm(&told).as_mut(), settings);
                let alone = all_found(&inner, strategy.algorithm(&told).as_mut(), settings);
                assert_eq!(
                    together, alone,
                    "{strategy} with room for {states} states, {theme:?}, seed {seed}"
                );
                for helper in helped.helpers.into_inner().unwrap() {
                    helper.join().expect("it does not fail");
                    helpers += 1;
                }
            }
        }
        assert!(helpers > 40, "{strategy}: {helpers}");
    }
}

/// Compares what a search finds alone and with copies. Says how many executions were run ahead and used.
#[track_caller]
fn compare(strategy: Named, states: usize, theme: Theme, seed: u64) -> (u32, u32) {
    let told = Parameters { states, ..Parameters::bounded(2) };
    let limits = Settings { max_executions: Some(200), keep_going: true, ..Settings::default() };
    let settings = strategy.settings(&told, limits);
    let inner = Interpreter { spurious: seed as u32 / 4 % 3, ..Interpreter::new(generate(theme, seed)) };
    let shared = Mutex::new(Shared { random: seed, ..Shared::default() });
    let scouted = Scouted { inner: inner.clone(), shared };
    let together = all_found(&scouted, strategy.algorithm(&told).as_mut(), settings);
    let alone = all_found(&inner, strategy.algorithm(&told).as_mut(), settings);
    assert_eq!(together, alone, "{strategy} with room for {states} states, {theme:?}, seed {seed}");
    let shared = scouted.shared.into_inner().unwrap();
    (shared.run, shared.used)
}

#[test]
fn with_copies_it_finds_the_same() {
    let times: u64 = std::env::var("SELVEDGE_LONG").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    for (name, strategy) in Named::ALL {
        let (mut run, mut used) = (0, 0);
        for theme in [
            Theme::Atomics,
            Theme::Locks,
            Theme::Condvars,
            Theme::Threads,
            Theme::Cells,
            Theme::Joins,
            Theme::Mixed,
            Theme::Readers,
        ] {
            for seed in 0..20 * times {
                // In little memory what is forgotten must be the same too.
                let states = [usize::MAX, 40, 12][seed as usize % 3];
                let counts = compare(strategy, states, theme, seed);
                (run, used) = (run + counts.0, used + counts.1);
            }
        }
        assert!(used > 200, "{name}: {run} run, {used} used");
    }
}

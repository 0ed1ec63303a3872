//! An execution that another search has run is taken over as far as this search decides as it went; and it finds the
//! same as if it had run it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use selvedge_core::Decision;
use selvedge_stateless::strategy::{Named, Parameters};
use selvedge_stateless::{
    Coverage, Event, Execution, Explorer, LaunchError, LocalEvent, Onward, Plan, Program, Ran, Settings,
    Stop, Strategy,
};
use selvedge_testgen::{Interpreter, Theme, generate};

use crate::foreseen::{as_the_inner_one_does, as_the_inner_one_says};

/// What an execution is known by.
pub(crate) type Course = (Vec<Decision>, Onward, Option<u32>);

pub(crate) fn course(plan: &Plan<'_>) -> Course {
    ([plan.decisions, plan.likely].concat(), plan.onward, plan.yields)
}

/// What has been run, and what became of it.
#[derive(Default)]
struct Store {
    runs: HashMap<Course, Arc<Ran>>,
    /// The execution that was asked for last.
    asked: Course,
    /// So many may be run.
    left: u32,
    /// Executions that were found, those that were not taken over to the end, and those that were run.
    found: u32,
    strayed: u32,
    run: u32,
    was_found: bool,
}

/// A program whose executions were run by another search.
struct Known {
    inner: Interpreter,
    store: Mutex<Store>,
}

struct Reader<'p> {
    inner: Box<dyn Execution + 'p>,
    store: &'p Mutex<Store>,
}

impl Program for Known {
    fn launch(&self) -> Result<Box<dyn Execution + '_>, LaunchError> {
        Ok(Box::new(Reader { inner: self.inner.launch()?, store: &self.store }))
    }
}

impl Execution for Reader<'_> {
    fn was_run(&mut self, plan: &Plan<'_>) -> Option<Arc<Ran>> {
        let mut store = self.store.lock().unwrap();
        store.asked = course(plan);
        let found = store.runs.get(&store.asked).cloned();
        store.was_found |= found.is_some();
        store.found += u32::from(found.is_some());
        found
    }

    fn restart(&mut self) -> Result<(), LaunchError> {
        let mut store = self.store.lock().unwrap();
        store.left = store.left.checked_sub(1).ok_or_else(|| LaunchError("it is enough".into()))?;
        store.run += 1;
        store.strayed += u32::from(std::mem::take(&mut store.was_found));
        self.inner.restart()
    }

    as_the_inner_one_does! {}
    as_the_inner_one_says! {}
}

/// Searches that see the next steps of threads, and those that do not: one kind takes over nothing from the other.
const KINDS: [&[Named]; 3] = [
    &[Named::CbPor, Named::CbPorAll, Named::Bpor, Named::BporPlain, Named::Dpor, Named::Optimal],
    &[Named::Icb, Named::Dfs, Named::Delay, Named::Depth],
    &[Named::Random],
];

fn algorithm(strategy: Named, bound: u32) -> Box<dyn Strategy> {
    // Within a bound, `optimal` is `cb-por`.
    let unbounded = strategy == Named::Optimal;
    strategy.algorithm(&Parameters { delays: bound, unbounded, ..Parameters::bounded(bound) })
}

/// All that a search finds.
fn search(program: &dyn Program, strategy: Named, coverage: Coverage) -> impl PartialEq + std::fmt::Debug {
    let limits = Settings { max_executions: Some(150), keep_going: true, coverage, ..Settings::default() };
    let settings = strategy.settings(&Parameters::bounded(2), limits);
    all_found(program, algorithm(strategy, 2).as_mut(), settings)
}

/// The same for any strategy.
pub(crate) fn all_found(
    program: &dyn Program,
    strategy: &mut dyn Strategy,
    settings: Settings,
) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut explorer = Explorer::new(program, settings).unwrap();
    let found = explorer.search(strategy, &mut |_| ()).unwrap();
    let rows = found.rows.iter().map(|row| (row.bound, row.executions, row.distinct, row.states));
    let rows: Vec<_> = rows.collect();
    let counts = found.statistics;
    let mut orders: Vec<_> = explorer.terminal_orders().collect();
    orders.sort_unstable();
    let counts = (counts.executions, counts.steps, counts.depth, counts.states, counts.growth);
    (found.verdict, rows, counts, orders, explorer.executions_by_preemptions().to_vec())
}

/// Has one search run executions, within a lower bound or the same, and compares what another finds that takes them over.
/// Says how many were found, strayed from, and run.
fn compare(first: Named, second: Named, theme: Theme, seed: u64) -> [u32; 3] {
    let bound = 1 + seed as u32 % 2;
    let coverage = [Coverage::States, Coverage::Executions][seed as usize / 2 % 2];
    let inner = Interpreter { spurious: seed as u32 / 4 % 3, ..Interpreter::new(generate(theme, seed)) };
    let program = Known { inner: inner.clone(), store: Mutex::default() };
    let mut explorer = {
        let limits = Settings { coverage, ..Settings::default() };
        Explorer::new(&program, first.settings(&Parameters::bounded(bound), limits)).unwrap()
    };
    program.store.lock().unwrap().left = 100;
    explorer.run_through(algorithm(first, bound).as_mut(), &mut |run| {
        if let Some(explorer) = run {
            let mut copy = Ran::default();
            explorer.note_last(&mut copy);
            let mut store = program.store.lock().unwrap();
            let asked = store.asked.clone();
            store.runs.insert(asked, Arc::new(copy));
        }
    });
    drop(explorer);
    {
        let mut store = program.store.lock().unwrap();
        let runs = std::mem::take(&mut store.runs);
        *store = Store { runs, left: u32::MAX, ..Store::default() };
    }
    let (known, plain) = (search(&program, second, coverage), search(&inner, second, coverage));
    assert_eq!(known, plain, "{second} after {first}, {theme:?}, seed {seed}");
    let store = program.store.lock().unwrap();
    [store.found, store.strayed, store.run]
}

#[test]
fn what_another_search_has_run_is_taken_over() {
    for (kind, second) in KINDS.iter().flat_map(|kind| kind.iter().map(move |second| (kind, *second))) {
        let mut all = [0; 3];
        for first in kind.iter() {
            for theme in
                [Theme::Atomics, Theme::Locks, Theme::Condvars, Theme::Threads, Theme::Cells, Theme::Readers]
            {
                for seed in 0..20 {
                    let counts = compare(*first, second, theme, seed);
                    all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
                }
            }
        }
        let [found, strayed, run] = all;
        assert!(found > 400 && strayed > 10, "{second}: {found} found, {strayed} strayed, {run} run");
    }
}

//! What must be true of a reduced search of one program.

use std::collections::{BTreeSet, HashMap, HashSet};

use selvedge_core::{Assumption, AssumptionKind, Bounds, Decision, Guarantee, Verdict};
use selvedge_stateless::strategy::{Bpor, CbPor, Dpor, Looks, Named, Optimal, Parameters};
use selvedge_stateless::{
    Choice, Coverage, Explorer, Finished, Point, Prefix, Settings, StateHash, Strategy,
};
use selvedge_testgen::{End, Enumeration, Interpreter, Limits, Program, Run, Statement, enumerate};

pub(crate) type Verified = Result<(), String>;

/// A program with all its executions.
pub(crate) struct Case {
    interpreter: Interpreter,
    limits: Limits,
    pub(crate) brute: Enumeration,
}

/// What a search came to.
pub(crate) struct Found {
    pub(crate) executions: u64,
    pub(crate) orders: HashMap<StateHash, u32>,
    pub(crate) local_states: BTreeSet<StateHash>,
    pub(crate) states: usize,
    pub(crate) violation: Option<u32>,
    pub(crate) complete: bool,
    /// The fair bound, where it may have cut something off.
    pub(crate) fair: Option<u32>,
}

/// Runs given schedules.
struct Listed(Vec<Vec<Decision>>);

impl Strategy for Listed {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        prefix.expect = None;
        self.0.pop().map(|schedule| prefix.decisions = schedule).is_some()
    }

    fn choose(&self, _: &Point<'_>) -> Choice {
        Choice::Prune
    }

    fn finished(&mut self, _: &Finished<'_>) {}

    fn exhausted(&self) -> Option<Bounds> {
        None
    }

    fn cut(&self) -> bool {
        true
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Verified {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

/// Whether an execution was not ended by one of its steps.
fn went_to_the_end(run: &Run) -> bool {
    matches!(run.outcome.end, End::Complete | End::Deadlock)
}

/// Whether what a statement does to its object depends on the state that it is performed in, or it may be the first
/// to touch an object after other steps of its thread.
fn cannot_be_told_before(statement: &Statement) -> bool {
    use Statement::{
        Exchange, ExchangeWeak, NotifyAll, NotifyOne, ParkTimeout, TryLock, TryWriteLock, Wait, WaitTimeout,
    };
    matches!(
        statement,
        Exchange(..)
            | ExchangeWeak(..)
            | TryLock(_)
            | TryWriteLock(_)
            | NotifyOne(_)
            | NotifyAll(_)
            | ParkTimeout
            | Wait(_)
            | WaitTimeout(_)
    )
}

/// For bounds 0 to 3: terminal orders within the bound, and executions of `optimal`, of `bpor`, and of `optimal` without a
/// bound.
pub(crate) type Counts = [[u64; 4]; 4];

/// Of a program that may be too large to enumerate: `optimal` reaches the terminal orders that `dpor` reaches, and within
/// a bound those of them that `cb-por` reaches. Nothing is said of a program in which something goes wrong, or that is too
/// large for these too.
pub(crate) fn optimal_among_others(program: &Program) -> Option<Result<Counts, String>> {
    const MOST: u64 = 2_000;
    let interpreter = Interpreter::new(program.clone());
    let search = |strategy: &mut dyn Strategy| {
        let settings = Settings {
            yields: None,
            keep_going: true,
            shorten: 0,
            max_executions: Some(MOST),
            coverage: Coverage::Orders,
            ..Settings::default()
        };
        let mut explorer = Explorer::new(&interpreter, settings).expect("it can be run");
        let outcome = explorer.search(strategy, &mut |_| ()).expect("it is deterministic");
        let orders: HashSet<StateHash> = explorer.terminal_orders().map(|(order, _)| order).collect();
        outcome.holds().then_some((outcome.statistics.executions.unwrap_or(0), orders))
    };
    let none_missing = |what: &str, found: &HashSet<StateHash>, expected: &HashSet<StateHash>| {
        equal(what, found.intersection(expected).count(), expected.len())
    };
    let (_, all) = search(&mut Dpor::new())?;
    let (unbounded, found) = search(&mut Optimal::new())?;
    let mut verified = none_missing("orders", &found, &all);
    let mut counts = Counts::default();
    for (bound, counts) in (0..).zip(&mut counts) {
        let (_, expected) = search(&mut CbPor::new(Some(bound), None).at_bound())?;
        let (bpor, _) = search(&mut Bpor::new(Some(bound), false).at_bound())?;
        let told = Parameters { yields: None, at_bound: true, ..Parameters::bounded(bound) };
        let (executions, found) = search(Named::Optimal.algorithm(&told).as_mut())?;
        verified = verified
            .and_then(|()| none_missing(&format!("orders at {bound}"), &found, &expected))
            .and_then(|()| none_missing(&format!("orders at {bound} among all"), &all, &found))
            .and_then(|()| equal("orders", found.len(), expected.len()));
        *counts = [expected.len() as u64, executions, bpor, unbounded];
    }
    Some(verified.map(|()| counts))
}

impl Case {
    pub(crate) fn new(program: &Program, limits: Limits) -> Option<Case> {
        let brute = enumerate(program, limits)?;
        let Limits { race_mode, spurious, .. } = limits;
        let interpreter = Interpreter { race_mode, spurious, ..Interpreter::new(program.clone()) };
        Some(Case { interpreter, limits, brute })
    }

    /// The same executions, of which the engine is told something wrong.
    pub(crate) fn with_loads_that_write(mut self) -> Case {
        self.interpreter.loads_write = true;
        self
    }

    fn settings(&self) -> Settings {
        Settings {
            yields: self.limits.yields,
            max_steps: self.limits.max_steps,
            coverage: Coverage::LocalStates,
            keep_going: true,
            shorten: 0,
            ..Settings::default()
        }
    }

    pub(crate) fn search(&self, strategy: &mut dyn Strategy) -> Result<Found, String> {
        self.search_with(strategy, self.settings())
    }

    fn search_with(&self, strategy: &mut dyn Strategy, settings: Settings) -> Result<Found, String> {
        let settings = Settings { max_executions: Some(200_000), ..settings };
        let mut explorer = Explorer::new(&self.interpreter, settings).map_err(|error| error.to_string())?;
        let outcome = explorer.search(strategy, &mut |_| ()).map_err(|error| error.to_string())?;
        if let Verdict::Holds(guarantee) = &outcome.verdict {
            self.assumed(guarantee)?;
        }
        Ok(Found {
            executions: outcome.statistics.executions.unwrap_or(0),
            orders: explorer.terminal_orders().collect(),
            local_states: explorer.local_states().collect(),
            states: outcome.statistics.states.unwrap_or(0) as usize,
            violation: outcome.violation().map(|violation| violation.preemptions),
            complete: outcome.guarantee().is_some_and(|guarantee| guarantee.complete),
            fair: outcome.guarantee().and_then(|guarantee| guarantee.bounds.yields),
        })
    }

    /// What is assumed of spurious events: that none happens which was left out of an execution within the bound, and of no
    /// event that no execution at all leaves out.
    fn assumed(&self, guarantee: &Guarantee) -> Verified {
        let bound = guarantee.bounds.preemptions.filter(|_| !guarantee.complete).unwrap_or(u32::MAX);
        let left_out = |bound| -> Vec<Assumption> {
            self.brute.without(bound).into_iter().map(|one| one.assumption(self.limits.spurious)).collect()
        };
        let (least, most) = (left_out(bound), left_out(u32::MAX));
        let assumed = guarantee.assumptions.iter().filter(|one| one.kind != AssumptionKind::Fairness);
        let assumed: Vec<Assumption> = assumed.cloned().collect();
        let missing = least.iter().any(|one| !assumed.contains(one));
        let strange = assumed.iter().any(|one| !most.contains(one));
        equal("assumptions missing, too many", (missing, strange), (false, false))
    }

    /// The local states of the executions with at most so many preemptions.
    fn local_states(&self, preemptions: u32) -> Result<BTreeSet<StateHash>, String> {
        let runs = self.brute.within(preemptions).map(|run| run.schedule.clone()).collect();
        self.search(&mut Listed(runs)).map(|found| found.local_states)
    }

    /// Whether an execution is ended by one of its steps.
    fn fails(&self) -> bool {
        self.brute.runs.iter().any(|run| !went_to_the_end(run))
    }

    /// The terminal orders of the executions with at most so many preemptions that no step has ended.
    fn terminal_orders(&self, preemptions: u32) -> Result<HashSet<StateHash>, String> {
        let runs = self.brute.within(preemptions).filter(|run| went_to_the_end(run));
        let found = self.search(&mut Listed(runs.map(|run| run.schedule.clone()).collect()))?;
        Ok(found.orders.into_keys().collect())
    }

    fn none_missing(&self, found: &Found, preemptions: u32) -> Verified {
        let expected = self.terminal_orders(preemptions)?;
        let missing = expected.iter().filter(|order| !found.orders.contains_key(*order)).count();
        equal(&format!("orders missing within {preemptions} preemptions"), missing, 0)
    }

    fn least_violation(&self) -> Option<u32> {
        self.brute.runs.iter().filter(|run| run.is_violation()).map(|run| run.preemptions).min()
    }

    fn same_local_states(&self, found: &Found, preemptions: u32) -> Verified {
        let expected = self.local_states(preemptions)?;
        let missing = expected.difference(&found.local_states).count();
        let extra = found.local_states.difference(&expected).count();
        // Brute force leaves out what is left of an execution when every step exceeds one bound or the other.
        let extra = if self.limits.yields.is_some() { 0 } else { extra };
        equal("local states missing, too many", (missing, extra), (0, 0))
    }

    pub(crate) fn dpor(&self, optimised: bool) -> Verified {
        let mut dpor = Dpor::with(optimised);
        let found = self.search(&mut dpor)?;
        equal("violation", found.violation.is_some(), self.least_violation().is_some())?;
        if !self.fails() {
            let orders = self.brute.orders_within(u32::MAX);
            equal("orders", found.orders.len(), orders)?;
            // What a step that decides about a spurious event does to its object depends on the value that it chooses: one that
            // sleeps may be woken by what depends on another value.
            let executions = found.executions - dpor.blocked();
            let most = if self.limits.spurious > 0 { executions } else { orders as u64 };
            equal("executions not blocked", executions, most.max(orders as u64))?;
        }
        self.same_local_states(&found, u32::MAX)
    }

    /// Every terminal order that no step ends exactly once; and no other execution that no step ends, where what
    /// an operation does and to which object can be told before it is performed. Within a fair bound, perhaps more
    /// than once.
    pub(crate) fn optimal(&self) -> Verified {
        let mut optimal = Optimal::new().fair(self.limits.yields);
        let all = self.search(&mut optimal)?;
        equal("violation", all.violation.is_some(), self.least_violation().is_some())?;
        self.none_missing(&all, u32::MAX)?;
        if !self.fails() {
            equal("orders", all.orders.len(), self.brute.orders_within(u32::MAX))?;
            self.same_local_states(&all, u32::MAX)?;
        }
        if self.limits.yields.is_some() {
            return Ok(());
        }
        let to_the_end = all.executions - optimal.blocked() - optimal.failed();
        equal("executions", to_the_end, self.terminal_orders(u32::MAX)?.len() as u64)?;
        if !self.fails() {
            // Nor can it be told whether a spurious event happens.
            let is_open = self.limits.spurious > 0 || self.interpreter.program.has(cannot_be_told_before);
            let most = if is_open { all.executions / 4 } else { 0 };
            equal("blocked executions, no more", optimal.blocked().min(most), optimal.blocked())?;
        }
        let settings = Settings { keep_going: false, ..self.settings() };
        let found = self.search_with(&mut Optimal::new(), settings)?;
        equal("first violation", found.violation.is_some(), self.least_violation().is_some())
    }

    pub(crate) fn bpor(&self, optimised: bool) -> Verified {
        let most = self.brute.most_preemptions();
        for bound in 0..=most + 1 {
            let mut bpor =
                Bpor::new(Some(bound), self.limits.yields.is_some()).optimised(optimised).at_bound();
            let found = self.search(&mut bpor)?;
            self.same_local_states(&found, bound).map_err(|error| format!("bound {bound}: {error}"))?;
            let violated = self.least_violation().is_some_and(|least| least <= bound);
            equal("violation", found.violation.is_some(), violated)?;
        }
        let settings = Settings { keep_going: false, ..self.settings() };
        let found =
            self.search_with(&mut Bpor::new(Some(most + 1), self.limits.yields.is_some()), settings)?;
        equal("least violation", found.violation, self.least_violation())?;
        if found.violation.is_none() {
            equal("complete", found.complete, true)?;
        }
        Ok(())
    }

    /// What is said of a search within the default fair bound, where brute force has none: if the sentence does not name the
    /// bound, nothing was cut off; and programs without loops that yield need none.
    pub(crate) fn sentence(&self) -> Verified {
        use Named::{Bpor, BporPlain, CbPor, CbPorAll, Dfs, Icb, Optimal};
        let violated = self.least_violation().is_some();
        let orders = self.brute.orders_within(u32::MAX);
        let loops =
            |statement: &Statement| matches!(statement, Statement::SpinUntil(..) | Statement::Yields(_));
        let loops = self.interpreter.program.has(loops);
        for name in [Icb, Dfs, CbPor, CbPorAll, Bpor, BporPlain, Optimal] {
            for unbounded in [true, false] {
                let told = Parameters { unbounded, ..Parameters::default() };
                let settings = name.settings(&told, Settings { keep_going: true, ..self.settings() });
                let found = self.search_with(name.algorithm(&told).as_mut(), settings)?;
                let named = |what: &str| format!("{name}, unbounded: {unbounded}, {what}");
                if !loops {
                    equal(&named("fair bound"), found.fair, None)?;
                }
                if !violated && found.complete && found.fair.is_none() {
                    equal(&named("violation"), found.violation, None)?;
                    if !matches!(name, Bpor | BporPlain) {
                        equal(&named("orders"), found.orders.len(), orders)?;
                    }
                }
                if violated && found.violation.is_none() {
                    let is_named = found.fair.is_some() || !found.complete;
                    equal(&named("a violation is missed, and the bound named"), is_named, true)?;
                }
            }
        }
        Ok(())
    }

    /// A search that changes its strategy on the way, sooner or later, has the same answers.
    pub(crate) fn changes_strategy(&self) -> Verified {
        let orders = self.brute.orders_within(u32::MAX);
        for first in [0, 3, 10, 40, 100] {
            for (preemptions, unbounded) in
                [(Some(0), false), (Some(1), false), (Some(2), false), (None, true)]
            {
                let looks = Looks { first, a_step: 0 };
                let yields = self.limits.yields;
                let told = Parameters { preemptions, unbounded, yields, looks, ..Parameters::default() };
                let search = |keep_going: bool| {
                    let settings = Settings { keep_going, ..self.settings() };
                    self.search_with(Named::CbPor.algorithm(&told).as_mut(), settings)
                };
                let named = |what: &str| format!("{first} looks, within {preemptions:?}: {what}");
                let within = preemptions.unwrap_or(u32::MAX);
                let least = self.least_violation().filter(|least| *least <= within);
                let found = search(true)?;
                equal(&named("violation"), found.violation.is_some(), least.is_some())?;
                if !unbounded {
                    equal(&named("least violation"), search(false)?.violation, least)?;
                }
                if found.violation.is_none() {
                    self.same_local_states(&found, within).map_err(|error| named(&error))?;
                    let all = self.brute.orders_within(within) == orders;
                    equal(&named("complete, although not all was run"), found.complete && !all, false)?;
                    equal(&named("orders, more than there are"), found.orders.len().max(orders), orders)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn bpor_fair(&self) -> Verified {
        let mut bpor = Bpor::new(None, true);
        let found = self.search(&mut bpor)?;
        equal("violation", found.violation.is_some(), self.least_violation().is_some())?;
        self.same_local_states(&found, u32::MAX)
    }

    /// A search by name, within a bound or over all bounds up to it.
    fn within(&self, name: Named, bound: u32, at_bound: bool) -> Box<dyn Strategy> {
        name.algorithm(&Parameters { yields: self.limits.yields, at_bound, ..Parameters::bounded(bound) })
    }

    /// Every terminal order that an execution within the bound has, exactly once; and over all bounds together.
    pub(crate) fn once_within_bounds(&self, name: Named) -> Verified {
        let most = self.brute.most_preemptions();
        let all = self.brute.orders_within(u32::MAX);
        for bound in 0..=most + 1 {
            let found = self.search(self.within(name, bound, true).as_mut())?;
            let orders = self.brute.orders_within(bound);
            equal(&format!("orders at {bound}"), found.orders.len(), orders)?;
            equal("executions", found.executions, orders as u64)?;
            let violated = self.least_violation().is_some_and(|least| least <= bound);
            equal("violation", found.violation.is_some(), violated)?;
            let found = self.search(self.within(name, bound, false).as_mut())?;
            equal(&format!("orders over all bounds to {bound}"), found.orders.len(), orders)?;
            equal("executions over all bounds", found.executions, orders as u64)?;
            if found.complete {
                equal("all orders", orders, all)?;
            }
        }
        let settings = Settings { keep_going: false, ..self.settings() };
        let found = self.search_with(self.within(name, most + 1, false).as_mut(), settings)?;
        equal("least violation", found.violation, self.least_violation())?;
        if found.violation.is_none() {
            equal("complete", found.complete, true)?;
        }
        Ok(())
    }

    /// The same without a bound too.
    pub(crate) fn cb_por(&self) -> Verified {
        self.once_within_bounds(Named::CbPor)?;
        let orders = self.brute.orders_within(u32::MAX);
        let found = self.search(&mut CbPor::new(None, self.limits.yields).at_bound())?;
        equal("orders without a bound", found.orders.len(), orders)?;
        equal("executions without a bound", found.executions, orders as u64)
    }

    /// The same orders and violations where there is room for so many states.
    pub(crate) fn cb_por_remembering(&self, states: usize) -> Verified {
        let most = self.brute.most_preemptions();
        for bound in 0..=most {
            let mut search = CbPor::new(Some(bound), self.limits.yields).at_bound().remembering(states);
            let found = self.search(&mut search)?;
            equal(&format!("orders at {bound}"), found.orders.len(), self.brute.orders_within(bound))?;
        }
        let mut search = CbPor::new(Some(most + 1), self.limits.yields).remembering(states);
        let found = self.search(&mut search)?;
        equal("orders over all bounds", found.orders.len(), self.brute.orders_within(u32::MAX))?;
        let mut search = CbPor::new(Some(most + 1), self.limits.yields).remembering(states);
        let settings = Settings { keep_going: false, ..self.settings() };
        equal("least violation", self.search_with(&mut search, settings)?.violation, self.least_violation())
    }

    /// Every state within the bound.
    pub(crate) fn cb_por_all(&self) -> Verified {
        for bound in 0..=self.brute.most_preemptions() + 1 {
            let found = self.search(&mut CbPor::new(Some(bound), self.limits.yields).all())?;
            equal(&format!("states at {bound}"), found.states, self.brute.states_within(bound))?;
            equal("orders", found.orders.len(), self.brute.orders_within(bound))?;
        }
        Ok(())
    }
}

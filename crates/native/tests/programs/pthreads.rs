//! Generated programs of what pthreads has beyond plain locks and condition variables: cancellation, robust mutexes, time
//! limits, read-write locks, signals, exits and so on. What every execution has seen, one by one, is compared with what is
//! seen under each strategy that leaves executions out: the same must be, without a bound and within one. That rests on
//! what the runtime says of each operation, so that is checked by itself too: of two executions whose happens-before
//! graphs are the same, no thread may have seen something else.
//!
//! `SELVEDGE_LONG=N` runs N times as many programs, `SELVEDGE_SEED=N` begins with another.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use selvedge_core::{Bounds, Measure, ViolationKind};
use selvedge_native::{NativeProgram, Search};
use selvedge_stateless::strategy::{Lesson, Named, Parameters};
use selvedge_stateless::{
    Choice, Coverage, Error, Execution, Explorer, Finished, Point, Prefix, Report, Settings, StateHash,
    Strategy, Wanted,
};
use selvedge_testgen::Numbers;

use crate::common::{compile, has, instrument};

/// Programs with more executions are left out.
const EXECUTIONS: u64 = 1_000;
/// A bound that is none.
const HIGH: u32 = 100;

/// What an execution has printed, in the order of each thread, and whether a step ended it.
type Seen = (Vec<String>, bool);

/// A strategy, and what the executions that it asks for have seen.
struct Watched<'a> {
    strategy: Box<dyn Strategy>,
    native: &'a NativeProgram,
    seen: BTreeSet<Seen>,
    executions: u64,
    is_violated: bool,
    /// What was seen first in an execution with this happens-before graph, and what else was.
    by_state: BTreeMap<StateHash, Seen>,
    differs: Option<(Seen, Seen)>,
}

impl Strategy for Watched<'_> {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        self.strategy.next_prefix(prefix)
    }

    fn ahead(&self, wanted: Wanted<'_>) -> Option<Box<dyn Strategy + Send>> {
        self.strategy.ahead(wanted)
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        self.strategy.choose(point)
    }

    fn strays(&self) -> bool {
        self.strategy.strays()
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.strategy.finished(execution);
        self.executions += 1;
        if execution.pruned {
            return;
        }
        let mut lines: Vec<String> = self.native.output().lines().map(str::to_string).collect();
        // Stable: each thread's in their order.
        lines.sort_by_key(|line| line.as_bytes().first().copied());
        let seen = (lines, execution.stopped);
        let first = self.by_state.entry(execution.state).or_insert_with(|| seen.clone());
        if *first != seen {
            self.differs.get_or_insert_with(|| (first.clone(), seen.clone()));
        }
        self.seen.insert(seen);
    }

    fn teach(&mut self, lesson: &mut Lesson) {
        self.strategy.teach(lesson);
    }

    fn report(&mut self, execution: &Finished<'_>) -> Report {
        self.strategy.report(execution)
    }

    fn bound(&self) -> Option<(Measure, u32)> {
        self.strategy.bound()
    }

    fn exhausted(&self) -> Option<Bounds> {
        self.strategy.exhausted()
    }

    fn cut(&self) -> bool {
        self.strategy.cut()
    }

    fn wants_pending(&self) -> bool {
        // Which has states worked out.
        true
    }

    fn in_order(&self) -> bool {
        self.strategy.in_order()
    }
}

/// The statements of each thread; the first is `main`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program(Vec<Vec<String>>);

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bodies: Vec<String> = self.0.iter().map(|body| body.join(";")).collect();
        f.write_str(&bodies.join("|"))
    }
}

impl Program {
    fn of(text: &str) -> Self {
        let body = |body: &str| body.split(';').filter(|word| !word.is_empty()).map(str::to_string).collect();
        Program(text.split('|').map(body).collect())
    }

    /// Every program with a statement less.
    fn smaller(&self) -> Vec<Program> {
        let places =
            self.0.iter().enumerate().flat_map(|(body, all)| (0..all.len()).map(move |at| (body, at)));
        let without = |(body, at): (usize, usize)| {
            let mut program = self.clone();
            program.0[body].remove(at);
            program
        };
        places.map(without).collect()
    }
}

/// The executable that runs programs, with `pthread_cancel` and without it.
struct Interpreters {
    cancels: PathBuf,
    plain: PathBuf,
    /// Where atomic operations are steps.
    atomics: PathBuf,
}

impl Interpreters {
    fn new() -> Self {
        let source = "generated/pthreads.c";
        let atomics = instrument(source, &["-D_GNU_SOURCE"]);
        Interpreters { cancels: compile(source, &["-DCANCELS"]), plain: compile(source, &[]), atomics }
    }

    fn of(&self, program: &Program) -> &Path {
        let has = |name: &str| program.0.iter().flatten().any(|statement| statement.starts_with(name));
        match () {
            () if has("cancel") => &self.cancels,
            () if ATOMICS.iter().chain(WAITS).any(|(name, _)| has(name)) => &self.atomics,
            () => &self.plain,
        }
    }
}

fn search<'a>(
    native: &'a NativeProgram,
    explorer: &mut Explorer<dyn Execution + 'a>,
    strategy: Box<dyn Strategy>,
) -> Result<Watched<'a>, Error> {
    let mut watched = Watched {
        strategy,
        native,
        seen: BTreeSet::new(),
        executions: 0,
        is_violated: false,
        by_state: BTreeMap::new(),
        differs: None,
    };
    let outcome = explorer.search(&mut watched, &mut |_| ())?;
    watched.is_violated = outcome.violation().is_some();
    Ok(watched)
}

/// What each thread has seen by itself, and what it had before that.
fn local(seen: &BTreeSet<Seen>) -> BTreeSet<Vec<&str>> {
    let mut all = BTreeSet::new();
    for (lines, _) in seen {
        for thread in b'0'..b'4' {
            let own: Vec<&str> =
                lines.iter().map(String::as_str).filter(|line| line.as_bytes()[0] == thread).collect();
            all.extend((0..=own.len()).map(|length| own[..length].to_vec()));
        }
    }
    all
}

/// How two sets of what was seen differ, if they do.
fn differ(name: &str, all: &BTreeSet<Seen>, some: &BTreeSet<Seen>) -> Result<(), String> {
    let missing: Vec<&Seen> = all.difference(some).collect();
    let more: Vec<&Seen> = some.difference(all).collect();
    if missing.is_empty() && more.is_empty() {
        return Ok(());
    }
    Err(format!("{name}: {} of {} missing: {missing:?}\nmore: {more:?}", missing.len(), all.len()))
}

/// Whether no step ended an execution: where one does, what others would have done is left out.
fn all_end(all: &Watched<'_>) -> bool {
    all.seen.iter().all(|(_, stopped)| !stopped)
}

/// How many partial orders there are must not depend on the strategy, also where nothing that is seen tells them apart.
fn same_orders(name: &str, all: &Watched<'_>, some: &Watched<'_>) -> Result<(), String> {
    let (expected, orders) = (all.by_state.len(), some.by_state.len());
    if expected != orders && all_end(all) {
        return Err(format!("{name}: {orders} partial orders, and not {expected}"));
    }
    Ok(())
}

/// Says which program it was where a search fails.
struct Shown<'a>(&'a Program, Option<u32>);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {}, within {:?} yields", self.0, self.1);
        }
    }
}

/// Says whether the program is small enough, or what is different.
fn compare(interpreters: &Interpreters, program: &Program, yields: Option<u32>) -> Result<bool, String> {
    let _shown = Shown(program, yields);
    let native = NativeProgram::open(interpreters.of(program)).unwrap().arguments([program.to_string()]);
    let settings = Settings {
        yields,
        max_executions: Some(EXECUTIONS),
        max_steps: 200,
        coverage: Coverage::Executions,
        keep_going: true,
        shorten: 0,
        ..Settings::default()
    };
    // Where atomics overlap, that is found out first.
    let first = Search { strategy: Named::Icb, max_executions: settings.max_executions, ..Search::default() };
    let outcome = first.check(&native, None, &mut |_| ()).map_err(|error| format!("{error}"))?;
    // Executions that go on for ever take long, and their ends are not compared.
    if outcome.violation().is_some_and(|violation| violation.kind == ViolationKind::Livelock) {
        return Ok(false);
    }
    let mut explorer = Explorer::new(&native, settings).unwrap();
    let mut search = |name: &str, strategy: Named, preemptions: Option<u32>| {
        let unbounded = preemptions.is_none();
        let told = Parameters { preemptions, unbounded, yields, ..Parameters::default() };
        let watched = search(&native, &mut explorer, strategy.algorithm(&told));
        watched.map_err(|error| format!("{name}: {error}"))
    };
    let all = search("dfs", Named::Dfs, None)?;
    if all.executions >= EXECUTIONS {
        return Ok(false);
    }
    if let Some((first, second)) = all.differs {
        return Err(format!("the same graph: {first:?}\nand {second:?}"));
    }
    let strategies = [
        ("optimal", Named::Optimal, None),
        ("dpor", Named::Dpor, None),
        ("cb-por", Named::CbPor, Some(HIGH)),
        ("cb-por-all", Named::CbPorAll, Some(HIGH)),
        ("bpor", Named::Bpor, Some(HIGH)),
        ("optimal within bounds", Named::Optimal, Some(HIGH)),
    ];
    for (name, strategy, bound) in strategies {
        if strategy == Named::Dpor && yields.is_some() {
            continue; // it has no fair bound
        }
        let some = search(name, strategy, bound)?;
        differ(name, &all.seen, &some.seen)?;
        if strategy != Named::Bpor {
            same_orders(name, &all, &some)?;
        }
        if some.is_violated != all.is_violated {
            return Err(format!("{name}: violated: {}, and not {}", some.is_violated, all.is_violated));
        }
    }
    for bound in 0..=2 {
        let all = search("icb", Named::Icb, Some(bound))?;
        for strategy in [Named::CbPor, Named::CbPorAll, Named::Optimal, Named::Bpor] {
            let name = format!("{strategy} within {bound}");
            let some = search(&name, strategy, Some(bound))?;
            if strategy != Named::Bpor {
                differ(&name, &all.seen, &some.seen)?;
                same_orders(&name, &all, &some)?;
                // Each of them once.
                let orders = some.by_state.len() as u64;
                if strategy == Named::CbPor && some.executions != orders && all_end(&all) {
                    return Err(format!("{name}: {} executions of {orders} orders", some.executions));
                }
                continue;
            }
            // It promises what each thread may see by itself.
            let (expected, found) = (local(&all.seen), local(&some.seen));
            if !expected.is_subset(&found) {
                let missing: Vec<_> = expected.difference(&found).collect();
                return Err(format!("{name}: missing: {missing:?}"));
            }
        }
    }
    Ok(true)
}

/// Checks one program; says whether it was small enough. Of one that goes wrong the smallest part that does is shown.
fn verify(interpreters: &Interpreters, program: &Program, yields: Option<u32>) -> bool {
    let mut difference = match compare(interpreters, program, yields) {
        Ok(small) => return small,
        Err(difference) => difference,
    };
    let mut smallest = program.clone();
    let fails = |smaller: Program| compare(interpreters, &smaller, yields).err().map(|why| (smaller, why));
    while let Some((smaller, why)) = smallest.smaller().into_iter().find_map(fails) {
        (smallest, difference) = (smaller, why);
    }
    panic!("{smallest}, within {yields:?} yields (of {program}):\n{difference}");
}

/// What programs are made of.
#[derive(Clone, Copy, Debug)]
enum Theme {
    Cancellation,
    Mutexes,
    Locks,
    Signals,
    Exits,
    Joins,
    Mixed,
    Atomics,
    Waits,
    CancelledWaits,
}

/// Statements, each with how many objects there are of its kind. Where that is 0, the number is another thread's.
type Pool = &'static [(&'static str, u32)];

const SHARED: Pool =
    &[("add", 1), ("get", 1), ("clock", 1), ("choose", 1), ("yield", 1), ("up", 2), ("trydown", 2)];
const CANCELLATION: Pool = &[
    ("cancel", 0),
    ("cancel", 0),
    ("cancel", 0),
    ("testcancel", 1),
    ("disable", 1),
    ("enable", 1),
    ("push", 2),
    ("push", 2),
    ("lock", 4),
    ("lock", 1),
    ("unlock", 4),
    ("wait", 4),
    ("wait", 1),
    ("timedwait", 4),
    ("signal", 1),
    ("broadcast", 4),
    ("down", 2),
    ("timeddown", 2),
    ("sleep", 1),
    ("sigwait", 1),
    ("sigtimed", 1),
    ("kill", 0),
    ("once", 1),
    ("key", 2),
];
/// Waits that are begun with the mutex locked, so that a request to end may come at any point of them.
const CANCELLED_WAITS: Pool = &[
    ("cancel", 0),
    ("cancel", 0),
    ("cancel", 0),
    ("lock 0;wait", 1),
    ("lock 0;wait", 1),
    ("lock 0;timedwait", 1),
    ("lock 1;wait", 2),
    ("lock 1;lock 1;wait", 2),
    ("push", 2),
    ("unlock", 2),
    ("signal", 2),
    ("broadcast", 1),
    ("testcancel", 1),
    ("disable", 1),
    ("yield", 1),
    ("add", 1),
    ("detach", 0),
    ("leave", 1),
];
const MUTEXES: Pool = &[
    ("lock", 4),
    ("lock", 4),
    ("lock", 4),
    ("try", 4),
    ("timed", 4),
    ("unlock", 4),
    ("unlock", 4),
    ("consistent", 4),
    ("wait", 4),
    ("timedwait", 4),
    ("clockwait", 4),
    ("signal", 4),
    ("broadcast", 4),
    ("leave", 1),
];
const LOCKS: Pool = &[
    ("rd", 2),
    ("wr", 2),
    ("tryrd", 2),
    ("trywr", 2),
    ("timedrd", 2),
    ("timedwr", 2),
    ("rwunlock", 2),
    ("rwunlock", 2),
    ("down", 2),
    ("timeddown", 2),
    ("value", 2),
    ("barrier", 1),
    ("once", 1),
    ("sleep", 1),
];
const SIGNALS: Pool = &[
    ("kill", 0),
    ("kill", 0),
    ("queue", 0),
    ("killall", 1),
    ("queueall", 1),
    ("sigwait", 1),
    ("sigwait", 1),
    ("sigtimed", 1),
    ("sigpending", 1),
    ("unblock", 1),
];
const EXITS: Pool = &[
    ("exit", 1),
    ("_exit", 1),
    ("leave", 1),
    ("atexit", 1),
    ("key", 2),
    ("lock", 1),
    ("unlock", 1),
    ("lock", 4),
    ("sleep", 1),
    ("down", 2),
    ("join", 0),
];
const JOINS: Pool = &[
    ("join", 0),
    ("tryjoin", 0),
    ("timedjoin", 0),
    ("detach", 0),
    ("leave", 1),
    ("key", 2),
    ("sleep", 1),
    ("down", 2),
];

const ATOMICS: Pool = &[
    ("load1", 16),
    ("store1", 16),
    ("swap1", 16),
    ("load2", 8),
    ("store2", 8),
    ("swap2", 8),
    ("load4", 4),
    ("store4", 4),
    ("swap4", 4),
    ("load8", 2),
    ("store8", 2),
    ("swap8", 2),
];

/// Loops that wait, and what they wait for.
const WAITS: Pool = &[
    ("until", 2),
    ("open", 2),
    ("open", 2),
    ("enter", 1),
    ("enter", 1),
    ("vacate", 1),
    ("poll", 2),
    ("ask", 2),
    ("insist", 1),
    ("both", 2),
];
/// What may come between them.
const BETWEEN: Pool = &[("add", 1), ("get", 1), ("yield", 1), ("unlock", 1), ("lock", 1)];

impl Theme {
    fn pools(self) -> &'static [Pool] {
        match self {
            Theme::Cancellation => &[CANCELLATION, CANCELLATION, CANCELLATION, JOINS, SHARED],
            Theme::Mutexes => &[MUTEXES, MUTEXES, MUTEXES, SHARED],
            Theme::Locks => &[LOCKS, LOCKS, LOCKS, SHARED],
            Theme::Signals => &[SIGNALS, SIGNALS, SIGNALS, SHARED],
            Theme::Exits => &[EXITS, EXITS, SHARED],
            Theme::Joins => &[JOINS, JOINS, SHARED],
            Theme::Mixed => &[CANCELLATION, MUTEXES, LOCKS, SIGNALS, EXITS, JOINS, SHARED],
            Theme::Atomics => &[ATOMICS],
            Theme::Waits => &[WAITS, WAITS, BETWEEN],
            Theme::CancelledWaits => &[CANCELLED_WAITS],
        }
    }
}

fn generate(theme: Theme, seed: u64) -> Program {
    let mut draw = Numbers(seed << 8 | theme as u64);
    let count = 2 + draw.below(2);
    let mut let_go = BTreeSet::new();
    let mut body = |thread: usize| {
        let length = if count == 2 { 2 + draw.below(3) } else { 1 + draw.below(3) };
        let mut statements = Vec::new();
        while statements.len() < length {
            let pools = theme.pools();
            let pool = pools[draw.below(pools.len())];
            let (name, objects) = pool[draw.below(pool.len())];
            let number = match objects {
                0 => (thread + 1 + draw.below(count - 1)) % count,
                objects => draw.below(objects as usize),
            };
            // A thread may be joined or detached once: what comes of more is undefined.
            let lets_go = name.ends_with("join") || name == "detach";
            if lets_go && (number == 0 || !let_go.insert(number)) {
                continue;
            }
            // A second time limit that runs out while the process exits is what some strategies leave out.
            let is_timed = |name: &str| name.contains("timed") || name == "clockwait";
            if is_timed(name) && statements.iter().any(|statement: &String| is_timed(statement)) {
                continue;
            }
            statements.push(format!("{name} {number}"));
        }
        statements
    };
    Program((0..count).map(&mut body).collect())
}

fn verify_theme(theme: Theme, programs: u64) {
    if !has("gcc", "generated programs of pthreads") {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let programs = programs * number("SELVEDGE_LONG").unwrap_or(1);
    let begin = number("SELVEDGE_SEED").unwrap_or(0);
    let interpreters = Interpreters::new();
    let (mut verified, mut seed) = (0, 0);
    while verified < programs {
        let program = generate(theme, begin + seed);
        seed += 1;
        assert!(seed < programs * 100, "enough programs must be small enough");
        // Without a bound on yields a loop that waits goes on for ever.
        let yields = (seed % 4 == 0 || matches!(theme, Theme::Waits)).then_some(1);
        verified += u64::from(verify(&interpreters, &program, yields));
    }
}

#[test]
fn cancellation() {
    verify_theme(Theme::Cancellation, 120);
}

#[test]
fn cancelled_waits() {
    verify_theme(Theme::CancelledWaits, 60);
}

#[test]
fn mutexes() {
    verify_theme(Theme::Mutexes, 50);
}

#[test]
fn locks() {
    verify_theme(Theme::Locks, 50);
}

#[test]
fn signals() {
    verify_theme(Theme::Signals, 50);
}

#[test]
fn exits() {
    verify_theme(Theme::Exits, 100);
}

#[test]
fn joins() {
    verify_theme(Theme::Joins, 40);
}

#[test]
fn atomics_that_overlap() {
    verify_theme(Theme::Atomics, 100);
}

#[test]
fn loops_that_wait() {
    verify_theme(Theme::Waits, 40);
}

#[test]
fn mixed() {
    verify_theme(Theme::Mixed, 120);
}

/// Programs that a strategy was once wrong about, each as small as it can be.
fn verify_each(programs: &[&str]) {
    if !has("gcc", "programs of pthreads") {
        return;
    }
    let interpreters = Interpreters::new();
    for text in programs {
        for yields in [None, Some(1)] {
            assert!(verify(&interpreters, &Program::of(text), yields), "{text} is small enough");
        }
    }
}

#[test]
fn whoever_unblocks_a_signal_or_asks_for_it_may_be_early_or_late() {
    verify_each(&["trydown 1;unblock 0|queueall 0", "up 0;sigpending 0|kill 0"]);
}

#[test]
fn who_sleeps_where_a_context_begins_may_have_to_wait_for_another_there() {
    verify_each(&["add 0;timedjoin 2|sleep 0;add 0|choose 0"]);
}

#[test]
fn of_two_signals_which_is_waited_for_depends_on_their_order() {
    verify_each(&["kill 1;sigwait 0|kill 0;killall 0", "sigwait 0|killall 0|kill 0"]);
}

#[test]
fn a_thread_that_has_yet_to_yield_may_be_late_for_the_exit() {
    verify_each(&["timedjoin 1|yield 0"]);
}

#[test]
fn a_thread_that_is_cancelled_as_it_waits_goes_on_at_once() {
    verify_each(&["key 0|cancel 0;get 0", "key 0;down 0|cancel 0;get 0"]);
}

#[test]
fn a_thread_that_is_cancelled_before_it_waits_need_not_be_woken() {
    verify_each(&[
        "cancel 1|lock 0;wait 0|",
        "lock 0;wait 0|cancel 0;cancel 0",
        "detach 1;cancel 2|lock 0;wait 0;testcancel 0|lock 0;wait 0;add 0",
    ]);
}

#[test]
fn a_wait_may_be_over_before_the_request_to_end_it() {
    verify_each(&["timeddown 0|yield 0;cancel 0", "lock 0;timedwait 0|yield 0;cancel 0"]);
}

#[test]
fn time_is_not_carried_along_with_what_a_request_to_end_may_do() {
    verify_each(&["sigtimed 0;timeddown 0|cancel 0;clock 0"]);
}

#[test]
fn a_writer_may_come_before_readers_that_never_unlock() {
    verify_each(&["rd 0|wr 0|rd 0", "rd 0|rd 0;yield 0|wr 0;rd 1|rd 0", "rd 0|wr 0|rd 0;rwunlock 0;rd 0"]);
}

#[test]
fn a_thread_that_has_ended_may_be_sent_a_signal_before_it_is_joined() {
    verify_each(&["|kill 2|sigwait 0;kill 1", "killall 0|queue 0;kill 2;queue 0|sigwait 0;kill 1"]);
}

#[test]
fn a_handler_of_the_exit_may_be_registered_too_late() {
    verify_each(&[
        "|atexit 0",
        "exit 0|atexit 0;add 0|atexit 0",
        "atexit 0;lock 0;exit 0|add 0;yield 0|atexit 0;lock 0;key 1",
    ]);
}

#[test]
fn time_is_not_carried_along_with_what_only_reads() {
    verify_each(&[
        "trydown 0;clock 0||sleep 0;trydown 0",
        "clock 0;try 0|lock 0;clock 0|clock 0;try 0;clock 0|sleep 0",
    ]);
}

#[test]
fn a_semaphore_that_is_seen_late_begins_as_it_does() {
    verify_each(&["add 0;tryjoin 1;cancel 1|down 1", "signal 0;tryjoin 2;cancel 2|sigwait 0|down 1;add 0"]);
}

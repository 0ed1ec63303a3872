//! What an execution of a C program costs.
//!
//! `cargo run --release` here measures and writes RESULTS.md; with `-- --quick` it takes a tenth of the time and writes
//! nothing, and with `-- --only NAME` it measures one table (threads, steps, jobs, rate, processes, more, locks, work) and writes nothing. It
//! needs gcc.

#[path = "../../peers/src/results.rs"]
mod results;
#[path = "../../peers/src/table.rs"]
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use selvedge_native::{Ahead, Named, NativeProgram, Parameters, Search};

use crate::table::{Table, grouped};

const THREADS: &str = "## Threads

On one core, the first executions of `icb`, on threads that each take one lock: how many there are in a second of time on the wall, \
and the CPU time of one in microseconds, that of the program's processes and of the search together.";

const STEPS: &str = "## Steps

The same for 2 threads that take the lock more and more often; and what each step costs more, in microseconds of CPU \
time, than the steps of the row above. It stays the same where the cost of an execution grows linearly.";

const JOBS: &str = "## Jobs

With one job and with two (`--jobs 2`), 2 threads that each take the lock 8 times, within 8 preemptions: executions in a second \
of time on the wall, the CPU time of one in microseconds, how many times faster two are; how many times as many executions two searches \
with one job each run at the same time, which have nothing to do with each other: about as much as can be had of the machine; \
how much of that two jobs get; the part of the \
executions that had been run when they were asked for, and how many were run ahead for each that was used. \
What is found, and counted, is the same. All of a search is run, but of `random`, `pct` and \
whatever has more only so many executions as there are in a second or two. By turns, and the middle of the rounds in which the machine was quiet: \
by the system's own count (`steal` in /proc/stat), others had less than 2 % of each core while one job ran and while two did. There are rounds until 5 were quiet, \
or 10; of less than 3 there is no middle. The last two columns are how many of how many rounds were quiet, and what two jobs were worth in the middle of all of them.";

const RATE: &str = "## Jobs, at 5,000 executions a second

The same where threads compute before they take the lock, so long that one core runs some 5,000 executions in a second: \
2 threads that take it 8 times, within 6 preemptions.";

const PROCESSES: &str = "## Jobs, with a process for each execution

The same for the first program, which opens a pipe when it begins: that is not taken back, so that each execution has a process of its own; within 4 preemptions. \
From here on 3 quiet rounds of up to 6, which tells less.";

const MORE: &str = "## Jobs, of more threads at that rate

The same for 3 threads that take it 20 times, within 2 preemptions, as is the default; `delay` within 3 delays, since 2 are soon explored.";

const WORK: &str = "## Jobs, of a program that works

The same for 3 threads that take it 12 times, with a millisecond or so in an execution.";

const LOCKS: &str = "## Jobs, of a program with several locks

The same for threads that take 3 locks by turns, so that much of what they do can be done in any order: 3 threads at \
some 5,000 executions a second, and 4 threads with half a millisecond in an execution.";

/// Preemptions for a program that would be explored too soon within fewer, and where one takes longer; and as many as a search has
/// by default.
const MANY: u32 = 8;
const SOME: u32 = 6;
const FEWER: u32 = 4;
const DEFAULT: u32 = 2;

/// So often one core and two are compared.
const OFTEN: usize = 5;
const LESS: usize = 3;
/// At most so many times as many rounds are run until so many were quiet.
const PATIENCE: usize = 2;
/// Fewer quiet rounds tell nothing.
const FEW: usize = 3;
/// The part of the cores' time that others may have in a quiet round.
const QUIET: f64 = 0.02;

/// What some executions took.
struct Cost {
    executions: u64,
    steps: u64,
    wall: Duration,
    cpu: Duration,
    /// The part of the time of the cores that the system gave to others.
    stolen: f64,
    ahead: Ahead,
}

impl Cost {
    fn microseconds(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.executions as f64
    }

    fn length(&self) -> f64 {
        self.steps as f64 / self.executions as f64
    }

    fn rate(&self) -> String {
        grouped((self.executions as f64 / self.wall.as_secs_f64()) as u64)
    }
}

/// One job and two by turns, and what two searches get that do not know of each other.
struct Round {
    pair: [Cost; 2],
    apart: f64,
}

impl Round {
    fn faster(&self) -> f64 {
        seconds(&self.pair[0].wall) / seconds(&self.pair[1].wall)
    }

    fn is_quiet(&self) -> bool {
        self.pair.iter().all(|cost| cost.stolen < QUIET)
    }
}

fn main() {
    let only = only();
    let quick = only.is_none() && results::is_quick();
    let (program, forked) = (compile("program", &[]), compile("forked", &["-DOWN_PROCESS"]));
    let most = if quick { 500 } else { 5_000 };
    let everywhere = cores();
    let on_one_core = |table: &dyn Fn() -> String| {
        run_on(&one_of(&everywhere));
        let table = table();
        run_on(&everywhere);
        table
    };
    let one_lock = |threads, rounds, time| [threads, rounds, length(&program, threads, rounds, time), 1];
    let locks = |threads, rounds, time| [threads, rounds, length(&program, threads, rounds, time), 3];
    let all = |arguments, bound, most, times| jobs(&program, &Named::ALL, &[arguments], bound, most, times);
    let tables: [(&str, &str, &dyn Fn() -> String); 8] = [
        ("threads", THREADS, &|| on_one_core(&|| threads(&program, most))),
        ("steps", STEPS, &|| on_one_core(&|| steps(&program, most))),
        ("jobs", JOBS, &|| all([2, 8, 0, 1], MANY, most * 4, OFTEN)),
        ("rate", RATE, &|| all(one_lock(2, 8, 200.0), SOME, most * 2, OFTEN)),
        ("processes", PROCESSES, &|| jobs(&forked, &Named::ALL, &[[2, 8, 0, 1]], FEWER, most, LESS)),
        ("more", MORE, &|| all(one_lock(3, 20, 200.0), DEFAULT, most * 8 / 5, LESS)),
        ("locks", LOCKS, &|| {
            let programs = [locks(3, 12, 150.0), locks(4, 4, 500.0)];
            jobs(&program, &REDUCED, &programs, DEFAULT, most * 2, LESS)
        }),
        ("work", WORK, &|| all(one_lock(3, 12, 1_000.0), DEFAULT, most * 3 / 5, LESS)),
    ];
    let is_wanted = |name: &str| only.as_ref().is_none_or(|only| only == name);
    let wanted =
        tables.iter().filter(|(name, ..)| is_wanted(name)).map(|(_, heading, table)| (*heading, table()));
    let introduction = "# C and C++ programs\n\nWritten by `cargo run --release --manifest-path benches/native/Cargo.toml`.\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");
    results::write(introduction, wanted, (!quick && only.is_none()).then_some(path));
}

/// The one table that is wanted, if `--only NAME` was given.
fn only() -> Option<String> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next()? == "--only")
        .then(|| arguments.next().expect("--only is followed by the name of a table"))
}

/// The cores that this process may run on.
fn cores() -> libc::cpu_set_t {
    // SAFETY: zeros are a set, which the call fills in.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        assert_eq!(libc::sched_getaffinity(0, size, &raw mut cores), 0, "the system knows the cores");
        cores
    }
}

/// Has this process, and those that it starts from now on, run on these cores alone.
fn run_on(cores: &libc::cpu_set_t) {
    // SAFETY: a set of its own size.
    let done = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), cores) };
    assert_eq!(done, 0, "the cores are among those that it may run on");
}

/// The first of these cores.
fn one_of(cores: &libc::cpu_set_t) -> libc::cpu_set_t {
    // SAFETY: zeros are a set, and the cores are below its size.
    unsafe {
        let first = (0..libc::CPU_SETSIZE as usize).find(|core| libc::CPU_ISSET(*core, cores));
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(first.expect("it runs on one"), &mut one);
        one
    }
}

/// Strategies that run one of many executions that do the same in another order.
const REDUCED: [(&str, Named); 5] = [
    ("cb-por", Named::CbPor),
    ("cb-por-all", Named::CbPorAll),
    ("bpor", Named::Bpor),
    ("dpor", Named::Dpor),
    ("optimal", Named::Optimal),
];

/// How long so many threads are to compute before each of so many rounds for an execution to take so many microseconds, whatever
/// the machine.
fn length(program: &Path, threads: u32, rounds: u32, time: f64) -> u32 {
    const SAMPLE: u32 = 20_000;
    let [idle, busy] = [0, SAMPLE].map(|length| {
        let costs = [(); 5].map(|()| {
            measure(program, [threads, rounds, length, 1], MANY, 2_000, Named::Icb, 1).microseconds()
        });
        middle(costs.to_vec())
    });
    ((time - idle).max(0.0) / (busy - idle) * f64::from(SAMPLE)) as u32
}

fn jobs(
    program: &Path,
    strategies: &[(&str, Named)],
    arguments: &[[u32; 4]],
    bound: u32,
    most: u64,
    times: usize,
) -> String {
    let mut table = Table::new(&[
        "strategy",
        "one job",
        "two",
        "CPU",
        "CPU with two",
        "faster",
        "apart",
        "of that",
        "foreseen",
        "run",
        "quiet",
        "all",
    ]);
    for (arguments, (name, strategy)) in
        arguments.iter().flat_map(|at| strategies.iter().map(move |by| (at, by)))
    {
        // By turns: a machine that is shared is not always as fast.
        let run = |jobs| measure(program, *arguments, bound, most, *strategy, jobs);
        let mut rounds: Vec<Round> = Vec::new();
        let quiet = |rounds: &[Round]| rounds.iter().filter(|round| round.is_quiet()).count();
        while quiet(&rounds) < times && rounds.len() < times * PATIENCE {
            let pair = [1, 2].map(run);
            let apart = std::thread::scope(|scope| {
                let two = [(); 2].map(|()| scope.spawn(|| run(1).wall));
                two.map(|one| seconds(&pair[0].wall) / seconds(&one.join().expect("it is measured")))
            });
            rounds.push(Round { pair, apart: apart.iter().sum() });
        }
        let (all, found) = (rounds.len(), quiet(&rounds));
        let in_all = middle(rounds.iter().map(Round::faster).collect());
        if found >= FEW.min(times) {
            rounds.retain(Round::is_quiet);
        }
        let [one, two] = [0, 1].map(|side| {
            let mut costs: Vec<&Cost> = rounds.iter().map(|round| &round.pair[side]).collect();
            costs.sort_by_key(|cost| cost.wall);
            costs[costs.len() / 2]
        });
        let faster = middle(rounds.iter().map(Round::faster).collect());
        let apart = middle(rounds.iter().map(|round| round.apart).collect());
        assert_eq!((one.executions, one.steps), (two.executions, two.steps), "{name}: the same executions");
        let of_quiet = |text: String| if found >= FEW.min(times) { text } else { "-".into() };
        table.row(vec![
            (*name).into(),
            one.rate(),
            two.rate(),
            format!("{:.0}", one.microseconds()),
            format!("{:.0}", two.microseconds()),
            of_quiet(format!("{faster:.2}")),
            of_quiet(format!("{apart:.2}")),
            of_quiet(format!("{:.0} %", faster / apart * 100.0)),
            format!("{:.0} %", two.ahead.hit_rate() * 100.0),
            format!("{:.2}", two.ahead.run as f64 / two.ahead.used.max(1) as f64),
            format!("{found} of {all}"),
            format!("{in_all:.2}"),
        ]);
    }
    table.text()
}

fn seconds(time: &Duration) -> f64 {
    time.as_secs_f64()
}

/// The middle one of some numbers.
fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn threads(program: &Path, most: u64) -> String {
    let mut table = Table::new(&["threads", "steps", "executions", "a second", "CPU time"]);
    for (threads, rounds) in [(2, 8), (8, 2), (20, 1)] {
        let cost = measure(program, [threads, rounds, 0, 1], MANY, most, Named::Icb, 1);
        table.row(vec![
            threads.to_string(),
            format!("{:.0}", cost.length()),
            grouped(cost.executions),
            cost.rate(),
            format!("{:.0}", cost.microseconds()),
        ]);
    }
    table.text()
}

fn steps(program: &Path, most: u64) -> String {
    let mut table = Table::new(&["steps", "executions", "a second", "CPU time", "a step more"]);
    let mut before: Option<Cost> = None;
    for rounds in [8, 32, 128, 512] {
        let cost = measure(program, [2, rounds, 0, 1], MANY, most / 2, Named::Icb, 1);
        let more = before.as_ref().map_or_else(String::new, |before| {
            let time = cost.microseconds() - before.microseconds();
            format!("{:.2}", time / (cost.length() - before.length()))
        });
        table.row(vec![
            format!("{:.0}", cost.length()),
            grouped(cost.executions),
            cost.rate(),
            format!("{:.0}", cost.microseconds()),
            more,
        ]);
        before = Some(cost);
    }
    table.text()
}

/// Runs the first executions.
fn measure(program: &Path, arguments: [u32; 4], bound: u32, most: u64, strategy: Named, jobs: u32) -> Cost {
    let program = NativeProgram::open(program).expect("it was compiled for this");
    let program = program.arguments(arguments.map(|number| number.to_string())).jobs(jobs);
    let search = Search {
        strategy,
        parameters: Parameters { delays: bound + 1, depth: 24, ..Parameters::bounded(bound) },
        max_executions: Some(most),
        ..Search::default()
    };
    let (began, cpu, before) = (Instant::now(), cpu_time(), stolen());
    let outcome = search.check(&program, None, &mut |_| ()).expect("the program can be checked");
    let (wall, cpu) = (began.elapsed(), cpu_time() - cpu);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let stolen = (seconds(&stolen()) - seconds(&before)) / (seconds(&wall) * cores as f64);
    assert!(outcome.violation().is_none(), "the program is right");
    let statistics = outcome.statistics;
    Cost {
        executions: statistics.executions.expect("the stateless engine counts"),
        steps: statistics.steps.expect("the stateless engine counts"),
        wall,
        cpu,
        stolen,
        ahead: program.ahead(),
    }
}

/// For how long the cores of a virtual machine had work and were given to others, in all so far: in steps of a hundredth of a
/// second, and nothing on a machine of one's own.
fn stolen() -> Duration {
    const STEAL: usize = 8;
    let text = std::fs::read_to_string("/proc/stat").expect("the system counts the time of its cores");
    let hundredths = text.split_whitespace().nth(STEAL).and_then(|number| number.parse().ok());
    Duration::from_millis(10 * hundredths.unwrap_or(0))
}

/// The CPU time of this process, and of those that it has waited for.
fn cpu_time() -> Duration {
    let of = |whose| {
        // SAFETY: zeros are a usage, which the call fills in.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            assert_eq!(libc::getrusage(whose, &raw mut usage), 0, "the system knows the usage");
            usage
        };
        let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}

fn compile(name: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("target").join(name);
    std::fs::create_dir_all(folder.join("target")).expect("the target folder can be made");
    let source = folder.join("src/program.c");
    let mut gcc = Command::new("gcc");
    let status = gcc.args(["-O1", "-g", "-pthread"]).args(flags).arg("-o").arg(&program).arg(source).status();
    assert!(status.is_ok_and(|status| status.success()), "gcc compiles the program");
    program
}

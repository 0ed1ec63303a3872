//! Which executables can be checked, and starting one.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Object as _, ObjectSymbol as _};
use selvedge_core::{Assumption, AssumptionKind, Assumptions};
use selvedge_stateless::{Deadline, Execution, LaunchError, Onward, Program};

use crate::ahead::{Ahead, Company, Counts, Pool};
use crate::area::{SharedArea, memory_file};
use crate::cores::Core;
use crate::execution::NativeExecution;
use crate::kept::Course;
use crate::protocol::{self, AREA_VARIABLE, ASKS_WHERE, BIND_MARK, CPP, inputs, onward};
use crate::{suspects, unseen};

/// The runtime, as `build.rs` has built it.
pub(crate) const RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libselvedge_pthread.so"));

/// Why an executable cannot be checked: what is wrong with it, and what to do.
///
/// ```
/// use selvedge_native::NativeProgram;
/// let error = NativeProgram::open("/bin/sh-that-is-not-there".as_ref()).unwrap_err();
/// assert!(error.to_string().contains("cannot be read"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCheckable(String);

impl fmt::Display for NotCheckable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotCheckable {}

/// A dynamically linked executable, its arguments and its input.
///
/// ```no_run
/// use selvedge_native::NativeProgram;
/// let program = NativeProgram::open("./a.out".as_ref()).unwrap().fails_by_status(true);
/// ```
#[derive(Debug)]
pub struct NativeProgram {
    path: PathBuf,
    /// As it was called, which it sees as its own name.
    called: PathBuf,
    arguments: Vec<String>,
    input: Option<PathBuf>,
    fails_by_status: bool,
    /// It calls `pthread_cancel`.
    cancels: bool,
    /// Where it has the functions of C++'s library, if that is linked into it.
    cpp: [u64; CPP.len()],
    /// It is compiled to tell of every access to memory.
    is_instrumented: bool,
    /// Code in it that does not, by name.
    unseen: Vec<String>,
    /// What the last execution has printed.
    output: File,
    patience: Duration,
    race_mode: bool,
    /// Its atomics within so many bytes are taken for one; 0 as long as none were seen to overlap.
    atomics_together: AtomicU32,
    nondet: (i32, i32),
    spurious: u32,
    meant: Meant,
    /// The libraries that it has loaded when its `main` begins, once that was seen.
    libraries: OnceLock<Vec<PathBuf>>,
    /// Those of them that do not tell of their accesses, by name.
    unseen_loaded: OnceLock<Vec<String>>,
    jobs: u32,
    eager: bool,
    ahead: Arc<Counts>,
    endings: Arc<Endings>,
    /// What its executions were seen to ask for, some of [`inputs`].
    inputs: Arc<AtomicU32>,
}

/// With which exit status executions have ended.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    /// One has ended with 0.
    well: AtomicBool,
    /// Another status that there was; 0 if there was none.
    other: AtomicI32,
}

impl Endings {
    pub(crate) fn ended(&self, status: i32) {
        match status {
            0 => self.well.store(true, Ordering::Relaxed),
            other => self.other.store(other, Ordering::Relaxed),
        }
    }
}

impl NativeProgram {
    /// The program in this file, if it can be checked.
    ///
    /// # Errors
    /// When it cannot, with the reason.
    pub fn open(path: &Path) -> Result<Self, NotCheckable> {
        let because = |reason: &str| NotCheckable(format!("{} {reason}", path.display()));
        let data = std::fs::read(path).map_err(|error| because(&format!("cannot be read: {error}")))?;
        let found = examine(&data).map_err(|reason| because(&reason))?;
        if !is_executable(path) {
            return Err(because("may not be executed; make it executable (chmod +x)"));
        }
        let called = path.to_path_buf();
        let path = path.canonicalize().map_err(|error| because(&format!("cannot be found: {error}")))?;
        let output = memory_file(c"selvedge output");
        let output =
            output.map_err(|error| because(&format!("cannot be run: no memory for its output: {error}")))?;
        Ok(NativeProgram {
            path,
            called,
            arguments: Vec::new(),
            input: None,
            fails_by_status: false,
            cancels: found.cancels,
            cpp: found.cpp,
            is_instrumented: found.is_instrumented,
            unseen: found.unseen,
            output,
            patience: Duration::from_secs(20),
            race_mode: false,
            atomics_together: AtomicU32::new(0),
            nondet: (0, 2),
            spurious: 0,
            meant: found.meant,
            libraries: OnceLock::new(),
            unseen_loaded: OnceLock::new(),
            jobs: 1,
            eager: false,
            ahead: Arc::default(),
            endings: Arc::default(),
            inputs: Arc::default(),
        })
    }

    /// With these arguments.
    #[must_use]
    pub fn arguments(self, arguments: impl IntoIterator<Item = String>) -> Self {
        NativeProgram { arguments: arguments.into_iter().collect(), ..self }
    }

    /// With this file as its standard input, which is empty otherwise.
    #[must_use]
    pub fn input(self, file: Option<PathBuf>) -> Self {
        NativeProgram { input: file, ..self }
    }

    /// Whether to exit with a status other than 0 is a violation.
    #[must_use]
    pub fn fails_by_status(self, fails: bool) -> Self {
        NativeProgram { fails_by_status: fails, ..self }
    }

    /// How long, in real time, a step may take before the program is given up (20 seconds by default).
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        NativeProgram { patience, ..self }
    }

    /// The values that `__VERIFIER_nondet_*` are explored with, both ends included (0 to 2 by default).
    ///
    /// # Errors
    /// When the range is empty or has more than 65,536 values.
    ///
    /// ```no_run
    /// # use selvedge_native::NativeProgram;
    /// let program = NativeProgram::open("./a.out".as_ref()).unwrap().nondet(-1, 4).unwrap();
    /// ```
    pub fn nondet(self, from: i32, to: i32) -> Result<Self, NotCheckable> {
        if to < from || to.abs_diff(from) >= 1 << 16 {
            return Err(NotCheckable(format!(
                "{from}..{to} is empty, or longer than 65,536 values; give the smallest value first, as in 0..2"
            )));
        }
        Ok(NativeProgram { nondet: (from, to), ..self })
    }

    /// Lets waits on condition variables end for no reason, at most so many times in an execution, and weak
    /// compare-exchanges fail for none, at most as many times (0 by default).
    ///
    /// ```no_run
    /// # use selvedge_native::NativeProgram;
    /// let program = NativeProgram::open("./a.out".as_ref()).unwrap().spurious(1);
    /// ```
    #[must_use]
    pub fn spurious(self, most: u32) -> Self {
        NativeProgram { spurious: most, ..self }
    }

    /// On so many cores (1 by default): executions that a search will most likely ask for are run before it does. What
    /// it finds, and what it counts, stays the same.
    ///
    /// ```no_run
    /// # use selvedge_native::NativeProgram;
    /// let program = NativeProgram::open("./a.out".as_ref()).unwrap().jobs(2);
    /// ```
    #[must_use]
    pub fn jobs(self, jobs: u32) -> Self {
        NativeProgram { jobs, ..self }
    }

    /// Whether executions are run ahead however short they are. (They are not, if it takes longer to hand one over than to
    /// run it.)
    ///
    /// ```no_run
    /// # use selvedge_native::NativeProgram;
    /// let program = NativeProgram::open("./a.out".as_ref()).unwrap().jobs(2).eager(true);
    /// ```
    #[must_use]
    pub fn eager(self, eager: bool) -> Self {
        NativeProgram { eager, ..self }
    }

    /// How many executions were run ahead of time so far; nothing is counted on one core.
    ///
    /// ```no_run
    /// # use selvedge_native::NativeProgram;
    /// let program = NativeProgram::open("./a.out".as_ref()).unwrap().jobs(2);
    /// assert_eq!(program.ahead().asked, 0);
    /// ```
    pub fn ahead(&self) -> Ahead {
        self.ahead.get()
    }

    /// The same program, with an output of its own.
    pub(crate) fn twin(&self) -> std::io::Result<Self> {
        Ok(NativeProgram {
            path: self.path.clone(),
            called: self.called.clone(),
            arguments: self.arguments.clone(),
            input: self.input.clone(),
            fails_by_status: self.fails_by_status,
            cancels: self.cancels,
            cpp: self.cpp,
            is_instrumented: self.is_instrumented,
            unseen: self.unseen.clone(),
            output: memory_file(c"selvedge output")?,
            patience: self.patience,
            race_mode: self.race_mode,
            atomics_together: AtomicU32::new(self.atomics_together()),
            nondet: self.nondet,
            spurious: self.spurious,
            meant: self.meant.clone(),
            libraries: self.libraries.clone(),
            unseen_loaded: OnceLock::new(),
            jobs: 1,
            eager: self.eager,
            ahead: Arc::default(),
            endings: self.endings.clone(),
            inputs: self.inputs.clone(),
        })
    }

    /// Whether plain accesses to memory are scheduling points. Needs a program that `selvedge cc` has compiled.
    ///
    /// # Errors
    /// When the program is not compiled for it.
    pub fn race_mode(self, race_mode: bool) -> Result<Self, NotCheckable> {
        if race_mode && !self.is_instrumented {
            let path = self.path.display();
            return Err(NotCheckable(format!(
                "{path} does not tell of its accesses to memory; for race mode compile it with `selvedge cc` or \
                 `selvedge c++`"
            )));
        }
        Ok(NativeProgram { race_mode, ..self })
    }

    /// The exit status of its executions, if none has ended with 0: what was to be checked may never have been run.
    pub fn failing_status(&self) -> Option<i32> {
        let other = self.endings.other.load(Ordering::Relaxed);
        (other != 0 && !self.endings.well.load(Ordering::Relaxed)).then_some(other)
    }

    pub(crate) fn endings(&self) -> &Endings {
        &self.endings
    }

    /// What in it may make it depend on more than its schedule, by the functions that it and its libraries call: "random
    /// numbers (getrandom)".
    pub fn suspects(&self) -> Vec<String> {
        suspects::of(&self.path, self.libraries())
    }

    fn libraries(&self) -> &[PathBuf] {
        self.libraries.get().map_or(&[], Vec::as_slice)
    }

    /// It has loaded these files.
    pub(crate) fn loads<'a>(&self, files: impl Iterator<Item = &'a Path>) {
        self.libraries
            .get_or_init(|| files.filter(|file| *file != self.path).map(Path::to_path_buf).collect());
    }

    /// What the last execution has printed, to standard output and standard error, as far as it is of interest: at
    /// most its last 8 KiB.
    pub fn output(&self) -> String {
        let mut file = &self.output;
        let mut printed = Vec::new();
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        if length > 0 {
            let from = length.saturating_sub(MOST_OUTPUT as u64 + 1);
            // What cannot be read from memory is not there.
            let _ = file.seek(SeekFrom::Start(from)).and_then(|_| file.read_to_end(&mut printed));
        }
        let from = printed.len().saturating_sub(MOST_OUTPUT);
        let text = String::from_utf8_lossy(&printed[from..]).into_owned();
        if from > 0 { format!("...{text}") } else { text }
    }

    /// Starts it, and waits until it is about to enter `main`, or the search is to stop: then that is the error.
    pub(crate) fn start(&self, deadline: &Deadline) -> Result<Zygote, LaunchError> {
        let failed = |what: &str, error: &dyn fmt::Display| {
            LaunchError(format!("{}: {what}: {error}", self.path.display()))
        };
        let area = SharedArea::new().map_err(|error| failed("no memory to share with it", &error))?;
        area.get().race_mode.store(u32::from(self.race_mode), Ordering::Relaxed);
        area.get().atomics_together.store(self.atomics_together(), Ordering::Relaxed);
        let (from, to) = self.nondet;
        area.get().nondet_from.store(from as u32, Ordering::Relaxed);
        area.get().nondet_count.store(to.abs_diff(from) + 1, Ordering::Relaxed);
        area.get().spurious.store(self.spurious, Ordering::Relaxed);
        area.get().cancels.store(u32::from(self.cancels), Ordering::Relaxed);
        self.meant.write(area.get());
        for (place, function) in area.get().cpp.iter().zip(self.cpp) {
            place.store(function, Ordering::Relaxed);
        }
        let mut runtime =
            memory_file(c"selvedge runtime").map_err(|error| failed("no memory for the runtime", &error))?;
        runtime.write_all(RUNTIME).map_err(|error| failed("no memory for the runtime", &error))?;
        let (shared, runtime) = (inherited(area.descriptor()), inherited(runtime.as_raw_fd()));
        let (Some(shared), Some(runtime)) = (shared, runtime) else {
            return Err(failed("no file descriptor is left", &std::io::Error::last_os_error()));
        };
        let input = match &self.input {
            Some(path) => File::open(path).map_err(|error| failed(&path.display().to_string(), &error))?,
            None => File::open("/dev/null").map_err(|error| failed("/dev/null", &error))?,
        };
        let duplicate = |file: &File| {
            file.try_clone().map(OwnedFd::from).map_err(|error| failed("no file descriptor is left", &error))
        };
        // Appending, so that an execution begins with what is there: nothing, once it is cut off.
        set_flags(&self.output, libc::O_APPEND);
        let mut command = Command::new(&self.path);
        command
            .arg0(&self.called)
            .args(&self.arguments)
            .stdin(Stdio::from(duplicate(&input)?))
            .stdout(Stdio::from(duplicate(&self.output)?))
            .stderr(Stdio::from(duplicate(&self.output)?))
            .env(AREA_VARIABLE, shared.as_raw_fd().to_string());
        let mut preloaded = OsString::from(format!("/proc/self/fd/{}", runtime.as_raw_fd()));
        if let Some(before) = std::env::var_os("LD_PRELOAD") {
            // What the user preloads comes after ours, and is all that processes which the program starts see.
            preloaded.push(":");
            preloaded.push(&before);
            command.env("SELVEDGE_PRELOAD_BEFORE", before);
        }
        command.env("LD_PRELOAD", preloaded);
        if std::env::var_os("LD_BIND_NOW").is_none() {
            // Functions are looked up once, rather than by every execution that calls them.
            command.env("LD_BIND_NOW", "1").env(BIND_MARK.to_str().expect("ASCII"), "1");
        }
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // What a terminal sends on Ctrl-C is for the command, which ends the program in its own time.
                libc::setpgid(0, 0);
                // Addresses are the same from run to run, so that a schedule can be replayed.
                libc::personality(0x0004_0000);
                Ok(())
            });
        }
        let child = command.spawn().map_err(|error| failed("it cannot be started", &error))?;
        let mut zygote = Zygote { child, area, input };
        let began = Instant::now();
        while !zygote.area.wait(Duration::from_millis(50)) {
            if let Ok(Some(status)) = zygote.child.try_wait() {
                return Err(failed(
                    "it ended before its main began",
                    &format!("{status}\n{}", self.output()),
                ));
            }
            if let Some(reason) = deadline.reached() {
                return Err(LaunchError(reason));
            }
            if began.elapsed() > self.patience {
                let message = "it does not come to its main: does a constructor wait, or create threads?";
                return Err(LaunchError(format!("{}: {message}", self.path.display())));
            }
        }
        match zygote.area.text() {
            refusal if refusal.is_empty() => Ok(zygote),
            refusal => Err(LaunchError(format!("{}: {refusal}", self.path.display()))),
        }
    }

    /// Starts it for a search that this deadline ends.
    pub(crate) fn launch_within<'a>(
        &'a self,
        deadline: Deadline,
    ) -> Result<Box<dyn Execution + 'a>, LaunchError> {
        let company = match self.jobs as usize {
            0 | 1 => Company::Nobody,
            jobs => Company::Scouts(Box::new(Pool::new(jobs, self.eager, self.ahead.clone()))),
        };
        let zygote = self.start(&deadline)?;
        let core = Core::choose(self.jobs as usize);
        Ok(Box::new(NativeExecution::new(self, zygote, company, core, deadline)))
    }

    /// Atomics within so many bytes are one object, or each is its own. What was found out before that changes is of no use.
    pub(crate) fn atomics_together(&self) -> u32 {
        self.atomics_together.load(Ordering::Relaxed)
    }

    /// Atomic operations that were taken for independent overlap within so many bytes.
    pub(crate) fn has_mixed_atomics(&self, bytes: u32) {
        self.atomics_together.fetch_max(bytes, Ordering::Relaxed);
    }

    /// How many spurious events of each kind an execution may have.
    pub(crate) fn spurious_events(&self) -> u32 {
        self.spurious
    }

    /// An execution has asked for these inputs.
    pub(crate) fn asks_for(&self, inputs: u32) {
        self.inputs.fetch_or(inputs, Ordering::Relaxed);
    }

    /// Adds what answers about it take for granted, by what its executions have done so far.
    pub(crate) fn assume(&self, assumptions: &mut Assumptions) {
        let asked = self.inputs.load(Ordering::Relaxed);
        let (from, to) = self.nondet;
        if asked & inputs::NUMBERS != 0 {
            assumptions.add(Assumption::new(AssumptionKind::Inputs, format!("inputs in {from}..{to}")));
        }
        if asked & inputs::POINTERS != 0 {
            assumptions.add(Assumption::new(AssumptionKind::Inputs, "null for pointers that are inputs"));
        }
        if !self.is_instrumented {
            assumptions.add(AssumptionKind::UnseenMemory);
            return;
        }
        let loaded = self.unseen_loaded.get_or_init(|| unseen::loaded(self.libraries()));
        let unseen: Vec<String> = self.unseen.iter().chain(loaded).cloned().collect();
        if !unseen.is_empty() {
            assumptions.add(Assumption::new(AssumptionKind::UnseenCode, unseen::phrase(&unseen)));
        }
    }

    pub(crate) fn is_in_race_mode(&self) -> bool {
        self.race_mode
    }

    pub(crate) fn exit_status_matters(&self) -> bool {
        self.fails_by_status
    }

    pub(crate) fn how_patient(&self) -> Duration {
        self.patience
    }

    /// What may help, if it does not come back.
    pub(crate) fn remedy(&self, runs: bool) -> &'static str {
        let libraries = self.libraries.get().into_iter().flatten();
        if libraries.filter_map(|file| file.file_name()?.to_str()).any(suspects::is_openmp) {
            "; the threads of OpenMP are not controlled: run it with OMP_THREAD_LIMIT=1, or build it without OpenMP"
        } else if runs && !self.is_instrumented {
            "; if it waits for another thread by looking at memory, compile it with `selvedge cc`: then that is seen"
        } else {
            ""
        }
    }
}

impl Program for NativeProgram {
    fn launch(&self) -> Result<Box<dyn Execution + '_>, LaunchError> {
        self.launch_within(Deadline::default())
    }
}

/// So much of what a program prints is of interest.
const MOST_OUTPUT: usize = 8192;

/// Sets how a file that is open is read and written.
fn set_flags(file: &File, flags: libc::c_int) {
    // SAFETY: a file that is open, and numbers.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags) };
}

/// The process that executions are forked from.
pub(crate) struct Zygote {
    child: Child,
    pub(crate) area: SharedArea,
    /// Shared with the executions, which all read from the same place on.
    input: File,
}

impl Zygote {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Begins an execution. After the decisions that it begins with, and those that are foreseen, it goes on by itself,
    /// or asks.
    pub(crate) fn request(&mut self, course: &Course, foreseen: &[u32], ahead: bool) {
        self.area.set_plan(course.decisions.iter().chain(foreseen).copied());
        let area = self.area.get();
        let (way, number, seed, longest) = match course.onward {
            _ if !ahead => (onward::NOT, 0, 0, 0),
            Onward::Unknown => (onward::NOT, 0, 0, 0),
            Onward::Calmly => (onward::CALMLY, course.yields.unwrap_or(u32::MAX), 0, 0),
            Onward::AtRandom { seed } => (onward::AT_RANDOM, 0, seed, 0),
            Onward::ByPriority { seed, longest, drops } => (onward::BY_PRIORITY, drops, seed, longest),
        };
        area.onward.store(way, Ordering::Relaxed);
        area.onward_number.store(number, Ordering::Relaxed);
        area.onward_seed.store(seed, Ordering::Relaxed);
        area.onward_longest.store(longest, Ordering::Relaxed);
        self.area.request();
    }

    /// Puts the program's input and output back for the next execution, if those before may have read or written any.
    pub(crate) fn put_files_back(&mut self, program: &NativeProgram) {
        if self.area.get().touches_files.swap(0, Ordering::Relaxed) == 0 {
            return;
        }
        // It is read from the beginning. Not everything can be read twice; then the program sees its end.
        let _ = self.input.rewind();
        if program.output.metadata().is_ok_and(|metadata| metadata.len() > 0) {
            // A file in memory can always be cut off.
            let _ = program.output.set_len(0);
        }
        // The flags of both may have been changed, and are of the open files, which all executions share.
        set_flags(&self.input, 0);
        set_flags(&program.output, libc::O_APPEND);
    }

    /// The process of the execution, if there is one.
    pub(crate) fn execution(&self) -> Option<u32> {
        Some(self.area.get().pid.load(Ordering::Acquire)).filter(|pid| *pid != 0)
    }

    /// Asks an execution that does not come back where it is. If it says so, it has ended.
    pub(crate) fn interrupt_execution(&self) {
        if let Some(pid) = self.execution() {
            let pid = pid as libc::pid_t;
            // SAFETY: as in `kill_execution`. Threads take turns on the first.
            unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, ASKS_WHERE) };
        }
    }

    /// Ends the process of an execution that does not come back, if it has begun.
    pub(crate) fn kill_execution(&self) {
        if let Some(pid) = self.execution() {
            // SAFETY: a process that the zygote has forked and not waited for: no other has this number.
            unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
        }
    }

    /// Whether it is still there.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        // If they wait for requests, its processes end by themselves, and the time that they took is known to the system.
        self.area.leave();
        let began = Instant::now();
        while self.is_alive() && began.elapsed() < Duration::from_millis(20) {
            std::thread::sleep(Duration::from_micros(100));
        }
        // Its executions end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A descriptor for the same file that a program which is started inherits, and that is out of its way.
fn inherited(descriptor: RawFd) -> Option<OwnedFd> {
    // SAFETY: duplicates a descriptor of ours; the copy is ours too.
    unsafe {
        let copy = libc::fcntl(descriptor, libc::F_DUPFD, 200);
        (copy >= 0).then(|| OwnedFd::from_raw_fd(copy))
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: a C string.
    unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
}

/// Functions that mean something by their names, as verification benchmarks have them: where each begins and ends.
#[derive(Clone, Debug, Default)]
struct Meant {
    /// Those that are atomic sections.
    sections: Vec<[u64; 2]>,
    /// The one by whose `abort` something is assumed.
    assumes: [u64; 2],
    /// The one by which C++'s library yields before it waits.
    lingers: [u64; 2],
}

impl Meant {
    const SECTION: &str = "__VERIFIER_atomic_";
    const ASSUMES: &str = "assume_abort_if_not";
    const LINGERS: &str = "_ZNSt8__detail14__thread_yieldEv";

    /// Those of a file, unless they are too many.
    fn of(file: &ElfFile64<'_, object::Endianness>) -> Result<Self, String> {
        let mut meant = Meant::default();
        for symbol in file.symbols().filter(|symbol| symbol.is_definition()) {
            let (name, begin) = (as_written(symbol.name().unwrap_or_default()), symbol.address());
            let place = [begin, begin + symbol.size()];
            match name.strip_prefix(Meant::SECTION) {
                Some("begin" | "end") => {}
                Some(_) => meant.sections.push(place),
                None if name == Meant::ASSUMES => meant.assumes = place,
                None if symbol.name() == Ok(Meant::LINGERS) => meant.lingers = place,
                None => {}
            }
        }
        if meant.sections.len() > protocol::SECTIONS {
            return Err(format!("has more than {} functions {}...", protocol::SECTIONS, Meant::SECTION));
        }
        Ok(meant)
    }

    /// Tells the program.
    fn write(&self, area: &protocol::Area) {
        area.section_count.store(self.sections.len() as u32, Ordering::Relaxed);
        let sections = area.sections.iter().zip(&self.sections);
        let others = [(&area.assumes, &self.assumes), (&area.lingers, &self.lingers)];
        for (place, function) in sections.chain(others) {
            place.iter().zip(function).for_each(|(place, address)| place.store(*address, Ordering::Relaxed));
        }
    }
}

/// The name of a function in its source, where C++ has added its parameters: `_Z3addi` is `add`, and `_ZL3addi` a static one.
fn as_written(name: &str) -> &str {
    let written = name.strip_prefix("_Z").and_then(|rest| {
        let rest = rest.strip_prefix('L').unwrap_or(rest);
        let name = rest.trim_start_matches(|character: char| character.is_ascii_digit());
        name.get(..rest[..rest.len() - name.len()].parse().ok()?)
    });
    written.unwrap_or(name)
}

struct Found {
    cancels: bool,
    meant: Meant,
    cpp: [u64; CPP.len()],
    is_instrumented: bool,
    unseen: Vec<String>,
}

/// Looks at an executable; an error says why it cannot be checked.
fn examine(data: &[u8]) -> Result<Found, String> {
    if !data.starts_with(b"\x7fELF") {
        return Err("is not an ELF executable".into());
    }
    match data.get(4) {
        Some(2) => {}
        Some(1) => return Err("is a 32-bit program; build it for x86_64 (without -m32)".into()),
        _ => return Err("is not an executable of a known class".into()),
    }
    let damaged = |error: object::Error| format!("is damaged: {error}");
    let file = ElfFile64::<object::Endianness>::parse(data).map_err(damaged)?;
    let (header, endian) = (file.elf_header(), file.endian());
    if header.e_machine(endian) != object::elf::EM_X86_64 {
        return Err("is for another processor than x86_64".into());
    }
    match header.e_type(endian) {
        object::elf::ET_EXEC | object::elf::ET_DYN => {}
        object::elf::ET_REL => return Err("is an object file; link it first (gcc FILE.o -pthread)".into()),
        _ => return Err("is not an executable".into()),
    }
    let mut headers = file.elf_program_headers().iter();
    let interpreter = headers.find_map(|header| header.interpreter(endian, data).ok().flatten());
    let Some(interpreter) = interpreter else {
        return Err(
            "is statically linked or a shared library, so that nothing can be preloaded into it; link it \
                    dynamically (without -static)"
                .into(),
        );
    };
    let interpreter = String::from_utf8_lossy(interpreter).into_owned();
    if !Path::new(&interpreter).exists() {
        return Err(format!(
            "needs the program interpreter {interpreter}, which is not here; install it, or build it on this system"
        ));
    }
    let asks = |name: &str| suspects::asks(&file, name);
    // A static library of a sanitizer's is in the program, a shared one is asked for.
    let has = |name: &str| {
        let mut symbols = file.symbols().chain(file.dynamic_symbols());
        symbols.any(|symbol| symbol.name().is_ok_and(|found| found == name))
    };
    for (begins, name) in [("__asan_init", "address"), ("__lsan_init", "leak")] {
        if has(begins) {
            return Err(format!(
                "is built with the {name} sanitizer, which takes over what Selvedge does; build it without \
                 -fsanitize={name}"
            ));
        }
    }
    let needs_sanitizer = file.elf_dynamic_table().is_ok_and(|table| {
        let needed = table.iter().filter(|entry| entry.tag == object::elf::DT_NEEDED);
        let mut names = needed.filter_map(|entry| table.string(entry).ok());
        names.any(|name| name.starts_with(b"libtsan.so") || name.starts_with(b"libclang_rt.tsan"))
    });
    // `selvedge cc` has the runtime in its place, which is nowhere in the program itself.
    let mut symbols = file.symbols().chain(file.dynamic_symbols());
    if needs_sanitizer
        || symbols
            .any(|symbol| !symbol.is_undefined() && symbol.name().is_ok_and(|name| name == "__tsan_init"))
    {
        return Err(
            "is linked with the thread sanitizer's own library, which takes over what Selvedge does; build it with \
                    `selvedge cc` or `selvedge c++`, or without -fsanitize=thread"
                .into(),
        );
    }
    let mut cpp = [0; CPP.len()];
    for symbol in file.symbols().filter(|symbol| symbol.is_definition()) {
        let name = symbol.name_bytes().unwrap_or_default();
        if let Some(number) = CPP.iter().position(|function| function.to_bytes() == name) {
            cpp[number] = symbol.address();
        }
    }
    Ok(Found {
        cancels: asks("pthread_cancel"),
        meant: Meant::of(&file)?,
        cpp,
        is_instrumented: asks("__tsan_init"),
        unseen: unseen::noted(&file, data),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number 0 would be this process and all those that were started with it.
    #[test]
    fn an_execution_that_has_not_begun_is_not_ended() {
        let program = NativeProgram::open("/bin/true".as_ref()).unwrap();
        let mut zygote = program.start(&Deadline::default()).unwrap();
        assert_eq!(zygote.execution(), None);
        zygote.kill_execution();
        assert!(zygote.is_alive());
        let came_back = |zygote: &Zygote| zygote.area.wait(Duration::from_secs(20));
        zygote.request(&Course::default(), &[], false);
        assert!(came_back(&zygote), "it asks");
        while zygote.execution().is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        // It is this side's turn already, and stays so.
        zygote.kill_execution();
        let began = Instant::now();
        while zygote.area.status().is_none() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_micros(100));
        }
        assert_eq!(zygote.area.status().map(|status| libc::WTERMSIG(status)), Some(libc::SIGKILL));
        assert_eq!(zygote.execution(), None, "its number may be another's now");
    }

    #[test]
    fn what_cannot_be_checked_is_refused_by_name() {
        let mut elf = std::fs::read("/proc/self/exe").unwrap();
        elf.truncate(1 << 20);
        elf[4] = 1;
        assert!(examine(&elf).err().unwrap().contains("32-bit"));
        assert!(examine(b"#!/bin/sh\n").err().unwrap().contains("not an ELF"));
        assert!(examine(b"\x7fELF").err().unwrap().contains("class"));
        assert!(examine(b"\x7fELF\x02\x01\x01").err().unwrap().contains("damaged"));
    }
}

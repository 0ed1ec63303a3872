//! The program under test, as the engine sees it.

use std::fmt;
use std::sync::Arc;

use selvedge_core::{
    Assumptions, Decision, Location, MemoryOrder, ObjectId, Op, ThreadId, ThreadSet, ViolationKind,
};

use crate::explore::Ran;
use crate::gate::Gate;
use crate::settings::Settings;
use crate::strategy::{Strategy, Wanted};

/// A program that can be run again and again. It must do the same whenever it is given the same decisions.
pub trait Program: Sync {
    /// Prepares to run it. One execution object serves for any number of runs.
    fn launch(&self) -> Result<Box<dyn Execution + '_>, LaunchError>;
}

/// [`Strategy::ahead`], of the search that runs.
pub type Ahead<'a> = &'a mut dyn FnMut(Wanted<'_>) -> Option<Box<dyn Strategy + Send>>;

/// What is known of a run before it begins. Nothing is promised.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan<'a> {
    /// The decisions that it begins with.
    pub decisions: &'a [Decision],
    /// Those that most likely follow them.
    pub likely: &'a [Decision],
    /// How it most likely goes on then.
    pub onward: Onward,
    /// Decisions that may follow all these, as far as that can be foreseen.
    pub foreseen: &'a [Decision],
    /// Whether it is most likely ended after them.
    pub ends: bool,
    /// The fair bound that is in force.
    pub yields: Option<u32>,
    /// Whether each of its steps will be described: then it may take its time to know where they are.
    pub is_told: bool,
    /// Whether its [state](Execution::state) will be asked for.
    pub is_watched: bool,
}

/// How a run most likely goes on after what is planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Onward {
    /// Without preemption, and with the first of the values that can be chosen.
    #[default]
    Calmly,
    /// That is not known: each decision is to be waited for.
    Unknown,
    /// At random: see [`strategy::Random`](crate::strategy::Random).
    AtRandom {
        /// Where the random numbers begin.
        seed: u64,
    },
    /// The thread with the highest priority goes first: see [`strategy::Pct`](crate::strategy::Pct).
    ByPriority {
        /// Where the random numbers begin.
        seed: u64,
        /// How long a run is thought to be.
        longest: u64,
        /// How often the priority of the running thread drops.
        drops: u32,
    },
}

/// One run of a program, stopped before each visible operation.
///
/// The engine calls [`restart`](Execution::restart), then [`step`](Execution::step) until no thread is
/// enabled, a step reports a [`Stop`], or the engine has seen enough; then it calls
/// [`finish`](Execution::finish).
pub trait Execution {
    /// What is known of the next run; nothing is promised. For an execution that can go ahead by itself.
    fn plan(&mut self, _plan: &Plan<'_>) {}

    /// Whether what is planned is of use to it.
    fn heeds_plans(&self) -> bool {
        false
    }

    /// Whether runs that will be asked for after the next one can be prepared meanwhile.
    fn runs_ahead(&self) -> bool {
        false
    }

    /// Prepares later runs, with a copy of the search that says which these are, and what it has set.
    fn run_ahead(&mut self, _settings: Settings, _search: Ahead<'_>) {}

    /// The run with this plan, if it was prepared. If not, it comes next.
    fn was_run(&mut self, _plan: &Plan<'_>) -> Option<Arc<Ran>> {
        None
    }

    /// Takes the memory back of a run that was prepared and has been used.
    fn was_used(&mut self, _run: Arc<Ran>) {}

    /// Begins a new run: thread 0 exists and is about to start.
    fn restart(&mut self) -> Result<(), LaunchError>;

    /// The threads that can take their next step.
    fn enabled(&self) -> &ThreadSet;

    /// Those of the enabled threads that can go on only because a time limit may run out: they wait, and
    /// switching away from one of them preempts nothing.
    fn waiting(&self) -> &ThreadSet;

    /// How many threads there are or were in this run.
    fn thread_count(&self) -> usize;

    /// Whether every thread has ended.
    fn all_ended(&self) -> bool;

    /// What a thread will do when it is scheduled.
    fn pending(&self, thread: ThreadId) -> Op;

    /// What a thread's next step waits for. With [`word`](Execution::word) and
    /// [`is_signalled`](Execution::is_signalled) it must say the same as [`enabled`](Execution::enabled) and
    /// [`waiting`](Execution::waiting), and the word of an object must change only in steps that touch it.
    fn gate(&self, thread: ThreadId) -> Gate;

    /// Whether a thread whose gate hears signals has one.
    fn is_signalled(&self, thread: ThreadId) -> bool;

    /// The state of an object, as far as gates test it.
    fn word(&self, object: ObjectId) -> u64;

    /// Lets a thread take its next step, up to its next visible operation; or, when the step that was
    /// begun asked for a value, goes on with that value.
    fn step(&mut self, decision: Decision) -> Event;

    /// What the last step did that is not a scheduling point, in order. The engine clears it.
    fn local_events(&mut self) -> &mut Vec<LocalEvent>;

    /// The place in the program of the operation that the last step performed.
    fn site(&self) -> Site;

    /// The last step for people. Costs time; called for counterexamples only.
    fn describe(&self) -> Description;

    /// The name of a thread.
    fn thread_name(&self, thread: ThreadId) -> String;

    /// The name of an object, for people: `mutex #2`.
    fn object_name(&self, object: ObjectId) -> String;

    /// Why a thread that has not ended cannot go on, for people, and the place where it waits.
    fn why_blocked(&self, thread: ThreadId) -> Description;

    /// The source location of a place.
    fn locate(&self, site: Site) -> Option<Location>;

    /// Whether what was done there to a cell was to free it, which is as good as to write.
    fn frees(&self, _site: Site) -> bool {
        false
    }

    /// For a run in which no thread can go on: something that went wrong before and was still on its way to
    /// be noticed, such as a panic that is unwinding.
    fn in_flight(&self) -> Option<Stop> {
        None
    }

    /// Whether a run has shown that the program has steps which were not counted as such. What was explored
    /// before says nothing then: the caller must launch the program anew and begin again.
    fn is_outdated(&self) -> bool {
        false
    }

    /// Why a run was ended before it came to anything, if the search is to stop: what it ended with is no result. It stays
    /// so.
    fn was_cut_short(&self) -> Option<String> {
        None
    }

    /// What the program goes on by, between two steps; `None` if that cannot be seen. Asked of a run that was
    /// [planned](Plan::is_watched) for it, and not beyond where it is.
    fn state(&mut self) -> Option<State> {
        None
    }

    /// Whether a thread waits for ever because what it has assumed is not so. What others do is what they would have done
    /// before it came there; but that they wait for ever says nothing.
    fn is_infeasible(&self) -> bool {
        false
    }

    /// Adds what answers about this program take for granted, as far as the last run has shown. Called after each run.
    fn assume(&self, _assumptions: &mut Assumptions) {}

    /// Ends the run, whether or not its threads have ended, and gives back what it holds. Whatever is wrong
    /// with a run that ended by itself (a leak) is said here.
    fn finish(&mut self) -> Option<Stop>;
}

/// A place in the program, known to the execution that issued it. 0 is no place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site(pub usize);

/// A hash of what a program goes on by at some point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All of it.
    Whole(u64),
    /// What its threads have of their own, and the states of objects; not what they share, and change by operations.
    Threads(u64),
}

/// What came of a step.
#[derive(Debug)]
pub enum Event {
    /// The thread performed this operation, and has reached its next one or its end.
    Performed(Op),
    /// The operation needs one of so many values; the next decision is a [`Decision::Value`].
    Choose(u32),
    /// The thread performed this operation, and then something went wrong.
    Stopped(Op, Box<Stop>),
}

/// Something that happened within a step, between two scheduling points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalEvent {
    /// The thread created this thread. Creating a thread commutes with whatever other threads do, so it is
    /// no scheduling point; and the new thread has run up to its first visible operation.
    Spawned(ThreadId),
    /// What follows was done by this thread: one that was just created, on its way to its first operation,
    /// or again the one that created it.
    By(ThreadId),
    /// A memory fence. Memory is sequentially consistent, so it matters to the race detector alone.
    Fence(MemoryOrder),
    /// A tracked cell was read.
    Read(ObjectId, Site),
    /// A tracked cell was written.
    Write(ObjectId, Site),
    /// An atomic was read without synchronisation, so that it must not be stored to meanwhile.
    Unsync(ObjectId, Site),
    /// What the thread has done is published through the object, after what others published.
    Release(ObjectId),
    /// What was published through the object is now behind the thread.
    Acquire(ObjectId),
    /// The cell is gone: its memory may become another's.
    Retire(ObjectId),
}

/// Why a run stopped short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What went wrong.
    pub kind: StopKind,
    /// What went wrong, in words.
    pub message: String,
    /// Where.
    pub location: Option<Location>,
}

/// Why a run was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    /// The program did something that it must not.
    Violation(ViolationKind),
    /// The program cannot be checked: it did something that the engine does not support.
    Unsupported,
    /// The program does not do what it has done before when it was told the same.
    Different,
    /// Nothing: the program assumes something that is not so in this run, which is therefore of no interest.
    Infeasible,
}

/// A step, or the wait of a thread, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// What: `lock mutex #1`.
    pub text: String,
    /// The values that are involved, where they are known.
    pub value: Option<String>,
    /// Where.
    pub location: Option<Location>,
}

/// A program could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchError(pub String);

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program could not be started: {}", self.0)
    }
}

impl std::error::Error for LaunchError {}

/// Why there is no verdict: the tool, or the way it is used, failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The program could not be started.
    Launch(LaunchError),
    /// The program behaved differently when it was run again with the same decisions.
    Nondeterministic {
        /// The step at which the difference showed, from 0.
        step: usize,
        /// What the difference is.
        difference: String,
        /// Where in the program, if known.
        location: Option<Location>,
    },
    /// The program did something that the engine does not support.
    Unsupported(Stop),
    /// A schedule that was given to replay does not fit the program.
    Replay {
        /// The step at which it ceased to fit, from 0.
        step: usize,
        /// Why.
        message: String,
    },
}

impl Error {
    /// Why there is no verdict where an execution was ended after so many steps, and not by a violation.
    pub(crate) fn of(stop: Stop, step: usize) -> Self {
        match stop.kind {
            StopKind::Different => {
                Error::Nondeterministic { step, difference: stop.message, location: stop.location }
            }
            _ => Error::Unsupported(stop),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Launch(error) => error.fmt(f),
            Error::Nondeterministic { step, difference, location } => {
                write!(
                    f,
                    "the program is not deterministic: run again with the same schedule, it differs at step {step}"
                )?;
                if let Some(location) = location {
                    write!(f, " ({location})")?;
                }
                write!(
                    f,
                    ": {difference}. A checked program must depend on nothing but the schedule: look for state \
                     that outlives an execution (a static, a captured variable), random numbers, hash map order, \
                     the real clock, or threads and locks of std instead of selvedge's"
                )
            }
            Error::Unsupported(stop) => {
                f.write_str(&stop.message)?;
                match &stop.location {
                    Some(location) => write!(f, " ({location})"),
                    None => Ok(()),
                }
            }
            Error::Replay { step, message } => write!(
                f,
                "the schedule does not fit this program at step {step}: {message}. Was the program changed \
                 since the schedule was recorded?"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Self {
        Error::Launch(error)
    }
}

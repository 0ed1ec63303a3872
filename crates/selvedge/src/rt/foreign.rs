//! Threads that a checked program creates with std.
//!
//! A check does not control such a thread. What it does to Selvedge's types would go past the check, since outside of one
//! they are std's; so its first operation is refused, and ends the check with an error.
//!
//! A thread inherits the signal mask of its creator. Each check has a real-time signal of its own, which is blocked on the
//! OS thread that explores and nowhere else: a thread that has it blocked was created in that check.

use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};

use selvedge_stateless::{Stop, StopKind};

/// How many checks run in this process. Where there is none no thread is asked where it comes from.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Refuses the caller if it runs on a thread that a check's program has created with std. Only outside of a check.
#[inline(always)]
#[track_caller]
pub(super) fn refuse() {
    if RUNNING.load(Ordering::Relaxed) > 0 {
        mark::refuse(Location::caller());
    }
}

/// What a check says of such a thread.
fn unsupported(thread: &str, site: &'static Location<'static>) -> Stop {
    Stop {
        kind: StopKind::Unsupported,
        message: format!(
            "{thread} was created with std::thread in this check and uses Selvedge's types: a check controls only threads \
             that it has created. Use selvedge::thread (spawn, scope, Builder) instead of std::thread"
        ),
        location: Some(super::describe::location(site)),
    }
}

pub(crate) use mark::Mark;

#[cfg(target_os = "linux")]
mod mark {
    use std::cell::Cell;
    use std::panic::Location;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use selvedge_stateless::Stop;

    use super::{RUNNING, unsupported};

    /// How many checks of a process can be told apart: fewer than there are real-time signals.
    const MOST: usize = 24;

    /// How long a check waits at its end for threads of its own that have yet to do something.
    const LAST: Duration = Duration::from_millis(100);

    /// What there is for each signal.
    struct Check {
        taken: AtomicBool,
        refused: AtomicBool,
        first: Mutex<Option<Stop>>,
    }

    static CHECKS: [Check; MOST] = [const {
        Check { taken: AtomicBool::new(false), refused: AtomicBool::new(false), first: Mutex::new(None) }
    }; MOST];

    thread_local! {
        /// The check that this thread was created in, by number; known once it is asked for.
        static CREATED_IN: Cell<Option<Option<usize>>> = const { Cell::new(None) };
    }

    fn signal(number: usize) -> libc::c_int {
        libc::SIGRTMAX() - number as libc::c_int
    }

    /// Blocks or unblocks a signal on this thread.
    fn mask(how: libc::c_int, number: usize) {
        // SAFETY: the set is initialised before it is used, and both outlive the calls.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, signal(number));
            libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
        }
    }

    /// The checks whose signals are blocked on this thread.
    fn blocked() -> impl Iterator<Item = usize> {
        // SAFETY: as in `mask`; a null set asks for the mask.
        let set = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut set);
            set
        };
        // SAFETY: the set was filled in, and the signal exists.
        (0..MOST).filter(move |number| unsafe { libc::sigismember(&raw const set, signal(*number)) } == 1)
    }

    #[cold]
    pub(super) fn refuse(site: &'static Location<'static>) {
        let created_in = CREATED_IN.get().unwrap_or_else(|| {
            let taken = |number: &usize| CHECKS[*number].taken.load(Ordering::Acquire);
            let found = blocked().find(taken);
            CREATED_IN.set(Some(found));
            found
        });
        let Some(check) = created_in.map(|number| &CHECKS[number]) else { return };
        if std::thread::panicking() {
            return;
        }
        let current = std::thread::current();
        let name = current.name().map_or_else(|| "a thread".into(), |name| format!("the thread {name}"));
        let stop = unsupported(&name, site);
        let message = stop.message.clone();
        check.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(stop);
        check.refused.store(true, Ordering::Release);
        panic!("{message}");
    }

    /// The mark of a check on the OS thread that explores, and on all that are created there meanwhile.
    pub(crate) struct Mark {
        number: Option<usize>,
        /// No other thread has it any more.
        is_alone: AtomicBool,
    }

    impl Mark {
        /// Marks this thread. (Where more checks run at a time than can be told apart, some have no mark.)
        pub(crate) fn new() -> Self {
            CREATED_IN.set(Some(None));
            let blocked: Vec<usize> = blocked().collect();
            let number = (0..MOST).find(|number| {
                !blocked.contains(number) && !CHECKS[*number].taken.swap(true, Ordering::AcqRel)
            });
            if let Some(number) = number {
                mask(libc::SIG_BLOCK, number);
                RUNNING.fetch_add(1, Ordering::Relaxed);
            }
            Mark { number, is_alone: AtomicBool::new(false) }
        }

        /// Whether a thread was refused.
        #[inline(always)]
        pub(crate) fn has_refused(&self) -> bool {
            self.number.is_some_and(|number| CHECKS[number].refused.load(Ordering::Relaxed))
        }

        /// Which thread was refused, if one was.
        pub(crate) fn refused(&self) -> Option<Stop> {
            let number = self.number.filter(|_| self.has_refused())?;
            CHECKS[number].first.lock().unwrap_or_else(PoisonError::into_inner).clone()
        }

        /// At the end: waits a moment for threads that have the mark and have yet to do something, until one is refused.
        pub(crate) fn refused_at_last(&self) -> Option<Stop> {
            let began = Instant::now();
            while let Some(number) = self.number
                && !self.has_refused()
                && began.elapsed() < LAST
            {
                if !others_block(number) {
                    self.is_alone.store(true, Ordering::Relaxed);
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            self.refused()
        }
    }

    impl Drop for Mark {
        fn drop(&mut self) {
            let Some(number) = self.number else { return };
            RUNNING.fetch_sub(1, Ordering::Relaxed);
            mask(libc::SIG_UNBLOCK, number);
            // A thread that lives on must not be taken for one of a later check.
            if self.is_alone.load(Ordering::Relaxed) || !others_block(number) {
                let check = &CHECKS[number];
                *check.first.lock().unwrap_or_else(PoisonError::into_inner) = None;
                check.refused.store(false, Ordering::Relaxed);
                check.taken.store(false, Ordering::Release);
            }
        }
    }

    /// Whether another thread of this process has the signal of a check blocked.
    fn others_block(number: usize) -> bool {
        // SAFETY: it only asks for a number.
        let own = unsafe { libc::gettid() }.to_string();
        let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return false };
        let bit = 1_u64 << (signal(number) - 1);
        threads.flatten().filter(|thread| thread.file_name().to_str() != Some(own.as_str())).any(|thread| {
            let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
            mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
                .is_some_and(|mask| mask & bit != 0)
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod mark {
    use std::panic::Location;

    use selvedge_stateless::Stop;

    pub(super) fn refuse(_: &'static Location<'static>) {}

    /// Threads of std's are not told apart here.
    pub(crate) struct Mark;

    impl Mark {
        pub(crate) fn new() -> Self {
            Mark
        }

        pub(crate) fn has_refused(&self) -> bool {
            false
        }

        pub(crate) fn refused(&self) -> Option<Stop> {
            None
        }

        pub(crate) fn refused_at_last(&self) -> Option<Stop> {
            None
        }
    }
}

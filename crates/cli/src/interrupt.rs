//! Being asked to stop, by Ctrl-C, SIGTERM or SIGHUP: one flag for every engine, and word for the programs that run
//! for us.
//!
//! A program runs in a process group of its own, so that it and its children are told once, whichever signal it was
//! and wherever it was sent to; and so that they can be ended. Executables are an exception: the processes of
//! `selvedge-native` are copies of this one, which are told by its own handler.

use std::fmt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

static STOP: AtomicBool = AtomicBool::new(false);

/// The programs that run.
static RUNNING: Mutex<Vec<Group>> = Mutex::new(Vec::new());

/// A second signal so soon after the first is the same wish: `timeout` sends one to the process, and then to its group.
const SAME: Duration = Duration::from_millis(100);

/// A program that was asked to stop and has not stopped after this time is ended. What it has covered is lost then, so
/// this is more than a search needs on a machine with other work to do.
const PATIENCE: Duration = Duration::from_secs(3);

/// A process group.
#[derive(Clone, Copy)]
struct Group {
    /// The number of its first process.
    id: u32,
    /// Whether it has something to say when it is asked to stop.
    answers: bool,
}

/// The flag that is set by the first signal. A second one ends this process, with status 130.
pub(crate) fn stop() -> &'static AtomicBool {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let mut first: Option<Instant> = None;
        // There is no other handler; if there were, the search could simply not be interrupted.
        let _ = ctrlc::set_handler(move || match first {
            None => {
                first = Some(Instant::now());
                STOP.store(true, Ordering::SeqCst);
                running().iter().for_each(|group| group.ask());
                std::thread::spawn(|| {
                    std::thread::sleep(PATIENCE);
                    running().iter().for_each(|group| group.end());
                });
            }
            Some(first) if first.elapsed() < SAME => {}
            Some(_) => {
                running().iter().for_each(|group| group.end());
                std::process::exit(130);
            }
        });
    });
    &STOP
}

/// That a signal came before there was a result.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted before a check ended, so there is no result; run it again")
    }
}

impl std::error::Error for Interrupted {}

/// Whether a signal has come.
pub(crate) fn stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}

fn running() -> MutexGuard<'static, Vec<Group>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program that a signal to us stops as well; `None` if one has come before it was started.
pub(crate) struct Told(Group);

impl Told {
    /// Starts it. One that `answers` gets SIGINT, as from a terminal; another, SIGTERM.
    pub(crate) fn start(command: &mut Command, answers: bool) -> std::io::Result<Option<(Told, Child)>> {
        stop();
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut running = running();
        if stopped() {
            return Ok(None);
        }
        let child = command.spawn()?;
        let group = Group { id: child.id(), answers };
        running.push(group);
        Ok(Some((Told(group), child)))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        running().retain(|group| group.id != self.0.id);
    }
}

#[cfg(unix)]
impl Group {
    fn ask(self) {
        use nix::sys::signal::Signal;
        self.send(if self.answers { Signal::SIGINT } else { Signal::SIGTERM });
    }

    fn end(self) {
        self.send(nix::sys::signal::Signal::SIGKILL);
    }

    fn send(self, signal: nix::sys::signal::Signal) {
        // It may have ended by itself.
        let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(self.id as i32), signal);
    }
}

#[cfg(not(unix))]
impl Group {
    fn ask(self) {
        // What a console sends goes to every process of it.
        let _ = (self.id, self.answers);
    }

    fn end(self) {}
}

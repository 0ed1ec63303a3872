//! A process, its output, and what it and its own children have cost.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a process said and used.
pub(crate) struct Ran {
    /// Both streams.
    pub(crate) text: String,
    /// CPU seconds, user and system.
    pub(crate) seconds: f64,
    /// The most memory that was resident.
    pub(crate) peak_bytes: u64,
}

/// Runs a program in a folder to its end.
#[expect(clippy::zombie_processes, reason = "wait4 waits for it, and tells what it has used")]
pub(crate) fn run(program: &str, arguments: &[String], folder: &Path) -> Ran {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
    let mut bytes = Vec::new();
    let mut stream = child.stdout.take().expect("it is piped");
    stream.read_to_end(&mut bytes).expect("a child's output can be read");
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is as large as wait4 expects, and all zero is a valid rusage. The child is waited for
    // here only: `child` is dropped without a wait of its own.
    let usage = unsafe {
        libc::wait4(child.id() as libc::pid_t, std::ptr::null_mut(), 0, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ran {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_bytes: usage.ru_maxrss as u64 * 1024,
    }
}

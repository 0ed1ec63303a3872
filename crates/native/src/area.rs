//! The memory that is shared with the program under test.
//!
//! # Why this is sound
//!
//! The area is mapped from a file in memory that only this process and the program's processes have. All fields but
//! three are atomic. The plan, the text and the log are plain memory: each side touches them only in its turn, and turns
//! are passed with release and acquire. A program that writes wildly could damage the area; so what is read from it is
//! checked before it is used as an index, and numbers are only ever data.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::protocol::{Answer, Area, LOG, MAGIC, PLAN, Record, TEXT, turn};

/// A mapped area, and the file that it is mapped from.
pub(crate) struct SharedArea {
    area: *mut Area,
    file: File,
}

/// An anonymous file in memory.
pub(crate) fn memory_file(name: &std::ffi::CStr) -> io::Result<File> {
    // SAFETY: a C string; the descriptor is new and ours.
    unsafe {
        let descriptor = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(File::from_raw_fd(descriptor)) }
    }
}

impl SharedArea {
    /// A new one.
    pub(crate) fn new() -> io::Result<Self> {
        let file = memory_file(c"selvedge")?;
        let length = size_of::<Area>();
        file.set_len(length as u64)?;
        // SAFETY: a new shared mapping of a file that is as long; it is zero, which every field may be.
        let area = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let at =
                libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, file.as_raw_fd(), 0);
            if at == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let area = at.cast::<Area>();
            (&raw mut (*area).magic).write(MAGIC);
            (*area).turn.store(turn::PROGRAM, Ordering::Release);
            // It may before it comes to its `main`.
            (*area).touches_files.store(1, Ordering::Relaxed);
            area
        };
        Ok(SharedArea { area, file })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    pub(crate) fn get(&self) -> &Area {
        // SAFETY: mapped until this is dropped; see the module's documentation.
        unsafe { &*self.area }
    }

    /// Writes the decisions that the next execution is to begin with; those that there is no room for are asked for.
    pub(crate) fn set_plan(&self, plan: impl Iterator<Item = u32>) {
        let mut length = 0;
        for decision in plan.take(PLAN) {
            // SAFETY: it is this side's turn, and the index is below PLAN.
            unsafe { (*self.get().plan.get())[length] = decision };
            length += 1;
        }
        self.get().plan_length.store(length as u32, Ordering::Relaxed);
    }

    /// How many records the log has.
    pub(crate) fn log_length(&self) -> usize {
        (self.get().log_length.load(Ordering::Relaxed) as usize).min(LOG)
    }

    /// A record of the log.
    pub(crate) fn record(&self, index: usize) -> Record {
        // SAFETY: it is this side's turn; the index is checked.
        unsafe { (&(*self.get().log.get()))[index] }
    }

    /// The message that the program has left.
    pub(crate) fn text(&self) -> String {
        let length = (self.get().text_length.load(Ordering::Relaxed) as usize).min(TEXT);
        // SAFETY: it is this side's turn.
        let text = unsafe { &*self.get().text.get() };
        String::from_utf8_lossy(&text[..length]).into_owned()
    }

    /// Asks for an execution, and gives the program its turn.
    pub(crate) fn request(&self) {
        let area = self.get();
        area.dead.store(0, Ordering::Relaxed);
        area.log_length.store(0, Ordering::Relaxed);
        area.turn.store(turn::PROGRAM, Ordering::Release);
        area.request.fetch_add(1, Ordering::Release);
        wake(&area.request);
    }

    /// Asks the program's processes to end, as far as they wait for requests.
    pub(crate) fn leave(&self) {
        self.get().leaving.store(1, Ordering::Relaxed);
        self.request();
    }

    /// Answers what the program has asked, and gives it its turn.
    pub(crate) fn answer(&self, answer: Answer) {
        let area = self.get();
        area.answer.store(answer.pack(), Ordering::Relaxed);
        area.log_length.store(0, Ordering::Relaxed);
        area.turn.store(turn::PROGRAM, Ordering::Release);
        wake(&area.turn);
    }

    /// Whether it is this side's turn; waits for that for at most so long.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let area = self.get();
        if area.turn.load(Ordering::Acquire) == turn::PROGRAM {
            let time = libc::timespec {
                tv_sec: limit.as_secs() as libc::time_t,
                tv_nsec: libc::c_long::from(limit.subsec_nanos()),
            };
            // SAFETY: the word is live, and so is the time.
            unsafe {
                let operation = libc::FUTEX_WAIT;
                libc::syscall(libc::SYS_futex, area.turn.as_ptr(), operation, turn::PROGRAM, &raw const time);
            }
        }
        area.turn.load(Ordering::Acquire) != turn::PROGRAM
    }

    /// Has the program run on this core, from the next execution on.
    pub(crate) fn move_to(&self, core: u32) {
        self.get().core.store(core + 1, Ordering::Relaxed);
    }

    /// How the process of the execution ended, once it has.
    pub(crate) fn status(&self) -> Option<i32> {
        let area = self.get();
        (area.dead.load(Ordering::Relaxed) != 0).then(|| area.status.load(Ordering::Relaxed) as i32)
    }
}

impl Drop for SharedArea {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and no reference is left.
        unsafe { libc::munmap(self.area.cast(), size_of::<Area>()) };
    }
}

fn wake(word: &AtomicU32) {
    // SAFETY: the word is live.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

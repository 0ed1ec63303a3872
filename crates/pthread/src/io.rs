//! Cancellation points that wait for files, sockets and processes: a thread that has been asked to end ends there, if it
//! has not turned cancellation off. Otherwise they are the system's. A thread that is waiting in the system already is
//! not woken.
//!
//! To wait for no file but with a limit of time is to sleep. To wait for files with a limit of time is to let others run
//! first: the thread can be expected to come back and to look for what they have done.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

use crate::cancel;
use crate::runtime::{is_on, rt};
use crate::site::{Frame, frame};
use crate::sys::{Timespec, real};
use crate::{signal, thread, time};

type Pointer = *mut c_void;
type Path = *const c_char;

/// Functions at which a thread can be cancelled, with when. A last argument that is optional is passed on either way.
macro_rules! points {
    ($($text:literal $name:ident($($argument:ident: $type:ty),*) -> $result:ty $(, if $when:expr)?;)*) => {$(
        /// A cancellation point.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            if is_on() $(&& $when)? {
                cancel::act(frame!());
            }
            // SAFETY: passed on.
            unsafe { real!($text, fn($($type),*) -> $result)($($argument),*) }
        }
    )*};
}

/// The command of `fcntl` that waits for a lock.
const F_SETLKW: c_int = 7;

points! {
    c"accept" accept(socket: c_int, address: Pointer, length: Pointer) -> c_int;
    c"accept4" accept4(socket: c_int, address: Pointer, length: Pointer, flags: c_int) -> c_int;
    c"close" close(file: c_int) -> c_int;
    c"connect" connect(socket: c_int, address: Pointer, length: c_uint) -> c_int;
    c"creat" creat(path: Path, mode: c_uint) -> c_int;
    c"creat64" creat64(path: Path, mode: c_uint) -> c_int;
    c"fcntl" fcntl(file: c_int, command: c_int, argument: Pointer) -> c_int, if command == F_SETLKW;
    c"fcntl64" fcntl64(file: c_int, command: c_int, argument: Pointer) -> c_int, if command == F_SETLKW;
    c"fdatasync" fdatasync(file: c_int) -> c_int;
    c"fsync" fsync(file: c_int) -> c_int;
    c"lockf" lockf(file: c_int, command: c_int, length: c_long) -> c_int;
    c"lockf64" lockf64(file: c_int, command: c_int, length: c_long) -> c_int;
    c"msync" msync(at: Pointer, length: usize, flags: c_int) -> c_int;
    c"open" open(path: Path, flags: c_int, mode: c_uint) -> c_int;
    c"open64" open64(path: Path, flags: c_int, mode: c_uint) -> c_int;
    c"openat" openat(folder: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int;
    c"openat64" openat64(folder: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int;
    c"pread" pread(file: c_int, to: Pointer, size: usize, offset: c_long) -> isize;
    c"pread64" pread64(file: c_int, to: Pointer, size: usize, offset: c_long) -> isize;
    c"pwrite" pwrite(file: c_int, from: Pointer, size: usize, offset: c_long) -> isize;
    c"pwrite64" pwrite64(file: c_int, from: Pointer, size: usize, offset: c_long) -> isize;
    c"read" read(file: c_int, to: Pointer, size: usize) -> isize;
    c"readv" readv(file: c_int, parts: Pointer, count: c_int) -> isize;
    c"recv" recv(socket: c_int, to: Pointer, size: usize, flags: c_int) -> isize;
    c"recvfrom" recvfrom(
        socket: c_int, to: Pointer, size: usize, flags: c_int, address: Pointer, length: Pointer
    ) -> isize;
    c"recvmsg" recvmsg(socket: c_int, message: Pointer, flags: c_int) -> isize;
    c"send" send(socket: c_int, from: Pointer, size: usize, flags: c_int) -> isize;
    c"sendmsg" sendmsg(socket: c_int, message: Pointer, flags: c_int) -> isize;
    c"sendto" sendto(
        socket: c_int, from: Pointer, size: usize, flags: c_int, address: Pointer, length: c_uint
    ) -> isize;
    c"system" system(command: Path) -> c_int;
    c"tcdrain" tcdrain(file: c_int) -> c_int;
    c"wait" wait(status: *mut c_int) -> c_int;
    c"waitid" waitid(kind: c_int, id: c_uint, info: Pointer, options: c_int) -> c_int;
    c"waitpid" waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    c"write" write(file: c_int, from: Pointer, size: usize) -> isize;
    c"writev" writev(file: c_int, parts: Pointer, count: c_int) -> isize;
}

/// A wait for some files, perhaps none, with a limit of time in nanoseconds, if it has one. Says whether it was a sleep,
/// which is over.
fn waits(for_files: bool, limit: Option<u64>, frame: Frame) -> bool {
    if !is_on() {
        return false;
    }
    match limit {
        Some(limit) if !for_files => {
            time::sleep_for(limit, frame);
            return true;
        }
        Some(1..) => thread::yields(frame),
        _ => {}
    }
    cancel::act(frame);
    false
}

/// The limit of a wait, if it has one and that is valid.
fn limit(time: *const Timespec) -> Option<u64> {
    // SAFETY: the program's.
    time::duration(unsafe { *time.as_ref()? })
}

/// `poll`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn poll(files: Pointer, count: usize, milliseconds: c_int) -> c_int {
    let limit = u64::try_from(milliseconds).ok().map(|milliseconds| milliseconds * 1_000_000);
    if waits(count > 0, limit, frame!()) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { real!(c"poll", fn(Pointer, usize, c_int) -> c_int)(files, count, milliseconds) }
}

/// A wait like that with a mask of signals, where one that is not in it ends it too. Gives what the call returns if it is over.
///
/// # Safety
/// The program's mask, or null.
unsafe fn waits_masked(
    for_files: bool,
    time: *const Timespec,
    mask: *const u64,
    frame: Frame,
) -> Option<c_int> {
    // SAFETY: the caller's.
    if let (true, false, Some(mask)) = (is_on(), for_files, unsafe { mask.as_ref() }) {
        let deadline = limit(time).map(|limit| rt().now().saturating_add(limit));
        if let Some(comes) = signal::suspend(*mask, deadline, frame) {
            return Some(if comes { -1 } else { 0 });
        }
    }
    waits(for_files, limit(time), frame).then_some(0)
}

/// `ppoll`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn ppoll(
    files: Pointer,
    count: usize,
    time: *const Timespec,
    mask: *const u64,
) -> c_int {
    // SAFETY: the program's mask; passed on.
    unsafe {
        if let Some(result) = waits_masked(count > 0, time, mask, frame!()) {
            return result;
        }
        real!(c"ppoll", fn(Pointer, usize, *const Timespec, *const u64) -> c_int)(files, count, time, mask)
    }
}

/// `select`. What is left of the time is told.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn select(
    count: c_int,
    read: Pointer,
    write: Pointer,
    except: Pointer,
    time: *mut [i64; 2],
) -> c_int {
    const MICROSECONDS: i64 = 1_000_000;
    // SAFETY: the program's.
    let limit = unsafe { time.as_ref() }.and_then(|[seconds, microseconds]| {
        let (more, microseconds) = (microseconds / MICROSECONDS, microseconds % MICROSECONDS);
        time::duration(Timespec { seconds: seconds + more, nanoseconds: microseconds * 1000 })
    });
    if waits(count > 0, limit, frame!()) {
        // SAFETY: the program's, and there is one.
        unsafe { *time = [0; 2] };
        return 0;
    }
    // SAFETY: passed on.
    unsafe {
        real!(c"select", fn(c_int, Pointer, Pointer, Pointer, *mut [i64; 2]) -> c_int)(
            count, read, write, except, time,
        )
    }
}

/// `pselect`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pselect(
    count: c_int,
    read: Pointer,
    write: Pointer,
    except: Pointer,
    time: *const Timespec,
    mask: *const u64,
) -> c_int {
    // SAFETY: the program's mask; passed on.
    unsafe {
        if let Some(result) = waits_masked(count > 0, time, mask, frame!()) {
            return result;
        }
        real!(c"pselect", fn(c_int, Pointer, Pointer, Pointer, *const Timespec, *const u64) -> c_int)(
            count, read, write, except, time, mask,
        )
    }
}

//! One process for many executions: its memory is put back instead of forking another.
//!
//! A fork, its page faults and its end cost more than all else of a short execution. So the process that was forked for
//! an execution runs the next one too, as long as it can be made as it was:
//!
//! * **Memory.** The process that executions are forked from keeps an *image* of all memory that a program can write and
//!   that is private to it. An execution's process has that memory write-protected at first. The first write to a page is
//!   caught; then the page is writable for good, and *hot*: before each further execution it is copied from the image. So
//!   after the first execution there are no faults any more, and what is copied is what executions write to.
//! * **The system.** Whatever a program does to the rest of its process (files, mappings, handlers of signals) it does by
//!   calls of the system. These are caught too (Linux's *syscall user dispatch*), and let through if they leave nothing
//!   behind, or something that is known how to take back: more heap, new private memory, and open files. At any other the protection
//!   is taken off, the call is made again, and the process ends with its execution, as processes do.
//!
//! Where the system does not have what this takes, or where the program's first executions show that it does not pay, each
//! execution has a process of its own.
//!
//! # The access protocol
//!
//! What is kept here must survive when memory is put back. It is in a mapping of its own, [`Control`], which is not in the
//! image; so are the stack that signals are handled on, and the one that memory is put back on. In the process that
//! executions are forked from one thread uses it, and in that of an execution whoever runs.

use std::ffi::{CStr, c_int, c_long};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::cores;
use crate::coroutine::{self, Context, FloatingPoint};
use crate::protocol::{Area, turn};
use crate::sys::{self, futex_wait, futex_wake};

const PAGE: usize = 4096;
const MAX_RANGES: usize = 4096;
const MAX_HOT: usize = 1 << 16;
const MAX_MAPPINGS: usize = 64;
const MAX_FILES: usize = 1024;
const STACK: usize = 64 * 1024;

/// Memory that is put back.
#[derive(Clone, Copy)]
struct Range {
    /// Where it begins; a stack may grow down to there.
    from: usize,
    /// What of it is there.
    mapped_from: usize,
    to: usize,
    /// Its first page in the image.
    page: usize,
    protection: c_int,
}

/// A page that executions write to.
#[derive(Clone, Copy)]
struct Hot {
    at: usize,
    /// Where the image has it; 0 if it is all zero.
    source: usize,
}

/// What survives when memory is put back.
#[repr(C)]
struct Control {
    signal_stack: [u8; STACK],
    stack: [u8; STACK],
    /// What the system looks at: whether calls are caught.
    caught: u8,
    /// The process can be made as it was.
    is_clean: bool,
    area: *const Area,
    /// Where executions begin, and with what.
    main_stack: usize,
    thread_pointer: usize,
    floating_point: FloatingPoint,
    signal_mask: u64,
    /// Where the C library has the number of the first thread, or 0; and that number.
    number_at: usize,
    number: c_int,
    execute: extern "C-unwind" fn() -> !,
    heap_end: usize,
    heap_moved: bool,
    /// The lowest page that was written to of what the first thread's stack has grown by.
    stack_lowest: usize,
    mappings: [(usize, usize); MAX_MAPPINGS],
    mapping_count: usize,
    /// A bit for each file that the execution has opened.
    files: [u64; MAX_FILES / 64],
    has_files: bool,
    status: c_int,
    /// The core that the process is on, as the area says it.
    core: u32,
    image: usize,
    image_length: usize,
    /// In the image, after the pages: a bit for each page that is not all zero. `hot_bits`, of the same length, has one
    /// for each that is hot.
    present_bits: *mut u64,
    hot_bits: *mut u64,
    hot_bits_length: usize,
    range_count: usize,
    hot_count: usize,
    ranges: [Range; MAX_RANGES],
    hot: [Hot; MAX_HOT],
}

static CONTROL: AtomicPtr<Control> = AtomicPtr::new(std::ptr::null_mut());

fn control() -> Option<&'static mut Control> {
    let control = CONTROL.load(Ordering::Relaxed);
    // SAFETY: null or the mapping, which is never unmapped; see the module's documentation.
    (!control.is_null()).then(|| unsafe { &mut *control })
}

/// New memory that the program has nothing to do with. It is between pages that cannot be used, so that it is not part of
/// a larger piece.
fn map_apart(length: usize) -> Option<usize> {
    let length = length.next_multiple_of(PAGE);
    let flags = sys::MAP_PRIVATE | sys::MAP_ANONYMOUS | sys::MAP_NORESERVE;
    // SAFETY: new memory, of which the middle is made usable.
    unsafe {
        let at = sys::mmap(std::ptr::null_mut(), length + 2 * PAGE, 0, flags, -1, 0);
        let middle = at.wrapping_byte_add(PAGE);
        let failed =
            at as isize == -1 || sys::mprotect(middle, length, sys::PROT_READ | sys::PROT_WRITE) != 0;
        (!failed).then_some(middle as usize)
    }
}

/// Makes what is kept, before there are executions: they begin in `execute`, on the stack below `main_stack`.
pub(crate) fn prepare(area: &'static Area, main_stack: usize, execute: extern "C-unwind" fn() -> !) -> bool {
    let Some(at) = map_apart(size_of::<Control>()) else { return false };
    CONTROL.store(at as *mut Control, Ordering::Relaxed);
    let control = control().expect("it was just set");
    control.area = area;
    control.stack_lowest = usize::MAX;
    control.main_stack = main_stack;
    control.execute = execute;
    control.thread_pointer = coroutine::thread_pointer();
    control.floating_point = FloatingPoint::current();
    control.signal_mask = sys::signal_mask();
    true
}

/// The memory that is shared with the controlling side.
pub(crate) fn area() -> *const Area {
    control().expect("it is made before executions are").area
}

/// The thread pointer of the first thread, and the signals that it has blocked at first.
pub(crate) fn first_thread() -> (usize, u64) {
    let control = control().expect("it is made before executions are");
    (control.thread_pointer, control.signal_mask)
}

/// The stack that signals are handled on.
pub(crate) fn signal_stack() -> Option<(usize, usize)> {
    control().map(|control| (control.signal_stack.as_ptr() as usize, STACK))
}

/// Goes on with a function on the stack that is kept.
fn on_kept_stack(function: extern "C-unwind" fn() -> !) -> ! {
    let control = control().expect("it is made before executions are");
    let top = control.stack.as_ptr() as usize + STACK;
    // SAFETY: nothing on that stack is needed any more: whoever used it last has left it for good.
    unsafe { leave_for(Context::new(top, control.thread_pointer, control.floating_point, function)) }
}

/// # Safety
/// As for [`coroutine::switch`].
unsafe fn leave_for(context: Context) -> ! {
    let mut left = Context::NONE;
    // SAFETY: the caller's. Nobody goes on with what is left.
    unsafe { coroutine::switch(&raw mut left, &raw const context) };
    unreachable!("nobody goes on with what is left")
}

/// Begins the execution, in a process that was just forked for it.
///
/// The C library has the number of its first thread at `number_at`, if that is not 0.
pub(crate) fn begin(many: bool, number_at: usize) -> ! {
    let control = control().expect("it is made before executions are");
    control.number_at = number_at;
    touches_files();
    // SAFETY: takes nothing.
    control.number = unsafe { sys::getpid() };
    on_kept_stack(if many { first } else { only })
}

extern "C-unwind" fn only() -> ! {
    go()
}

extern "C-unwind" fn first() -> ! {
    let control = control().expect("it is made before executions are");
    if control.image != 0 && protect(control) {
        control.is_clean = true;
        put_back(control);
    }
    go()
}

/// Begins in the program.
fn go() -> ! {
    let control = control().expect("it is made before executions are");
    // SAFETY: executions begin there, and nothing below is needed.
    unsafe {
        leave_for(Context::new(
            control.main_stack,
            control.thread_pointer,
            control.floating_point,
            control.execute,
        ))
    }
}

/// The execution is over: the process ends, or waits for the next one.
pub(crate) fn end(status: c_int) -> ! {
    if let Some(control) = control()
        && control.is_clean
    {
        control.status = status;
        on_kept_stack(next);
    }
    sys::end_process(status)
}

/// Tells that the execution is over, waits until another is asked for, and begins it.
extern "C-unwind" fn next() -> ! {
    let control = control().expect("it is made before executions are");
    // SAFETY: the area is never unmapped.
    let area = unsafe { &*control.area };
    let taken = area.taken.load(Ordering::Relaxed);
    area.reused.fetch_add(1, Ordering::Relaxed);
    area.status.store(((control.status & 0xFF) << 8) as u32, Ordering::Relaxed);
    area.dead.store(1, Ordering::Relaxed);
    area.turn.store(turn::CONTROLLER, Ordering::Release);
    futex_wake(&area.turn, false);
    // While the controlling side reads the log.
    put_back(control);
    while area.request.load(Ordering::Acquire) == taken {
        futex_wait(&area.request, taken, false);
    }
    if area.leaving.load(Ordering::Relaxed) != 0 {
        sys::end_process(0);
    }
    area.taken.store(area.request.load(Ordering::Acquire), Ordering::Relaxed);
    move_to_core(area);
    go()
}

/// Notes that files may be read or written: by a call of the system that the program makes, or by any in a process whose calls are
/// not caught from its beginning on.
pub(crate) fn touches_files() {
    if let Some(control) = control() {
        // SAFETY: the area is never unmapped.
        unsafe { &*control.area }.touches_files.store(1, Ordering::Relaxed);
    }
}

/// Goes to the core that the controlling side is on, if that is another than before.
pub(crate) fn move_to_core(area: &Area) {
    let core = area.core.load(Ordering::Relaxed);
    if let Some(control) = control()
        && core != std::mem::replace(&mut control.core, core)
        && let Some(number) = core.checked_sub(1)
    {
        cores::stay_on(number as usize);
    }
}

/// Makes the process as it was.
fn put_back(control: &mut Control) {
    const MADV_DONTNEED: usize = 4;
    // SAFETY: hot pages can be written to, and nothing but this runs, on a stack that is not among them.
    unsafe {
        for hot in &control.hot[..control.hot_count] {
            let page = hot.at as *mut u8;
            if hot.source == 0 {
                page.write_bytes(0, PAGE);
            } else {
                page.copy_from_nonoverlapping(hot.source as *const u8, PAGE);
            }
        }
        if control.stack_lowest != usize::MAX {
            // It grows without being noticed once it has begun to: none of that is kept.
            for range in
                control.ranges[..control.range_count].iter().filter(|range| range.from < range.mapped_from)
            {
                let length = range.mapped_from - range.from;
                sys::call(sys::SYS_MADVISE, [range.from, length, MADV_DONTNEED, 0, 0, 0]);
            }
        }
        if control.number_at != 0 {
            (control.number_at as *mut c_int).write(control.number);
        }
        for &(at, length) in &control.mappings[..control.mapping_count] {
            sys::call(sys::SYS_MUNMAP, [at, length, 0, 0, 0, 0]);
        }
        control.mapping_count = 0;
        if control.has_files {
            for file in (0..MAX_FILES).filter(|file| control.files[file / 64] >> (file % 64) & 1 == 1) {
                sys::call(sys::SYS_CLOSE, [file, 0, 0, 0, 0, 0]);
            }
            control.files = [0; MAX_FILES / 64];
            control.has_files = false;
        }
        if control.heap_moved {
            sys::call(sys::SYS_BRK, [control.heap_end, 0, 0, 0, 0, 0]);
            control.heap_moved = false;
        }
    }
    sys::set_signal_mask(control.signal_mask);
}

/// Protects memory, and catches calls of the system. Says whether that can be done.
fn protect(control: &mut Control) -> bool {
    const PR_SET_SYSCALL_USER_DISPATCH: usize = 59;
    const CATCH: u8 = 1;
    let (from, length) = sys::own_calls();
    control.caught = CATCH;
    // SAFETY: the kept memory is never unmapped.
    unsafe {
        let selector = &raw const control.caught as usize;
        let arguments = [PR_SET_SYSCALL_USER_DISPATCH, 1, from, length, selector, 0];
        if sys::call(sys::SYS_PRCTL, arguments) != 0 {
            return false;
        }
        control.heap_end = sys::call(sys::SYS_BRK, [0; 6]) as usize;
    }
    // What was used since the image was made; and where the system itself writes, at any time (restartable sequences).
    let page = |address: usize| address & !(PAGE - 1);
    let (stack, first) = (page(control.main_stack), page(control.thread_pointer));
    let mut hot = [(stack - 4 * PAGE, stack + PAGE), (first - PAGE, first + 3 * PAGE)];
    hot.sort_unstable();
    for range in &control.ranges[..control.range_count] {
        let protection = (range.protection & !sys::PROT_WRITE) as usize;
        let mut from = range.mapped_from;
        for (until, next) in hot.into_iter().chain([(range.to, range.to)]) {
            let until = until.clamp(from, range.to);
            if until > from {
                // SAFETY: memory is protected that is caught when it is written to.
                unsafe { sys::call(sys::SYS_MPROTECT, [from, until - from, protection, 0, 0, 0]) };
            }
            from = next.clamp(from, range.to);
        }
    }
    for (from, to) in hot {
        (from..to).step_by(PAGE).for_each(|page| {
            heat(control, page);
        });
    }
    true
}

/// Makes the page of an address hot. Says whether it is one that can be, and was not.
fn heat(control: &mut Control, address: usize) -> bool {
    let ranges = &control.ranges[..control.range_count];
    let Some(range) = ranges.iter().find(|range| (range.from..range.to).contains(&address)) else {
        return false;
    };
    let at = address & !(PAGE - 1);
    let page = range.page + (at - range.from) / PAGE;
    let (word, bit) = (page / 64, 1_u64 << (page % 64));
    let (from, protection, is_mapped) = (range.mapped_from, range.protection, at >= range.mapped_from);
    // SAFETY: both have a bit for each page of the image.
    let (hot, is_present) =
        unsafe { (&mut *control.hot_bits.add(word), *control.present_bits.add(word) & bit != 0) };
    if *hot & bit != 0 {
        return false;
    }
    // SAFETY: the page could be written to before it was protected.
    let failed = unsafe { sys::call(sys::SYS_MPROTECT, [at, PAGE, protection as usize, 0, 0, 0]) != 0 };
    if failed && !is_mapped {
        // The stack has grown as far as it may.
        return false;
    }
    if failed || control.hot_count == MAX_HOT {
        // There are too many pieces.
        give_up(control);
        return true;
    }
    *hot |= bit;
    if at < from {
        control.stack_lowest = control.stack_lowest.min(at);
        return true;
    }
    let source = if is_present { control.image + page * PAGE } else { 0 };
    control.hot[control.hot_count] = Hot { at, source };
    control.hot_count += 1;
    true
}

/// A program could not access memory. Says whether that was for its protection, and need not be told.
pub(crate) fn caught_access(address: usize) -> bool {
    control().is_some_and(|control| control.is_clean && heat(control, address))
}

/// The process cannot be made as it was: it ends with its execution.
fn give_up(control: &mut Control) {
    const PR_SET_SYSCALL_USER_DISPATCH: usize = 59;
    control.is_clean = false;
    touches_files();
    // SAFETY: as memory was before.
    unsafe {
        sys::call(sys::SYS_PRCTL, [PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0, 0]);
        for range in &control.ranges[..control.range_count] {
            let from = match control.stack_lowest {
                lowest if range.from < range.mapped_from => lowest.min(range.mapped_from),
                _ => range.mapped_from,
            };
            let protection = range.protection as usize;
            sys::call(sys::SYS_MPROTECT, [from, range.to - from, protection, 0, 0, 0]);
        }
    }
}

/// Calls that leave nothing behind in the process: the number, the argument that says where the system writes to (0 for
/// nowhere, 1 for the first), and how much: a number of bytes, or which argument has it (negative).
const HARMLESS: [(i32, usize, isize); 42] = [
    (0, 2, -3),    // read
    (1, 0, 0),     // write
    (4, 2, 144),   // stat
    (5, 2, 144),   // fstat
    (6, 2, 144),   // lstat
    (8, 0, 0),     // lseek
    (17, 2, -3),   // pread64
    (18, 0, 0),    // pwrite64
    (20, 0, 0),    // writev
    (21, 0, 0),    // access
    (24, 0, 0),    // sched_yield
    (39, 0, 0),    // getpid
    (63, 1, 390),  // uname
    (74, 0, 0),    // fsync
    (75, 0, 0),    // fdatasync
    (77, 0, 0),    // ftruncate
    (79, 1, -2),   // getcwd
    (82, 0, 0),    // rename
    (83, 0, 0),    // mkdir
    (84, 0, 0),    // rmdir
    (87, 0, 0),    // unlink
    (89, 2, -3),   // readlink
    (96, 1, 16),   // gettimeofday
    (98, 2, 144),  // getrusage
    (99, 1, 112),  // sysinfo
    (102, 0, 0),   // getuid
    (104, 0, 0),   // getgid
    (107, 0, 0),   // geteuid
    (108, 0, 0),   // getegid
    (110, 0, 0),   // getppid
    (186, 0, 0),   // gettid
    (202, 1, 4),   // futex
    (204, 3, -2),  // sched_getaffinity
    (217, 2, -3),  // getdents64
    (221, 0, 0),   // fadvise64
    (228, 2, 16),  // clock_gettime
    (229, 2, 16),  // clock_getres
    (262, 3, 144), // newfstatat
    (263, 0, 0),   // unlinkat
    (264, 0, 0),   // renameat
    (269, 0, 0),   // faccessat
    (318, 1, -2),  // getrandom
];

/// The system was called, by the code that these registers are of. The call is made here, or again when this returns.
///
/// # Safety
/// The registers are of a signal's context, which can be written to.
pub(crate) unsafe fn caught_call(number: c_int, registers: &mut [usize; 23]) {
    const ARGUMENTS: [usize; 6] = [8, 9, 12, 2, 0, 1];
    const RESULT: usize = 13;
    const PLACE: usize = 16;
    /// The length of the instruction.
    const CALL: usize = 2;
    let Some(control) = control() else { return };
    let arguments = ARGUMENTS.map(|index| registers[index]);
    if number == sys::SYS_EXIT_GROUP as c_int {
        end(arguments[0] as c_int);
    }
    touches_files();
    if control.is_clean && leaves_nothing(control, number, &arguments) {
        // SAFETY: the program's own call.
        let result = unsafe { sys::call(number.into(), arguments) };
        registers[RESULT] = result as usize;
        note(control, number, &arguments, result as usize);
        return;
    }
    give_up(control);
    registers[RESULT] = number as usize;
    registers[PLACE] -= CALL;
}

/// Whether a call leaves nothing behind that is not taken back.
fn leaves_nothing(control: &mut Control, number: c_int, arguments: &[usize; 6]) -> bool {
    const MAP_FIXED: usize = 0x10;
    const MAP_FIXED_NOREPLACE: usize = 0x10_0000;
    const PRIVATE: usize = sys::MAP_PRIVATE as usize;
    const F_GETFD: usize = 1;
    const F_GETFL: usize = 3;
    let [first, second, _, fourth, ..] = *arguments;
    match c_long::from(number) {
        sys::SYS_BRK => first == 0 || first >= control.heap_end,
        sys::SYS_MMAP => {
            fourth & PRIVATE == PRIVATE
                && fourth & (MAP_FIXED | MAP_FIXED_NOREPLACE) == 0
                && control.mapping_count < MAX_MAPPINGS
        }
        sys::SYS_MUNMAP => control.mappings[..control.mapping_count].contains(&(first, whole(second))),
        sys::SYS_OPEN | sys::SYS_OPENAT => true,
        sys::SYS_CLOSE => first < MAX_FILES && control.files[first / 64] >> (first % 64) & 1 == 1,
        sys::SYS_FCNTL => second == F_GETFD || second == F_GETFL,
        _ => match HARMLESS.iter().find(|(harmless, ..)| *harmless == number) {
            Some(&(_, 0, _)) => true,
            Some(&(_, place, size)) => {
                let size = usize::try_from(size).unwrap_or_else(|_| arguments[size.unsigned_abs() - 1]);
                let at = arguments[place - 1];
                // The system does not write to protected memory, but says that it cannot.
                let pages = (at & !(PAGE - 1)..at.saturating_add(size)).step_by(PAGE);
                for page in pages {
                    heat(control, page);
                    if !control.is_clean {
                        break;
                    }
                }
                control.is_clean
            }
            None => false,
        },
    }
}

fn whole(length: usize) -> usize {
    length.next_multiple_of(PAGE)
}

/// Notes what a call has done that is to be taken back.
fn note(control: &mut Control, number: c_int, arguments: &[usize; 6], result: usize) {
    let failed = result as isize >= -4095 && (result as isize) < 0;
    match c_long::from(number) {
        sys::SYS_BRK => control.heap_moved |= result != control.heap_end,
        sys::SYS_MMAP if !failed => {
            control.mappings[control.mapping_count] = (result, whole(arguments[1]));
            control.mapping_count += 1;
        }
        sys::SYS_MUNMAP => {
            let gone = (arguments[0], whole(arguments[1]));
            let mappings = &control.mappings[..control.mapping_count];
            let index = mappings.iter().position(|mapping| *mapping == gone).expect("it was found before");
            control.mapping_count -= 1;
            control.mappings[index] = control.mappings[control.mapping_count];
        }
        sys::SYS_OPEN | sys::SYS_OPENAT if !failed && result < MAX_FILES => {
            control.files[result / 64] |= 1 << (result % 64);
            control.has_files = true;
        }
        sys::SYS_OPEN | sys::SYS_OPENAT if !failed => give_up(control),
        sys::SYS_CLOSE => control.files[arguments[0] / 64] &= !(1 << (arguments[0] % 64)),
        _ => {}
    }
}

/// Makes the image of this process's memory anew. Without one, each execution has a process of its own.
pub(crate) fn make_image() {
    let Some(control) = control() else { return };
    if control.image != 0 {
        let bits = control.hot_bits as usize - PAGE;
        // SAFETY: what belongs to the image before, which nobody uses.
        unsafe {
            sys::call(sys::SYS_MUNMAP, [control.image, control.image_length, 0, 0, 0, 0]);
            sys::call(sys::SYS_MUNMAP, [bits, control.hot_bits_length + 2 * PAGE, 0, 0, 0, 0]);
        }
    }
    control.image = 0;
    let made = with_file(c"/proc/self/maps", |maps| find_ranges(control, maps))
        .and_then(|pages| with_file(c"/proc/self/pagemap", |pagemap| copy(control, pages, pagemap)));
    if let Some((image, length)) = made {
        (control.image, control.image_length) = (image, length);
    }
}

/// Reads from a file of the system's.
fn with_file<T>(path: &CStr, read: impl FnOnce(c_int) -> Option<T>) -> Option<T> {
    const O_CLOEXEC: usize = 0x8_0000;
    const AT_FDCWD: usize = -100_isize as usize;
    // SAFETY: a C string.
    let file = unsafe { sys::call(sys::SYS_OPENAT, [AT_FDCWD, path.as_ptr() as usize, O_CLOEXEC, 0, 0, 0]) };
    if file < 0 {
        return None;
    }
    let result = read(file as c_int);
    // SAFETY: opened above.
    unsafe { sys::call(sys::SYS_CLOSE, [file as usize, 0, 0, 0, 0, 0]) };
    result
}

/// Tells of each page that the program can write to, is its own, and was used, but for what is kept here. Says whether all
/// are known.
pub(crate) fn each_page(mut tell: impl FnMut(usize)) -> bool {
    let Some(control) = control() else { return false };
    let own = [
        (control as *const Control as usize, size_of::<Control>()),
        (control.hot_bits as usize, control.hot_bits_length),
    ];
    let told = with_file(c"/proc/self/pagemap", |pagemap| {
        with_file(c"/proc/self/maps", |maps| {
            let mut lines = Lines { file: maps, buffer: [0; 512], start: 0, length: 0 };
            let mut line = [0_u8; 128];
            while let Some(length) = lines.next(&mut line) {
                let Mapping { from, to, flags, is_file } = Mapping::of(&line[..length])?;
                if flags[..2] != *b"rw" || flags[3] != b'p' || own.iter().any(|(at, _)| *at == from) {
                    continue;
                }
                let mut entries = [0_u64; 128];
                for first in (from..to).step_by(PAGE * entries.len()) {
                    let count = ((to - first) / PAGE).min(entries.len());
                    read_entries(pagemap, first, &mut entries[..count])?;
                    for (index, entry) in entries[..count].iter().enumerate() {
                        if is_file || entry >> 62 != 0 {
                            tell(first + index * PAGE);
                        }
                    }
                }
            }
            Some(())
        })
    });
    told.is_some()
}

/// Reads what the system says of pages from an address on: the highest two bits of each tell whether it is in memory, or
/// swapped out.
fn read_entries(pagemap: c_int, from: usize, entries: &mut [u64]) -> Option<()> {
    let length = size_of_val(entries);
    let arguments = [pagemap as usize, entries.as_mut_ptr() as usize, length, from / PAGE * 8, 0, 0];
    // SAFETY: as many bytes as the entries have.
    let read = unsafe { sys::call(sys::SYS_PREAD64, arguments) };
    (read == length as isize).then_some(())
}

/// A line of the system's list of mappings: "from-to rw-p offset device inode path".
struct Mapping {
    from: usize,
    to: usize,
    flags: [u8; 4],
    /// It is of a file.
    is_file: bool,
}

impl Mapping {
    fn of(line: &[u8]) -> Option<Self> {
        let (from, rest) = hexadecimal(line);
        let (to, rest) = hexadecimal(rest.get(1..)?);
        let flags = rest.get(1..5)?.try_into().ok()?;
        Some(Mapping { from, to, flags, is_file: rest.contains(&b'/') })
    }
}

/// Finds the memory that the program can write to and that is its own. Says how many pages it has.
fn find_ranges(control: &mut Control, maps: c_int) -> Option<usize> {
    let own = control as *const Control as usize;
    control.range_count = 0;
    let mut pages = 0;
    let mut lowest_free = 0;
    let mut lines = Lines { file: maps, buffer: [0; 512], start: 0, length: 0 };
    let mut line = [0_u8; 128];
    while let Some(length) = lines.next(&mut line) {
        let Mapping { from, to, flags, .. } = Mapping::of(&line[..length])?;
        let before = std::mem::replace(&mut lowest_free, to);
        if flags[..2] != *b"rw" || flags[3] != b'p' || from == own {
            continue;
        }
        let mut protection = sys::PROT_READ | sys::PROT_WRITE;
        if flags[2] == b'x' {
            protection |= sys::PROT_EXEC;
        }
        // The first thread's stack grows.
        let grows = (from..to).contains(&control.main_stack);
        let lowest = if grows { from.saturating_sub(MAIN_STACK).max(before + GAP) } else { from };
        if control.range_count == MAX_RANGES {
            return None;
        }
        control.ranges[control.range_count] =
            Range { from: lowest, mapped_from: from, to, page: pages, protection };
        control.range_count += 1;
        pages += (to - lowest) / PAGE;
    }
    Some(pages)
}

/// How far the first thread's stack may grow, and how far from whatever is below.
const MAIN_STACK: usize = 64 << 20;
const GAP: usize = 1 << 20;

struct Lines {
    file: c_int,
    buffer: [u8; 512],
    start: usize,
    length: usize,
}

impl Lines {
    /// The next line, or its beginning. None at the end.
    fn next(&mut self, line: &mut [u8; 128]) -> Option<usize> {
        let mut length = 0;
        loop {
            if self.start == self.length {
                let arguments = [self.file as usize, self.buffer.as_mut_ptr() as usize, 512, 0, 0, 0];
                // SAFETY: the buffer has 512 bytes.
                let read = unsafe { sys::call(sys::SYS_READ, arguments) };
                if read <= 0 {
                    return None;
                }
                (self.start, self.length) = (0, read as usize);
            }
            let byte = self.buffer[self.start];
            self.start += 1;
            if byte == b'\n' {
                return Some(length);
            }
            if length < line.len() {
                line[length] = byte;
                length += 1;
            }
        }
    }
}

fn hexadecimal(text: &[u8]) -> (usize, &[u8]) {
    let digit = |byte: &u8| (*byte as char).to_digit(16);
    let length = text.iter().take_while(|byte| digit(byte).is_some()).count();
    let number =
        text[..length].iter().filter_map(digit).fold(0, |number, digit| number << 4 | digit as usize);
    (number, &text[length..])
}

/// Copies the ranges to a new image, which it maps: where, and how long it is.
fn copy(control: &mut Control, pages: usize, pagemap: c_int) -> Option<(usize, usize)> {
    const MFD_CLOEXEC: usize = 1;
    let bits = pages.div_ceil(64) * 8;
    let length = (pages * PAGE + bits).next_multiple_of(PAGE);
    // SAFETY: a new file of the length that is mapped. The ranges are mapped and can be read; nothing else runs.
    unsafe {
        let name = c"selvedge image".as_ptr() as usize;
        let file = sys::call(sys::SYS_MEMFD_CREATE, [name, MFD_CLOEXEC, 0, 0, 0, 0]);
        if file < 0 {
            return None;
        }
        let truncated = sys::call(sys::SYS_FTRUNCATE, [file as usize, length, 0, 0, 0, 0]);
        let protection = sys::PROT_READ | sys::PROT_WRITE;
        let image = sys::mmap(std::ptr::null_mut(), length, protection, sys::MAP_SHARED, file as c_int, 0);
        sys::call(sys::SYS_CLOSE, [file as usize, 0, 0, 0, 0, 0]);
        if truncated != 0 || image as isize == -1 {
            return None;
        }
        let image = image as usize;
        control.hot_bits = map_apart(bits)? as *mut u64;
        control.hot_bits_length = bits.next_multiple_of(PAGE);
        control.present_bits = (image + pages * PAGE) as *mut u64;
        for range in &control.ranges[..control.range_count] {
            let mut entries = [0_u64; 128];
            for first in (range.mapped_from..range.to).step_by(PAGE * entries.len()) {
                let count = ((range.to - first) / PAGE).min(entries.len());
                read_entries(pagemap, first, &mut entries[..count])?;
                for (index, entry) in entries[..count].iter().enumerate() {
                    let at = first + index * PAGE;
                    let words = std::slice::from_raw_parts(at as *const u64, PAGE / 8);
                    if entry >> 62 != 0 && words.iter().any(|word| *word != 0) {
                        let page = range.page + (at - range.from) / PAGE;
                        let copy = (image + page * PAGE) as *mut u64;
                        copy.copy_from_nonoverlapping(words.as_ptr(), words.len());
                        *control.present_bits.add(page / 64) |= 1 << (page % 64);
                    }
                }
            }
        }
        sys::call(sys::SYS_MPROTECT, [image, length, sys::PROT_READ as usize, 0, 0, 0]);
        Some((image, length))
    }
}

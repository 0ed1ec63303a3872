//! Which object the program's memory is.
//!
//! None of the C library's objects is used as what it is, so the runtime keeps the number of the object in the memory
//! of each. What was made by a static initialiser, by the C library's `init` function (which the runtime calls), or by
//! zeroing has no number yet, and gets one when it is first touched. So objects are numbered in the order in which an
//! execution touches them, whatever their addresses, and memory that is used again is another object.
//!
//! The number is in four bytes, near the beginning: programs that were preprocessed for 32 bits have smaller types than the C
//! library, which natively does not touch what is behind them. It counts only at the address that the object was made for: a
//! copy elsewhere, and four bytes that look like it, are no object.
//!
//! Memory that was freed is overwritten, so that an object in it has its number no more: that is looked at where an object
//! is looked up, and again when the operation on it is under way, since another thread may have freed it in between.

use crate::heap;
use crate::protocol::{OBJECT_BITS, object, stop};
use crate::runtime::rt;
use crate::site::Frame;
use crate::spin;
use crate::told;

/// What an object is to the program.
#[derive(Clone, Copy)]
pub(crate) enum Sort {
    Mutex,
    Condvar,
    Rwlock,
    Barrier,
    Semaphore,
    SpinLock,
    Once,
    GlibMutex,
    GlibCondvar,
}

/// The kind of each sort, and where its four bytes are: what the library does not use either (of a mutex the spins, of a rwlock,
/// a semaphore and GLib's the padding), or what nothing reads where the runtime stands in. Each `init` function sets them to
/// something without a mark, except that of semaphores and GLib's.
const SORTS: [(u8, usize); 9] = [
    (object::MUTEX, 20),
    (object::CONDVAR, 0),
    (object::RWLOCK, 16),
    (object::BARRIER, 16),
    (object::SEMAPHORE, 12),
    (object::SPINLOCK, 0),
    (object::ONCE, 0),
    (object::MUTEX, 4),
    (object::CONDVAR, 12),
];

/// What is the number in the four bytes. The rest is a mark: of the sort, or that the object was destroyed. Neither text nor
/// small numbers have such a byte there.
const NUMBER: u32 = (1 << 24) - 1;
const _: () = assert!(1 << OBJECT_BITS <= NUMBER);
const FIRST_MARK: u32 = 0xF5;
const DESTROYED: u32 = 0xFE;

/// The four bytes in the memory of an object.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    sort: Sort,
    /// Where the object itself begins.
    object: usize,
}

impl Slot {
    /// The slot of an object.
    pub(crate) fn of<T>(object: *mut T, sort: Sort) -> Self {
        Slot { sort, object: object as usize }
    }

    fn kind(self) -> u8 {
        SORTS[self.sort as usize].0
    }

    fn memory(self) -> *mut u32 {
        self.object.wrapping_add(SORTS[self.sort as usize].1) as *mut u32
    }

    fn mark(self) -> u32 {
        FIRST_MARK + self.sort as u32
    }

    fn read(self) -> u32 {
        // SAFETY: the caller's object has these bytes.
        unsafe { self.memory().read_unaligned() }
    }

    fn write(self, mark: u32, number: u32) {
        // SAFETY: as above.
        unsafe { self.memory().write_unaligned(mark << 24 | number) };
    }

    /// The object of this sort whose number a word has, after a mark.
    fn numbered(self, word: u32, mark: u32) -> Option<u32> {
        let number = word & NUMBER;
        (word >> 24 == mark && rt().is_object(number, self.kind())).then_some(number)
    }

    /// The same, if it is the one here.
    fn here(self, word: u32, mark: u32) -> Option<u32> {
        self.numbered(word, mark).filter(|object| rt().object(*object).address == self.object)
    }

    /// The object that this memory is a copy of, by what is in the four bytes.
    pub(crate) fn original(self, word: u32) -> Option<u32> {
        self.numbered(word, self.mark())
    }

    /// The object, made on its first use with the word that `initial` gives for what is there.
    pub(crate) fn object(self, frame: Frame, initial: impl FnOnce(u32) -> u64) -> u32 {
        let word = self.read();
        if let Some(object) = self.here(word, self.mark()) {
            return object;
        }
        self.look_for_freed(frame);
        if self.here(word, DESTROYED).is_some() {
            let what: &[u8] = name(self.kind());
            rt().stop(stop::MISUSE, frame, &[b"a ", what, b" is used after it was destroyed"]);
        }
        let word = initial(word);
        let object = rt().new_object(self.kind(), word, self.object);
        self.write(self.mark(), object);
        spin::is_shared(self.memory() as usize, size_of::<u32>());
        object
    }

    /// An operation on the object, which was looked up before, is under way: its memory must be there still.
    #[inline]
    pub(crate) fn must_be_there(self, frame: Frame) {
        if self.read() >> 24 != self.mark() {
            self.look_for_freed(frame);
        }
    }

    /// The same where the object is not looked up, because something else is wrong with the call or it begins anew. To use an
    /// object in memory that was freed is a violation.
    pub(crate) fn look_for_freed(self, frame: Frame) {
        if heap::is_freed(self.object) {
            told::stale(self.object);
            let what: &[u8] = name(self.kind());
            rt().stop(stop::USE_AFTER_FREE, frame, &[b"a ", what, b" is used after its memory was freed"]);
        }
    }

    /// The object, which was looked up before, is destroyed: it must not be used until it is initialised again.
    pub(crate) fn destroy(self, object: u32) {
        self.write(DESTROYED, object);
    }

    /// The memory becomes a new object.
    pub(crate) fn forget(self) {
        self.write(0, 0);
    }
}

/// The object, of whatever sort, whose four bytes are there.
pub(crate) fn object_by(memory: *const u32) -> Option<u32> {
    // SAFETY: the caller's memory has four bytes.
    let word = unsafe { memory.read_unaligned() };
    let (kind, offset) = *SORTS.get((word >> 24).wrapping_sub(FIRST_MARK) as usize)?;
    let (number, address) = (word & NUMBER, (memory as usize).wrapping_sub(offset));
    (rt().is_object(number, kind) && rt().object(number).address == address).then_some(number)
}

/// What an object is called.
pub(crate) fn name(kind: u8) -> &'static [u8] {
    match kind {
        object::MUTEX => b"mutex",
        object::CONDVAR => b"condition variable",
        object::RWLOCK => b"rwlock",
        object::BARRIER => b"barrier",
        object::SPINLOCK => b"spin lock",
        object::SEMAPHORE => b"semaphore",
        object::ONCE => b"once control",
        _ => b"object",
    }
}

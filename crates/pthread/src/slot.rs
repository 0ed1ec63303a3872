//! Which object the program's memory is.
//!
//! None of the C library's objects is used as what it is, so the runtime keeps the number of the object in the memory
//! of each. What was made by a static initialiser, by the C library's `init` function (which the runtime calls), or by
//! zeroing has no number yet, and gets one when it is first touched. So objects are numbered in the order in which an
//! execution touches them, whatever their addresses, and memory that is used again is another object.

use crate::protocol::stop;
use crate::runtime::rt;
use crate::site::Frame;

/// Mixed with its address: a copy of the memory elsewhere is no object.
const TAG: u64 = 0x5E1F_ED6E_0B1E_C700;
const DESTROYED: u64 = 0xDEAD_5E1F_ED6E_0B1E;

/// Two words in the memory of an object: the tag, and the number.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    words: *mut [u64; 2],
    /// Where the object itself begins.
    object: usize,
}

impl Slot {
    /// The slot at an offset into an object.
    pub(crate) fn at<T>(object: *mut T, offset: usize) -> Self {
        Slot { words: object.cast::<u8>().wrapping_add(offset).cast(), object: object as usize }
    }

    fn read(self) -> [u64; 2] {
        // SAFETY: the caller's object has these bytes.
        unsafe { self.words.read_unaligned() }
    }

    fn write(self, words: [u64; 2]) {
        // SAFETY: as above.
        unsafe { self.words.write_unaligned(words) };
    }

    fn tag(self) -> u64 {
        TAG ^ self.words as u64
    }

    /// The object, made on its first use with the word that `initial` gives.
    pub(crate) fn object(self, kind: u8, frame: Frame, initial: impl FnOnce() -> u64) -> u32 {
        let [tag, number] = self.read();
        if tag == self.tag() {
            return number as u32;
        }
        if tag == DESTROYED ^ self.words as u64 {
            let what: &[u8] = name(kind);
            rt().stop(stop::MISUSE, frame, &[b"a ", what, b" is used after it was destroyed"]);
        }
        let object = rt().new_object(kind, initial(), self.object);
        self.write([self.tag(), u64::from(object)]);
        object
    }

    /// The object is destroyed: it must not be used until it is initialised again.
    pub(crate) fn destroy(self) {
        self.write([DESTROYED ^ self.words as u64, 0]);
    }

    /// The memory becomes a new object.
    pub(crate) fn forget(self) {
        self.write([0, 0]);
    }
}

/// The same for objects that have four bytes only.
pub(crate) fn small_object(
    memory: *mut u32,
    mark: u32,
    kind: u8,
    address: usize,
    initial: impl FnOnce(u32) -> u64,
) -> u32 {
    const NUMBER: u32 = (1 << 24) - 1;
    // SAFETY: the caller's object has four bytes.
    let word = unsafe { memory.read_unaligned() };
    if word & !NUMBER == mark {
        return word & NUMBER;
    }
    let object = rt().new_object(kind, initial(word), address);
    // SAFETY: as above.
    unsafe { memory.write_unaligned(mark | object) };
    object
}

/// What an object is called.
pub(crate) fn name(kind: u8) -> &'static [u8] {
    use crate::protocol::object;
    match kind {
        object::MUTEX => b"mutex",
        object::CONDVAR => b"condition variable",
        object::RWLOCK => b"rwlock",
        object::BARRIER => b"barrier",
        object::SPINLOCK => b"spin lock",
        object::SEMAPHORE => b"semaphore",
        _ => b"object",
    }
}

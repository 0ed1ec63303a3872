//! Which object the program's memory is.
//!
//! None of the C library's objects is used as what it is, so the runtime keeps the number of the object in the memory
//! of each. What was made by a static initialiser, by the C library's `init` function (which the runtime calls), or by
//! zeroing has no number yet, and gets one when it is first touched. So objects are numbered in the order in which an
//! execution touches them, whatever their addresses, and memory that is used again is another object.
//!
//! Memory that was freed is overwritten, so that an object in it has its number no more: that is looked at where an object
//! is looked up, and again when the operation on it is under way, since another thread may have freed it in between.

use crate::heap;
use crate::protocol::stop;
use crate::runtime::rt;
use crate::site::Frame;
use crate::spin;
use crate::told;

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

    /// The object, if there is one.
    pub(crate) fn existing(self) -> Option<u32> {
        let [tag, number] = self.read();
        (tag == self.tag()).then_some(number as u32)
    }

    /// The object, made on its first use with the word that `initial` gives.
    pub(crate) fn object(self, kind: u8, frame: Frame, initial: impl FnOnce() -> u64) -> u32 {
        let [tag, number] = self.read();
        if tag == self.tag() {
            return number as u32;
        }
        self.look_for_freed(kind, frame);
        if tag == DESTROYED ^ self.words as u64 {
            let what: &[u8] = name(kind);
            rt().stop(stop::MISUSE, frame, &[b"a ", what, b" is used after it was destroyed"]);
        }
        let object = rt().new_object(kind, initial(), self.object);
        self.write([self.tag(), u64::from(object)]);
        spin::is_shared(self.words as usize, size_of::<[u64; 2]>());
        object
    }

    /// An operation on the object, which was looked up before, is under way: its memory must be there still.
    #[inline]
    pub(crate) fn must_be_there(self, kind: u8, frame: Frame) {
        if self.read()[0] != self.tag() {
            self.look_for_freed(kind, frame);
        }
    }

    /// The same where the object is not looked up, because something else is wrong with the call or it begins anew.
    pub(crate) fn look_for_freed(self, kind: u8, frame: Frame) {
        look_for_freed(self.object, kind, frame);
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

/// To use an object in memory that was freed is a violation.
#[cold]
fn look_for_freed(address: usize, kind: u8, frame: Frame) {
    if heap::is_freed(address) {
        told::stale(address);
        rt().stop(stop::USE_AFTER_FREE, frame, &[b"a ", name(kind), b" is used after its memory was freed"]);
    }
}

/// Of objects that have four bytes only: what is the number. The rest is a mark.
const NUMBER: u32 = (1 << 24) - 1;

/// The marks of spin locks and once controls.
pub(crate) const SPIN: u32 = 0x5100_0000;
pub(crate) const ONCE: u32 = 0x5200_0000;

/// The spin lock or once control at an address, if there is one. Four bytes that only look like it are so rare that they may cost a step.
pub(crate) fn small_existing(memory: *const u32) -> Option<u32> {
    use crate::protocol::object;
    // SAFETY: the caller's memory has four bytes.
    let word = unsafe { memory.read_unaligned() };
    let kind = match word & !NUMBER {
        SPIN => object::SPINLOCK,
        ONCE => object::ONCE,
        _ => return None,
    };
    rt().is_object(word & NUMBER, kind).then_some(word & NUMBER)
}

/// An operation on an object of four bytes is under way: its memory must be there still.
#[inline]
pub(crate) fn small_must_be_there(memory: *const u32, mark: u32, kind: u8, frame: Frame) {
    // SAFETY: the caller's object has four bytes.
    if unsafe { memory.read_unaligned() } & !NUMBER != mark {
        look_for_freed(memory as usize, kind, frame);
    }
}

/// The same as [`Slot::object`] for objects that have four bytes only.
pub(crate) fn small_object(
    memory: *mut u32,
    mark: u32,
    kind: u8,
    address: usize,
    initial: impl FnOnce(u32) -> u64,
) -> u32 {
    small_object_at(memory, mark, kind, address, Frame::NONE, initial)
}

/// The same, with the place to name if its memory was freed.
pub(crate) fn small_object_at(
    memory: *mut u32,
    mark: u32,
    kind: u8,
    address: usize,
    frame: Frame,
    initial: impl FnOnce(u32) -> u64,
) -> u32 {
    // SAFETY: the caller's object has four bytes.
    let word = unsafe { memory.read_unaligned() };
    if word & !NUMBER == mark {
        return word & NUMBER;
    }
    look_for_freed(address, kind, frame);
    let object = rt().new_object(kind, initial(word), address);
    // SAFETY: as above.
    unsafe { memory.write_unaligned(mark | object) };
    spin::is_shared(memory as usize, size_of::<u32>());
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
        object::ONCE => b"once control",
        _ => b"object",
    }
}

//! Functions of the C library that go over memory: what they read and write is noted, where the program itself calls
//! them.
//!
//! `selvedge cc` has the linker put `__wrap_memcpy` wherever an object of the program names `memcpy`, and so on; also in
//! functions that are not to be instrumented, of which the linker knows nothing. What libraries call, and the C library
//! within itself, is as it was. Clang calls some of the functions by names of its own.

use std::ffi::{c_char, c_int, c_void};

use crate::memory;
use crate::runtime::is_on;
use crate::site::{Frame, frame};
use crate::sys::strlen;

type Pointer = *mut c_void;
type Text = *mut c_char;
type Wide = *mut Unit;
/// `wchar_t`.
type Unit = c_int;

unsafe extern "C" {
    fn memcpy(to: Pointer, from: Pointer, size: usize) -> Pointer;
    fn memmove(to: Pointer, from: Pointer, size: usize) -> Pointer;
    fn mempcpy(to: Pointer, from: Pointer, size: usize) -> Pointer;
    fn memset(to: Pointer, byte: c_int, size: usize) -> Pointer;
    fn memcmp(one: Pointer, other: Pointer, size: usize) -> c_int;
    fn bzero(to: Pointer, size: usize);
    fn explicit_bzero(to: Pointer, size: usize);
    fn bcopy(from: Pointer, to: Pointer, size: usize);
    fn bcmp(one: Pointer, other: Pointer, size: usize) -> c_int;
    fn memchr(from: Pointer, byte: c_int, size: usize) -> Pointer;
    fn memrchr(from: Pointer, byte: c_int, size: usize) -> Pointer;
    fn rawmemchr(from: Pointer, byte: c_int) -> Pointer;
    fn memccpy(to: Pointer, from: Pointer, byte: c_int, size: usize) -> Pointer;
    fn memmem(from: Pointer, size: usize, part: Pointer, part_size: usize) -> Pointer;
    fn strnlen(text: Text, size: usize) -> usize;
    fn strcpy(to: Text, from: Text) -> Text;
    fn stpcpy(to: Text, from: Text) -> Text;
    fn strncpy(to: Text, from: Text, size: usize) -> Text;
    fn stpncpy(to: Text, from: Text, size: usize) -> Text;
    fn strcat(to: Text, from: Text) -> Text;
    fn strncat(to: Text, from: Text, size: usize) -> Text;
    fn strcmp(one: Text, other: Text) -> c_int;
    fn strncmp(one: Text, other: Text, size: usize) -> c_int;
    fn strcasecmp(one: Text, other: Text) -> c_int;
    fn strncasecmp(one: Text, other: Text, size: usize) -> c_int;
    fn tolower(character: c_int) -> c_int;
    fn strchr(text: Text, byte: c_int) -> Text;
    fn strrchr(text: Text, byte: c_int) -> Text;
    fn strchrnul(text: Text, byte: c_int) -> Text;
    fn strspn(text: Text, set: Text) -> usize;
    fn strcspn(text: Text, set: Text) -> usize;
    fn strpbrk(text: Text, set: Text) -> Text;
    fn strstr(text: Text, part: Text) -> Text;
    fn strcasestr(text: Text, part: Text) -> Text;
    fn strdup(text: Text) -> Text;
    fn strndup(text: Text, size: usize) -> Text;
    fn wmemcpy(to: Wide, from: Wide, count: usize) -> Wide;
    fn wmemmove(to: Wide, from: Wide, count: usize) -> Wide;
    fn wmemset(to: Wide, unit: Unit, count: usize) -> Wide;
    fn wmemcmp(one: Wide, other: Wide, count: usize) -> c_int;
    fn wcslen(text: Wide) -> usize;
    fn wcscpy(to: Wide, from: Wide) -> Wide;
}

fn reads<T>(at: *mut T, size: usize, frame: Frame) {
    memory::range(at as usize, size, false, frame);
}

fn writes<T>(at: *mut T, size: usize, frame: Frame) {
    memory::range(at as usize, size, true, frame);
}

/// How many bytes of a text are looked at, of at most so many: with the zero at its end, if it is among them.
unsafe fn looked_at(text: Text, size: usize) -> usize {
    // SAFETY: a text of the program's.
    let length = unsafe { strnlen(text, size) };
    length + usize::from(length < size)
}

/// How many units are compared: up to the first that differ, or that end both texts.
unsafe fn compared<T: Copy + PartialEq>(
    one: *const T,
    other: *const T,
    count: usize,
    end: Option<T>,
) -> usize {
    // SAFETY: the program compares as many.
    let same = |&at: &usize| unsafe {
        let (a, b) = (*one.add(at), *other.add(at));
        a == b && Some(a) != end
    };
    up_to(count, same)
}

/// The same of bytes of which upper case is as good as lower case.
unsafe fn compared_in_any_case(one: *const u8, other: *const u8, size: usize) -> usize {
    // SAFETY: the program compares as many.
    let same = |&at: &usize| unsafe {
        let (a, b) = (*one.add(at), *other.add(at));
        a != 0 && (a == b || tolower(c_int::from(a)) == tolower(c_int::from(b)))
    };
    up_to(size, same)
}

/// How many are looked at until one is found that is not so, of at most so many.
fn up_to(count: usize, is_so: impl FnMut(&usize) -> bool) -> usize {
    let so = (0..count).take_while(is_so).count();
    so + usize::from(so < count)
}

/// How many bytes are looked at to find what is at a place, which is null if it is nowhere, and of this size; the whole
/// is of that size.
fn searched<T>(from: *mut T, found: *mut T, size: usize, whole: usize) -> usize {
    if found.is_null() { whole } else { (found as usize - from as usize).saturating_add(size).min(whole) }
}

/// What is compared, as read.
unsafe fn reads_both<T: Copy + PartialEq>(
    one: *mut T,
    other: *mut T,
    count: usize,
    end: Option<T>,
    frame: Frame,
) {
    // SAFETY: as the caller says.
    let size = unsafe { compared(one, other, count, end) } * size_of::<T>();
    reads(one, size, frame);
    reads(other, size, frame);
}

/// A function of the program's names: what it touches, and then the C library's.
macro_rules! wrapped {
    (@one $name:ident $real:ident ($($argument:ident: $type:ty),*) $result:ty, $frame:ident $notes:block) => {
        /// As the C library's, with what it reads and writes noted.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            // SAFETY: passed on, and looked at as the C library does.
            unsafe {
                if is_on() {
                    let $frame = frame!();
                    $notes
                }
                $real($($argument),*)
            }
        }
    };
    ($($($name:ident)+ = $real:ident $arguments:tt -> $result:ty, $frame:ident $notes:block)*) => {
        $($(wrapped! { @one $name $real $arguments $result, $frame $notes })+)*
    };
}

wrapped! {
    __wrap_memcpy __tsan_memcpy = memcpy(to: Pointer, from: Pointer, size: usize) -> Pointer, frame {
        reads(from, size, frame);
        writes(to, size, frame);
    }
    __wrap_memmove __tsan_memmove = memmove(to: Pointer, from: Pointer, size: usize) -> Pointer, frame {
        reads(from, size, frame);
        writes(to, size, frame);
    }
    __wrap_mempcpy = mempcpy(to: Pointer, from: Pointer, size: usize) -> Pointer, frame {
        reads(from, size, frame);
        writes(to, size, frame);
    }
    __wrap_memset __tsan_memset = memset(to: Pointer, byte: c_int, size: usize) -> Pointer, frame {
        writes(to, size, frame);
    }
    __wrap_memcmp = memcmp(one: Pointer, other: Pointer, size: usize) -> c_int, frame {
        reads_both::<u8>(one.cast(), other.cast(), size, None, frame);
    }
    __wrap_bcmp = bcmp(one: Pointer, other: Pointer, size: usize) -> c_int, frame {
        reads_both::<u8>(one.cast(), other.cast(), size, None, frame);
    }
    __wrap_bzero = bzero(to: Pointer, size: usize) -> (), frame {
        writes(to, size, frame);
    }
    __wrap_explicit_bzero = explicit_bzero(to: Pointer, size: usize) -> (), frame {
        writes(to, size, frame);
    }
    __wrap_bcopy = bcopy(from: Pointer, to: Pointer, size: usize) -> (), frame {
        reads(from, size, frame);
        writes(to, size, frame);
    }
    __wrap_memchr = memchr(from: Pointer, byte: c_int, size: usize) -> Pointer, frame {
        reads(from, searched(from, memchr(from, byte, size), 1, size), frame);
    }
    __wrap_memrchr = memrchr(from: Pointer, byte: c_int, size: usize) -> Pointer, frame {
        let found = memrchr(from, byte, size);
        let after = if found.is_null() { 0 } else { found as usize - from as usize };
        reads(from.byte_add(after), size - after, frame);
    }
    __wrap_rawmemchr = rawmemchr(from: Pointer, byte: c_int) -> Pointer, frame {
        reads(from, searched(from, rawmemchr(from, byte), 1, usize::MAX), frame);
    }
    __wrap_memccpy = memccpy(to: Pointer, from: Pointer, byte: c_int, size: usize) -> Pointer, frame {
        let size = searched(from, memchr(from, byte, size), 1, size);
        reads(from, size, frame);
        writes(to, size, frame);
    }
    __wrap_memmem = memmem(from: Pointer, size: usize, part: Pointer, part_size: usize) -> Pointer, frame {
        reads(from, searched(from, memmem(from, size, part, part_size), part_size, size), frame);
        reads(part, part_size, frame);
    }
    __wrap_strlen = strlen(text: Text) -> usize, frame {
        reads(text, strlen(text) + 1, frame);
    }
    __wrap_strnlen = strnlen(text: Text, size: usize) -> usize, frame {
        reads(text, looked_at(text, size), frame);
    }
    __wrap_strcpy = strcpy(to: Text, from: Text) -> Text, frame {
        let size = strlen(from) + 1;
        reads(from, size, frame);
        writes(to, size, frame);
    }
    __wrap_stpcpy = stpcpy(to: Text, from: Text) -> Text, frame {
        let size = strlen(from) + 1;
        reads(from, size, frame);
        writes(to, size, frame);
    }
    __wrap_strncpy = strncpy(to: Text, from: Text, size: usize) -> Text, frame {
        reads(from, looked_at(from, size), frame);
        writes(to, size, frame);
    }
    __wrap_stpncpy = stpncpy(to: Text, from: Text, size: usize) -> Text, frame {
        reads(from, looked_at(from, size), frame);
        writes(to, size, frame);
    }
    __wrap_strcat = strcat(to: Text, from: Text) -> Text, frame {
        let (before, size) = (strlen(to), strlen(from) + 1);
        reads(to, before, frame);
        reads(from, size, frame);
        writes(to.add(before), size, frame);
    }
    __wrap_strncat = strncat(to: Text, from: Text, size: usize) -> Text, frame {
        let (before, length) = (strlen(to), strnlen(from, size));
        reads(to, before, frame);
        reads(from, looked_at(from, size), frame);
        writes(to.add(before), length + 1, frame);
    }
    __wrap_strcmp = strcmp(one: Text, other: Text) -> c_int, frame {
        reads_both::<u8>(one.cast(), other.cast(), usize::MAX, Some(0), frame);
    }
    __wrap_strncmp = strncmp(one: Text, other: Text, size: usize) -> c_int, frame {
        reads_both::<u8>(one.cast(), other.cast(), size, Some(0), frame);
    }
    __wrap_strcasecmp = strcasecmp(one: Text, other: Text) -> c_int, frame {
        let size = compared_in_any_case(one.cast(), other.cast(), usize::MAX);
        reads(one, size, frame);
        reads(other, size, frame);
    }
    __wrap_strncasecmp = strncasecmp(one: Text, other: Text, size: usize) -> c_int, frame {
        let size = compared_in_any_case(one.cast(), other.cast(), size);
        reads(one, size, frame);
        reads(other, size, frame);
    }
    __wrap_strchr = strchr(text: Text, byte: c_int) -> Text, frame {
        reads(text, strchrnul(text, byte) as usize - text as usize + 1, frame);
    }
    __wrap_strchrnul = strchrnul(text: Text, byte: c_int) -> Text, frame {
        reads(text, strchrnul(text, byte) as usize - text as usize + 1, frame);
    }
    __wrap_strspn = strspn(text: Text, set: Text) -> usize, frame {
        reads(text, strspn(text, set) + 1, frame);
        reads(set, strlen(set) + 1, frame);
    }
    __wrap_strcspn = strcspn(text: Text, set: Text) -> usize, frame {
        reads(text, strcspn(text, set) + 1, frame);
        reads(set, strlen(set) + 1, frame);
    }
    __wrap_strpbrk = strpbrk(text: Text, set: Text) -> Text, frame {
        reads(text, strcspn(text, set) + 1, frame);
        reads(set, strlen(set) + 1, frame);
    }
    __wrap_strstr = strstr(text: Text, part: Text) -> Text, frame {
        reads(text, searched(text, strstr(text, part), strlen(part), strlen(text) + 1), frame);
        reads(part, strlen(part) + 1, frame);
    }
    __wrap_strcasestr = strcasestr(text: Text, part: Text) -> Text, frame {
        reads(text, searched(text, strcasestr(text, part), strlen(part), strlen(text) + 1), frame);
        reads(part, strlen(part) + 1, frame);
    }
    __wrap_strrchr = strrchr(text: Text, byte: c_int) -> Text, frame {
        reads(text, strlen(text) + 1, frame);
    }
    __wrap_strdup = strdup(text: Text) -> Text, frame {
        reads(text, strlen(text) + 1, frame);
    }
    __wrap_strndup = strndup(text: Text, size: usize) -> Text, frame {
        reads(text, looked_at(text, size), frame);
    }
    __wrap_wmemcpy = wmemcpy(to: Wide, from: Wide, count: usize) -> Wide, frame {
        reads(from, count * size_of::<Unit>(), frame);
        writes(to, count * size_of::<Unit>(), frame);
    }
    __wrap_wmemmove = wmemmove(to: Wide, from: Wide, count: usize) -> Wide, frame {
        reads(from, count * size_of::<Unit>(), frame);
        writes(to, count * size_of::<Unit>(), frame);
    }
    __wrap_wmemset = wmemset(to: Wide, unit: Unit, count: usize) -> Wide, frame {
        writes(to, count * size_of::<Unit>(), frame);
    }
    __wrap_wmemcmp = wmemcmp(one: Wide, other: Wide, count: usize) -> c_int, frame {
        reads_both(one, other, count, None, frame);
    }
    __wrap_wcslen = wcslen(text: Wide) -> usize, frame {
        reads(text, (wcslen(text) + 1) * size_of::<Unit>(), frame);
    }
    __wrap_wcscpy = wcscpy(to: Wide, from: Wide) -> Wide, frame {
        let size = (wcslen(from) + 1) * size_of::<Unit>();
        reads(from, size, frame);
        writes(to, size, frame);
    }
}

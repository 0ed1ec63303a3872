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

unsafe extern "C" {
    fn memcpy(to: Pointer, from: Pointer, size: usize) -> Pointer;
    fn memmove(to: Pointer, from: Pointer, size: usize) -> Pointer;
    fn mempcpy(to: Pointer, from: Pointer, size: usize) -> Pointer;
    fn memset(to: Pointer, byte: c_int, size: usize) -> Pointer;
    fn memcmp(one: Pointer, other: Pointer, size: usize) -> c_int;
    fn memchr(from: Pointer, byte: c_int, size: usize) -> Pointer;
    fn strnlen(text: Text, size: usize) -> usize;
    fn strcpy(to: Text, from: Text) -> Text;
    fn stpcpy(to: Text, from: Text) -> Text;
    fn strncpy(to: Text, from: Text, size: usize) -> Text;
    fn strcat(to: Text, from: Text) -> Text;
    fn strncat(to: Text, from: Text, size: usize) -> Text;
    fn strcmp(one: Text, other: Text) -> c_int;
    fn strncmp(one: Text, other: Text, size: usize) -> c_int;
    fn strchr(text: Text, byte: c_int) -> Text;
    fn strrchr(text: Text, byte: c_int) -> Text;
    fn strdup(text: Text) -> Text;
    fn strndup(text: Text, size: usize) -> Text;
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

/// How many bytes are compared: up to the first that differ, or that end both texts.
unsafe fn compared(one: *const u8, other: *const u8, size: usize, ends: bool) -> usize {
    // SAFETY: the program compares as many.
    let same = |&at: &usize| unsafe {
        let (a, b) = (*one.add(at), *other.add(at));
        a == b && !(ends && a == 0)
    };
    let count = (0..size).take_while(same).count();
    count + usize::from(count < size)
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
        let size = compared(one.cast(), other.cast(), size, false);
        reads(one, size, frame);
        reads(other, size, frame);
    }
    __wrap_memchr = memchr(from: Pointer, byte: c_int, size: usize) -> Pointer, frame {
        let found = memchr(from, byte, size);
        reads(from, if found.is_null() { size } else { found as usize - from as usize + 1 }, frame);
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
        let size = compared(one.cast(), other.cast(), usize::MAX, true);
        reads(one, size, frame);
        reads(other, size, frame);
    }
    __wrap_strncmp = strncmp(one: Text, other: Text, size: usize) -> c_int, frame {
        let size = compared(one.cast(), other.cast(), size, true);
        reads(one, size, frame);
        reads(other, size, frame);
    }
    __wrap_strchr = strchr(text: Text, byte: c_int) -> Text, frame {
        let found = strchr(text, byte);
        let size = if found.is_null() { strlen(text) } else { found as usize - text as usize };
        reads(text, size + 1, frame);
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
}

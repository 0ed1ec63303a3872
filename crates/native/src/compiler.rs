//! `selvedge cc` and `selvedge c++`: gcc and g++, or clang and clang++, such that programs tell of every access to memory.
//!
//! Objects are instrumented by the compiler's own thread-sanitizer pass. The linker is led to find the runtime in place
//! of the sanitizer's library, by a folder that comes first in its search. A program that was so linked runs by itself
//! too: then the runtime does nothing.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::launch::RUNTIME;

/// Functions over memory whose calls by the program are led to the runtime, which notes what they touch.
const WRAPPED: [&str; 19] = [
    "memcpy", "memmove", "mempcpy", "memset", "memcmp", "memchr", "strlen", "strnlen", "strcpy", "stpcpy",
    "strncpy", "strcat", "strncat", "strcmp", "strncmp", "strchr", "strrchr", "strdup", "strndup",
];

/// What programs include.
const HEADER: &str = include_str!("../include/selvedge.h");

/// The folder with what programs are linked against, made where it is missing: in the user's cache, and named after
/// its content, so that versions do not meet.
fn folder(compiler: &str) -> io::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    let cache = cache.unwrap_or_else(std::env::temp_dir);
    let sum = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    let name = RUNTIME.iter().chain(HEADER.as_bytes()).fold(0xCBF2_9CE4_8422_2325, sum);
    let folder = cache.join("selvedge").join(format!("{name:016x}"));
    if folder.join("complete").exists() {
        return Ok(folder);
    }
    fs::create_dir_all(&folder)?;
    // Each file appears whole: several compilers may run at once.
    let place = |name: &str, content: &[u8]| {
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        file.write_all(content)?;
        file.persist(folder.join(name)).map(|_| ()).map_err(|error| error.error)
    };
    place("libtsan.so", RUNTIME)?;
    place("libselvedge_pthread.so", RUNTIME)?;
    place("selvedge.h", HEADER.as_bytes())?;
    // What gcc links into every program that it instruments: nothing is needed of it.
    let empty = folder.join("libtsan_preinit.o");
    let made = Command::new(compiler).args(["-x", "c", "-c", "/dev/null", "-o"]).arg(&empty).status()?;
    if !made.success() {
        return Err(io::Error::other(format!("{compiler} cannot compile")));
    }
    place("complete", b"")?;
    Ok(folder)
}

/// The command that compiles as the given words say, with what is needed to check every access.
///
/// The optimisation is switched off, because an optimiser keeps variables in registers and leaves accesses out; a
/// program is then another one. With `SELVEDGE_KEEP_OPTIMISATION=1` in the environment it is as the words say.
///
/// # Errors
/// When the folder of what programs are linked against cannot be made, or there is no compiler.
///
/// ```no_run
/// let mut command = selvedge_native::compiler("gcc", &["-c".into(), "a.c".into()]).unwrap();
/// assert!(command.status().unwrap().success());
/// ```
pub fn compiler(compiler: &str, words: &[OsString]) -> io::Result<Command> {
    let folder = folder(compiler)?;
    let mut command = Command::new(compiler);
    command.args(words).arg("-g");
    // Clang's driver would link the sanitizer's own library; so only the compiler itself is told.
    let is_clang = Path::new(compiler).file_name().is_some_and(|name| name.as_bytes().starts_with(b"clang"));
    if is_clang {
        command.arg("-Xclang");
    }
    command.arg("-fsanitize=thread");
    if !std::env::var("SELVEDGE_KEEP_OPTIMISATION").is_ok_and(|value| value == "1") {
        command.arg("-O0");
    }
    command.arg("-I").arg(&folder);
    // Only where something is linked: elsewhere the compiler would complain of words that it does not use.
    let compiles_only =
        words.iter().any(|word| matches!(word.as_bytes(), b"-c" | b"-S" | b"-E" | b"-M" | b"-MM"));
    if !compiles_only {
        command.arg(with("-B", &folder)).arg(with("-L", &folder));
        command.arg(with("-Wl,-rpath,", &folder)).arg("-pthread");
        command.args(WRAPPED.map(|name| format!("-Wl,--wrap={name}")));
        if is_clang {
            command.args(["-Wl,--no-as-needed", "-ltsan"]);
        }
    }
    Ok(command)
}

fn with(option: &str, folder: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(folder);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_has_every_function_that_is_wrapped() {
        for name in WRAPPED {
            let name = format!("\0__wrap_{name}\0");
            assert!(RUNTIME.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{name:?}");
        }
    }
}

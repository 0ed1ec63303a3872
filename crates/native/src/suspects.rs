//! What a program that is not deterministic may depend on beside its schedule: a guess, by the functions that it and its
//! libraries call.

use std::path::{Path, PathBuf};

use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol};

/// Functions that open files.
const OPENING: [&str; 6] = ["open", "open64", "fopen", "fopen64", "openat", "creat"];

/// What programs depend on beside their schedule, and the functions and files that show it.
const SUSPECTS: [(&str, &[&str]); 6] = [
    (
        "random numbers",
        &[
            "getrandom",
            "getentropy",
            "arc4random",
            "arc4random_uniform",
            "arc4random_buf",
            "/dev/urandom",
            "/dev/random",
        ],
    ),
    ("numbers of processes and threads", &["getpid", "getppid", "gettid"]),
    ("files that an execution changes", &OPENING),
    ("files that it removes or renames", &["unlink", "rename"]),
    ("the network or other processes", &["socket", "connect", "pipe", "posix_spawn", "system", "popen"]),
    ("the system's clocks", &["clock_getres", "times", "getrusage"]),
];

/// The beginnings of the names of libraries that every program has, and what they call says nothing of it.
const OF_THE_SYSTEM: [&str; 9] = [
    "libc.so",
    "libm.so",
    "ld-linux",
    "libstdc++.so",
    "libgcc_s.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libselvedge",
];

/// Whether a library is one that every program has.
pub(crate) fn is_of_the_system(name: &str) -> bool {
    OF_THE_SYSTEM.iter().any(|system| name.starts_with(system))
}

/// Whether a library is OpenMP's: gcc's, clang's, or Intel's.
pub(crate) fn is_openmp(name: &str) -> bool {
    ["libgomp.so", "libomp.so", "libomp5.so", "libiomp5.so"].iter().any(|library| name.starts_with(library))
}

/// Whether a file asks for a function of this name.
pub(crate) fn asks(file: &ElfFile64<'_, object::Endianness>, name: &str) -> bool {
    file.dynamic_symbols()
        .any(|symbol| symbol.is_undefined() && symbol.name().is_ok_and(|found| found == name))
}

/// What the executable may depend on, in words: "random numbers (getrandom)". Where it shows nothing, its libraries.
pub(crate) fn of(executable: &Path, libraries: &[PathBuf]) -> Vec<String> {
    let own = of_file(executable, "");
    if !own.is_empty() {
        return own;
    }
    let names = libraries.iter().filter_map(|file| Some((file, file.file_name()?.to_str()?)));
    let others = names.filter(|(_, name)| !is_of_the_system(name));
    others.flat_map(|(file, name)| of_file(file, &format!(" in {name}"))).collect()
}

fn of_file(path: &Path, place: &str) -> Vec<String> {
    let data = std::fs::read(path).unwrap_or_default();
    let Ok(file) = ElfFile64::<object::Endianness>::parse(data.as_slice()) else { return Vec::new() };
    let opens = OPENING.iter().any(|name| asks(&file, name));
    let mentions = |text: &str| data.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    let suspects = SUSPECTS.iter().filter_map(|(what, names)| {
        // A device has to be opened by its name.
        let shows =
            |name: &str| if name.starts_with('/') { opens && mentions(name) } else { asks(&file, name) };
        let asked: Vec<_> = names.iter().copied().filter(|name| shows(name)).collect();
        (!asked.is_empty()).then(|| format!("{what} ({}{place})", asked.join(", ")))
    });
    suspects.collect()
}

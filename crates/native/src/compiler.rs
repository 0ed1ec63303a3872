//! `selvedge cc` and `selvedge c++`: gcc and g++, or clang and clang++, such that programs tell of every access to memory.
//!
//! Objects are instrumented by the compiler's own thread-sanitizer pass. The linker is led to find the runtime in place
//! of the sanitizer's library, by a folder that comes first in its search. A program that was so linked runs by itself
//! too: then the runtime does nothing.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{cache, unseen, words};

/// Functions over memory whose calls by the program are led to the runtime, which notes what they touch. Of these gcc
/// makes instructions of its own where it can, some even without optimisation, unless it is told that they are
/// functions like any other.
const EXPANDED: [&str; 15] = [
    "memcpy", "memmove", "mempcpy", "memset", "memcmp", "strcpy", "stpcpy", "strncpy", "strcat", "strncat",
    "strcmp", "strncmp", "bzero", "bcopy", "bcmp",
];

/// Others, which are always called. The compiler knows them still: a program may want `strlen("text")` to be a constant.
const CALLED: [&str; 27] = [
    "memchr",
    "memrchr",
    "rawmemchr",
    "memccpy",
    "memmem",
    "strlen",
    "strnlen",
    "strchr",
    "strrchr",
    "strchrnul",
    "strspn",
    "strcspn",
    "strpbrk",
    "strstr",
    "strcasestr",
    "strcasecmp",
    "strncasecmp",
    "stpncpy",
    "strdup",
    "strndup",
    "explicit_bzero",
    "wmemcpy",
    "wmemmove",
    "wmemset",
    "wmemcmp",
    "wcslen",
    "wcscpy",
];

/// What has the headers of C++'s library check what they are given, and what has them not do so.
const ASSERTIONS: [&str; 2] = ["_GLIBCXX_ASSERTIONS", "_GLIBCXX_NO_ASSERTIONS"];

/// A command that runs the compiler. A name of several words is a program with its first arguments, as in
/// `ccache gcc`, unless there is a file of that name.
fn run(compiler: &str) -> Command {
    if Path::new(compiler).is_file() {
        return Command::new(compiler);
    }
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Whether the compiler is clang, by what it says of itself: it may have any name.
fn is_clang(compiler: &str) -> io::Result<bool> {
    let output = run(compiler).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // gcc tells its own name too, whatever that is.
    Ok(text.contains("clang") && !text.contains("Free Software Foundation"))
}

/// The command that compiles as the given words say, with what is needed to check every access.
///
/// The optimisation is switched off, because an optimiser keeps variables in registers and leaves accesses out; a
/// program is then another one. With `SELVEDGE_KEEP_OPTIMISATION=1` in the environment it is as the words say.
///
/// The name of the compiler may have words after it, as in `ccache gcc`.
///
/// # Errors
/// When the folder of what programs are linked against cannot be made, or there is no compiler; and of the kind
/// [`io::ErrorKind::InvalidInput`] when the words ask for what a program that is checked cannot have.
///
/// ```no_run
/// let mut command = selvedge_native::compiler("gcc", &["-c".into(), "a.c".into()]).unwrap();
/// assert!(command.status().unwrap().success());
/// ```
pub fn compiler(compiler: &str, words: &[OsString]) -> io::Result<Command> {
    let read = words::read_files(words);
    if let Some(word) = words::refused(&read) {
        let reason = match word.strip_prefix("-fsanitize=") {
            Some(_) => "its library takes over what Selvedge does",
            None => "nothing can be preloaded into a program that is statically linked",
        };
        let message =
            format!("{word} cannot be used for a program that is to be checked: {reason}; leave it out");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let is_clang = is_clang(compiler)?;
    let folder = cache::folder(run(compiler))?;
    let kept = words::without_sanitizer(&read);
    let mut command = run(compiler);
    // Files of words are passed on as they are where that is possible: they may have more than a command can.
    command.args(if kept == read { words } else { &kept }).arg("-g");
    if is_clang {
        // Its driver would link the sanitizer's own library; so only the compiler itself is told. And it complains of
        // words that it has no use for, as for most of these where it assembles.
        command.args(["-Wno-unused-command-line-argument", "-Xclang", "-fsanitize=thread"]);
        // Or a read that is followed by a write of the same place is not told of, and what is read is that of the step before.
        command.args(["-mllvm", "-tsan-instrument-read-before-write"]);
    } else {
        // Of fences it warns that the sanitizer's own library does not know them.
        command.args(["-fsanitize=thread", "-Wno-tsan"]);
        command.args(EXPANDED.map(|name| format!("-fno-builtin-{name}")));
    }
    if !std::env::var("SELVEDGE_KEEP_OPTIMISATION").is_ok_and(|value| value == "1") {
        command.arg("-O0");
    }
    // Or it would be the caller of a function who says that the function has ended.
    command.arg("-fno-optimize-sibling-calls");
    // With this macro, other functions are called than those that are wrapped. Like this it is the last word, also where it is
    // defined by `-Wp`.
    command.arg("-Wp,-U_FORTIFY_SOURCE");
    // Members of `std::string` are then compiled with the program, where they would be those of the library.
    if !ASSERTIONS.iter().any(|name| words::name_macro(&read, name)) {
        command.arg(format!("-D{}", ASSERTIONS[0]));
    }
    // Everywhere: a header that was compiled without it does not fit.
    command.arg("-pthread").arg("-I").arg(&folder);
    let plain = || run(compiler);
    let assembler = unseen::assembler(&read, &plain);
    if !assembler.is_empty() {
        let text = format!("__asm__({:?});\n", unseen::section(&assembler));
        let note = unseen::file(&folder, "h", &text, |path| std::fs::write(path, &text))?;
        command.arg("-include").arg(note);
    }
    // Only where something is linked: elsewhere the compiler would complain of words that it does not use, or link.
    if words::link(&read) {
        let linked = unseen::linked(&read, &plain);
        if !linked.is_empty() {
            let text = format!("{}.section .note.GNU-stack,\"\",@progbits\n", unseen::section(&linked));
            let note = unseen::file(&folder, "o", &text, |path| assemble(run(compiler), &text, path))?;
            // In whatever language the files before it are.
            command.args(["-x", "none"]).arg(note);
        }
        command.arg(with("-B", &folder)).arg(with("-L", &folder));
        // Not by `-Wl`: the folder may have a comma in its name.
        command.args(["-Xlinker", "-rpath", "-Xlinker"]).arg(&folder);
        command.args(wrapped().map(|name| format!("-Wl,--wrap={name}")));
        if is_clang {
            command.args(["-Wl,--no-as-needed", "-ltsan"]);
        }
    }
    Ok(command)
}

/// Makes an object of a text.
fn assemble(mut compiler: Command, text: &str, object: &Path) -> io::Result<()> {
    compiler.args(["-x", "assembler", "-c", "-o"]).arg(object).arg("-").stdin(Stdio::piped());
    let mut child = compiler.spawn()?;
    // It is closed then, so that the text ends.
    child.stdin.take().expect("it was asked for").write_all(text.as_bytes())?;
    if child.wait()?.success() { Ok(()) } else { Err(io::Error::other("it cannot assemble")) }
}

fn wrapped() -> impl Iterator<Item = &'static str> {
    EXPANDED.into_iter().chain(CALLED)
}

fn with(option: &str, folder: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(folder);
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::RUNTIME;

    #[test]
    fn the_runtime_has_every_function_that_is_wrapped() {
        for name in wrapped() {
            let name = format!("\0__wrap_{name}\0");
            assert!(RUNTIME.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{name:?}");
        }
    }
}

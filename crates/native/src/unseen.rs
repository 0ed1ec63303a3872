//! Code in a program that does not tell of its accesses to memory, although the program does: objects and libraries that were
//! compiled otherwise, and inline assembler. What it does with other threads is not seen, so answers name it.
//!
//! What is linked into the executable is looked at when it is linked, and inline assembler when it is compiled; both are noted in
//! a section of the file. Shared libraries are looked at when they are loaded.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::suspects;
use crate::words::{Part, parts};

/// Who has written a note, and what of: the name of something that is not seen.
const OWNER: &str = "Selvedge";
const NAME: object::elf::NoteType = object::elf::NoteType(1);

/// Libraries that the runtime knows.
const KNOWN: [&str; 12] =
    ["c", "m", "dl", "rt", "pthread", "util", "gcc", "gcc_s", "gcc_eh", "stdc++", "tsan", "selvedge_pthread"];

/// What is linked that does not tell of its accesses, by these words. A command asks the compiler where libraries are.
pub(crate) fn linked(words: &[OsString], compiler: &dyn Fn() -> Command) -> Vec<String> {
    let parts = parts(words);
    let mut folders = Vec::new();
    let mut names = Vec::new();
    for part in &parts {
        if let Part::Option([option, rest @ ..]) = part
            && let Some(joined) = option.as_bytes().strip_prefix(b"-L")
        {
            let folder = if joined.is_empty() { rest.first() } else { None };
            folders.push(PathBuf::from(folder.map_or(OsStr::from_bytes(joined), OsString::as_os_str)));
        }
    }
    for part in &parts {
        let file = match part {
            Part::File(file, _) => Some(PathBuf::from(file)),
            Part::Library(name) if KNOWN.iter().any(|known| name == known) => None,
            Part::Library(name) => find(name, &folders, compiler),
            Part::Option(_) | Part::Linker => None,
        };
        let Some(file) = file else { continue };
        if is_assembler(&file) || fs::read(&file).is_ok_and(|data| is_unseen(&data)) {
            names.extend(name_of(&file).filter(|name| !names.contains(name)));
        }
    }
    names
}

fn is_assembler(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ["s", "S", "sx"].iter().any(|known| ending == *known))
}

fn name_of(file: &Path) -> Option<String> {
    Some(file.file_name()?.to_string_lossy().into_owned())
}

/// The static library of a name. One that is loaded is looked at then.
fn find(name: &OsStr, folders: &[PathBuf], compiler: &dyn Fn() -> Command) -> Option<PathBuf> {
    let name = name.to_str()?;
    let names = match name.strip_prefix(':') {
        Some(file) => vec![file.to_string()],
        None => vec![format!("lib{name}.so"), format!("lib{name}.a")],
    };
    for folder in folders {
        if let Some(file) = names.iter().map(|name| folder.join(name)).find(|file| file.exists()) {
            return Some(file);
        }
    }
    names.iter().find_map(|name| {
        let output = compiler().arg(format!("-print-file-name={name}")).output().ok()?;
        let path = PathBuf::from(OsStr::from_bytes(output.stdout.trim_ascii_end()));
        // What it does not know it says again.
        path.is_absolute().then_some(path)
    })
}

/// Whether an object that is linked, or one of those in a static library, has code that does not tell of its accesses.
fn is_unseen(data: &[u8]) -> bool {
    if let Ok(archive) = ArchiveFile::parse(data) {
        let members = archive.members().filter_map(Result::ok);
        return members.filter_map(|member| member.data(data).ok()).any(is_unseen_object);
    }
    is_unseen_object(data)
}

fn is_unseen_object(data: &[u8]) -> bool {
    let Ok(file) = ElfFile64::<object::Endianness>::parse(data) else { return false };
    let is_object = file.elf_header().e_type(file.endian()) == object::elf::ET_REL;
    let has_code =
        file.sections().any(|section| section.kind() == object::SectionKind::Text && section.size() > 0);
    let tells = file.symbols().any(|symbol| symbol.name() == Ok("__tsan_init"));
    is_object && has_code && !tells
}

/// Those of the libraries that a program has loaded which do not tell of their accesses, but for those that the runtime knows.
pub(crate) fn loaded(libraries: &[PathBuf]) -> Vec<String> {
    let is_unseen = |file: &&PathBuf| {
        let name = name_of(file).unwrap_or_default();
        let is_known =
            suspects::is_of_the_system(&name) || file.starts_with("/memfd:selvedge runtime (deleted)");
        let data = if is_known { Vec::new() } else { fs::read(file).unwrap_or_default() };
        let parsed = ElfFile64::<object::Endianness>::parse(data.as_slice());
        parsed.is_ok_and(|file| !suspects::asks(&file, "__tsan_init"))
    };
    libraries.iter().filter(is_unseen).filter_map(|file| name_of(file)).collect()
}

/// The sources that have inline assembler which accesses memory, or calls the system. A command compiles as the words say.
pub(crate) fn assembler(words: &[OsString], compiler: &dyn Fn() -> Command) -> Vec<String> {
    let parts = parts(words);
    let has =
        |option: &str| parts.iter().any(|part| matches!(part, Part::Option([word, ..]) if word == option));
    // What is included for a note would be in an assembler source too, which is no C.
    let has_other =
        parts.iter().any(|part| matches!(part, Part::File(file, _) if is_assembler(Path::new(file))));
    if has_other || ["-E", "-M", "-MM", "-fsyntax-only", "-###", "--version"].into_iter().any(has) {
        return Vec::new();
    }
    let mut names = Vec::new();
    for part in &parts {
        let Part::File(file, language) = part else { continue };
        if !is_source(file, language) {
            continue;
        }
        let compile = |how: &str| {
            let mut command = compiler();
            for part in &parts {
                if let Part::Option(words) = part
                    && !is_about_output(&words[0])
                {
                    command.args(*words);
                }
            }
            if *language != "none" {
                command.arg("-x").arg(language);
            }
            command
                .args([how, "-fno-lto", "-w", "-o", "-"])
                .arg(file)
                .stderr(Stdio::null())
                .stdin(Stdio::null());
            // Whatever is wrong with it, the compiler says so when it is compiled.
            command.output().map(|output| output.stdout).unwrap_or_default()
        };
        if mentions_assembler(&compile("-E")) && has_access(&String::from_utf8_lossy(&compile("-S"))) {
            let name = name_of(Path::new(file)).unwrap_or_default();
            names.push(format!("inline assembler in {name}"));
        }
    }
    names
}

/// Whether a file is a source of C or C++.
fn is_source(file: &OsStr, language: &OsStr) -> bool {
    const ENDINGS: [&str; 9] = ["c", "i", "cc", "cp", "cxx", "cpp", "c++", "C", "ii"];
    match language.to_str() {
        Some("none") => {
            Path::new(file).extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
        }
        Some("c" | "c++" | "cpp-output" | "c++-cpp-output") => file != "-",
        _ => false,
    }
}

/// Whether an option says what is made of a source.
fn is_about_output(option: &OsStr) -> bool {
    let text = option.as_bytes();
    matches!(text, b"-c" | b"-S" | b"-o" | b"--compile" | b"--assemble" | b"-v" | b"-shared")
        || text.starts_with(b"-M") && text != b"-Mach"
        || text.starts_with(b"-save-temps")
        || text.starts_with(b"--save-temps")
        || text.starts_with(b"-x")
}

/// Whether a source that was preprocessed may have inline assembler. The name that a declaration gives a function is none.
fn mentions_assembler(text: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut before = b' ';
    let mut at = 0;
    while at < text.len() {
        if is_word(&text[at]) {
            let end = at + text[at..].iter().take_while(|byte| is_word(byte)).count();
            if matches!(&text[at..end], b"asm" | b"__asm" | b"__asm__") && before != b')' {
                return true;
            }
            (before, at) = (b'a', end);
        } else {
            if !text[at].is_ascii_whitespace() {
                before = text[at];
            }
            at += 1;
        }
    }
    false
}

/// Whether inline assembler in what a compiler has made accesses memory other than on the stack of its function, or calls the
/// system.
fn has_access(assembly: &str) -> bool {
    const NO_ACCESS: [&str; 3] = ["lea", "nop", "prefetch"];
    const ACCESS: [&str; 4] = ["rep", "xlat", "syscall", "int $"];
    let mut is_inline = false;
    assembly.lines().any(|line| {
        let line = line.trim();
        match line {
            "#APP" | "# APP" => is_inline = true,
            "#NO_APP" | "# NO_APP" => is_inline = false,
            _ => {}
        }
        let code = line.split('#').next().unwrap_or_default();
        is_inline
            && code.split(';').map(str::trim).any(|code| {
                let code = code.strip_prefix("lock").map_or(code, str::trim_start);
                let starts = |words: &[&str]| words.iter().any(|word| code.starts_with(word));
                let operand = code.replace("(%rbp)", "").replace("(%rsp)", "");
                !code.starts_with('.')
                    && !starts(&NO_ACCESS)
                    && (starts(&ACCESS) || operand.contains('(') || operand.contains('['))
            })
    })
}

/// A section of assembler with such names, for a file of its own.
pub(crate) fn section(names: &[String]) -> String {
    let mut text = String::from(".pushsection .note.selvedge,\"a\",@note\n");
    for name in names {
        let bytes = |text: &str| text.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(",");
        text.push_str(&format!(".balign 4\n.long {}, {}, {}\n", OWNER.len() + 1, name.len(), NAME.0));
        text.push_str(&format!(".byte {},0\n.balign 4\n.byte {}\n.balign 4\n", bytes(OWNER), bytes(name)));
    }
    text.push_str(".popsection\n");
    text
}

/// The names that are noted in an executable.
pub(crate) fn noted(file: &ElfFile64<'_, object::Endianness>, data: &[u8]) -> Vec<String> {
    let endian = file.endian();
    let mut names = Vec::new();
    for header in file.elf_program_headers() {
        let Ok(Some(mut notes)) = header.notes(endian, data) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == OWNER.as_bytes() && note.n_type(endian) == NAME {
                // It may be anybody's text: it is for people to read.
                let name: String = String::from_utf8_lossy(note.desc())
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(80)
                    .collect();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    names
}

/// A few names, and how many more there are.
pub(crate) fn phrase(names: &[String]) -> String {
    const MOST: usize = 3;
    let mut shown: Vec<String> = names.iter().take(MOST).cloned().collect();
    if names.len() > MOST {
        shown.push(format!("{} more", names.len() - MOST));
    }
    let last = shown.pop().unwrap_or_default();
    let listed = if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) };
    format!("no synchronisation in code that was not seen ({listed})")
}

/// A file of this text in a folder, named after it.
pub(crate) fn file(
    folder: &Path,
    ending: &str,
    text: &str,
    make: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let path = folder.join(format!("unseen-{:016x}.{ending}", crate::cache::sum(text.as_bytes())));
    if !path.is_file() {
        let temporary =
            tempfile::Builder::new().suffix(&format!(".{ending}")).tempfile_in(folder)?.into_temp_path();
        make(&temporary)?;
        temporary.persist(&path).map_err(|error| error.error)?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_assembler_is_told_from_names() {
        for text in ["asm(\"nop\");", "; __asm__ __volatile__ (\"\");", "{ asm volatile(\"x\"); }"] {
            assert!(mentions_assembler(text.as_bytes()), "{text}");
        }
        for text in
            ["int f(void) __asm__(\"g\");", "int f() __attribute__((x)) __asm__ (\"\" \"g\");", "int asm_f;"]
        {
            assert!(!mentions_assembler(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn accesses_in_assembler_are_seen() {
        let inline = |code: &str| {
            has_access(&format!("\tmovl (%rax), %eax\n#APP\n# 1 \"a.c\" 1\n\t{code}\n#NO_APP\n"))
        };
        for code in [
            "lock; xaddl %eax, (%rdx)",
            "lock xaddl %eax, (%rdx)",
            "movl x(%rip), %eax",
            "mov eax, [rdx]",
            "rep movsb",
            "pause; movl %eax, 8(%rdi)",
            "syscall",
        ] {
            assert!(inline(code), "{code}");
        }
        for code in
            ["pause", "mfence", "", "rdtsc", "fnstcw -4(%rbp)", "leaq 8(%rax), %rdx", "# (x)", ".byte 1"]
        {
            assert!(!inline(code), "{code}");
        }
    }

    #[test]
    fn a_few_names_are_said() {
        let names: Vec<String> = ["a.o", "b.o", "c.o", "d.o", "e.o"].map(String::from).to_vec();
        assert!(phrase(&names[..1]).ends_with("(a.o)"));
        assert!(phrase(&names[..3]).ends_with("(a.o, b.o and c.o)"));
        assert!(phrase(&names).ends_with("(a.o, b.o, c.o and 2 more)"));
    }
}

//! What the words ask for that a compiler is given: whether something is linked, and what of it must not be passed on.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// With these nothing is linked, whatever the others are. (What `-r` makes is linked another time.)
const NOT_LINKED: [&[u8]; 13] = [
    b"-c",
    b"-S",
    b"-E",
    b"-M",
    b"-MM",
    b"-r",
    b"-fsyntax-only",
    b"-emit-ast",
    b"--analyze",
    b"--assemble",
    b"--compile",
    b"--precompile",
    b"--preprocess",
];

/// These go with the word after them, which is no file to compile.
const WITH_NEXT: [&[u8]; 39] = [
    b"-o",
    b"-D",
    b"-U",
    b"-I",
    b"-L",
    b"-B",
    b"-A",
    b"-F",
    b"-T",
    b"-e",
    b"-u",
    b"-z",
    b"-MF",
    b"-MT",
    b"-MQ",
    b"-include",
    b"-include-pch",
    b"-imacros",
    b"-idirafter",
    b"-imultilib",
    b"-iprefix",
    b"-iquote",
    b"-isysroot",
    b"-isystem",
    b"-iwithprefix",
    b"-iwithprefixbefore",
    b"-Xanalyzer",
    b"-Xassembler",
    b"-Xclang",
    b"-Xpreprocessor",
    b"-arch",
    b"-aux-info",
    b"-dumpbase",
    b"-dumpdir",
    b"-mllvm",
    b"-target",
    b"-wrapper",
    b"--param",
    b"--sysroot",
];

/// Files with these names are compiled to headers, which are not linked.
const HEADERS: [&[u8]; 9] = [b"h", b"hh", b"H", b"hp", b"hpp", b"HPP", b"hxx", b"h++", b"tcc"];

/// As many files of words may name one another, as the compilers have a limit too.
const FILES_IN_FILES: u32 = 20;

/// The words, with those of every file that is named by `@FILE` in its place.
pub(crate) fn read_files(words: &[OsString]) -> Vec<OsString> {
    read_files_within(words, FILES_IN_FILES)
}

fn read_files_within(words: &[OsString], depth: u32) -> Vec<OsString> {
    let mut all = Vec::new();
    for word in words {
        let file = word.as_bytes().strip_prefix(b"@").filter(|_| depth > 0);
        // Where there is no such file, it is a word like any other.
        match file.and_then(|file| std::fs::read(OsStr::from_bytes(file)).ok()) {
            Some(text) => all.extend(read_files_within(&split(&text), depth - 1)),
            None => all.push(word.clone()),
        }
    }
    all
}

/// The words of a text, as the compilers read it: a backslash takes any meaning from what is after it, and so do quotes
/// from blanks.
fn split(text: &[u8]) -> Vec<OsString> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<Vec<u8>>, None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => word.get_or_insert_default().extend(bytes.next()),
            _ if quote == Some(byte) => quote = None,
            b'\'' | b'"' if quote.is_none() => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            _ if byte.is_ascii_whitespace() && quote.is_none() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// The words without those that link the thread sanitizer's own library, in place of which the runtime is linked.
pub(crate) fn without_sanitizer(words: &[OsString]) -> Vec<OsString> {
    let mut kept: Vec<OsString> = Vec::new();
    for word in words {
        // What is for the compiler itself links nothing, and the word before would be left alone.
        let is_passed_on = kept.last().is_some_and(|before| before == "-Xclang");
        match word.as_bytes().strip_prefix(b"-fsanitize=") {
            Some(list) if !is_passed_on => {
                let others: Vec<_> =
                    list.split(|byte| *byte == b',').filter(|name| *name != b"thread").collect();
                if !others.is_empty() {
                    kept.push(OsString::from_vec([b"-fsanitize=", &*others.join(&b',')].concat()));
                }
            }
            _ if word == "-static-libtsan" => {}
            _ => kept.push(word.clone()),
        }
    }
    kept
}

/// Sanitizers whose libraries take over what the runtime does.
const OTHERS: [&str; 5] = ["address", "hwaddress", "leak", "memory", "dataflow"];

/// The word that asks for what cannot be had beside the runtime, if one does.
pub(crate) fn refused(words: &[OsString]) -> Option<String> {
    let mut asked: Vec<&str> = Vec::new();
    for word in words.iter().filter_map(|word| word.to_str()) {
        if let Some(list) = word.strip_prefix("-fsanitize=") {
            asked.extend(OTHERS.iter().filter(|other| list.split(',').any(|name| name == **other)));
        } else if let Some(list) = word.strip_prefix("-fno-sanitize=") {
            asked.retain(|other| list.split(',').all(|name| name != *other && name != "all"));
        }
    }
    if let Some(name) = asked.first() {
        return Some(format!("-fsanitize={name}"));
    }
    let is_static = |word: &&OsString| *word == "-static" || *word == "-static-pie";
    words.iter().find(is_static).filter(|_| link(words)).map(|word| word.to_string_lossy().into_owned())
}

/// Whether a macro is defined or undefined.
pub(crate) fn name_macro(words: &[OsString], name: &str) -> bool {
    let is_it = |text: &[u8]| text.split(|byte| *byte == b'=').next() == Some(name.as_bytes());
    let mut before: &[u8] = b"";
    words.iter().map(|word| word.as_bytes()).any(|word| {
        let joined = word.strip_prefix(b"-D").or(word.strip_prefix(b"-U"));
        let found = joined.is_some_and(is_it) || matches!(before, b"-D" | b"-U") && is_it(word);
        before = word;
        found
    })
}

/// What some of the words are for, which come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'w> {
    /// An option, with what goes with it.
    Option(&'w [OsString]),
    /// Something for the linker alone.
    Linker,
    /// A library, by its name.
    Library(&'w OsStr),
    /// A file, in this language, or `none` where that is by its name.
    File(&'w OsStr, &'w OsStr),
}

/// What all the words are for.
pub(crate) fn parts(words: &[OsString]) -> Vec<Part<'_>> {
    let (mut parts, mut at, mut language) = (Vec::new(), 0, OsStr::new("none"));
    while let Some(word) = words.get(at) {
        let text = word.as_bytes();
        let joined = |option: &[u8]| text.strip_prefix(option).map(OsStr::from_bytes);
        let takes_next = matches!(text, b"-x" | b"-l" | b"-Xlinker") || WITH_NEXT.contains(&text);
        let end = (at + 1 + usize::from(takes_next)).min(words.len());
        let next = words[at + 1..end].first().map(OsString::as_os_str).unwrap_or_default();
        parts.push(match text {
            b"-l" => Part::Library(next),
            b"-Xlinker" => Part::Linker,
            b"-" => Part::File(word, language),
            _ if !text.starts_with(b"-") => Part::File(word, language),
            _ if text.starts_with(b"-Wl,") => Part::Linker,
            _ if takes_next || !text.starts_with(b"-l") => Part::Option(&words[at..end]),
            _ => Part::Library(joined(b"-l").unwrap_or_default()),
        });
        match text {
            b"-x" => language = next,
            _ if !takes_next && text.starts_with(b"-x") => language = joined(b"-x").unwrap_or_default(),
            _ => {}
        }
        at = end;
    }
    parts
}

/// Whether something is linked.
pub(crate) fn link(words: &[OsString]) -> bool {
    let parts = parts(words);
    let is_for_other = |part: &Part<'_>| match part {
        Part::Option(words) => NOT_LINKED.contains(&words[0].as_bytes()),
        _ => false,
    };
    let is_linked = |part: &Part<'_>| match part {
        Part::Option(_) => false,
        Part::Linker | Part::Library(_) => true,
        Part::File(file, language) => !is_header(file.as_bytes(), language.as_bytes()),
    };
    !parts.iter().any(is_for_other) && parts.iter().any(is_linked)
}

/// Whether a file is compiled to a header.
fn is_header(file: &[u8], language: &[u8]) -> bool {
    match language {
        b"none" => {
            let mut parts = file.rsplitn(2, |byte| *byte == b'.');
            let ending = parts.next();
            parts.next().is_some() && ending.is_some_and(|ending| HEADERS.contains(&ending))
        }
        _ => language.ends_with(b"-header"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn it_is_known_whether_something_is_linked() {
        for text in [
            "a.c",
            "a.o -o a.h",
            "-x c-header a.h -x none b.c",
            "-xc -",
            "-lm",
            "-l m",
            "-Wl,--version",
            "@none",
            "h",
        ] {
            assert!(link(&words(text)), "{text}");
        }
        for text in [
            "",
            "-v",
            "-c a.c",
            "a.c -fsyntax-only",
            "--analyze a.c",
            "-x c++-header a.hpp -o a.gch",
            "-xc-header a",
            "b/a.hh",
            "-I a -include b.h -o c",
            "-Xclang -fast",
            "-r a.o b.o",
            "-print-file-name=libc.so",
        ] {
            assert!(!link(&words(text)), "{text}");
        }
    }

    #[test]
    fn the_sanitizers_own_library_is_not_asked_for() {
        let kept = |text: &str| without_sanitizer(&words(text));
        assert_eq!(kept("-g -fsanitize=thread a.c -static-libtsan"), words("-g a.c"));
        assert_eq!(kept("-fsanitize=undefined,thread,bounds"), words("-fsanitize=undefined,bounds"));
        assert_eq!(
            kept("-fno-sanitize=thread -Xclang -fsanitize=thread"),
            words("-fno-sanitize=thread -Xclang -fsanitize=thread")
        );
    }

    #[test]
    fn what_cannot_be_had_beside_the_runtime_is_refused() {
        let refused = |text: &str| refused(&words(text));
        for (text, word) in [
            ("-fsanitize=undefined,address a.c", "-fsanitize=address"),
            ("-c -fsanitize=leak a.c -fno-sanitize=undefined", "-fsanitize=leak"),
            ("-static a.c", "-static"),
            ("-static-pie a.o", "-static-pie"),
        ] {
            assert_eq!(refused(text).as_deref(), Some(word), "{text}");
        }
        for text in [
            "-fsanitize=undefined,bounds a.c",
            "-fsanitize=address -fno-sanitize=all a.c",
            "-fsanitize=address -fno-sanitize=leak,address a.c",
            "-static -c a.c",
            "-static-libstdc++ a.cpp",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
    }

    #[test]
    fn macros_are_found_however_they_are_defined() {
        for text in ["-DONE", "-UONE", "-D ONE=2", "-U ONE", "a.c -DTWO -DONE=1"] {
            assert!(name_macro(&words(text), "ONE"), "{text}");
        }
        for text in ["", "ONE", "-DONES", "-D TWO=ONE", "-o ONE"] {
            assert!(!name_macro(&words(text), "ONE"), "{text}");
        }
    }

    #[test]
    fn files_of_words_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            OsString::from(format!("@{}", path.display()))
        };
        let inner = file("inner", "-c\n'a b.c' \"\"");
        let outer = file("outer", &format!("-D\"X=a b\" c\\ d {} ", inner.display()));
        let read = read_files(&["-g".into(), outer, "@there is none".into()]);
        assert_eq!(read, ["-g", "-DX=a b", "c d", "-c", "a b.c", "", "@there is none"]);
        assert!(!link(&read));
        // One that names itself is left as it is at some point.
        let round = file("round", "@round");
        let round_again = file("round", round.to_str().unwrap());
        assert_eq!(read_files(std::slice::from_ref(&round)), [round_again]);
    }
}

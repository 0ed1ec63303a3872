//! From addresses to source lines, function names and the names of variables.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use addr2line::Loader;
use object::{Object as _, ObjectSymbol as _};
use selvedge_core::Location;

/// A file that is mapped into the program: the executable, or a library.
struct Module {
    memory: Range<u64>,
    /// The offset in the file of where its memory begins.
    offset: u64,
    /// By how much its addresses are shifted.
    shift: OnceCell<Option<u64>>,
    file: PathBuf,
}

impl Module {
    fn shift(&self) -> Option<u64> {
        *self.shift.get_or_init(|| shift(&self.file, self.memory.start, self.offset))
    }
}

/// A variable of the program, as its file has it.
struct Variable {
    address: u64,
    size: u64,
    name: String,
}

/// What is known of the program's code and variables.
pub(crate) struct Symbols {
    /// In the order of their addresses.
    modules: Vec<Module>,
    /// What was loaded later, in an execution, the last at the end.
    loaded: Vec<Module>,
    /// By file: what reads its debug information.
    files: RefCell<HashMap<PathBuf, Option<Loader>>>,
    variables: RefCell<HashMap<PathBuf, Vec<Variable>>>,
    places: RefCell<HashMap<u64, Vec<Place>>>,
    directory: Option<PathBuf>,
}

/// One of the functions that an address is in, the innermost first.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) function: Option<String>,
    pub(crate) location: Option<Location>,
}

impl Symbols {
    /// Reads what is mapped into a process.
    pub(crate) fn of_process(pid: u32) -> Self {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let mappings = maps.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let (from, to) = words.next()?.split_once('-')?;
            let offset = words.nth(1)?;
            let file = line.find('/').map(|at| PathBuf::from(&line[at..]))?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            let memory = number(from)?..number(to)?;
            Some(Module { memory, offset: number(offset)?, shift: OnceCell::new(), file })
        });
        let mut modules: Vec<Module> = Vec::new();
        for mapping in mappings {
            match modules.last_mut() {
                Some(last) if last.file == mapping.file => last.memory.end = mapping.memory.end,
                _ => modules.push(mapping),
            }
        }
        Symbols {
            modules,
            loaded: Vec::new(),
            files: RefCell::default(),
            variables: RefCell::default(),
            places: RefCell::default(),
            directory: std::env::current_dir().ok(),
        }
    }

    /// The files that are mapped.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.modules.iter().map(|module| module.file.as_path())
    }

    /// An execution has loaded a library, with this part of its path from there on.
    pub(crate) fn loaded(&mut self, from: u32, memory: Range<u64>, shift: u64, path: &[u8]) {
        let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
        let path = OsStr::from_bytes(path);
        if from == 0 {
            let shift = OnceCell::from(Some(shift));
            self.loaded.push(Module { memory, offset: 0, shift, file: path.into() });
        } else if let Some(module) = self.loaded.last_mut() {
            module.file.as_mut_os_string().push(path);
        }
        self.places.borrow_mut().clear();
    }

    /// Another execution begins: it has not loaded anything.
    pub(crate) fn forget_loaded(&mut self) {
        if !self.loaded.is_empty() {
            self.loaded.clear();
            self.places.borrow_mut().clear();
        }
    }

    /// The file that an address is from. Not all variables of a file are in what is mapped from it: they come after that.
    fn module(&self, address: u64) -> Option<&Module> {
        let loaded = self.loaded.iter().rfind(|module| module.memory.contains(&address));
        loaded.or_else(|| self.modules.iter().rfind(|module| module.memory.start <= address))
    }

    /// The functions that are active at an address, the innermost first.
    pub(crate) fn places(&self, address: u64) -> Vec<Place> {
        if address == 0 {
            return Vec::new();
        }
        if let Some(known) = self.places.borrow().get(&address) {
            return known.clone();
        }
        let found = self.look_up(address).unwrap_or_default();
        self.places.borrow_mut().insert(address, found.clone());
        found
    }

    fn look_up(&self, address: u64) -> Option<Vec<Place>> {
        let module = self.module(address).filter(|module| module.memory.contains(&address))?;
        let mut files = self.files.borrow_mut();
        let file = files.entry(module.file.clone()).or_insert_with(|| Loader::new(&module.file).ok());
        let loader = file.as_ref()?;
        let address = address.wrapping_sub(module.shift()?);
        let mut places = Vec::new();
        if let Ok(mut frames) = loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame.function.as_ref();
                let function = function.and_then(|name| name.demangle().ok().map(|name| name.into_owned()));
                let location = frame.location.and_then(|location| {
                    Some(Location {
                        file: self.relative(location.file?),
                        line: location.line?,
                        column: location.column.filter(|column| *column > 0),
                    })
                });
                places.push(Place { function, location });
            }
        }
        if places.iter().all(|place| place.function.is_none())
            && let Some(name) = loader.find_symbol(address)
        {
            let name = demangled(name);
            places.push(Place { function: Some(name), location: None });
        }
        Some(places)
    }

    /// A file's name as people know it: from here, where it is below here.
    fn relative(&self, file: &str) -> String {
        let file = without_detours(file);
        let here = self.directory.as_ref().and_then(|here| file.strip_prefix(here).ok());
        here.unwrap_or(&file).display().to_string()
    }

    /// The place in the program's own source: the first of these calls that is not in a header or library of the
    /// system.
    pub(crate) fn location(&self, calls: &[u64]) -> Option<Location> {
        let mut first = None;
        for &call in calls.iter().filter(|call| **call != 0) {
            // The instruction after the call may belong to the next line.
            for place in self.places(call - 1) {
                if let Some(location) = place.location {
                    if !is_of_the_system(&location.file) {
                        return Some(location);
                    }
                    first = first.or(Some(location));
                }
            }
        }
        first
    }

    /// The first of these calls that is in the program's own source.
    pub(crate) fn own(&self, calls: &[u64]) -> Option<u64> {
        let is_own = |place: &Place| place.location.as_ref().is_some_and(|at| !is_of_the_system(&at.file));
        calls.iter().copied().find(|call| *call != 0 && self.places(call - 1).iter().any(is_own))
    }

    /// The name of the function at an address.
    pub(crate) fn function(&self, address: u64) -> Option<String> {
        let name = self.places(address).into_iter().rev().find_map(|place| place.function)?;
        // `worker(void*)` is `worker` to those who wrote it.
        Some(name.split_once('(').map_or(name.clone(), |(name, _)| name.to_string()))
    }

    /// The variable at an address, with an index if it is one of several: `forks[2]`.
    pub(crate) fn variable(&self, address: u64, size: u64) -> Option<String> {
        let module = self.module(address)?;
        let address = address.wrapping_sub(module.shift()?);
        let mut files = self.variables.borrow_mut();
        let variables =
            files.entry(module.file.clone()).or_insert_with(|| variables(&module.file).unwrap_or_default());
        let found = variables
            .iter()
            .find(|variable| (variable.address..variable.address + variable.size).contains(&address))?;
        let inside = address - found.address;
        Some(match (inside, found.size == size) {
            (0, true) => found.name.clone(),
            _ if size > 0 && found.size.is_multiple_of(size) && inside.is_multiple_of(size) => {
                format!("{}[{}]", found.name, inside / size)
            }
            (0, _) => found.name.clone(),
            _ => format!("{}+{inside}", found.name),
        })
    }
}

/// The same file as a compiler names it that was told of `../file.c` in some folder, by the shortest way there.
fn without_detours(file: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in Path::new(file).components() {
        // What a relative path begins with leads out of a folder that is not known.
        let leads_back = part == Component::ParentDir
            && matches!(path.components().next_back(), Some(Component::Normal(_)));
        if leads_back && path.is_absolute() {
            path.pop();
        } else {
            path.push(part);
        }
    }
    path
}

/// Whether a file is a header of the system's or the compiler's, or of a library's own source.
fn is_of_the_system(file: &str) -> bool {
    let is_own = file.starts_with("/usr/src/") && !file.starts_with("/usr/src/debug/")
        || file.starts_with("/usr/local/src/");
    file.starts_with("/usr/") && !is_own
        || ["/include/c++/", "/lib/gcc/", "/lib/clang/"].iter().any(|folder| file.contains(folder))
        || file.starts_with("./nptl")
        || file.contains("/libstdc++-v3/")
        || file.starts_with("../")
}

/// What is to be subtracted from an address to get one as the file has them, where the file is mapped to an address from
/// an offset on.
fn shift(path: &Path, from: u64, offset: u64) -> Option<u64> {
    use object::{ObjectSegment as _, read::File};
    let data = std::fs::read(path).ok()?;
    let file = File::parse(&*data).ok()?;
    let segment = file.segments().find(|segment| {
        let (at, length) = segment.file_range();
        // Mappings begin at pages.
        (at & !0xFFF) <= offset && offset < at + length.max(1)
    })?;
    let (at, _) = segment.file_range();
    Some(from.wrapping_sub(segment.address().wrapping_add(offset).wrapping_sub(at)))
}

fn variables(path: &Path) -> Option<Vec<Variable>> {
    let data = std::fs::read(path).ok()?;
    let file = object::read::File::parse(&*data).ok()?;
    let data = file.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Data && symbol.size() > 0);
    let named = data.filter_map(|symbol| {
        let name = demangled(symbol.name().ok()?);
        Some(Variable { address: symbol.address(), size: symbol.size(), name })
    });
    Some(named.collect())
}

/// A name as its program's text has it. A name of C is not mangled, although `x` could be read as a mangled type.
fn demangled(name: &str) -> String {
    if !name.starts_with("_Z") && !name.starts_with("_R") {
        return name.to_string();
    }
    addr2line::demangle_auto(name.into(), None).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_c_stay_as_they_are() {
        assert_eq!(demangled("x"), "x");
        assert_eq!(demangled("main"), "main");
        assert_eq!(demangled("_ZN3foo3barEv"), "foo::bar()");
    }

    #[test]
    fn a_source_beside_the_folder_of_the_build_is_the_programs_own() {
        let check = |file: &str, expected: &str, of_the_system: bool| {
            let shown = without_detours(file).display().to_string();
            assert_eq!((shown.as_str(), is_of_the_system(&shown)), (expected, of_the_system), "{file}");
        };
        check("/home/a/build/../src/x.cpp", "/home/a/src/x.cpp", false);
        check("/home/a/build/../../b/./x.cpp", "/home/b/x.cpp", false);
        check("/usr/local/src/x.c", "/usr/local/src/x.c", false);
        check(
            "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/thread",
            "/usr/include/c++/12/thread",
            true,
        );
        // Of the C library, whose folder is not known.
        check("../sysdeps/x86_64/multiarch/strlen.S", "../sysdeps/x86_64/multiarch/strlen.S", true);
        check("./nptl/pthread_create.c", "./nptl/pthread_create.c", true);
    }
}

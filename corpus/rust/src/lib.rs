//! What the programs of the corpus share. The programs themselves are the examples of this package: each is
//! a small implementation of something real, with the bugs that it could have, and says in directives (`//@`)
//! what a check of each of its variants must find. `tests/table2.rs` reads them.

#![forbid(unsafe_code)]

use selvedge::sync::atomic::{AtomicBool, Ordering};
use std::panic::catch_unwind;

use selvedge::Checker;
use selvedge::thread::{Builder, JoinHandle};

/// A variant of a program: its name, and the test that is checked.
pub type Variant = (&'static str, fn());

/// The main function of a program with several variants: checks those that are named on the command line, or
/// else those with bugs.
///
/// # Panics
/// When there is no variant of that name; when a check fails, after all of them have been made.
pub fn check(program: &str, variants: &[Variant]) {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let is_fixed = |name: &str| name.starts_with("fixed");
    let has_bugs = variants.iter().any(|(name, _)| !is_fixed(name));
    let wanted = |name: &str| match named.is_empty() {
        true => !(is_fixed(name) && has_bugs),
        false => named.iter().any(|wanted| wanted == name),
    };
    if let Some(unknown) = named.iter().find(|wanted| !variants.iter().any(|(name, _)| name == *wanted)) {
        let names: Vec<_> = variants.iter().map(|(name, _)| *name).collect();
        panic!("{program} has no variant {unknown:?}; it has {}", names.join(", "));
    }
    let mut failed = Vec::new();
    for &(name, test) in variants.iter().filter(|(name, _)| wanted(name)) {
        let checker = Checker::new().preemptions(3).name(format!("{program}: {name}"));
        if catch_unwind(|| checker.check(test)).is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "of {program} these do not hold: {}", failed.join(", "));
}

/// Starts a thread with a name.
///
/// # Panics
/// When the name has a zero byte in it.
#[track_caller]
pub fn start<T: Send + 'static>(name: &str, task: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().name(name.into()).spawn(task).expect("a thread can be started")
}

/// Memory as a C program has it: someone frees it, and whoever uses it afterwards is wrong. Both are operations
/// of the program, on a flag that orders nothing: a search that leaves out executions which differ only in the
/// order of independent operations has to know that these two are not.
///
/// ```should_panic
/// let buffer = selvedge_corpus::Allocation::new("the buffer");
/// buffer.free();
/// buffer.touch(); // use after free
/// ```
#[derive(Debug)]
pub struct Allocation {
    what: &'static str,
    freed: AtomicBool,
}

impl Allocation {
    /// Something that is alive.
    pub fn new(what: &'static str) -> Self {
        Allocation { what, freed: AtomicBool::new(false) }
    }

    /// Uses it.
    ///
    /// # Panics
    /// When it has been freed.
    #[track_caller]
    pub fn touch(&self) {
        assert!(!self.freed.load(Ordering::Relaxed), "use after free of {}", self.what);
    }

    /// Frees it.
    ///
    /// # Panics
    /// When it has been freed before.
    #[track_caller]
    pub fn free(&self) {
        assert!(!self.freed.swap(true, Ordering::Relaxed), "double free of {}", self.what);
    }
}

//! The programs by name, and who cannot run them.

/// A program that is written once and run by every contender that can.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Why loom cannot run it.
    pub(crate) not_on_loom: Option<&'static str>,
    /// Small enough to be explored to the end; not among those that are timed.
    pub(crate) small: bool,
}

const fn timed(name: &'static str) -> Entry {
    Entry { name, not_on_loom: None, small: false }
}

const fn small(name: &'static str) -> Entry {
    Entry { name, not_on_loom: None, small: true }
}

/// In the order of `programs::ALL`.
pub(crate) const CATALOGUE: &[Entry] = &[
    timed("counter"),
    timed("mutexes"),
    timed("SPSC queue"),
    timed("MPMC queue"),
    timed("Treiber stack"),
    timed("work-stealing deque"),
    timed("condvar buffer"),
    timed("rwlock cache"),
    timed("dining philosophers"),
    timed("ticket lock"),
    timed("channels"),
    Entry { not_on_loom: Some("its Barrier is a stub that panics"), ..timed("barrier pipeline") },
    timed("four short threads"),
    small("2 threads load, store"),
    small("3 threads load, store"),
    small("3 threads × 2 mutex sections"),
    small("3 dining philosophers"),
    small("4 threads, one RMW each"),
    small("channel pipeline"),
];

//! The programs. These files are compiled once for each contender: `super::super` is the contender's module,
//! with its `sync` and `thread`. So each is written once, and within what all of them offer.
//!
//! None has a bug that any of the contenders finds: what is measured is how long looking takes.

mod barrier;
mod channels;
mod condvar;
mod counter;
mod deque;
pub(crate) mod long;
mod mpmc;
mod mutex;
mod philosophers;
mod rwlock;
mod small;
mod spsc;
mod threads;
mod ticket;
mod treiber;

/// In the order of the catalogue, which names them.
pub(crate) const ALL: &[fn()] = &[
    counter::run,
    mutex::run,
    spsc::run,
    mpmc::run,
    treiber::run,
    deque::run,
    condvar::run,
    rwlock::run,
    philosophers::run,
    ticket::run,
    channels::run,
    barrier::run,
    threads::run,
    small::two_load_store,
    small::three_load_store,
    small::three_mutex,
    small::three_philosophers,
    small::four_rmw,
    small::pipeline,
];

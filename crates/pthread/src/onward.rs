//! How an execution goes on by itself after what was planned for it: as the strategy most likely decides.
//!
//! The controlling side decides all the same, and begins the execution again where it decides otherwise. So this need
//! not be right, only be so most of the time.

use std::sync::atomic::Ordering;

use crate::draw;
use crate::protocol::{Area, onward};
use crate::runtime::MAX_THREADS;

/// How it goes on, and what has to be remembered for that.
pub(crate) struct Onward {
    way: u32,
    number: u32,
    seed: u64,
    longest: u64,
    /// Whether a thread has yielded.
    yielded: bool,
    /// How often each thread has, in a row and at one place, and where: what the fair bound counts, most of the time.
    yields: [(u32, u64); MAX_THREADS],
    /// The step at which a thread's priority dropped; 0 if it has not.
    dropped: [u32; MAX_THREADS],
}

/// Where a thread is to be chosen.
pub(crate) struct Point<E> {
    pub(crate) step: usize,
    /// The thread that took the last step, and whether a switch away from it preempts it.
    pub(crate) current: u32,
    pub(crate) preemptible: bool,
    pub(crate) threads: u32,
    /// Whether a thread can go on.
    pub(crate) enabled: E,
}

impl Onward {
    pub(crate) const NEW: Onward = Onward {
        way: 0,
        number: 0,
        seed: 0,
        longest: 0,
        yielded: false,
        yields: [(0, 0); MAX_THREADS],
        dropped: [0; MAX_THREADS],
    };

    pub(crate) fn begin(&mut self, area: &Area) {
        // Most executions never touch these pages.
        if std::mem::take(&mut self.yielded) {
            self.yields.fill((0, 0));
        }
        if self.way == onward::BY_PRIORITY {
            self.dropped.fill(0);
        }
        self.way = area.onward.load(Ordering::Relaxed);
        self.number = area.onward_number.load(Ordering::Relaxed);
        self.seed = area.onward_seed.load(Ordering::Relaxed);
        self.longest = area.onward_longest.load(Ordering::Relaxed);
    }

    /// A thread has yielded at this place.
    pub(crate) fn yielded(&mut self, thread: u32, place: u64) {
        self.yielded = true;
        let (count, last) = &mut self.yields[thread as usize];
        *count = if *last == place { *count + 1 } else { 1.max(*count) };
        *last = place;
    }

    /// The thread that takes the next step; `None` if that is to be asked.
    pub(crate) fn thread(&self, point: &Point<impl Fn(u32) -> bool>) -> Option<u32> {
        let enabled = || (0..point.threads).filter(|thread| (point.enabled)(*thread));
        match self.way {
            onward::CALMLY if !self.yielded => point.without_preemption(&point.enabled),
            onward::CALMLY => {
                // Those that have yielded more often than another, by more than the bound, are held back.
                let least = enabled().map(|thread| self.yields[thread as usize].0).min()?;
                let within = |thread: u32| self.yields[thread as usize].0 - least <= self.number;
                point.without_preemption(&|thread| (point.enabled)(thread) && within(thread))
            }
            onward::AT_RANDOM => {
                let count = enabled().count() as u64;
                let index = if count > 1 { draw::at_random(self.seed, point.step as u64, count) } else { 0 };
                enabled().nth(index as usize)
            }
            onward::BY_PRIORITY => enabled().max_by_key(|thread| {
                let dropped = Some(u64::from(self.dropped[*thread as usize])).filter(|step| *step > 0);
                let patient = !point.preemptible && *thread == point.current && point.step > 0;
                (!patient, draw::priority(self.seed, *thread, dropped))
            }),
            _ => None,
        }
    }

    /// The value that is chosen among so many; `None` if that is to be asked.
    pub(crate) fn value(&self, step: usize, n: u32) -> Option<u32> {
        match self.way {
            onward::CALMLY => Some(0),
            onward::AT_RANDOM => Some(draw::at_random(self.seed, step as u64, u64::from(n)) as u32),
            onward::BY_PRIORITY => Some(draw::value(self.seed, step as u64, u64::from(n)) as u32),
            _ => None,
        }
    }

    /// A decision is about to be made, whoever makes it.
    pub(crate) fn at(&mut self, step: usize, current: u32) {
        if self.way != onward::BY_PRIORITY || step == 0 {
            return;
        }
        let mut points = 0..u64::from(self.number);
        if points.any(|index| draw::change_point(self.seed, index, self.longest) == step as u64) {
            self.dropped[current as usize] = step as u32;
        }
    }
}

impl<E> Point<E> {
    /// The current thread while it can go on, and then the next that can, round robin.
    fn without_preemption(&self, allowed: &impl Fn(u32) -> bool) -> Option<u32> {
        if self.preemptible && allowed(self.current) {
            return Some(self.current);
        }
        let after = (self.current + 1..self.threads).chain(0..=self.current);
        after.into_iter().find(|thread| allowed(*thread))
    }
}

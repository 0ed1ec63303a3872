//! Time, memory and the progress line.

use std::time::{Duration, Instant};

use super::{Limits, Progress, Stop};
use crate::store::PLACE_BITS;

/// Looks at the clock at the first call, and then once in so many.
const EVERY: u32 = 4096;
/// Bytes that a store can address, less what can be added between two looks.
const MOST: u64 = (1 << PLACE_BITS) - (1 << 32);

pub(super) struct Budget<'a> {
    start: Instant,
    limits: Limits,
    progress: &'a mut dyn FnMut(Progress) -> bool,
    calls: u32,
}

impl<'a> Budget<'a> {
    pub(super) fn new(limits: Limits, progress: &'a mut dyn FnMut(Progress) -> bool) -> Self {
        Budget { start: Instant::now(), limits, progress, calls: EVERY - 1 }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(super) fn depth(&self) -> u64 {
        self.limits.depth.unwrap_or(u64::MAX)
    }

    /// Whether to stop, and why. `memory` is asked for only when it is looked at. A system that has stopped in the middle
    /// of a state (`stopped`) is heeded at once.
    #[inline]
    pub(super) fn check(
        &mut self,
        stopped: bool,
        progress: impl FnOnce() -> (Progress, u64),
    ) -> Option<Stop> {
        if stopped {
            return Some(Stop::Time);
        }
        self.calls += 1;
        if self.calls < EVERY {
            return None;
        }
        self.calls = 0;
        let (mut now, memory) = progress();
        now.elapsed = self.start.elapsed();
        if !(self.progress)(now) || self.limits.time.is_some_and(|limit| now.elapsed > limit) {
            return Some(Stop::Time);
        }
        (memory > self.limits.memory.unwrap_or(MOST).min(MOST)).then_some(Stop::Memory)
    }
}

//! Virtual time: [`Instant`].

use std::ops::{Add, AddAssign, Sub, SubAssign};
pub use std::time::Duration;

use crate::rt;

/// A moment, as [`std::time::Instant`]. In a check time is virtual: each thread has its own, which a sleep,
/// or a wait whose time runs out, moves on to its end at once; and a thread that sees what another has done
/// is never behind it.
///
/// ```
/// use selvedge::time::{Duration, Instant};
/// selvedge::check(|| {
///     let start = Instant::now();
///     selvedge::thread::sleep(Duration::from_secs(3600));
///     assert!(start.elapsed() >= Duration::from_secs(3600));
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Moment);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Moment {
    Real(std::time::Instant),
    Virtual(Duration),
}

impl Instant {
    /// The present moment.
    pub fn now() -> Self {
        Instant(match rt::current() {
            None => Moment::Real(std::time::Instant::now()),
            Some(handle) => Moment::Virtual(handle.get().now()),
        })
    }

    /// The time from `earlier` to this moment; none if it is not earlier.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// The time from `earlier` to this moment, if it is earlier.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        match (self.0, earlier.0) {
            (Moment::Real(now), Moment::Real(then)) => now.checked_duration_since(then),
            (Moment::Virtual(now), Moment::Virtual(then)) => now.checked_sub(then),
            // A moment from outside of the check: nothing can be said.
            _ => None,
        }
    }

    /// The time from `earlier` to this moment; none if it is not earlier.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }

    /// The time since this moment.
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// This moment and a time later, if that can be represented.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        match self.0 {
            Moment::Real(now) => now.checked_add(duration).map(Moment::Real),
            Moment::Virtual(now) => now.checked_add(duration).map(Moment::Virtual),
        }
        .map(Instant)
    }

    /// This moment and a time earlier, if that can be represented.
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        match self.0 {
            Moment::Real(now) => now.checked_sub(duration).map(Moment::Real),
            Moment::Virtual(now) => now.checked_sub(duration).map(Moment::Virtual),
        }
        .map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        self.checked_add(duration).expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        self.checked_sub(duration).expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

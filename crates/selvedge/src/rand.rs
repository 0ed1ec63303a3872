//! Random values in the shape of the `rand` crate's most used parts, under its names of before and after
//! version 0.9. In a check they are not random: every value is explored.
//!
//! That works for a `bool` and for ranges of up to [`MOST`] values. A larger one ends the check with an error
//! that says what to do. Floating-point numbers, distributions and seeds are left out: there is nothing that
//! a check could do with them.
//!
//! ```
//! use selvedge::rand::Rng;
//!
//! selvedge::check(|| {
//!     let mut rng = selvedge::rand::rng();
//!     let (small, sign) = (rng.random_range(1..=3), rng.random_bool(0.5));
//!     let number: i32 = if sign { small } else { -small };
//!     assert!((1..=9).contains(&(number * number)));
//! });
//! ```

use std::ops::{Range, RangeInclusive};
use std::panic::Location;

use crate::choose::{bits, choose_in_check};
use crate::rt::{self, Bits, Phase, Show, Value};

/// The largest range whose values are explored.
pub const MOST: u64 = 256;

/// A generator; made by [`rng`] and [`thread_rng`].
///
/// ```
/// use selvedge::rand::{Rng, ThreadRng};
/// assert!(ThreadRng::default().random_range(0..4) < 4);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadRng(());

/// The generator, as `rand::rng`.
///
/// ```
/// use selvedge::rand::Rng;
/// assert!(selvedge::rand::rng().random_range(0..4) < 4);
/// ```
pub fn rng() -> ThreadRng {
    ThreadRng(())
}

/// The generator, as `rand::thread_rng`.
///
/// ```
/// use selvedge::rand::Rng;
/// assert!(selvedge::rand::thread_rng().gen_range(0..4) < 4);
/// ```
pub fn thread_rng() -> ThreadRng {
    ThreadRng(())
}

/// A value of the type, as `rand::random`.
///
/// ```
/// selvedge::check(|| {
///     if selvedge::rand::random() { /* explored */ } else { /* explored too */ }
/// });
/// ```
#[track_caller]
pub fn random<T: Random>() -> T {
    T::random(Location::caller())
}

/// How values are drawn, as `rand::Rng`.
///
/// ```
/// use selvedge::rand::Rng;
///
/// selvedge::check(|| {
///     let mut rng = selvedge::rand::rng();
///     let _: bool = rng.random();
///     assert!(!rng.random_bool(0.0));
///     assert!((-2..2).contains(&rng.random_range(-2..2)));
/// });
/// ```
pub trait Rng {
    /// A value of the type.
    #[track_caller]
    fn random<T: Random>(&mut self) -> T {
        T::random(Location::caller())
    }

    /// A value of the range.
    ///
    /// # Panics
    /// When the range is empty.
    #[track_caller]
    fn random_range<T, R: SampleRange<T>>(&mut self, range: R) -> T {
        range.sample(Location::caller())
    }

    /// `true` with this probability. In a check both are explored, unless the probability is 0 or 1.
    ///
    /// # Panics
    /// When that is no probability.
    #[track_caller]
    fn random_bool(&mut self, probability: f64) -> bool {
        biased(probability, Location::caller())
    }

    /// `true` with probability `numerator / denominator`. In a check both are explored, unless that is 0 or
    /// 1.
    ///
    /// # Panics
    /// When that is no probability.
    #[track_caller]
    fn random_ratio(&mut self, numerator: u32, denominator: u32) -> bool {
        biased(f64::from(numerator) / f64::from(denominator), Location::caller())
    }

    /// [`random`](Rng::random) by its earlier name.
    #[track_caller]
    fn r#gen<T: Random>(&mut self) -> T {
        T::random(Location::caller())
    }

    /// [`random_range`](Rng::random_range) by its earlier name.
    #[track_caller]
    fn gen_range<T, R: SampleRange<T>>(&mut self, range: R) -> T {
        range.sample(Location::caller())
    }

    /// [`random_bool`](Rng::random_bool) by its earlier name.
    #[track_caller]
    fn gen_bool(&mut self, probability: f64) -> bool {
        biased(probability, Location::caller())
    }

    /// [`random_ratio`](Rng::random_ratio) by its earlier name.
    #[track_caller]
    fn gen_ratio(&mut self, numerator: u32, denominator: u32) -> bool {
        biased(f64::from(numerator) / f64::from(denominator), Location::caller())
    }
}

impl Rng for ThreadRng {}

/// Types of which a random value can be asked for: `bool` and the integers. Those of more than 8 bits have
/// too many values for a check.
///
/// ```
/// let byte: u8 = selvedge::rand::random();
/// assert!(u32::from(byte) < 256);
/// ```
pub trait Random: Sized {
    #[doc(hidden)]
    fn random(site: &'static Location<'static>) -> Self;
}

/// Ranges of integers, with or without their end.
///
/// ```
/// use selvedge::rand::{Rng, SampleRange};
///
/// fn even(range: impl SampleRange<u8>) -> u8 {
///     selvedge::rand::rng().random_range(range) & !1
/// }
/// assert_eq!(even(3..=3), 2);
/// ```
pub trait SampleRange<T> {
    #[doc(hidden)]
    fn sample(self, site: &'static Location<'static>) -> T;
}

/// A number from 0 to `last`, which `show` puts in words.
fn up_to(last: u64, site: &'static Location<'static>, show: impl FnOnce(u64) -> Bits) -> u64 {
    let Some(handle) = rt::current() else {
        return match last.checked_add(1) {
            Some(n) => crate::choose::below(n),
            None => bits(),
        };
    };
    if handle.get().phase != Phase::Running {
        return 0;
    }
    if last >= MOST {
        handle.unsupported(
            format!(
                "a random number out of {} is asked for, and a check explores every value of at most {MOST}: \
                 draw from a smaller range, or pick one of a few values that matter with selvedge::choose",
                u128::from(last) + 1
            ),
            site,
        );
    }
    let n = last as u32 + 1;
    choose_in_check(handle, n, site, |chosen| Value::Wrote(show(chosen.into()))).into()
}

fn biased(probability: f64, site: &'static Location<'static>) -> bool {
    assert!((0.0..=1.0).contains(&probability), "{probability} is no probability");
    if probability == 0.0 || probability == 1.0 {
        return probability == 1.0;
    }
    match rt::current() {
        None => (bits() >> 11) as f64 / (1_u64 << 53) as f64 <= probability,
        Some(_) => bool::random(site),
    }
}

impl Random for bool {
    fn random(site: &'static Location<'static>) -> Self {
        up_to(1, site, |raw| Bits { raw, show: Show::Bool }) != 0
    }
}

macro_rules! integers {
    ($($integer:ident as $unsigned:ident shown $show:ident)*) => {$(
        impl Random for $integer {
            fn random(site: &'static Location<'static>) -> Self {
                ($integer::MIN..=$integer::MAX).sample(site)
            }
        }

        impl SampleRange<$integer> for Range<$integer> {
            #[track_caller]
            fn sample(self, site: &'static Location<'static>) -> $integer {
                assert!(self.start < self.end, "the range {self:?} is empty");
                (self.start..=self.end - 1).sample(site)
            }
        }

        impl SampleRange<$integer> for RangeInclusive<$integer> {
            #[track_caller]
            fn sample(self, site: &'static Location<'static>) -> $integer {
                assert!(!self.is_empty(), "the range {self:?} is empty");
                let (first, last) = self.into_inner();
                // Both fit: the distance of two integers of a size is an unsigned integer of that size.
                let distance = last.wrapping_sub(first) as $unsigned as u64;
                let value = |chosen: u64| first.wrapping_add(chosen as $integer);
                value(up_to(distance, site, |chosen| Bits {
                    raw: value(chosen) as i64 as u64,
                    show: Show::$show,
                }))
            }
        }
    )*};
}

integers! {
    u8 as u8 shown Unsigned
    u16 as u16 shown Unsigned
    u32 as u32 shown Unsigned
    u64 as u64 shown Unsigned
    usize as usize shown Unsigned
    i8 as u8 shown Signed
    i16 as u16 shown Signed
    i32 as u32 shown Signed
    i64 as u64 shown Signed
    isize as usize shown Signed
}

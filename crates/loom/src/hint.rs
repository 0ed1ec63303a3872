//! [`spin_loop`], as in [`std::hint`].

pub use selvedge::hint::spin_loop;

/// Says that this is never reached. In a model it panics when it is.
///
/// # Safety
/// As for [`std::hint::unreachable_unchecked`]. It cannot go wrong in a model.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    unreachable!("`unreachable_unchecked` was reached")
}

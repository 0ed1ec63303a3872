//! x
use super::*;
pub(super) fn layered<S: TransitionSystem>(_s: &mut S, _o: &Options, _b: &mut Budget<'_>) -> Report { todo!() }

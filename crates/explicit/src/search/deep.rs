//! x
use super::*;
pub(super) fn deep<S: TransitionSystem>(_s: &mut S, _o: &Options, _b: &mut Budget<'_>) -> Report { todo!() }

//! Statements on a process's own variables, made one step with the statement before them, as Spin does unless it is
//! told `-o3`.
//!
//! Nobody sees when a statement on locals alone is executed, so no execution is lost if it always follows the one
//! before it at once; and none becomes dearer: where a process was preempted before such a statement it can be
//! preempted after it, or gives way there for nothing. What goes on is a transition's mark of an atomic sequence,
//! which a process loses where it blocks: just what is wanted here.

use crate::program::{Kind, Place, Program, Trans};

/// A step may end in so many ways.
const MOST_WAYS: u32 = 16;

/// Lets steps go on over the statements behind them that are on locals. Whether there was anything to merge.
pub(crate) fn merge(program: &mut Program) -> bool {
    // A handshake is its sender's step, and does not go on in the receiver.
    let handshakes = program.chans.iter().any(|chan| chan.capacity == 0);
    let mut merged = false;
    for process in &program.procs {
        let mut ways = vec![1; process.places.len()];
        // Only forwards, so that every loop keeps a step at least; and so from the back.
        for (number, place) in process.places.iter().enumerate().rev() {
            let range = place.first as usize..place.last as usize;
            let mut sum = 0_u32;
            for index in range {
                let Trans { kind, atomic, target, takes, .. } = program.trans[index];
                let target = usize::from(target);
                let may = match kind {
                    Kind::Plain if takes => !handshakes,
                    Kind::Plain | Kind::Else | Kind::Send(..) => true,
                    Kind::Recv(_) => !handshakes,
                    Kind::End | Kind::Event(..) => false,
                };
                let goes_on = may
                    && !atomic
                    && target > number
                    && ways[target] <= MOST_WAYS
                    && is_local(program, &process.places[target]);
                if goes_on {
                    let trans = &mut program.trans[index];
                    (trans.atomic, trans.in_place) = (true, false);
                    merged = true;
                }
                sum = sum.saturating_add(if goes_on { ways[target] } else { 1 });
            }
            ways[number] = sum.max(1);
        }
    }
    merged
}

/// Whether everything that a process can do here is on its own variables.
fn is_local(program: &Program, place: &Place) -> bool {
    let mut list = program.trans[place.first as usize..place.last as usize].iter();
    place.ample && list.all(|trans| matches!(trans.kind, Kind::Plain | Kind::Else))
}

#[cfg(test)]
mod tests {
    use crate::{Options, Search, check, parse};

    /// States, and the fewest preemptions of a violation, with and without merging.
    fn both(text: &str) -> [(u64, Option<u32>); 2] {
        let model = parse(text, "merge", None, &[]).expect("a model");
        [false, true].map(|reduce| {
            let search = Search::Layered;
            let options = Options { search, reduce, all_errors: true, ..Options::default() };
            let outcome = check(&model, &options, &mut |_| true).expect("it is checked").outcome;
            (outcome.statistics.states.expect("counted"), outcome.violation().map(|found| found.preemptions))
        })
    }

    #[test]
    fn statements_on_locals_are_one_step_with_the_one_before() {
        let [apart, merged] = both(
            "byte x; active proctype P() { byte a; x = 1; a = 1; if :: a > 0 -> a = 2 :: else fi; x = a }",
        );
        // Before the first, after x = 1, after x = a, and the end.
        assert_eq!((apart.0, merged.0), (7, 4));
    }

    #[test]
    fn a_loop_keeps_a_step() {
        let [apart, merged] = both("byte x; active proctype P() { byte a; x = 1; do :: a = 1 - a od }");
        assert_eq!((apart.0, merged.0), (3, 3));
    }

    #[test]
    fn a_handshake_does_not_go_on_in_the_receiver() {
        let text = "chan c = [0] of { byte }; byte x;
            active proctype P() { c!1; x = 1; x = 2 }
            active proctype Q() { byte a, b; c?a; b = a; b = 0; assert(x != 1) }";
        let [apart, merged] = both(text);
        assert_eq!((apart.1, merged.1), (Some(1), Some(1)));
    }

    #[test]
    fn what_others_can_see_is_not_merged() {
        let text = "byte x; active proctype P() { byte a; x = 1; a = 1; a = 2; a = 3 }
            active proctype Q() { assert(P:a != 1) }";
        let [apart, merged] = both(text);
        assert_eq!(apart, merged);
        assert_eq!(merged.1, Some(1));
    }
}

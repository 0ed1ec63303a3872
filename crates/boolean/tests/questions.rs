//! Questions to whole programs that were once answered wrongly, or not at all.

use selvedge_core::{Verdict, ViolationKind};
use selvedge_symbolic::{Error, Goal, Options, Pattern, Report, check};

fn ask(name: &str, text: &str, options: &Options) -> Result<Report, Error> {
    let network = selvedge_boolean::read(name, text).unwrap();
    check(&network, options, &mut |_| true)
}

/// The stack of the first thread is as deep as its contexts are many; all that is visible is so at once.
const GROWS: &str = "2\nPDA 0 0\n0 0 -> 1 0 0\nPDA 1 1\n1 1 -> 0 1\n0|0,1\n";

#[test]
fn what_is_visible_does_not_settle_a_question_about_configurations() {
    let plain = ask("grows.cpds", GROWS, &Options::default()).unwrap();
    let Verdict::Holds(guarantee) = plain.outcome.verdict else { panic!("{plain:?}") };
    assert!(guarantee.complete, "nothing more is visible after a few contexts: {guarantee:?}");
    let network = selvedge_boolean::read("grows.cpds", GROWS).unwrap();
    let deep = Pattern::parse(&network, "state = 1 | P0.0 / P0.0 / P0.0 / P0.0 | P1.1").unwrap();
    for contexts in 1..=6 {
        let options = Options { contexts, goal: Goal::Configuration(deep.clone()), ..Options::default() };
        let report = ask("grows.cpds", GROWS, &options).unwrap();
        match report.outcome.verdict {
            Verdict::Holds(guarantee) if contexts < 5 => assert!(!guarantee.complete, "{contexts} contexts"),
            Verdict::Violated(violation) => assert_eq!((violation.contexts, contexts >= 5), (Some(5), true)),
            other => panic!("{contexts} contexts: {other:?}"),
        }
    }
}

#[test]
fn a_deadlock_that_depends_on_wide_choices_replays() {
    let text = "decl int<32> x := 0, y := 0;
        process p = f(); process q = f();
        void f() begin x, y := *, *; await (x = y && x != * && x > *); x := 0; end";
    let report = ask("wide.bp", text, &Options::default()).unwrap();
    assert_eq!(report.outcome.violation().map(|violation| violation.kind), Some(ViolationKind::Deadlock));
}

#[test]
fn many_choices_at_once_are_as_cheap_as_none() {
    let names: Vec<String> = (0..60).map(|index| format!("b{index}")).collect();
    let (names, stars) = (names.join(", "), vec!["*"; 60].join(", "));
    let text = format!(
        "decl {names}; bool<60> f() begin end
         void main() begin {names} := {stars}; f(); assert(b0 || b59 || !b7); end"
    );
    let options = Options { memory: 32 << 20, ..Options::default() };
    let report = ask("stars.bp", &text, &options).unwrap();
    assert!(report.outcome.violation().is_some(), "{:?}", report.outcome.verdict);
}

/// Configurations are counted where they are few: the values of a local that nobody has given one are not.
#[test]
fn a_created_thread_with_a_wide_local_is_not_counted_value_by_value() {
    let text = "decl g := 0;
        void f() begin decl int<32> x, y; g := 1; end
        void main() begin start_thread f(); assert(!g); end";
    let report = ask("wide.bp", text, &Options::default()).unwrap();
    assert_eq!(report.outcome.violation().and_then(|violation| violation.contexts), Some(3));
}

#[test]
fn who_creates_one_thread_too_many_is_not_in_a_deadlock() {
    let text = "decl go := 0;
        void child() begin await go; end
        void main() begin start_thread child(); start_thread child(); go := 1; end";
    let report = ask("limit.bp", text, &Options { threads: 1, ..Options::default() }).unwrap();
    let Verdict::Holds(guarantee) = report.outcome.verdict else { panic!("{report:?}") };
    assert_eq!((guarantee.bounds.threads, guarantee.complete), (Some(1), false));
    assert_eq!(report.threads_cut, Some(true));
    let report = ask("limit.bp", text, &Options { threads: 2, ..Options::default() }).unwrap();
    assert!(report.outcome.holds() && report.threads_cut == Some(false), "{report:?}");
}

#[test]
fn a_thread_that_is_started_at_the_first_statement_may_be_started_with_arguments_too() {
    let text = "decl x := 0;
        void main() begin f(1); end
        void f(a) begin L: x := a; start_thread goto L; start_thread f(0); assert(x); end";
    let report = ask("both.bp", text, &Options { contexts: 3, ..Options::default() }).unwrap();
    assert_eq!(report.outcome.violation().and_then(|violation| violation.contexts), Some(3));
}

#[test]
fn more_bits_than_can_be_handled_are_an_error() {
    let text = "decl int<32> heap[4096]; void main() begin heap[3] := 1; end";
    let error = ask("heap.bp", text, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("use shorter arrays"), "{error}");
    let text = "decl int<32> heap[60]; void main() begin heap[3] := 1; assert(heap[3] = 1); end";
    let options = Options { contexts: 1, converge: false, count: 0, ..Options::default() };
    assert!(ask("heap.bp", text, &options).unwrap().outcome.holds());
}

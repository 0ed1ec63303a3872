//! What an answer promises is true: verdicts that were wrong, and assumptions that were not named.

use selvedge_core::{AssumptionKind, Guarantee, Outcome, Verdict};
use selvedge_promela::{Claims, Error, Options, Search, StoreKind, check, parse};

fn outcome_with(text: &str, options: &Options) -> Outcome {
    let model = parse(text, "g.pml", None, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    check(&model, options, &mut |_| true).unwrap_or_else(|error| panic!("{error}\n{text}")).outcome
}

fn outcome(text: &str) -> Outcome {
    outcome_with(text, &Options::default())
}

/// The kind of a violation and the begin of its message.
fn violated(text: &str, kind: &str, message: &str) {
    for search in [Search::Layered, Search::Dfs, Search::Bfs, Search::Bcs] {
        for reduce in [false, true] {
            let outcome = outcome_with(text, &Options { search, reduce, ..Options::default() });
            let violation = outcome.violation().unwrap_or_else(|| panic!("{search:?} {reduce}\n{text}"));
            assert_eq!(violation.kind.name(), kind, "{search:?} {reduce}: {}\n{text}", violation.message);
            assert!(violation.message.contains(message), "{}\n{text}", violation.message);
        }
    }
}

fn fewest(text: &str) -> Option<u32> {
    outcome(text).violation().map(|violation| violation.preemptions)
}

#[test]
fn a_d_step_that_begins_with_a_receive_meets_a_rendezvous_sender() {
    let labelled = "chan a = [0] of { byte }; active proctype P() { end: a!1 }
        active proctype Q() { byte x; end: d_step { a?x; x = 0 }; assert(false) }";
    violated(labelled, "assertion", "assertion violated: 0");
    violated(&labelled.replace("end: ", ""), "assertion", "assertion violated: 0");
    let chosen = "chan a = [0] of { byte }; byte g; active proctype P() { a!2 }
        active proctype Q() { byte x; d_step { if :: a?1 -> g = 1 :: a?x -> g = x fi }; assert(g != 2) }";
    violated(chosen, "assertion", "(g!=2)");
    // What is not for the message stays closed while it is offered, and an else is for when there is none.
    let other = "chan a = [0] of { byte }; byte g; active proctype P() { a!2; g = g + 5 }
        active proctype Q() { end: d_step { if :: g == 0 -> g = 1 :: a?1 -> g = 7 fi } }";
    let seen = outcome_with(other, &Options { all_errors: true, ..Options::default() });
    assert_eq!(seen.statistics.states, Some(3), "{seen:?}");
}

#[test]
fn a_rendezvous_send_within_a_d_step_is_reported() {
    violated(
        "chan a = [0] of { byte }; active proctype P() { end: d_step { a!1 } }",
        "crash",
        "a rendezvous send within a d_step",
    );
}

#[test]
fn a_rendezvous_channel_that_is_polled_is_reported() {
    for poll in ["a?[1]", "a?<x>", "a?[x] -> skip", "if :: a?[1] -> skip :: else -> skip fi"] {
        let text = format!("chan a = [0] of {{ byte }}; active proctype P() {{ byte x; end: {poll} }}");
        violated(&text, "crash", "cannot be polled");
    }
}

#[test]
fn a_message_with_too_few_fields_is_reported() {
    let sent = "mtype = { a }; chan q = [1] of { mtype, int }; active proctype P() { q!a }";
    violated(sent, "assertion", "has 2 fields, the statement has 1");
    for (way, capacity) in
        [("r!a", 1), ("r!!a", 1), ("d_step { r!a }", 1), ("atomic { r!a }", 1), ("end: r!a", 0)]
    {
        let text = format!(
            "mtype = {{ a }}; chan q = [{capacity}] of {{ mtype, int }};
            proctype P(chan r) {{ {way} }} init {{ run P(q) }}"
        );
        violated(&text, "assertion", "has 2 fields");
    }
    for take in ["q?x", "q??x", "d_step { q?x }"] {
        let text =
            format!("chan q = [1] of {{ byte, int }}; active proctype P() {{ byte x; q!1,2; {take} }}");
        violated(&text, "assertion", "has 2 fields");
    }
    violated(
        "chan q = [0] of { byte, int }; active proctype P() { q!1,2 } active proctype Q() { byte x; q?x }",
        "assertion",
        "has 2 fields",
    );
    // To look at a part of a message is not wrong.
    let looked = "chan q = [1] of { byte, int }; active proctype P() { byte x; q!1,2; q?[1]; q?<x> }";
    assert!(outcome(looked).holds());
}

#[test]
fn either_side_of_a_handshake_goes_on_without_a_preemption() {
    let receiver = "chan c = [0] of { byte }; byte a; active proctype A() { c!1; a = 1 }
        active proctype B() { byte x; c?x; assert(a == 1) }";
    assert_eq!(fewest(receiver), Some(0));
    let sender = "chan c = [0] of { byte }; byte a; active proctype A() { c!1; assert(a == 1) }
        active proctype B() { byte x; c?x; a = 1 }";
    assert_eq!(fewest(sender), Some(0));
    let step = "chan c = [0] of { byte }; byte a; active proctype A() { c!1; a = 1 }
        active proctype B() { byte x; d_step { c?x; x = 0 }; assert(a == 1) }";
    assert_eq!(fewest(step), Some(0));
    // A third process is not a side.
    let between = "chan c = [0] of { byte }; byte a; active proctype A() { c!1; a = 1; a = 2 }
        active proctype B() { c?1; a = 3 }
        active proctype C() { end: atomic { a == 1; assert(false) } }";
    assert_eq!(fewest(between), Some(1));
}

#[test]
fn labels_that_ask_of_infinite_executions_are_named_as_an_assumption() {
    let safety = |text: &str, claims: Claims| {
        let outcome = outcome_with(text, &Options { claims, ..Options::default() });
        let guarantee = outcome.guarantee().expect("it holds").clone();
        assert!(guarantee.complete);
        assert_eq!(guarantee.is_final(), guarantee.assumptions.is_empty());
        guarantee.assumptions.contains(AssumptionKind::SafetyOnly)
    };
    for (label, checked) in
        [("accept", true), ("accept_all", true), ("progress", false), ("progress2", false)]
    {
        let text = format!(
            "byte x; active proctype P() {{ do :: x < 9 -> if :: {label}: x++ fi :: else -> break od }}"
        );
        assert_eq!(safety(&text, Claims::Check), !checked, "{label}");
        assert!(safety(&text, Claims::Ignore), "{label}");
        // A formula says nothing of the labels.
        assert!(safety(&format!("{text} ltl p {{ [] (x < 10) }}"), Claims::Check), "{label}");
        assert!(safety(&format!("{text} ltl p {{ <> (x == 9) }}"), Claims::Check), "{label}");
    }
    let inline = "byte x; inline f() { skip; progress: x++ } active proctype P() { f(); f() }";
    assert!(safety(inline, Claims::Check));
    for label in ["end", "again", "acept"] {
        let text =
            format!("byte x; active proctype P() {{ {label}: x++; if :: x < 9 -> goto {label} :: else fi }}");
        assert!(!safety(&text, Claims::Check), "{label}");
    }
    // A property that was left out is one that was not checked.
    let formula = "byte x; active proctype P() { x = 1 } ltl p { <> (x == 7) }";
    assert!(safety(formula, Claims::Ignore));
    assert!(!safety(&formula.replace("== 7", "== 1"), Claims::Check));
    let claim = "byte x; active proctype P() { x = 1 } never { accept: do :: x != 7 od }";
    assert!(safety(claim, Claims::Ignore));
    assert!(!safety("byte x; active proctype P() { x = 1 } never { do :: x != 7 od }", Claims::Check));
}

/// Three processes that lose updates: with one preemption the sum is below 2.
const LOST: &str = "byte x, done; active [3] proctype P() { byte t; t = x; x = t + 1; done++ }
    active proctype L() { done == 3 -> assert(x > 1) }";

#[test]
fn a_store_of_hashes_is_named_as_an_assumption() {
    let stores = [StoreKind::HashCompact, StoreKind::Bitstate { bytes: 1 << 20, functions: 3 }];
    for store in stores {
        let options = Options { search: Search::Bcs, store, ..Options::default() };
        let outcome = outcome_with(LOST, &options);
        let below =
            outcome.violation().expect("updates are lost").below.clone().expect("bound 0 was finished");
        assert!(below.assumptions.contains(AssumptionKind::LossyStore) && !below.is_final(), "{store:?}");
        assert_eq!(
            below.to_string(),
            "assuming no two states with one hash, every execution with at most 0 preemptions has been checked; \
             a remaining bug needs at least 1"
        );
        let Verdict::Inconclusive(gap) = outcome_with(&LOST.replace("> 1", "> 0"), &options).verdict else {
            panic!("hashes prove nothing")
        };
        let lossy = |covered: &Guarantee| covered.assumptions.contains(AssumptionKind::LossyStore);
        assert!(gap.covered.as_ref().is_none_or(lossy), "{gap:?}");
    }
    let exact = outcome_with(LOST, &Options { search: Search::Bcs, ..Options::default() });
    assert!(exact.violation().unwrap().below.clone().unwrap().assumptions.is_empty());
}

#[test]
fn a_label_of_an_inline_is_that_of_its_call() {
    // The states that Spin counts.
    for (text, states) in [
        (
            "inline f() { skip; L: g++; if :: g < 3 -> goto L :: else fi } active proctype P() { f(); f() }",
            12,
        ),
        (
            "inline f() { skip; L: g++ } active proctype P() { f(); f(); if :: g < 4 -> goto L :: else fi }",
            11,
        ),
        (
            "inline h() { skip; if :: g < 3 -> goto L :: else fi } inline f() { skip; L: g++; h() }
            active proctype P() { f(); f() }",
            16,
        ),
        (
            "inline h() { skip; L: g++ } inline f() { skip; h(); if :: g < 3 -> goto L :: else fi }
            active proctype P() { f(); f() }",
            10,
        ),
        ("inline f() { skip; end: g == 0; skip } active proctype P() { f(); g = 0; f() }", 9),
    ] {
        let options = Options { search: Search::Dfs, all_errors: true, ..Options::default() };
        let seen = outcome_with(&format!("byte g; {text}"), &options);
        assert_eq!(seen.statistics.states, Some(states), "{text}");
    }
    for text in [
        "inline f() { skip; L: g++ } active proctype P() { L: g = 1; f() }",
        "inline f() { skip; L: g++; L: g = 2 } active proctype P() { f() }",
        "active proctype P() { L: g = 1; L: g = 2 }",
    ] {
        let error = parse(&format!("byte g; {text}"), "g.pml", None, &[]).expect_err(text);
        assert!(error.to_string().contains("the label 'L' stands twice"), "{error}");
    }
}

#[test]
fn elements_longer_arrows_and_lines_are_read_as_spin_reads_them() {
    let text = "mtype = { red, green }; byte w[3] = {1, 2, 3}; byte v[3] = { 7 }; byte u[2] = {1, 2, 3};
        typedef T { byte a[2] = { 4, 5 }; byte b } T t[2]; mtype m[2] = { red, green };
        inline f(x) {
            if :: x == 1 --> skip :: else fi
            x = 2
            do :: x == 2 -> break od
            x = 3
        }
        active proctype P() {
            byte l[2] = { 8, 9 };
            byte g = 1;
            f(g);
            assert(w[0] == 1 && w[1] == 2 && w[2] == 3 && v[0] == 7 && v[1] == 0 && u[1] == 2);
            assert(t[1].a[0] == 4 && t[1].a[1] == 5 && l[1] == 9 && m[1] == green && g == 3)
        }";
    assert!(outcome(text).holds(), "{:?}", outcome(text));
    for (text, expected) in [
        ("byte w = {1}; active proctype P() { skip }", "'w' is no array"),
        ("active proctype P() { skip; byte w[2] = {1, 2} }", "cannot be listed here"),
        ("byte x; byte w[2] = {1, x}; active proctype P() { skip }", "must be a constant"),
        ("byte w[2] = {}; active proctype P() { skip }", "expected an expression"),
    ] {
        let error = parse(text, "g.pml", None, &[]).expect_err(text);
        assert!(matches!(error, Error::Model(_)) && error.to_string().contains(expected), "{error}\n{text}");
    }
}

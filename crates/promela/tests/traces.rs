//! Trace assertions, and where Spin's verifier cannot be followed. The corpus and the generated models are
//! compared with Spin elsewhere.

mod common;

use common::{ask_spin, oracles};
use selvedge_promela::{Options, Search, check, parse};

fn kind(text: &str, search: Search) -> Option<String> {
    let model = parse(text, "t", None, &[]).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { search, reduce: true, ..Options::default() };
    let checked = check(&model, &options, &mut |_| true).expect("it is checked");
    checked.outcome.violation().map(|violation| violation.kind.name().to_string())
}

/// Both halves of a handshake are seen, the send first, and only where it takes place.
#[test]
fn handshakes_are_seen() {
    let model = |trace: &str| {
        format!(
            "chan r = [0] of {{ byte }};\n{trace}\nactive proctype P() {{ if :: r!1 :: r!2 fi }}\n\
             active proctype Q() {{ r?1 }}"
        )
    };
    for search in [Search::Layered, Search::Dfs, Search::Bcs] {
        assert_eq!(kind(&model("trace { r!1; r?1 }"), search), None);
        assert_eq!(kind(&model("trace { r?1; r!1 }"), search).as_deref(), Some("assertion"));
        assert_eq!(kind(&model("trace { r!1; r?2 }"), search).as_deref(), Some("assertion"));
        assert_eq!(kind(&model("notrace { r!1; r?1 }"), search).as_deref(), Some("assertion"));
        assert_eq!(kind(&model("notrace { r!2 }"), search), None);
    }
}

/// Why handshakes are not compared: with any trace, the verifier that Spin generates can do none.
#[test]
fn spins_verifier_does_no_handshake_with_a_trace() {
    if !oracles("spins_verifier_does_no_handshake_with_a_trace") {
        return;
    }
    let text = "chan r = [0] of { byte }; chan c = [1] of { byte };\ntrace { do :: c!1 od }\n\
                active proctype P() { r!1; c!1 }\nactive proctype Q() { r?1; skip }";
    assert_eq!(kind(text, Search::Layered), None);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.pml");
    std::fs::write(&path, text).expect("it can be written");
    let spin = ask_spin(&path, &[]).expect("Spin answers");
    assert_eq!((spin.states, spin.errors), (3, 1), "Spin has been mended");
}

/// The message that moves is compared, wherever in the channel it lies.
#[test]
fn sorted_sends_and_random_receives_are_seen_as_they_are() {
    let model = |trace: &str| {
        format!(
            "chan c = [3] of {{ byte }};\n{trace}\nactive proctype P() {{ c!!2; c!!1; c??2; c?1; end: false }}"
        )
    };
    assert_eq!(kind(&model("trace { c!2; c!1; c?2; c?1 }"), Search::Layered), None);
    assert_eq!(kind(&model("trace { c!2; c!2; c?2; c?1 }"), Search::Layered).as_deref(), Some("assertion"));
    // Looking at a message without taking it is not seen.
    let look = "chan c = [3] of { byte }; byte x;\ntrace { c?1 }\nactive proctype P() { c!1; c?<x>; c?x }";
    assert_eq!(kind(look, Search::Layered), None);
}

#[test]
fn a_trace_with_two_ways_is_an_error() {
    let text = "chan c = [1] of { byte };\ntrace { do :: c!1 :: c!_ od }\nactive proctype P() { c!1 }";
    assert_eq!(kind(text, Search::Layered).as_deref(), Some("crash"));
}

/// Events alone stand in a trace, as Spin has it.
#[test]
fn what_is_no_event_is_refused() {
    for (trace, expected) in [
        ("trace { x = 1 }", "expected a send or a receive"),
        ("trace { c!1; skip }", "not declared"),
        ("trace { atomic { c!1 } }", "not declared"),
        ("trace { c!1 unless c!2 }", "no 'unless'"),
        ("trace { c?[1] }", "expected a send or a receive"),
        ("trace { c!1 } notrace { c!2 }", "a second"),
    ] {
        let text = format!("chan c = [1] of {{ byte }}; byte x;\n{trace}\nactive proctype P() {{ c!1 }}");
        let error = parse(&text, "t", None, &[]).expect_err(trace).to_string();
        assert!(error.contains(expected) && error.contains("t:2:"), "{trace}: {error}");
    }
}

/// `x = name(...)` and nothing else takes what an inline returns, as Spin has it.
#[test]
fn returns_without_a_target_are_refused() {
    for body in ["f(1)", "x = f(1) + 1", "x = (f(1))", "f(1) == 2", "return 1", "x = g(1)", "byte y = f(1)"] {
        let text = format!(
            "byte x;\ninline f(a) {{ return a }}\ninline g(a) {{ f(a); return 1 }}\n\
             active proctype P() {{ skip; {body} }}"
        );
        assert!(parse(&text, "t", None, &[]).is_err(), "{body}");
    }
}

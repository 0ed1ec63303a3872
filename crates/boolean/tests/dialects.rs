//! What programs of other tools look like, construct by construct: each is read, and means what it means there.
//!
//! Programs are written by SLAM (c2bp), SATABS and others, and read by Bebop, Moped, Getafix and Boom.

use selvedge_symbolic::{Error, Goal, Options, Report, check};

fn ask(text: &str, goal: Goal) -> Result<Report, Error> {
    let network = selvedge_boolean::read("a.bp", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    check(&network, &Options { goal, ..Options::default() }, &mut |_| true)
}

#[track_caller]
fn holds(text: &str) {
    let outcome = ask(text, Goal::Violation).unwrap().outcome;
    assert!(outcome.holds(), "{text}\n{:?}", outcome.verdict);
}

#[track_caller]
fn fails(text: &str) {
    let outcome = ask(text, Goal::Violation).unwrap().outcome;
    assert!(outcome.violation().is_some(), "{text}\n{:?}", outcome.verdict);
}

#[test]
fn names_may_have_dollars_and_braces() {
    fails(
        "decl a$b := 0; void c$$main$f() begin a$b := 1; end void main() begin c$$main$f(); assert(!a$b); end",
    );
    holds(
        "decl {x==1} := 1, {p->next != 0}; void main() begin {p->next != 0} := {x==1}; assert({p->next != 0}); end",
    );
}

#[test]
fn labels_may_be_numbers() {
    let text = "decl x := 0;
        void main() begin
        0: skip; goto 2, 4;
        2: assume(x);
        3: assert(0);
        4: PC5: if !x then goto 7; fi;
        6: x := 1;
        7: skip;
        end";
    holds(text);
    let reached = |label: &str| ask(text, Goal::Label(label.into())).unwrap().outcome.violation().is_some();
    assert!(reached("2") && reached("7") && reached("main.7"));
    assert!(!reached("3") && !reached("6"));
    // A thread begins at one too, with a copy of the locals.
    fails(
        "decl g := 0; void main() begin decl l := 1; 0: start_thread goto 3; 1: goto 5; 3: g := l; 4: end_thread; 5: assert(!g); end",
    );
}

#[test]
fn locals_may_have_first_values() {
    holds("void main() begin decl l := 0, m := 1; decl int<4> n := 9; assert(!l && m && n = 9); end");
    // In each frame anew.
    holds(
        "decl g := 0; void f() begin decl l := 0; assert(!l); l := 1; if (!g) then g := 1; f(); fi assert(l); end void main() begin f(); end",
    );
    fails("void main() begin decl l := *; assert(!l); end");
    holds("void main() begin decl int<2> a[3] := 2; assert(a[0] + a[1] = a[2] + 2); end");
}

#[test]
fn choices_and_inequalities_are_written_in_two_ways() {
    fails("decl x; void main() begin x := ?; if (?) then assert(x); fi end");
    holds("decl x := 0; void main() begin assert(x <> 1); assert(x != 1); assert(!(x <> 0)); end");
    // A question mark after an expression is a condition.
    holds("decl x := 1; void main() begin assert(x ? x : 0); end");
}

#[test]
fn statements_of_other_tools() {
    holds("decl x; void main() begin constrain(x); assert(x); end");
    holds("decl x := 1; void main() begin print(x, !x, 1);;; skip; ; assert(x); end");
    // Where there is a procedure of that name, it is called.
    fails("decl x := 1; void print(v) begin x := v; end void main() begin print(0); assert(x); end");
    holds("decl x := 0; void main() begin if 0 then goto L; fi; if !(*) then skip; fi; L: assert(!x); end");
    holds(
        "dfs bool<2> f() begin return 1, 0; end void main() begin decl a, b; a, b := f(); assert(a & !b); end",
    );
}

#[test]
fn what_is_not_part_of_the_language_is_said() {
    for (text, expected) in [
        (
            "void main() begin decl l; enforce l; end",
            "a.bp:1:27: expected a statement (`enforce` is not part of",
        ),
        ("void main() begin abortif 1; end", "a.bp:1:19: expected a statement (`abortif` is not part of"),
        ("void main() begin decl l; l, l$ := 1, 1; end", "`l$` is the variable of all other threads"),
        ("void main() begin x$ := 1; end", "no variable is called `x$`"),
        ("void main() begin 1: skip; goto 2; end", "`main` has no label `2`"),
        ("void main() begin 1: skip; 1: skip; end", "label `1` stands twice"),
        ("void main() begin 1: end", "a.bp:1:22: expected a statement, found `end`"),
        ("decl {x; void main() begin end", "expected the name of a variable, found `{`"),
    ] {
        let error = selvedge_boolean::read("a.bp", text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

/// As SATABS writes a program of three threads, for a thread that is created in a loop.
#[test]
fn a_program_as_an_abstraction_tool_writes_it() {
    let text = "// variables with procedure-global scope
decl b0_0_eq_x;  // 0 == x

// main
void main() begin

  decl b1_1_eq_t := *;  // LOCAL -- 1 == t

      b0_0_eq_x:=*;

 PC0: skip; // location only
 PC1: b0_0_eq_x := 1;
  l1:
 PC2: if 0 then goto l9; fi;
 PC3: start_thread goto l2;
 PC4: goto l8;
  l2:
 PC5: atomic_begin;
 PC6: assume(*);
 PC7: b0_0_eq_x,b1_1_eq_t := *,0;
 PC8: atomic_end;
 PC9: if !(*) then goto l4; fi;
PC10: assert(!b0_0_eq_x);
  l4:
PC11: end_thread;
  l8:
PC12: goto l1;
  l9:
PC13: skip;
end

// c::thr1
void c$$thr1() begin

end
";
    fails(text);
    holds(&text.replace("assert(!b0_0_eq_x)", "assert(!b1_1_eq_t)"));
}

/// As networks are published: symbols that no `PDA` counts, pops without a dash, and the first configuration and what is
/// looked for in files of their own.
const NETWORK: &str = "# s^I = 0|3,7
4
# the first thread
PDA 3 4
0 3 -> 1 9 4   # a call of what PDA does not count
1 9 -> 2
2 4 -> 3 4
# the second
PDA 7 7
3 7 -> 0 21
0 21 -> 0 -
";

#[test]
fn networks_as_they_are_published() {
    let network = selvedge_boolean::read_from("n.pds", NETWORK, ("n.init", "0|3,7\n")).unwrap();
    let found = |goal: &str| {
        let goal = Goal::Configuration(selvedge_boolean::goal(&network, "n.spec", goal).unwrap());
        let outcome =
            check(&network, &Options { goal, ..Options::default() }, &mut |_| true).unwrap().outcome;
        outcome.violation().map(|violation| violation.contexts)
    };
    assert_eq!(found("0|3,7"), Some(Some(1)));
    // What is on top, whatever is below.
    assert_eq!(found("1|9,7"), Some(Some(1)));
    assert_eq!(found("# after the return\n 3 | 4 , 7\n"), Some(Some(1)));
    assert_eq!(found("0|4,21"), Some(Some(2)));
    assert_eq!(found("0|4,-"), Some(Some(2)));
    for never in ["1|9,21", "2|-,7", "3|4,-"] {
        assert_eq!(found(never), None, "{never}");
    }
    for (goal, expected) in [
        ("0|3", "n.spec:1:1: 1 stack symbols for 2 threads"),
        ("0|3,3", "n.spec:1:5: P1 has no stack symbol 3"),
        ("9|3,7", "n.spec:1:1: there is no global state 9"),
        ("", "n.spec:1:1: expected a global state, found the end of the line"),
        ("0|3,7\n0|3,7", "n.spec:2:1: expected nothing more"),
        ("x|3,7", "n.spec:1:1: expected a global state, found `x`"),
    ] {
        let error = selvedge_boolean::goal(&network, "n.spec", goal).unwrap_err().to_string();
        assert!(error.contains(expected), "{goal}\n{error}");
    }
    let error = selvedge_boolean::read_from("n.pds", NETWORK, ("n.init", "0|3,8")).unwrap_err().to_string();
    assert!(error.contains("n.init:1:5: P1 has no stack symbol 8"), "{error}");
}

/// A goal that says what is on top of each stack is decided by what is visible, for every number of contexts.
#[test]
fn a_goal_of_tops_may_hold_for_every_number_of_contexts() {
    let text = "2\nPDA 0 0\n0 0 -> 1 0 0\nPDA 1 1\n1 1 -> 0 1\nPDA 2 3\n";
    let network = selvedge_boolean::read("grows.cpds", text).unwrap();
    let goal = Goal::Configuration(selvedge_boolean::goal(&network, "--goal", "0|0,1,3").unwrap());
    let report =
        check(&network, &Options { goal, contexts: 9, ..Options::default() }, &mut |_| true).unwrap();
    assert!(
        report.outcome.guarantee().is_some_and(|guarantee| guarantee.complete),
        "{:?}",
        report.outcome.verdict
    );
}

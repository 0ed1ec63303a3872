//! What is wrong with a source, where, and what to do.

fn error(file: &str, text: &str) -> String {
    match selvedge_boolean::read(file, text) {
        Ok(_) => panic!("{text} was read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn boolean_programs() {
    for (text, expected) in [
        ("decl x\nvoid main() begin end", "a.bp:2:1: expected `;`, found `void`"),
        ("void main() begin\n  x := 1;\nend", "a.bp:2:3: no variable is called `x`; declare it"),
        (
            "decl x; void main() begin x := 2; end",
            "a.bp:1:32: 2 does not fit into bool; use a smaller number",
        ),
        (
            "decl int<4> n; decl b; void main() begin b := n; end",
            "a.bp:1:47: this is of type int<4>, and bool is wanted; convert it: `bool(...)`",
        ),
        ("void main() begin goto L; end", "a.bp:1:24: `main` has no label `L`; a goto stays"),
        ("void main() begin f(); end", "a.bp:1:19: no procedure is called `f`; define it"),
        ("void f(a) begin end void main() begin f(); end", "`f` takes 1 arguments, and 0 are given"),
        (
            "bool f() begin return 1, 0; end void main() begin end",
            "2 values are returned, and `f` has 1 results",
        ),
        ("decl x; void main() begin x, x := 1, 0; end", "a.bp:1:30: `x` is assigned twice in one statement"),
        ("decl x, x; void main() begin end", "a.bp:1:9: `x` is declared twice"),
        ("void f() begin end", "a.bp:1:1: the program has no process; define `main`"),
        ("decl a[3]; void main() begin a := 1; end", "a.bp:1:30: `a` is an array; name one of its elements"),
        ("decl a; void main() begin a[0] := 1; end", "a.bp:1:27: `a` is not an array; leave out the index"),
        (
            "decl int<40> a; void main() begin end",
            "a.bp:1:10: expected a number of bits from 1 to 32, found `40`",
        ),
        ("void main() begin skip end", "a.bp:1:24: expected `;`, found `end`"),
        ("void main() begin /* skip; end", "a.bp:1:19: expected `*/` after this `/*`"),
        ("void main() begin x @ 1; end", "a.bp:1:21: expected `:=`, found `@`"),
        ("void main() begin enforce x; end", "use `assume`"),
        ("void main(a) begin end", "a.bp:1:11: `main` takes parameters"),
        ("", "a.bp:1:1: the program has no process"),
        (
            "void main() begin while (*) do atomic_begin; od end",
            "a.bp:1:32: atomic sections begin here again and again without ending; end each",
        ),
        ("decl a := 2; void main() begin end", "expected a value of 1 bits, found `2`"),
    ] {
        let error = error("a.bp", text);
        assert!(error.contains(expected), "{text}\n  gives {error}\n  and not {expected}");
    }
}

#[test]
fn pushdown_systems() {
    for (text, expected) in [
        ("", "a.cpds:1:1: expected the number of global states, found an empty file"),
        ("x", "a.cpds:1:1: expected the number of global states, found `x`"),
        ("2\n0 0 -> 1 1", "a.cpds:2:1: expected `PDA`"),
        ("2\nPDA 0 1\n0 0 -> 5 1", "a.cpds:3:8: there is no global state 5; they are numbered from 0 to 1"),
        ("2\nPDA 0 1\n0 -1 -> 1 1", "a.cpds:3:3: this is a rule for an empty stack"),
        ("2\nPDA 0 1\n0 - -> 1 1", "a.cpds:3:3: this is a rule for an empty stack"),
        ("2\nPDA 0 1\n0|7", "a.cpds:3:3: P0 has no stack symbol 7"),
        ("2\nPDA 0 1\n0|-", "a.cpds:3:3: P0 begins with an empty stack"),
        ("2\nPDA 0 1\n0|1.0", "a.cpds:3:3: expected a stack symbol, or `-`, found `1.0`"),
        ("2\nPDA 0 1\n0 0 1 1", "a.cpds:3:5: expected `->`, found `1`"),
        ("2\nPDA 0 1\n0 0 ->", "a.cpds:3:7: expected a global state, found the end of the line"),
        ("2\nPDA 0 1\n0 0 -> 1 x", "a.cpds:3:10: expected a stack symbol, or `-`, found `x`"),
        ("2\nPDA 0 1\n0 0 -> 1 - 1", "a.cpds:3:12: expected the end of the line, found `1`"),
        ("2\nPDA 3 1", "a.cpds:2:5: the symbols from 3 to 1 are none, or too many"),
        ("2", "a.cpds:1:1: there is no thread"),
        ("2\nPDA 0 1\n0|0,1", "a.cpds:3:1: 2 stack symbols for 1 threads"),
        ("2\nPDA 0 1\n7|0", "a.cpds:3:1: there is no global state 7"),
        ("0\nPDA 0 1", "a.cpds:1:1: 0 global states; give a number from 1"),
    ] {
        let error = error("a.cpds", text);
        assert!(error.contains(expected), "{text}\n  gives {error}\n  and not {expected}");
    }
}

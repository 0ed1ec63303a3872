//! What is wrong with a text is said at its place, with what to do.

use selvedge_report::from_json_all;

const GOOD: &str = concat!(
    r#"{"schema":"selvedge/result/1","subject":"s","engine":"e","verdict":"holds","#,
    r#""guarantee":{"complete":true,"assumptions":[]},"coverage":[],"statistics":{"seconds":0}}"#
);

#[track_caller]
fn check(text: &str, line: usize, column: usize, message: &str) {
    let error = from_json_all(text).expect_err("the text is wrong");
    assert_eq!((error.line, error.column), (line, column), "{error}");
    assert!(error.message.contains(message), "{error}");
}

#[test]
fn the_place_and_the_reason_are_given() {
    check("", 1, 1, "no result");
    check(" \n\n", 1, 1, "no result");
    check("not json", 1, 1, "not one");
    check(&format!("{GOOD}\n []"), 2, 2, "not one");
    check("{\"schema\" 1}", 1, 11, "expected `:`");
    check("{}", 1, 1, "without \"schema\"");
    check("\n\n  {\"schema\": \"other/2\"}", 3, 3, "other/2");
    check("{\"schema\":\n\"selvedge/result/1\"", 2, 19, "EOF");
    check(&format!("{GOOD}\n{}", GOOD.replace("holds", "perhaps")), 2, 76, "unknown variant `perhaps`");
    check(&format!("{GOOD}\n{{"), 2, 1, "EOF");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let violated = |violation: &str| {
        GOOD.replace("holds", "violated").replace(
            r#""guarantee":{"complete":true,"assumptions":[]}"#,
            &format!("\"violation\":{violation}"),
        )
    };
    let violation = |fields: &str| {
        violated(&format!(r#"{{"kind":"panic","message":"","preemptions":0,"switches":0,{fields}}}"#))
    };
    assert!(from_json_all(&violation(r#""schedule":"1A""#)).is_ok());
    for (text, message) in [
        (GOOD.replace(r#""guarantee":{"complete":true,"assumptions":[]},"#, ""), "no \"guarantee\""),
        (GOOD.replace("holds", "violated"), "no \"violation\""),
        (GOOD.replace("holds", "inconclusive"), "no \"gap\""),
        (violation(r#""schedule":"1A""#).replace("panic", "hiccup"), "hiccup"),
        (violation(r#""schedule":"zzz""#), "not a schedule"),
        (violation(r#""schedule":"1A","location":"nowhere""#), "not FILE:LINE"),
        (violation(r#""schedule":"1A","loop_start":0"#), "loop_start"),
        (violation(r#""schedule":"1A","trace":[{"step":0,"thread":4000000000,"op":""}]"#), "4000000000"),
        (violation(r#""schedule":"1A","threads":[],"trace":[{"step":0,"thread":0,"op":""}]"#), "thread 0"),
        (GOOD.replace(r#""seconds":0"#, r#""seconds":-1"#), "not a time"),
        (GOOD.replace(r#""coverage":[]"#, r#""coverage":[{"bound":1,"measure":"luck"}]"#), "luck"),
        (GOOD.replace(r#""assumptions":[]"#, r#""assumptions":[{"key":"luck","phrase":""}]"#), "luck"),
    ] {
        check(&text, 1, 1, message);
    }
    check(&GOOD.replace(r#","assumptions":[]"#, ""), 1, 104, "missing field `assumptions`");
}

#[test]
fn names_of_threads_come_from_the_steps_if_there_is_no_list() {
    let text = GOOD.replace("holds", "violated").replace(
        r#""guarantee":{"complete":true,"assumptions":[]}"#,
        concat!(
            r#""violation":{"kind":"panic","message":"","preemptions":0,"switches":0,"schedule":"1A","#,
            r#""trace":[{"step":0,"thread":1,"name":"adder","op":"x"}]}"#
        ),
    );
    let report = from_json_all(&text).unwrap().remove(0);
    assert_eq!(report.outcome.violation().unwrap().trace.threads, ["thread 0", "adder"]);
}

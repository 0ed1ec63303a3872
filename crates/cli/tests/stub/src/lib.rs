//! Appends results as the library does.

use std::io::Write as _;

/// Appends one result line, if a file for it is named.
pub fn append(line: &str) {
    let Some(path) = std::env::var_os("SELVEDGE_JSON") else { return };
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// A result that holds.
pub fn holds(subject: &str) {
    append(&format!(
        r#"{{"schema":"selvedge/result/1","subject":"{subject}","engine":"stateless","verdict":"holds","guarantee":{{"preemptions":2,"complete":false,"assumptions":[]}},"coverage":[],"statistics":{{"seconds":0.1,"executions":7}}}}"#
    ));
}

/// A violation.
pub fn violated(subject: &str) {
    append(&format!(
        r#"{{"schema":"selvedge/result/1","subject":"{subject}","engine":"stateless","verdict":"violated","guarantee":{{"preemptions":0,"complete":false,"assumptions":[]}},"violation":{{"kind":"assertion","message":"left is not right","preemptions":0,"switches":0,"schedule":"1A","trace":[{{"step":0,"thread":0,"name":"main","op":"load x","preemption":false}}]}},"coverage":[],"statistics":{{"seconds":0.1}}}}"#
    ));
}

/// A search that did not finish.
pub fn inconclusive(subject: &str) {
    append(&format!(
        r#"{{"schema":"selvedge/result/1","subject":"{subject}","engine":"stateless","verdict":"inconclusive","gap":"it was interrupted","coverage":[],"statistics":{{"seconds":0.1,"executions":7}}}}"#
    ));
}

#[cfg(test)]
mod tests {
    #[test]
    fn in_the_library() {
        crate::holds("tests::in_the_library");
    }
}

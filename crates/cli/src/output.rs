//! Where answers go: text, JSON, trace files, and the exit status.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use selvedge_core::Verdict;
use selvedge_report::{Origin, Report, Style};

use crate::args::Output;
use crate::frontend::Checked;
use crate::replay::from_trace;

/// The exit status. The worst of several is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    Holds,
    Inconclusive,
    Violated,
    Mistake,
}

impl Status {
    pub(crate) fn of(report: &Report) -> Self {
        match report.outcome.verdict {
            Verdict::Holds(_) => Status::Holds,
            Verdict::Violated(_) => Status::Violated,
            Verdict::Inconclusive(_) => Status::Inconclusive,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        ExitCode::from(match status {
            Status::Holds => 0,
            Status::Violated => 1,
            Status::Mistake => 2,
            Status::Inconclusive => 3,
        })
    }
}

/// The places that the command line names, opened before the search: a search of an hour must not end with
/// a directory that does not exist.
pub(crate) struct Sink {
    json: Option<Json>,
    trace: Option<PathBuf>,
    quiet: bool,
}

enum Json {
    Stdout,
    File(PathBuf, File),
}

impl Sink {
    pub(crate) fn open(output: &Output) -> anyhow::Result<Self> {
        refuse_html(output.html.as_deref())?;
        let json = match &output.json {
            None => None,
            Some(path) if path == Path::new("-") => Some(Json::Stdout),
            Some(path) => {
                // Not emptied yet: a mistyped command must not cost an old result.
                let file = File::options().create(true).append(true).open(path).map_err(|error| {
                    let remedy = "name a file in a directory you can write to";
                    anyhow!("cannot write --json {}: {error}; {remedy}", path.display())
                })?;
                Some(Json::File(path.clone(), file))
            }
        };
        if let Some(path) = &output.trace {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            if path.is_dir() || directory.is_some_and(|directory| !directory.is_dir()) {
                bail!("cannot write --trace {}; name a file in a directory that exists", path.display());
            }
        }
        Ok(Sink { json, trace: output.trace.clone(), quiet: output.quiet })
    }

    /// Prints and writes what was found.
    pub(crate) fn write(&mut self, checked: &[Checked]) -> anyhow::Result<()> {
        let first = checked.iter().find(|checked| checked.report.outcome.violation().is_some());
        if let (Some(path), Some(violated)) = (&self.trace, first) {
            let line = to_json(violated);
            std::fs::write(path, line + "\n").map_err(|error| {
                anyhow!("cannot write --trace {}: {error}; name a file you can write to", path.display())
            })?;
        }
        if let Some(json) = &mut self.json {
            let lines: String = checked.iter().map(|checked| to_json(checked) + "\n").collect();
            match json {
                Json::Stdout => emit(&mut std::io::stdout(), &lines)?,
                Json::File(path, file) => {
                    // A pipe or a device has no length to set.
                    let _ = file.set_len(0);
                    file.write_all(lines.as_bytes()).map_err(|error| {
                        anyhow!("cannot write --json {}: {error}; is the disk full?", path.display())
                    })?;
                }
            }
        }
        if self.quiet {
            return Ok(());
        }
        let saved = self.trace.as_ref().filter(|_| first.is_some());
        let to_stderr = matches!(self.json, Some(Json::Stdout));
        let mut text = String::new();
        for (index, one) in checked.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            let command = match saved {
                Some(path) if first.is_some_and(|first| std::ptr::eq(first, one)) => {
                    from_trace(path, &one.origin)
                }
                _ => one.replay.clone(),
            };
            text.push_str(&selvedge_report::to_text(&one.report, &style(to_stderr), command.as_deref()));
            if let Some(notes) = &one.notes {
                text.push('\n');
                text.push_str(notes);
            }
        }
        if to_stderr { emit(&mut std::io::stderr(), &text) } else { emit(&mut std::io::stdout(), &text) }
    }
}

/// The result, with where it is from if it has something to replay.
fn to_json(checked: &Checked) -> String {
    let origin: Option<&Origin> = checked.report.outcome.violation().map(|_| &checked.origin);
    selvedge_report::to_json_with_origin(&checked.report, origin)
}

/// HTML is announced and not there yet.
pub(crate) fn refuse_html(html: Option<&Path>) -> anyhow::Result<()> {
    match html {
        Some(_) => bail!("--html is not there yet; use --json FILE, or the text that is printed"),
        None => Ok(()),
    }
}

/// Writes a text; a reader that has gone away (`| head`) has seen enough.
pub(crate) fn emit(to: &mut dyn Write, text: &str) -> anyhow::Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| anyhow!("cannot print the report: {error}; is the disk full?")),
    }
}

/// Colours and the terminal's width if it is one, else neither.
pub(crate) fn style(to_stderr: bool) -> Style {
    let (terminal, term) = if to_stderr {
        (std::io::stderr().is_terminal(), console::Term::stderr())
    } else {
        (std::io::stdout().is_terminal(), console::Term::stdout())
    };
    if !terminal {
        return Style::default();
    }
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    Style { color: !plain, width: usize::from(term.size().1) }
}

/// Whether a character would not be seen, or would change how a terminal shows others.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A word as a shell reads it, and as a terminal shows it.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    if word.chars().any(is_unseen) {
        let shown = |c: char| match c {
            '\\' | '\'' => format!("\\{c}"),
            c if is_unseen(c) => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        };
        return format!("$'{}'", word.chars().map(shown).collect::<String>());
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_when_a_shell_would_split_them() {
        for (word, expected) in [
            ("a/b.rs", "a/b.rs"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("a\n'", r"$'a\u000a\''"),
        ] {
            assert_eq!(quote(word), expected);
        }
    }

    #[test]
    fn violated_is_worse_than_inconclusive_and_that_than_holds() {
        assert!(Status::Violated > Status::Inconclusive && Status::Inconclusive > Status::Holds);
    }
}

//! Labels: every `goto` has its label, every `break` its loop, and no label stands twice.
//!
//! An inline that is called several times has its labels once for each call. While a body is read, a label within a call
//! is `NAME#CALL`, and a `goto` within calls is `NAME#OUTER#INNER`. When the body has been read, a `goto` leads, as in Spin,
//! to the label of its own call, else to that of the call around it, and so on; else to the last label of that name. That
//! one keeps its plain name, which is what remote references see.

use std::collections::HashMap;

use super::Parser;
use crate::ast::{Proctype, Seq, StmtKind};
use crate::error::Pos;
use crate::print::plain_label;

impl Parser<'_> {
    /// The name of a label that stands here.
    pub(super) fn label_here(&self, label: &str) -> String {
        self.callers.last().map_or(label.to_string(), |call| format!("{label}#{call}"))
    }

    /// A label as a `goto` names it from here.
    pub(super) fn goto_here(&self, label: &str) -> String {
        self.callers.iter().fold(label.to_string(), |name, call| format!("{name}#{call}"))
    }

    /// Gives the labels of a body their names, and leads every `goto` to one of them.
    pub(super) fn resolve_labels(&mut self, process: &mut Proctype) {
        let mut found = Found::default();
        found.collect(&process.body, false);
        for (at, message) in found.wrong {
            self.note(at, message, None);
        }
        let rename = |label: &str| match found.last.get(plain_label(label)) {
            Some(last) if last == label => plain_label(label).to_string(),
            _ => label.to_string(),
        };
        let lead = |target: &str| {
            let (plain, calls) = target.split_once('#').unwrap_or((target, ""));
            let own = calls.rsplit('#').map(|call| format!("{plain}#{call}"));
            own.chain([plain.to_string()])
                .find(|label| found.labels.contains_key(label))
                .or_else(|| found.last.get(plain).cloned())
                .map(|label| rename(&label))
        };
        let mut missing = Vec::new();
        each(&mut process.body, &mut |statement| {
            for label in &mut statement.labels {
                *label = rename(label);
            }
            if let StmtKind::Goto(target) = &mut statement.kind {
                match lead(target) {
                    Some(label) => *target = label,
                    None => missing.push((plain_label(target).to_string(), statement.at)),
                }
            }
        });
        for (label, at) in missing {
            self.note(at, format!("no label '{label}' in '{}'", process.name), None);
        }
    }
}

/// The labels of a body.
#[derive(Default)]
struct Found {
    /// Every label.
    labels: HashMap<String, Pos>,
    /// The last label of each plain name.
    last: HashMap<String, String>,
    wrong: Vec<(Pos, String)>,
}

impl Found {
    fn collect(&mut self, seq: &Seq, in_loop: bool) {
        for statement in seq {
            for label in &statement.labels {
                let plain = plain_label(label).to_string();
                let known = self.last.get(&plain);
                let twice = known.is_some_and(|last| *last == plain || *label == plain)
                    || self.labels.contains_key(label);
                if twice {
                    let message = format!("the label '{plain}' stands twice in this process");
                    self.wrong.push((statement.at, message));
                }
                self.labels.insert(label.clone(), statement.at);
                self.last.insert(plain, label.clone());
            }
            match &statement.kind {
                StmtKind::Break if !in_loop => {
                    self.wrong.push((statement.at, "'break' outside a loop".to_string()));
                }
                StmtKind::If(options) => options.iter().for_each(|option| self.collect(option, in_loop)),
                StmtKind::Do(options) => options.iter().for_each(|option| self.collect(option, true)),
                StmtKind::Atomic(s) | StmtKind::DStep(s) | StmtKind::Block(s) => self.collect(s, in_loop),
                StmtKind::Unless(a, b) => {
                    self.collect(a, in_loop);
                    self.collect(b, in_loop);
                }
                _ => {}
            }
        }
    }
}

fn each(seq: &mut Seq, change: &mut impl FnMut(&mut crate::ast::Stmt)) {
    for statement in seq {
        change(statement);
        match &mut statement.kind {
            StmtKind::If(options) | StmtKind::Do(options) => {
                options.iter_mut().for_each(|option| each(option, change));
            }
            StmtKind::Atomic(s) | StmtKind::DStep(s) | StmtKind::Block(s) => each(s, change),
            StmtKind::Unless(a, b) => {
                each(a, change);
                each(b, change);
            }
            _ => {}
        }
    }
}

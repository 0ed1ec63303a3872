//! Atomic sections.
//!
//! A hidden global bit says that some thread is in one, and a context ends only where it is 0. A section gives the
//! bit back as it was before: a procedure that is called within a section may have its own. Within a procedure
//! sections may nest; how deep they can, its control flow tells, and only where they do the frame counts.

use std::collections::{BTreeSet, HashMap};

use selvedge_symbolic::expression::{Expression, Operator, Place};
use selvedge_symbolic::network::{Effect, LabelId, Variable};

use super::{Body, Parts};
use crate::Error;
use crate::lexer::At;

/// A statement that begins or ends an atomic section.
#[derive(Clone, Copy)]
pub(super) struct Section {
    pub(super) begins: bool,
    pub(super) from: LabelId,
    pub(super) to: LabelId,
    pub(super) at: At,
}

fn choose(condition: Expression, yes: Expression, no: Expression) -> Expression {
    Expression::If(Box::new(condition), Box::new(yes), Box::new(no))
}

impl Body<'_, '_> {
    /// Lowers the statements that begin and end atomic sections.
    pub(super) fn lower_sections(&mut self) -> Result<(), Error> {
        let Some(bit) = self.shared.atomic.filter(|_| !self.sections.is_empty()) else { return Ok(()) };
        let deepest = self.deepest_nesting()?;
        let bit = Place::Global(bit);
        // What the bit was before the outermost section of this frame began.
        let before = self.hidden_local("atomic before", 1);
        let width = u32::BITS - deepest.leading_zeros();
        let depth = (deepest > 1).then(|| self.hidden_local("atomic depth", width));
        for Section { begins, from, to, .. } in std::mem::take(&mut self.sections) {
            let (mut saved, mut restored) = (Expression::Read(bit), Expression::Read(before));
            let mut forgotten = Expression::truth(false);
            let mut parts = Parts::default();
            if let Some(depth) = depth {
                let is = |number: u64| Expression::Read(depth).equals(number, width);
                let outermost = Expression::binary(Operator::Or, is(0), is(1));
                saved = choose(is(0), saved, Expression::Read(before));
                restored = choose(outermost.clone(), restored, Expression::Read(bit));
                forgotten = choose(outermost, forgotten, Expression::Read(before));
                let by = |operator| {
                    Expression::binary(operator, Expression::Read(depth), Expression::constant(1, width))
                };
                let next = if begins { by(Operator::Add) } else { by(Operator::Subtract) };
                // An end without a beginning ends the section of a caller.
                let next = if begins { next } else { choose(is(0), Expression::Read(depth), next) };
                parts = parts.set(depth, next);
            }
            let (parts, text) = if begins {
                (parts.set(before, saved).set(bit, Expression::truth(true)), "atomic_begin")
            } else {
                (parts.set(bit, restored).set(before, forgotten), "atomic_end")
            };
            self.rule(from, Effect::Step { to }, parts, text);
        }
        Ok(())
    }

    fn hidden_local(&mut self, name: &str, width: u32) -> Place {
        let locals = &mut self.shared.network.procedures[self.id.index()].locals;
        locals.push(Variable { hidden: true, ..Variable::new(name, width) });
        Place::Local(locals.len() as u32 - 1)
    }

    /// How many sections of one frame can be open at once. It is an error if there is no limit.
    fn deepest_nesting(&self) -> Result<u32, Error> {
        let mut next: HashMap<LabelId, Vec<LabelId>> = HashMap::new();
        let mut reached = vec![(self.shared.entries[self.id.index()], 0)];
        for rule in &self.shared.network.rules {
            match rule.effect {
                Effect::Step { to } | Effect::Push { back: to, .. } => {
                    next.entry(rule.from).or_default().push(to)
                }
                Effect::Fork { to, child } => {
                    next.entry(rule.from).or_default().push(to);
                    // A copy begins outside of any section.
                    reached.push((child, 0));
                }
                Effect::Jump { .. } | Effect::Pop => {}
            }
        }
        // A path that meets no statement twice opens each section once.
        let most = self.sections.iter().filter(|section| section.begins).count() as u32;
        let mut deepest = 0;
        let mut known = BTreeSet::new();
        while let Some((label, depth)) = reached.pop() {
            if !known.insert((label, depth)) {
                continue;
            }
            deepest = deepest.max(depth);
            reached.extend(next.get(&label).into_iter().flatten().map(|&to| (to, depth)));
            let Some(section) = self.sections.iter().find(|section| section.from == label) else { continue };
            if section.begins && depth == most {
                let message = "atomic sections begin here again and again without ending".to_string();
                return self.fail(section.at, message, "end each with `atomic_end` before the next begins");
            }
            reached.push((section.to, if section.begins { depth + 1 } else { depth.saturating_sub(1) }));
        }
        Ok(deepest)
    }
}

//! An automaton as a never claim: a choice for each state, a label for acceptance, and the end of the claim where every
//! word is accepted. A safety property thus has a claim without acceptance, and is checked like an assertion.

use super::Atoms;
use super::buchi::{Buchi, Target, buchi};
use super::normal::Formulas;
use super::tableau::{Label, TooLarge, tableau};
use crate::ast::{Binary, Expr, ExprKind, Ltl, Proctype, Seq, Stmt, StmtId, StmtKind, Unary};
use crate::error::Pos;

/// A claim that accepts the executions that violate a property.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    pub(crate) process: Proctype,
    /// Names of statements that are in use, with those of the claim.
    pub(crate) statements: u32,
}

/// The automaton of a formula, or of its negation, and its propositions.
pub(super) fn automaton(formula: &crate::ast::Formula, positive: bool) -> Result<(Buchi, Atoms), TooLarge> {
    let (mut formulas, mut atoms) = (Formulas::default(), Atoms::default());
    let first = formulas.normal(formula, positive, &mut atoms);
    Ok((buchi(&tableau(&formulas, first)?)?, atoms))
}

/// The claim of a property; its statements are named from `statements` on.
pub(crate) fn claim(ltl: &Ltl, statements: u32) -> Result<Claimed, TooLarge> {
    let (automaton, atoms) = automaton(&ltl.formula, false)?;
    let mut writer = Writer { at: ltl.at, next: statements };
    let label = |number: usize| match automaton.states[number].accepting {
        true => format!("accept_{number}"),
        false => format!("T{number}"),
    };
    let mut choices = Vec::new();
    for (number, state) in automaton.states.iter().enumerate() {
        let mut options = Vec::new();
        for (guard, target) in &state.steps {
            let leave = match *target {
                Target::State(next) => StmtKind::Goto(label(next)),
                Target::Everything => StmtKind::Break,
            };
            let guard = writer.statement(StmtKind::Expr(condition(guard, &atoms, ltl.at)));
            options.push(vec![guard, writer.statement(leave)]);
        }
        if options.is_empty() {
            let never = Expr { kind: ExprKind::Const(0), at: ltl.at };
            options.push(vec![writer.statement(StmtKind::Expr(never))]);
        }
        let choice = Stmt { labels: vec![label(number)], ..writer.statement(StmtKind::If(options)) };
        choices.push(vec![choice]);
    }
    // The loop is there to be left with a `break`, which leads to the end.
    let body: Seq = vec![writer.statement(StmtKind::Goto(label(0))), writer.statement(StmtKind::Do(choices))];
    let process = Proctype {
        name: ltl.name.clone(),
        params: 0,
        locals: Vec::new(),
        active: 0,
        priority: 1,
        provided: None,
        deterministic: false,
        body,
        exclusive: Vec::new(),
        at: ltl.at,
        rank: usize::MAX,
    };
    Ok(Claimed { process, statements: writer.next })
}

struct Writer {
    at: Pos,
    next: u32,
}

impl Writer {
    fn statement(&mut self, kind: StmtKind) -> Stmt {
        self.next += 1;
        Stmt { id: StmtId(self.next - 1), labels: Vec::new(), kind, at: self.at }
    }
}

/// The literals of a label as one expression.
fn condition(label: &Label, atoms: &Atoms, at: Pos) -> Expr {
    let literals = label.iter().map(|(&atom, &wanted)| {
        let expr = atoms.list[atom as usize].clone();
        match wanted {
            true => expr,
            false => Expr { kind: ExprKind::Unary(Unary::Not, Box::new(expr)), at },
        }
    });
    let both = |a, b| Expr { kind: ExprKind::Binary(Binary::And, Box::new(a), Box::new(b)), at };
    literals.reduce(both).unwrap_or(Expr { kind: ExprKind::Const(1), at })
}

//! What is asked of a model: which claim moves along, and which cycles are wrong.

use std::rc::Rc;

use selvedge_core::{Assumption, AssumptionKind};
use selvedge_explicit::{Search, StoreKind};

use crate::ast::{Expr, ExprKind, Formula, Ltl, Model, Seq};
use crate::check::visit;
use crate::error::{Diagnostic, Error, Pos};
use crate::ltl::claim;
use crate::options::{Claims, Options, Property};
use crate::system::System;

/// Which states are accepting: those in which one of these stands at an `accept` label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// Cycles are not looked for.
    Nobody,
    /// The claim, which was made from a formula.
    Claim,
    /// The claim and every process, as in Spin.
    All,
}

/// A question about a model.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The model; if a claim moves along, it is its first.
    pub(crate) model: Rc<Model>,
    pub(crate) claim: Option<usize>,
    pub(crate) accepts: Accepts,
    /// The formula that the claim was made from.
    pub(crate) formula: Option<Ltl>,
    /// It is about cycles without progress.
    pub(crate) progress: bool,
    /// What the model asks about infinite executions besides.
    pub(crate) left: Option<Assumption>,
}

/// The names of a model's properties, as [`Property::Named`] takes them: `ltl` blocks, then never claims.
pub fn properties(model: &Model) -> Vec<String> {
    let claims = model.claims.iter().map(|claim| claim.name.clone());
    model.ltl.iter().map(|ltl| ltl.name.clone()).chain(claims).collect()
}

impl Question {
    pub(crate) fn of(model: &Model, claims: Claims, property: &Property) -> Result<Question, Error> {
        let mut question = Question {
            model: Rc::new(model.clone()),
            claim: None,
            accepts: Accepts::Nobody,
            formula: None,
            progress: false,
            left: None,
        };
        match (claims, property) {
            (Claims::Ignore, Property::Own) => {}
            (Claims::Ignore, _) => {
                let reason = "--no-claim leaves every property out; leave it out to ask for one";
                return Err(Error::Request(reason.to_string()));
            }
            (Claims::Safety, _) => question.claim = (!model.claims.is_empty()).then_some(0),
            (Claims::Check, Property::Progress) => {
                question.progress = true;
                question.ask(progress())?;
            }
            (Claims::Check, Property::Named(name)) => question.named(name)?,
            (Claims::Check, Property::Own) => match properties(model).as_slice() {
                [] => question.look_at_labels(),
                [name] => question.named(name)?,
                several => {
                    let list = several.join(", ");
                    let reason =
                        format!("the model has several properties; ask for one: --ltl NAME ({list})");
                    return Err(Error::Request(reason));
                }
            },
        }
        question.left = question.left_out(claims);
        Ok(question)
    }

    fn named(&mut self, name: &str) -> Result<(), Error> {
        // The last: a formula of the command line comes after the model's own.
        if let Some(ltl) = self.model.ltl.iter().rfind(|ltl| ltl.name == name) {
            return self.ask(ltl.clone());
        }
        let Some(number) = self.model.claims.iter().position(|claim| claim.name == name) else {
            let known = properties(&self.model);
            let known = match known.is_empty() {
                true => "it has none".to_string(),
                false => format!("it has {}", known.join(", ")),
            };
            return Err(Error::Request(format!("the model has no property '{name}'; {known}")));
        };
        let model = Rc::make_mut(&mut self.model);
        model.claims.swap(0, number);
        let accepts = accepts(&model.claims[0].body);
        self.claim = Some(0);
        self.look_at_labels();
        if accepts {
            self.accepts = Accepts::All;
        }
        Ok(())
    }

    fn look_at_labels(&mut self) {
        if self.model.procs.iter().any(|process| accepts(&process.body)) {
            self.accepts = Accepts::All;
        }
    }

    /// Lets the claim of a formula move along.
    fn ask(&mut self, ltl: Ltl) -> Result<(), Error> {
        let model = Rc::make_mut(&mut self.model);
        let claimed = claim(&ltl, model.statements).map_err(|_| {
            Error::Unsupported(Diagnostic {
                location: model.files.location(ltl.at),
                message: format!("the automaton of the property '{}' is too large", ltl.name),
                remedy: Some("split the formula into several properties".to_string()),
            })
        })?;
        if accepts(&claimed.process.body) {
            self.accepts = Accepts::Claim;
        }
        model.statements = claimed.statements;
        model.claims = vec![claimed.process];
        self.claim = Some(0);
        self.formula = Some(ltl);
        Ok(())
    }

    /// Tells a system which executions are wrong.
    pub(crate) fn prepare(&self, system: &mut System<'_>) {
        system.accepts = self.accepts;
        system.stutters = !self.progress;
    }

    /// Whether cycles are looked for.
    pub(crate) fn is_live(&self) -> bool {
        self.accepts != Accepts::Nobody
    }

    /// What is asked about infinite executions and was not checked.
    fn left_out(&self, claims: Claims) -> Option<Assumption> {
        let marked = |prefix: &str| self.model.procs.iter().any(|process| labelled(&process.body, prefix));
        let accept = marked("accept") && self.accepts != Accepts::All;
        let progress = marked("progress") && !self.progress;
        let claimed = || self.model.claims.iter().any(|claim| accepts(&claim.body));
        let formula = claims != Claims::Check && (!self.model.ltl.is_empty() || claimed());
        let kind = AssumptionKind::SafetyOnly;
        match (accept, progress) {
            (false, false) if !formula => None,
            _ if !self.is_live() => Some(kind.into()),
            (true, true) => Some(Assumption::new(kind, "no question about accept and progress labels")),
            (true, false) => Some(Assumption::new(kind, "no question about accept labels")),
            _ => Some(Assumption::new(kind, "no question about progress labels")),
        }
    }

    /// Refuses options that are not there yet for questions about infinite executions.
    pub(crate) fn allows(&self, options: &Options) -> Result<(), Error> {
        if !self.is_live() {
            return Ok(());
        }
        let refused = if options.preemptions.is_some() {
            Some("a bound on preemptions is not supported with liveness yet; leave --preemptions out")
        } else if options.store != StoreKind::Exact {
            Some("liveness needs the states themselves; leave --store out, or give exact")
        } else if options.all_errors {
            Some("a search for liveness ends at the first violation; leave --all-errors out")
        } else if matches!(options.search, Search::Bfs | Search::Bcs) || options.free_cycles {
            Some("liveness is searched depth first; leave --search and --free-cycles out")
        } else {
            None
        };
        refused.map_or(Ok(()), |reason| {
            let property = self.subject();
            Err(Error::Request(format!(
                "{property} is a question about infinite executions: {reason}, or check \
                 safety alone with --no-claim"
            )))
        })
    }

    /// The property, in words.
    pub(crate) fn subject(&self) -> String {
        match (&self.formula, self.claim) {
            _ if self.progress => "non-progress cycles".to_string(),
            (Some(ltl), _) => format!("the property '{}'", ltl.name),
            (None, Some(_)) => "the never claim".to_string(),
            (None, None) => "acceptance cycles".to_string(),
        }
    }
}

/// Every infinite execution passes progress labels for ever.
fn progress() -> Ltl {
    let at = Pos { file: 0, line: 1, column: 1 };
    let none = Formula::Prop(Expr { kind: ExprKind::NonProgress, at });
    let some = Formula::Eventually(Box::new(Formula::Not(Box::new(none))));
    Ltl { name: "progress".to_string(), formula: Formula::Always(Box::new(some)), at }
}

fn accepts(seq: &Seq) -> bool {
    labelled(seq, "accept")
}

fn labelled(seq: &Seq, prefix: &str) -> bool {
    let mut found = false;
    visit(seq, &mut |stmt| {
        found |= stmt.labels.iter().any(|label| label.starts_with(prefix));
    });
    found
}

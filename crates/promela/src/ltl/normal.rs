//! Formulas in negation normal form. Equal formulas are one node, so that nested equivalences stay small.

use std::collections::HashMap;

use crate::ast::{Expr, ExprKind, Formula};

/// A formula, by its place in [`Formulas`].
pub(crate) type Id = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    True,
    False,
    /// A proposition, and whether it is to hold.
    Literal(u32, bool),
    And(Id, Id),
    Or(Id, Id),
    Next(Id),
    Until(Id, Id),
    Release(Id, Id),
}

pub(super) const TRUE: Id = 0;
pub(super) const FALSE: Id = 1;

/// The nodes of a formula.
#[derive(Debug)]
pub(crate) struct Formulas {
    nodes: Vec<Node>,
    index: HashMap<Node, Id>,
}

impl Default for Formulas {
    fn default() -> Self {
        let mut new = Formulas { nodes: Vec::new(), index: HashMap::new() };
        new.node(Node::True);
        new.node(Node::False);
        new
    }
}

impl Formulas {
    fn node(&mut self, node: Node) -> Id {
        *self.index.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            (self.nodes.len() - 1) as Id
        })
    }

    pub(super) fn get(&self, id: Id) -> Node {
        self.nodes[id as usize]
    }

    fn both(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            (FALSE, _) | (_, FALSE) => FALSE,
            (TRUE, other) | (other, TRUE) => other,
            _ if a == b => a,
            _ => self.node(Node::And(a.min(b), a.max(b))),
        }
    }

    fn either(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            (TRUE, _) | (_, TRUE) => TRUE,
            (FALSE, other) | (other, FALSE) => other,
            _ if a == b => a,
            _ => self.node(Node::Or(a.min(b), a.max(b))),
        }
    }

    fn next(&mut self, a: Id) -> Id {
        if a == TRUE || a == FALSE { a } else { self.node(Node::Next(a)) }
    }

    fn until(&mut self, a: Id, b: Id) -> Id {
        match (a, b, self.get(b)) {
            (FALSE, ..) | (_, TRUE | FALSE, _) => b,
            (_, _, Node::Until(c, _)) if c == a => b,
            _ if a == b => b,
            _ => self.node(Node::Until(a, b)),
        }
    }

    fn release(&mut self, a: Id, b: Id) -> Id {
        match (a, b, self.get(b)) {
            (TRUE, ..) | (_, TRUE | FALSE, _) => b,
            (_, _, Node::Release(c, _)) if c == a => b,
            _ if a == b => b,
            _ => self.node(Node::Release(a, b)),
        }
    }

    /// A formula, or its negation, in normal form.
    pub(crate) fn normal(&mut self, formula: &Formula, positive: bool, atoms: &mut Atoms) -> Id {
        // Both polarities of what stands below an equivalence are wanted, so both are remembered.
        let mut known = HashMap::new();
        self.build(formula, positive, atoms, &mut known)
    }

    fn build(
        &mut self,
        formula: &Formula,
        positive: bool,
        atoms: &mut Atoms,
        known: &mut HashMap<(*const Formula, bool), Id>,
    ) -> Id {
        let key = (std::ptr::from_ref(formula), positive);
        if let Some(&id) = known.get(&key) {
            return id;
        }
        let mut go = |this: &mut Self, part: &Formula, positive| this.build(part, positive, atoms, known);
        let id = match formula {
            Formula::Prop(Expr { kind: ExprKind::Const(value), .. }) => {
                if (*value != 0) == positive {
                    TRUE
                } else {
                    FALSE
                }
            }
            Formula::Prop(expr) => {
                let atom = atoms.number(expr);
                self.node(Node::Literal(atom, positive))
            }
            Formula::Not(a) => go(self, a, !positive),
            Formula::And(a, b) | Formula::Or(a, b) => {
                let (a, b) = (go(self, a, positive), go(self, b, positive));
                if matches!(formula, Formula::And(..)) == positive {
                    self.both(a, b)
                } else {
                    self.either(a, b)
                }
            }
            Formula::Implies(a, b) => {
                let (a, b) = (go(self, a, !positive), go(self, b, positive));
                if positive { self.either(a, b) } else { self.both(a, b) }
            }
            Formula::Equivalent(a, b) => {
                let (yes, no) = (go(self, a, true), go(self, a, false));
                let (same, other) = (go(self, b, positive), go(self, b, !positive));
                let (left, right) = (self.both(yes, same), self.both(no, other));
                self.either(left, right)
            }
            Formula::Always(a) | Formula::Eventually(a) => {
                let a = go(self, a, positive);
                if matches!(formula, Formula::Always(_)) == positive {
                    self.release(FALSE, a)
                } else {
                    self.until(TRUE, a)
                }
            }
            Formula::Next(a) => {
                let a = go(self, a, positive);
                self.next(a)
            }
            Formula::Until(a, b) | Formula::Release(a, b) => {
                let (a, b) = (go(self, a, positive), go(self, b, positive));
                if matches!(formula, Formula::Until(..)) == positive {
                    self.until(a, b)
                } else {
                    self.release(a, b)
                }
            }
            Formula::WeakUntil(a, b) => {
                // a W b is b R (a || b).
                let (a, b) = (go(self, a, positive), go(self, b, positive));
                if positive {
                    let either = self.either(a, b);
                    self.release(b, either)
                } else {
                    let both = self.both(a, b);
                    self.until(b, both)
                }
            }
        };
        known.insert(key, id);
        id
    }
}

/// The propositions of a formula, each once: those that read alike are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atoms {
    pub(crate) list: Vec<Expr>,
    texts: HashMap<String, u32>,
}

impl Atoms {
    pub(super) fn number(&mut self, expr: &Expr) -> u32 {
        *self.texts.entry(text(expr)).or_insert_with(|| {
            self.list.push(expr.clone());
            (self.list.len() - 1) as u32
        })
    }
}

/// An expression without its places in the text.
fn text(expr: &Expr) -> String {
    let all = format!("{:?}", expr.kind);
    let mut parts = all.split("Pos {");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        text += part.split_once('}').map_or(part, |(_, rest)| rest);
    }
    text
}

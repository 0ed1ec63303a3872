//! A process body to a control graph, with the locations that Spin would give it.
//!
//! Every statement is an element. `goto`, `break` and `unless` cost no step where control merely passes
//! through them, and one step where they are the first statement of an option or have a label that is
//! asked for: `end`, `accept`, `progress`, or one that a remote reference names. A composite statement has
//! the transitions of the statements it can begin with; `else` comes last. The transitions of an `unless`
//! escape stand before those of the statements it guards, the outermost first.

use std::collections::{HashMap, HashSet};

use super::{Lowerer, Patience, Refused};
use crate::ast::{Proctype, Seq, Stmt, StmtKind};
use crate::error::Pos;
use crate::program::{Code, Kind, Op, Place, Trans};

/// An element of the graph.
struct Element<'a> {
    /// `None` is the end of the body.
    stmt: Option<&'a Stmt>,
    /// Where control goes after it.
    next: usize,
    /// Within an atomic sequence.
    atom: bool,
    /// First elements of the escapes around it, the outermost first.
    escapes: Vec<usize>,
    /// First elements of its parts.
    parts: Vec<usize>,
    /// For `break`: the element after the loop.
    out: usize,
}

/// The control graph of a process.
pub(super) struct Graph<'a> {
    patience: &'a Patience<'a>,
    elements: Vec<Element<'a>>,
    labels: HashMap<&'a str, usize>,
    first: usize,
    end: usize,
    /// Locations that control can rest at, in order of discovery; and the way back.
    order: Vec<usize>,
    number: HashMap<usize, u16>,
    /// Labels that remote references name.
    watched: HashSet<&'a str>,
    at: Pos,
}

/// What surrounds a sequence.
#[derive(Clone)]
struct Around {
    after: usize,
    atom: bool,
    escapes: Vec<usize>,
    out: usize,
}

impl<'a> Graph<'a> {
    pub(super) fn new(
        patience: &'a Patience<'a>,
        source: &'a Proctype,
        watched: HashSet<&'a str>,
    ) -> Result<Self, Refused> {
        let end = Element { stmt: None, next: 0, atom: false, escapes: vec![], parts: vec![], out: 0 };
        let mut graph = Graph {
            patience,
            elements: vec![end],
            labels: HashMap::new(),
            first: 0,
            end: 0,
            order: Vec::new(),
            number: HashMap::new(),
            watched,
            at: source.at,
        };
        let around = Around { after: 0, atom: false, escapes: Vec::new(), out: 0 };
        graph.first = graph.sequence(&source.body, &around);
        graph.discover()?;
        Ok(graph)
    }

    /// Adds a sequence; its first element.
    fn sequence(&mut self, seq: &'a Seq, around: &Around) -> usize {
        let base = self.elements.len();
        for (index, stmt) in seq.iter().enumerate() {
            let next = if index + 1 < seq.len() { base + index + 1 } else { around.after };
            self.elements.push(Element {
                stmt: Some(stmt),
                next,
                atom: around.atom,
                // Spin attaches no escapes to the end of a choice.
                escapes: if let StmtKind::Join = stmt.kind { vec![] } else { around.escapes.clone() },
                parts: Vec::new(),
                out: around.out,
            });
            for label in &stmt.labels {
                self.labels.insert(label, base + index);
            }
        }
        for (index, stmt) in seq.iter().enumerate() {
            let own = base + index;
            let inner = Around { after: self.elements[own].next, ..around.clone() };
            let parts = match &stmt.kind {
                StmtKind::If(options) => {
                    else_last(options).into_iter().map(|option| self.sequence(option, &inner)).collect()
                }
                StmtKind::Do(options) => {
                    let inner = Around { out: inner.after, after: own, ..inner };
                    else_last(options).into_iter().map(|option| self.sequence(option, &inner)).collect()
                }
                StmtKind::Atomic(body) => vec![self.sequence(body, &Around { atom: true, ..inner })],
                StmtKind::Block(body) => vec![self.sequence(body, &inner)],
                StmtKind::Unless(main, escape) => {
                    let escape = self.sequence(escape, &inner);
                    let mut escapes = around.escapes.clone();
                    escapes.push(escape);
                    vec![self.sequence(main, &Around { escapes, ..inner })]
                }
                _ => Vec::new(),
            };
            self.elements[own].parts = parts;
        }
        if seq.is_empty() { around.after } else { base }
    }

    /// Where control rests when it reaches an element. From within an atomic sequence (`atom`) it rests, as in Spin, at the
    /// jump that leads out of it: a step of its own if a handshake has handed control over.
    fn resolve(&self, mut element: usize, atom: bool) -> Result<usize, Refused> {
        for _ in 0..self.elements.len() + 1 {
            self.patience.spend(1)?;
            let this = &self.elements[element];
            let rests = |label: &String| self.watched.contains(label.as_str()) || is_special(label);
            if this.stmt.is_some_and(|stmt| stmt.labels.iter().any(rests)) {
                return Ok(element);
            }
            let next = match this.stmt.map(|stmt| &stmt.kind) {
                Some(StmtKind::Goto(label)) => self.labels[label.as_str()],
                Some(StmtKind::Break) => this.out,
                Some(StmtKind::Join) => this.next,
                Some(StmtKind::Unless(..)) => this.parts[0],
                _ => return Ok(element),
            };
            if atom && this.atom && !self.elements[next].atom {
                return Ok(element);
            }
            element = next;
        }
        let at = self.elements[element].stmt.map_or(self.at, |stmt| stmt.at);
        Err(Refused {
            at,
            message: "this goto leads back to itself without a step".to_string(),
            remedy: "put a statement into the loop",
        })
    }

    /// The basic elements whose transitions an element has, with the escape they belong to.
    fn expand(
        &self,
        element: usize,
        escape: u16,
        out: &mut Vec<(usize, u16)>,
        depth: u32,
    ) -> Result<(), Refused> {
        let this = &self.elements[element];
        self.patience.spend(1)?;
        if depth > 400 {
            let at = this.stmt.map_or(self.at, |stmt| stmt.at);
            return Err(Refused { at, message: "nested too deep".to_string(), remedy: "" });
        }
        if escape == 0 {
            for (number, &first) in this.escapes.iter().enumerate() {
                let mut list = Vec::new();
                self.expand(first, number as u16 + 1, &mut list, depth + 1)?;
                self.patience.spend(list.len() * (1 + out.len()))?;
                // An escape guards the options of a composite as well: once is enough.
                out.extend(list.into_iter().filter(|item| !out.contains(item)).collect::<Vec<_>>());
            }
        }
        match this.stmt.map(|stmt| &stmt.kind) {
            Some(
                StmtKind::If(_)
                | StmtKind::Do(_)
                | StmtKind::Atomic(_)
                | StmtKind::Block(_)
                | StmtKind::Unless(..),
            ) => {
                let mut own = Vec::new();
                for &part in &this.parts {
                    self.expand(part, escape, &mut own, depth + 1)?;
                }
                let (escapes, plain): (Vec<_>, Vec<_>) =
                    own.into_iter().partition(|(_, e)| escape == 0 && *e != 0);
                // Escapes of inner blocks stay before everything else.
                self.patience.spend(escapes.len() * (1 + out.len()))?;
                let fresh: Vec<_> = escapes.into_iter().filter(|item| !out.contains(item)).collect();
                out.extend(fresh);
                out.extend(plain);
            }
            _ => out.push((element, escape)),
        }
        Ok(())
    }

    /// Where a basic element leads.
    fn target(&self, element: usize) -> Result<usize, Refused> {
        let this = &self.elements[element];
        match this.stmt.map(|stmt| &stmt.kind) {
            Some(StmtKind::Goto(label)) => self.resolve(self.labels[label.as_str()], false),
            Some(StmtKind::Break) => self.resolve(this.out, false),
            Some(StmtKind::Join) => self.resolve(this.next, false),
            _ => self.resolve(this.next, this.atom),
        }
    }

    fn discover(&mut self) -> Result<(), Refused> {
        self.first = self.resolve(self.first, false)?;
        self.order.push(self.first);
        self.number.insert(self.first, 0);
        let mut index = 0;
        while index < self.order.len() {
            let mut list = Vec::new();
            self.expand(self.order[index], 0, &mut list, 0)?;
            for (element, _) in list {
                if element == self.end {
                    continue;
                }
                let target = self.target(element)?;
                if !self.number.contains_key(&target) {
                    let number = self.order.len();
                    if number >= usize::from(u16::MAX) {
                        let message = "this process has too many locations".to_string();
                        return Err(Refused { at: self.at, message, remedy: "split it" });
                    }
                    self.number.insert(target, number as u16);
                    self.order.push(target);
                }
            }
            index += 1;
        }
        Ok(())
    }

    pub(super) fn places(&self) -> usize {
        self.order.len()
    }

    /// The locations of the labels that control can rest at.
    pub(super) fn labels(&self) -> HashMap<String, u16> {
        let located = self.labels.iter().filter_map(|(label, element)| {
            let resting = match self.elements[*element].stmt.map(|s| &s.kind) {
                Some(StmtKind::Unless(..)) => self.resolve(*element, false).ok()?,
                _ => *element,
            };
            Some(((*label).to_string(), *self.number.get(&resting)?))
        });
        located.collect()
    }
}

/// A label with a meaning: control rests at it even on a `goto` or `break`, as in Spin.
fn is_special(label: &str) -> bool {
    ["end", "accept", "progress"].iter().any(|prefix| label.starts_with(prefix))
}

/// The options of a composite with the one that begins with `else` last.
fn else_last(options: &[Seq]) -> Vec<&Seq> {
    let is_else = |option: &&Seq| matches!(option.first().map(|s| &s.kind), Some(StmtKind::Else));
    let mut list: Vec<&Seq> = options.iter().filter(|o| !is_else(o)).collect();
    list.extend(options.iter().filter(is_else));
    list
}

impl<'a> Lowerer<'a> {
    /// The locations of a process with their transitions.
    pub(super) fn places(&mut self, graph: &Graph<'a>) -> Result<Vec<Place>, Refused> {
        let mut places = Vec::new();
        // A basic statement's code is made once, however many locations can begin with it.
        let mut made: HashMap<usize, Trans> = HashMap::new();
        for &element in &graph.order {
            let first = self.trans.len() as u32;
            let mut list = Vec::new();
            graph.expand(element, 0, &mut list, 0)?;
            for (basic, escape) in list {
                let trans = match made.get(&basic) {
                    Some(trans) => *trans,
                    None => {
                        let trans = self.transition(graph, basic)?;
                        made.insert(basic, trans);
                        trans
                    }
                };
                self.trans.push(Trans { escape, ..trans });
            }
            let this = &graph.elements[element];
            let labels: Vec<String> = this.stmt.map(|stmt| stmt.labels.clone()).unwrap_or_default();
            let has = |prefix: &str| labels.iter().any(|label| label.starts_with(prefix));
            places.push(Place {
                first,
                last: self.trans.len() as u32,
                work: self.trans[first as usize..]
                    .iter()
                    .map(|trans| 1 + trans.guard.len() + trans.effect.len())
                    .fold(0, u32::saturating_add),
                valid_end: element == graph.end || has("end"),
                progress: has("progress"),
                accept: has("accept"),
                is_end: element == graph.end,
                // Nobody asks where a claim or a trace is.
                state: if self.process < self.model.procs.len() {
                    self.numbers.state(self.process, this.stmt.map(|stmt| stmt.id))
                } else {
                    0
                },
                ample: false,
            });
        }
        Ok(places)
    }

    fn transition(&mut self, graph: &Graph<'a>, basic: usize) -> Result<Trans, Refused> {
        let this = &graph.elements[basic];
        let Some(stmt) = this.stmt else {
            return Ok(Trans {
                kind: Kind::End,
                guard: Code::default(),
                effect: Code::default(),
                target: 0,
                atomic: false,
                escape: 0,
                stmt: crate::ast::StmtId(u32::MAX),
                at: graph.at,
                takes: false,
                in_place: false,
                safe: false,
            });
        };
        let target = graph.target(basic)?;
        let (kind, guard, effect) = self.statement_code(stmt)?;
        let atomic = this.atom && graph.elements[target].atom;
        let starts = |op: &Op| matches!(op, Op::Run(..));
        let in_place = !atomic && !self.ops[effect.start as usize..effect.end as usize].iter().any(starts);
        Ok(Trans {
            kind,
            guard,
            effect,
            target: graph.number[&target],
            atomic,
            escape: 0,
            stmt: stmt.id,
            at: stmt.at,
            takes: matches!(&stmt.kind, StmtKind::DStep(body) if super::code::receives(&body[0])),
            in_place,
            safe: false,
        })
    }
}

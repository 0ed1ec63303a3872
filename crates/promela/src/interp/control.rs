//! Where a process stands, and where it goes: paths in the syntax tree.

use super::Interpreter;
use crate::ast::{Proctype, Seq, Stmt, StmtKind};

/// A statement of a body: the way down to its sequence (statement, part), and its place there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Point {
    down: Vec<(usize, usize)>,
    at: usize,
}

impl Point {
    pub(super) fn start() -> Self {
        Point { down: Vec::new(), at: 0 }
    }

    fn within(&self, part: usize) -> Point {
        let mut down = self.down.clone();
        down.push((self.at, part));
        Point { down, at: 0 }
    }

    /// The statement around this one.
    fn up(&self) -> Option<Point> {
        let mut down = self.down.clone();
        let (at, _) = down.pop()?;
        Some(Point { down, at })
    }

    /// Which part of the statement around it this one is in.
    fn part(&self) -> usize {
        self.down.last().map_or(0, |&(_, part)| part)
    }
}

/// The sequences within a statement.
fn part(stmt: &Stmt, number: usize) -> &Seq {
    match &stmt.kind {
        StmtKind::If(options) | StmtKind::Do(options) => &options[number],
        StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) => body,
        StmtKind::Unless(main, escape) => {
            if number == 0 {
                main
            } else {
                escape
            }
        }
        _ => unreachable!("a basic statement has no parts"),
    }
}

/// Whether a statement does nothing but lead elsewhere.
pub(super) fn is_jump(kind: &StmtKind) -> bool {
    matches!(kind, StmtKind::Goto(_) | StmtKind::Break | StmtKind::Join)
}

impl<'m> Interpreter<'m> {
    fn sequence<'a>(&self, body: &'a Proctype, point: &Point) -> &'a Seq {
        let mut seq = &body.body;
        for &(at, number) in &point.down {
            seq = part(&seq[at], number);
        }
        seq
    }

    pub(super) fn statement<'a>(&self, body: &'a Proctype, point: &Point) -> &'a Stmt {
        &self.sequence(body, point)[point.at]
    }

    /// Where control goes after the statement at a point.
    pub(super) fn after(&self, body: &Proctype, point: &Point) -> Option<Point> {
        let next = self.behind(body, point)?;
        self.rest(body, next, self.in_atomic(body, &Some(point.clone())))
    }

    /// What comes behind the statement at a point.
    fn behind(&self, body: &Proctype, point: &Point) -> Option<Point> {
        let mut point = point.clone();
        loop {
            if point.at + 1 < self.sequence(body, &point).len() {
                point.at += 1;
                return Some(point);
            }
            point = point.up()?;
            if matches!(self.statement(body, &point).kind, StmtKind::Do(_)) {
                return Some(point);
            }
        }
    }

    /// Where control comes to rest on its way to a point: `goto`, `break` and `unless` are passed through. From within an
    /// atomic sequence (`atomic`) it rests at the one that leads out of it.
    pub(super) fn rest(&self, body: &Proctype, mut point: Point, atomic: bool) -> Option<Point> {
        if body.body.is_empty() {
            // Only declarations: it is at its end.
            return None;
        }
        for _ in 0..100_000 {
            let stmt = self.statement(body, &point);
            let watched = |label: &String| {
                let prefixed = |prefix: &&str| label.starts_with(prefix);
                let special = ["end", "accept", "progress"].iter().any(prefixed);
                let named = self
                    .model
                    .remote_labels
                    .iter()
                    .any(|(p, l)| l == label && self.model.procs[*p].name == body.name);
                special || named
            };
            if stmt.labels.iter().any(watched) {
                return Some(point);
            }
            let next = match &stmt.kind {
                StmtKind::Unless(..) => Some(point.within(0)),
                kind if is_jump(kind) => self.leads(body, &point),
                _ => return Some(point),
            };
            let inside = |point: Option<Point>| self.in_atomic(body, &point);
            if atomic && inside(Some(point.clone())) && !inside(next.clone()) {
                return Some(point);
            }
            point = next?;
        }
        None
    }

    /// Where a jump that is itself a step leads.
    pub(super) fn jump(&self, body: &Proctype, point: &Point) -> Option<Point> {
        let next = self.leads(body, point)?;
        self.rest(body, next, false)
    }

    /// What a jump leads to; `break` to what comes behind the innermost loop.
    fn leads(&self, body: &Proctype, point: &Point) -> Option<Point> {
        match &self.statement(body, point).kind {
            StmtKind::Goto(label) => return self.find(&body.body, label, &Point::start()),
            StmtKind::Join => return self.behind(body, point),
            _ => {}
        }
        let mut point = point.clone();
        loop {
            point = point.up()?;
            if matches!(self.statement(body, &point).kind, StmtKind::Do(_)) {
                return self.behind(body, &point);
            }
        }
    }

    fn find(&self, seq: &Seq, label: &str, here: &Point) -> Option<Point> {
        for (at, stmt) in seq.iter().enumerate() {
            let point = Point { down: here.down.clone(), at };
            if stmt.labels.iter().any(|l| l == label) {
                return Some(point);
            }
            let parts = match &stmt.kind {
                StmtKind::If(options) | StmtKind::Do(options) => options.len(),
                StmtKind::Atomic(_) | StmtKind::Block(_) | StmtKind::DStep(_) => 1,
                StmtKind::Unless(..) => 2,
                _ => 0,
            };
            let inner =
                (0..parts).find_map(|number| self.find(part(stmt, number), label, &point.within(number)));
            if inner.is_some() {
                return inner;
            }
        }
        None
    }

    pub(super) fn in_atomic(&self, body: &Proctype, point: &Option<Point>) -> bool {
        let mut point = point.clone();
        while let Some(here) = point {
            point = here.up();
            if point.as_ref().is_some_and(|p| matches!(self.statement(body, p).kind, StmtKind::Atomic(_))) {
                return true;
            }
        }
        false
    }

    /// The basic statements that control can begin with at a point. `else` options come last.
    pub(super) fn begins(&self, body: &Proctype, point: &Point, out: &mut Vec<Point>) {
        match &self.statement(body, point).kind {
            StmtKind::If(options) | StmtKind::Do(options) => {
                let is_else = |number: &usize| matches!(options[*number][0].kind, StmtKind::Else);
                for number in
                    (0..options.len()).filter(|n| !is_else(n)).chain((0..options.len()).filter(is_else))
                {
                    self.begins(body, &point.within(number), out);
                }
            }
            StmtKind::Atomic(_) | StmtKind::Block(_) | StmtKind::Unless(..) => {
                self.begins(body, &point.within(0), out)
            }
            _ => out.push(point.clone()),
        }
    }

    /// The escapes around a point, the outermost first: what each can begin with.
    pub(super) fn escapes(&self, body: &Proctype, point: &Point) -> Vec<Vec<Point>> {
        let mut list = Vec::new();
        if let StmtKind::Join = self.statement(body, point).kind {
            return list;
        }
        let mut here = point.clone();
        while let Some(above) = here.up() {
            if matches!(self.statement(body, &above).kind, StmtKind::Unless(..)) && here.part() == 0 {
                let mut begin = Vec::new();
                self.begins(body, &above.within(1), &mut begin);
                list.push(begin);
            }
            here = above;
        }
        list.reverse();
        list
    }

    /// Whether a process stands at a label.
    pub(super) fn at_label(&self, body: &Proctype, point: &Option<Point>, label: &str) -> bool {
        let Some(here) = point else { return false };
        if self.statement(body, here).labels.iter().any(|l| l == label) {
            return true;
        }
        // A label in front of an unless stands for the first statement within it.
        let mut inner = here.clone();
        while inner.at == 0 && inner.part() == 0 {
            let Some(above) = inner.up() else { return false };
            if !matches!(self.statement(body, &above).kind, StmtKind::Unless(..)) {
                return false;
            }
            if self.statement(body, &above).labels.iter().any(|l| l == label) {
                return true;
            }
            inner = above;
        }
        false
    }
}

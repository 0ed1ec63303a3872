//! `ltl` blocks. They are read and kept; checking them is liveness, which is refused for now.

use super::{Parse, Parser};
use crate::ast::{Formula, Ltl};
use crate::error::Pos;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn ltl_block(&mut self, at: Pos) -> Parse<()> {
        let name = if self.peek().is("{") {
            format!("ltl_{}", self.model.ltl.len())
        } else {
            self.name("the name of the property")?.to_string()
        };
        self.expect("{")?;
        // References in a formula are to globals and to other processes.
        self.begin_process(name.clone(), at);
        self.in_ltl = true;
        let formula = self.formula();
        self.in_ltl = false;
        self.current = None;
        self.scopes.clear();
        let formula = formula?;
        self.expect("}")?;
        self.model.ltl.push(Ltl { name, formula, at });
        Ok(())
    }

    fn formula(&mut self) -> Parse<Formula> {
        self.nested(|p| {
            let left = p.disjunction()?;
            let pair = |p: &mut Self, make: fn(Box<Formula>, Box<Formula>) -> Formula| {
                p.next();
                Ok(make(Box::new(left.clone()), Box::new(p.formula()?)))
            };
            match &p.peek().tok {
                Tok::Op("->") => pair(p, Formula::Implies),
                Tok::Op("<->") => pair(p, Formula::Equivalent),
                Tok::Ident(w) if &**w == "implies" => pair(p, Formula::Implies),
                Tok::Ident(w) if &**w == "equivalent" => pair(p, Formula::Equivalent),
                _ => Ok(left),
            }
        })
    }

    fn disjunction(&mut self) -> Parse<Formula> {
        let mut left = self.conjunction()?;
        while self.peek().is("||") || self.peek().is("|") || self.peek().is("\\/") {
            self.next();
            left = Formula::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parse<Formula> {
        let mut left = self.until()?;
        while self.peek().is("&&") || self.peek().is("&") || self.peek().is("/\\") {
            self.next();
            left = Formula::And(Box::new(left), Box::new(self.until()?));
        }
        Ok(left)
    }

    fn until(&mut self) -> Parse<Formula> {
        let mut left = self.nested(Self::temporal)?;
        while let Tok::Ident(word) = self.peek().tok.clone() {
            let make: fn(Box<Formula>, Box<Formula>) -> Formula = match &*word {
                "U" | "until" | "stronguntil" => Formula::Until,
                "W" | "weakuntil" => Formula::WeakUntil,
                "V" | "R" | "release" => Formula::Release,
                _ => break,
            };
            self.next();
            left = make(Box::new(left), Box::new(self.nested(Self::temporal)?));
        }
        Ok(left)
    }

    fn temporal(&mut self) -> Parse<Formula> {
        let token = self.peek().clone();
        let make: Option<fn(Box<Formula>) -> Formula> = match &token.tok {
            Tok::Op("[]") => Some(Formula::Always),
            Tok::Op("[") if self.peek_at(1).is("]") => {
                self.next();
                Some(Formula::Always)
            }
            Tok::Op("<>") => Some(Formula::Eventually),
            Tok::Op("!") => Some(Formula::Not),
            Tok::Ident(w) if &**w == "always" => Some(Formula::Always),
            Tok::Ident(w) if &**w == "eventually" => Some(Formula::Eventually),
            Tok::Ident(w) if (&**w == "X" || &**w == "next") && self.lookup(w).is_none() => {
                Some(Formula::Next)
            }
            _ => None,
        };
        if let Some(make) = make {
            self.next();
            return Ok(make(Box::new(self.nested(Self::temporal)?)));
        }
        if token.is("(") {
            // Either a formula in parentheses or the beginning of an expression: try, and look behind it.
            let (mark, errors) = (self.frames.last().expect("a frame").1, self.errors.len());
            self.next();
            let formula = self.formula();
            let closed = formula.is_ok() && self.accept(")");
            let goes_on = matches!(
                self.peek().tok,
                Tok::Op(
                    "==" | "!="
                        | "<"
                        | "<="
                        | ">"
                        | ">="
                        | "+"
                        | "-"
                        | "*"
                        | "/"
                        | "%"
                        | "&"
                        | "|"
                        | "^"
                        | "<<"
                        | ">>"
                )
            );
            if closed && !goes_on {
                return formula;
            }
            self.frames.last_mut().expect("a frame").1 = mark;
            self.errors.truncate(errors);
        }
        self.in_ltl = true;
        Ok(Formula::Prop(self.binary(5)?))
    }
}

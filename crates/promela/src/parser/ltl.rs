//! `ltl` blocks, with Spin's operators and their precedence: `->` and `<->` bind least and group to the left, as all
//! that take two formulas do.

use super::expr::LONGEST_CHAIN;
use super::{Parse, Parser};
use crate::ast::{Formula, Ltl};
use crate::error::Pos;
use crate::lexer::Tok;

/// Makes a formula of two.
type Pair = fn(Box<Formula>, Box<Formula>) -> Formula;

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
            p.row(Self::disjunction, |tok| match tok {
                Tok::Op("->") => Some(Formula::Implies),
                Tok::Op("<->") => Some(Formula::Equivalent),
                Tok::Ident(w) if &**w == "implies" => Some(Formula::Implies),
                Tok::Ident(w) if &**w == "equivalent" => Some(Formula::Equivalent),
                _ => None,
            })
        })
    }

    /// Formulas with operators of one precedence between them, from left to right.
    fn row(
        &mut self,
        part: fn(&mut Self) -> Parse<Formula>,
        operator: fn(&Tok) -> Option<Pair>,
    ) -> Parse<Formula> {
        let mut left = part(self)?;
        let mut operators = 0;
        while let Some(make) = operator(&self.peek().tok) {
            // Each operator makes the tree a level deeper.
            operators += 1;
            if operators > LONGEST_CHAIN {
                let message = format!("more than {LONGEST_CHAIN} operators in a row");
                return self.fail_with(self.at(), message, "split the formula");
            }
            self.next();
            left = make(Box::new(left), Box::new(part(self)?));
        }
        Ok(left)
    }

    fn disjunction(&mut self) -> Parse<Formula> {
        self.row(Self::conjunction, |tok| match tok {
            Tok::Op("||" | "|" | "\\/") => Some(Formula::Or),
            _ => None,
        })
    }

    fn conjunction(&mut self) -> Parse<Formula> {
        self.row(Self::until, |tok| match tok {
            Tok::Op("&&" | "&" | "/\\") => Some(Formula::And),
            _ => None,
        })
    }

    fn until(&mut self) -> Parse<Formula> {
        self.row(
            |p| p.nested(Self::temporal),
            |tok| match tok {
                Tok::Ident(word) => match &**word {
                    "U" | "until" | "stronguntil" => Some(Formula::Until),
                    "W" | "weakuntil" => Some(Formula::WeakUntil),
                    "V" | "R" | "release" => Some(Formula::Release),
                    _ => None,
                },
                _ => None,
            },
        )
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

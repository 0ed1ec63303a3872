//! Where variables lie in the state.

use super::{Lowerer, Refused};
use crate::ast::{ChanInit, Proctype, Type, Var, VarRef};
use crate::error::Pos;
use crate::program::{Cell, ChanType, Create};

/// A state longer than this is refused.
const LONGEST: usize = 60_000;

/// Offsets of a list of variables.
#[derive(Default)]
pub(super) struct Layout {
    pub(super) offsets: Vec<u32>,
    /// The cell of each variable that has a basic type.
    pub(super) cells: Vec<Option<Cell>>,
    pub(super) size: usize,
}

impl<'a> Lowerer<'a> {
    pub(super) fn lay_out(&mut self, sources: &[&'a Proctype]) -> Result<(), Refused> {
        // Hidden variables come first, then the shape, then what is compared.
        let (mut offsets, mut cells) = (Vec::new(), Vec::new());
        let mut hidden = 0;
        for var in self.model.globals.iter().filter(|var| var.hidden) {
            hidden += self.bytes(var);
        }
        self.hidden = hidden;
        let mut next = hidden + 2;
        if self.model.uses_last {
            self.last = Some(next);
            next += 1;
        }
        if let Some(watch) = &mut self.watch {
            watch.at = next;
            next += 2;
        }
        let mut next_hidden = 0;
        for var in &self.model.globals {
            let place = if var.hidden { &mut next_hidden } else { &mut next };
            offsets.push(*place as u32);
            cells.push(cell(var.ty));
            *place += self.bytes(var);
            if next > LONGEST {
                return Err(too_large(var.at));
            }
        }
        self.globals = Layout { offsets, cells, size: next };
        for source in sources {
            let (mut offsets, mut cells) = (Vec::new(), Vec::new());
            let mut next = if self.wide { 2 } else { 1 } + usize::from(self.priority);
            for var in &source.locals {
                offsets.push(next as u32);
                cells.push(cell(var.ty));
                next += self.bytes(var);
                if next > LONGEST {
                    return Err(too_large(var.at));
                }
            }
            for (index, var) in source.locals[..source.params].iter().enumerate() {
                if cells[index].is_none() {
                    return Err(Refused {
                        at: var.at,
                        message: format!("the parameter '{}' is a structure", var.name),
                        remedy: "pass its fields",
                    });
                }
            }
            self.layouts.push(Layout { offsets, cells, size: next });
        }
        Ok(())
    }

    /// Bytes of one element of a type, and its cell if it is basic.
    pub(super) fn layout_of(&self, ty: Type) -> (usize, Option<Cell>) {
        match ty {
            Type::Basic(basic) => (Cell::of(basic).size(), Some(Cell::of(basic))),
            Type::Struct(index) => {
                let size =
                    self.model.typedefs[index].fields.iter().map(|field| self.bytes(field)).sum::<usize>();
                (size.min(LONGEST * 2), None)
            }
        }
    }

    pub(super) fn bytes(&self, var: &Var) -> usize {
        self.layout_of(var.ty).0.saturating_mul(var.array.unwrap_or(1) as usize).min(LONGEST * 2)
    }

    /// The offset of a variable.
    pub(super) fn slot(&self, var: VarRef) -> u32 {
        match var {
            VarRef::Global(index) => self.globals.offsets[index],
            VarRef::Local(index) => self.layouts[self.process].offsets[index],
        }
    }

    /// The offset of a field within its structure.
    pub(super) fn field_offset(&self, typedef: usize, field: usize) -> u32 {
        self.model.typedefs[typedef].fields[..field].iter().map(|f| self.bytes(f)).sum::<usize>() as u32
    }

    pub(super) fn chan_type(&mut self, init: &ChanInit, at: Pos) -> Result<u16, Refused> {
        let fields: Vec<Cell> = init.fields.iter().map(|&basic| Cell::of(basic)).collect();
        let message: usize = fields.iter().map(|cell| cell.size()).sum();
        let capacity = init.capacity.min(255) as u8;
        let size = if capacity == 0 { 0 } else { 1 + usize::from(capacity) * message };
        if size > LONGEST || fields.len() > 200 {
            return Err(too_large(at));
        }
        let ty = ChanType { capacity, fields, message, size };
        // Two declarations alike are one type; Spin numbers them apart, but nothing can tell.
        self.patience.spend(self.chans.len())?;
        let number = match self.chans.iter().position(|known| *known == ty) {
            Some(number) => number,
            None => {
                self.chans.push(ty);
                self.chans.len() - 1
            }
        };
        u16::try_from(number).map_err(|_| too_large(at))
    }

    pub(super) fn create_fields(
        &mut self,
        var: VarRef,
        typedef: usize,
        base: u32,
        out: &mut Vec<Create>,
    ) -> Result<(), Refused> {
        let model = self.model;
        let mut offset = base;
        for field in &model.typedefs[typedef].fields {
            let (element, cell) = self.layout_of(field.ty);
            if let (Some(cell), false) = (cell, field.elements.is_empty()) {
                out.push(Create::Value(self.listed(var, cell, offset, &field.elements)?));
            }
            for index in 0..field.array.unwrap_or(1) {
                let at = offset + index * element as u32;
                if let Some(init) = &field.chan {
                    let ty = self.chan_type(init, field.at)?;
                    out.push(Create::Chan(ty, at));
                } else if let (Some(init), Some(cell)) = (&field.init, cell) {
                    out.push(Create::Value(self.initial_field(var, cell, at, init)?));
                } else if let Type::Struct(inner) = field.ty {
                    self.create_fields(var, inner, at, out)?;
                }
            }
            offset += self.bytes(field) as u32;
        }
        Ok(())
    }
}

fn cell(ty: Type) -> Option<Cell> {
    match ty {
        Type::Basic(basic) => Some(Cell::of(basic)),
        Type::Struct(_) => None,
    }
}

fn too_large(at: Pos) -> Refused {
    Refused {
        at,
        message: "a state with this variable is too large".to_string(),
        remedy: "make arrays and channels smaller",
    }
}

//! Shapes: which processes and channels a state has, and where each begins.
//!
//! States with the same processes and channels, created in the same order, share a shape. A state names its
//! shape by number, so that nothing has to be scanned to find a process, and the types and counts of
//! processes and channels need not be stored with every state.

use std::collections::HashMap;

use crate::program::Program;

/// A process or a channel of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Item {
    Process(u16),
    Chan(u16),
}

/// What exists in a state.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Type and offset of every process, by number.
    pub(crate) procs: Vec<(u16, u32)>,
    /// Type and offset of every channel, by number.
    pub(crate) chans: Vec<(u16, u32)>,
    /// The items in the order of their creation.
    items: Vec<Item>,
    /// Bytes of a state.
    pub(crate) size: usize,
}

/// The number of a shape.
pub(crate) type ShapeId = u16;

/// All the shapes met so far.
#[derive(Debug)]
pub(crate) struct Shapes {
    pub(crate) list: Vec<Shape>,
    grow: HashMap<(ShapeId, Item), ShapeId>,
    shrink: HashMap<ShapeId, ShapeId>,
    known: HashMap<Vec<Item>, ShapeId>,
}

impl Shapes {
    pub(crate) fn new(program: &Program) -> Self {
        let empty = Shape { procs: vec![], chans: vec![], items: vec![], size: program.globals_end };
        let known = HashMap::from([(Vec::new(), 0)]);
        Shapes { list: vec![empty], grow: HashMap::new(), shrink: HashMap::new(), known }
    }

    /// The shape with one more item; `None` when there are too many shapes, processes or channels.
    pub(crate) fn grown(&mut self, program: &Program, from: ShapeId, item: Item) -> Option<ShapeId> {
        if let Some(&to) = self.grow.get(&(from, item)) {
            return Some(to);
        }
        let mut shape = self.list[usize::from(from)].clone();
        shape.items.push(item);
        let at = shape.size as u32;
        match item {
            Item::Process(ty) => {
                shape.procs.push((ty, at));
                shape.size += program.procs[usize::from(ty)].size;
            }
            Item::Chan(ty) => {
                shape.chans.push((ty, at));
                shape.size += program.chans[usize::from(ty)].size;
            }
        }
        if shape.procs.len() > 256 || shape.chans.len() > 255 || shape.size > 65_000 {
            return None;
        }
        let to = self.intern(shape)?;
        self.grow.insert((from, item), to);
        Some(to)
    }

    /// The shape without its youngest process and the channels created after it.
    pub(crate) fn shrunk(&mut self, from: ShapeId) -> Option<ShapeId> {
        if let Some(&to) = self.shrink.get(&from) {
            return Some(to);
        }
        let mut shape = self.list[usize::from(from)].clone();
        while let Some(item) = shape.items.pop() {
            match item {
                Item::Chan(_) => {
                    let (_, at) = shape.chans.pop().expect("items and channels agree");
                    shape.size = at as usize;
                }
                Item::Process(_) => {
                    let (_, at) = shape.procs.pop().expect("items and processes agree");
                    shape.size = at as usize;
                    break;
                }
            }
        }
        let to = self.intern(shape)?;
        self.shrink.insert(from, to);
        Some(to)
    }

    fn intern(&mut self, shape: Shape) -> Option<ShapeId> {
        if let Some(&number) = self.known.get(&shape.items) {
            return Some(number);
        }
        let number = ShapeId::try_from(self.list.len()).ok()?;
        self.known.insert(shape.items.clone(), number);
        self.list.push(shape);
        Some(number)
    }
}

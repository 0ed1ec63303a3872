//! Everything that is reachable, written out: heads and configurations within 1, 2, ... contexts.
//!
//! For small networks. A check (see [`check`](crate::check())) keeps all of this symbolic.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use crate::Error;
use crate::bdd::{Capacity, Fallible, Stop, Variable};
use crate::configurations::{Written, points, value, write};
use crate::context_bounded::{Search, Watch};
use crate::encoding::{Block, Encoding};
use crate::expression::Place;
use crate::fork::Slots;
use crate::interpreter::{Configuration, Interpreter};
use crate::network::{LabelId, Network};
use crate::split::Splitting;

/// What to write out.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Contexts.
    pub contexts: u32,
    /// Threads that may be created.
    pub threads: u32,
    /// How to split.
    pub splitting: Splitting,
    /// Stacks deeper than this are left out.
    pub depth: usize,
    /// No more configurations, or values of the globals, than this.
    pub limit: usize,
}

/// What is reachable within some number of contexts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Process, label on top of its stack, and globals.
    pub heads: BTreeSet<(usize, LabelId, Vec<u64>)>,
    /// Configurations; `None` if there are too many.
    pub configurations: Option<HashSet<Configuration>>,
    /// Whether configurations with deeper stacks were left out.
    pub deeper: bool,
    /// View tuples taken from the worklist so far.
    pub tuples: u64,
    /// Whether nothing more is reachable with any number of contexts.
    pub exhausted: bool,
}

/// Writes out what is reachable within 0, 1, ... contexts. `None` if the memory does not suffice.
///
/// ```
/// use selvedge_symbolic::generate::{Shape, network};
/// use selvedge_symbolic::reach::{Extent, reachable};
///
/// let network = network(1, Shape { processes: 2, recursion: false, forks: false, rich: false });
/// let extent = Extent { contexts: 2, threads: 0, splitting: Default::default(), depth: 4, limit: 1000 };
/// let levels = reachable(&network, &extent)?.expect("it is small");
/// assert!(levels[0].heads.is_subset(&levels[2].heads));
/// # Ok::<(), selvedge_symbolic::Error>(())
/// ```
pub fn reachable(network: &Network, extent: &Extent) -> Result<Option<Vec<Level>>, Error> {
    network.validate()?;
    let (network, slots) = network.with_slots(extent.threads);
    network.validate()?;
    let encoding = Encoding::new(Rc::new(network), CAPACITY, &Stop::default(), false);
    Ok(encoding.and_then(|encoding| levels(&encoding, &slots, extent)).ok())
}

/// Enough for small networks.
pub(crate) const CAPACITY: Capacity = Capacity { nodes: 1 << 18, cache: 1 << 14 };

/// As [`reachable`], of a network with slots.
pub(crate) fn levels(encoding: &Encoding, slots: &Slots, extent: &Extent) -> Fallible<Vec<Level>> {
    let mut search = Search::new(encoding, extent.splitting)?;
    let mut written: HashSet<Configuration> = HashSet::new();
    let (mut too_many, mut deeper) = (false, false);
    if let Ok(interpreter) = Interpreter::new(&encoding.network, 0) {
        for first in interpreter.initial() {
            match slots.original(encoding, &first.globals, &first.threads, extent.limit) {
                Some(originals) => written.extend(originals),
                None => too_many = true,
            }
        }
    }
    let mut levels = Vec::new();
    loop {
        levels.push(Level {
            heads: heads(&search, slots, extent.limit)?,
            configurations: (!too_many).then(|| written.clone()),
            deeper,
            tuples: search.expanded,
            exhausted: search.is_exhausted(),
        });
        if search.level >= extent.contexts {
            return Ok(levels);
        }
        search.advance(&|_| false, &mut |_| (), &mut |context| {
            if too_many {
                return Ok(Watch::GoOn);
            }
            match write(encoding, context, slots, extent.depth, extent.limit, &mut written)? {
                Written::All => {}
                Written::TooDeep => deeper = true,
                Written::TooMany => too_many = true,
            }
            Ok(Watch::GoOn)
        })?;
    }
}

/// The heads of a search, written out.
fn heads(search: &Search<'_>, slots: &Slots, limit: usize) -> Fallible<BTreeSet<(usize, LabelId, Vec<u64>)>> {
    let encoding = search.encoding;
    let globals: Vec<&[Variable]> = (0..slots.globals as u32)
        .map(|index| encoding.bits_of(Place::Global(index), Block::Now, None))
        .collect();
    let variables = globals.concat();
    let mut all = BTreeSet::new();
    for (process, labels) in slots.heads(search)?.into_iter().enumerate() {
        for (label, relation) in labels {
            for point in points(&relation, &variables, limit).into_iter().flatten() {
                all.insert((process, label, globals.iter().map(|bits| value(&point, bits)).collect()));
            }
        }
    }
    Ok(all)
}

//! Splitting the result of a context into view tuples.
//!
//! Suwimonteerabuth, Esparza, Schwoon, SPIN 2008, sections 2.5 (eager) and 3 (lazy): the confluence relation of
//! Definition 2, and Algorithm 2.
//!
//! Where this differs:
//! 1. A class is returned as the part of `U'(g, g')` that belongs to it, for both kinds of splitting; so one
//!    `rebase` serves both.
//! 2. The partition is of the domain of `U'`, not of all valuations of the globals.
//! 3. With `views` given, two values are only kept apart if the view tuple tells them apart: where every passive
//!    view and every frame that the active process had before the context is the same for both, uniting them
//!    loses nothing.

use crate::bdd::{Bdd, Fallible, Variable};
use crate::encoding::{Block, Encoding};

/// How the result of a context is split.
///
/// ```
/// use selvedge_symbolic::Splitting;
/// assert_eq!(Splitting::default().name(), "lazy");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Splitting {
    /// As coarsely as a safe partition allows.
    #[default]
    Lazy,
    /// Into a tuple for each valuation of the globals.
    Eager,
}

impl Splitting {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Splitting::Lazy => "lazy",
            Splitting::Eager => "eager",
        }
    }
}

/// The classes of a context's `U'(g, g')`, each given as its part of it.
pub(crate) fn split(
    encoding: &Encoding,
    splitting: Splitting,
    globals: &Bdd,
    views: &mut dyn Iterator<Item = &Bdd>,
) -> Fallible<Vec<Bdd>> {
    match splitting {
        Splitting::Eager => eager(encoding, globals),
        Splitting::Lazy => {
            let mut confluent = confluence(encoding, globals)?;
            if confluent.is_false() {
                return Ok(if globals.is_false() { Vec::new() } else { vec![globals.clone()] });
            }
            confluent = confluent.and(&told_apart(encoding, views, &confluent)?)?;
            partition(encoding, globals, &confluent)?.iter().map(|class| class.and(globals)).collect()
        }
    }
}

/// One class for each valuation that the context may leave.
pub(crate) fn eager(encoding: &Encoding, globals: &Bdd) -> Fallible<Vec<Bdd>> {
    let ends = globals.exists(&encoding.quantify.start)?;
    let mut classes = Vec::new();
    let mut failed = None;
    let class = |point: &[(Variable, bool)]| {
        let mut cube = encoding.store.truth();
        for &(variable, value) in point.iter().rev() {
            cube = encoding.store.literal(variable, value)?.and(&cube)?;
        }
        globals.and(&cube)
    };
    // Each class as soon as it is known: there may be more than there is memory or time for.
    ends.each_assignment(&encoding.globals(Block::Now), &mut |point| {
        class(point).map(|class| classes.push(class)).map_err(|error| failed = Some(error)).is_ok()
    });
    failed.map_or(Ok(classes), Err)
}

/// `C(x, y)` over `Start` and `Other`: different values from which the context may lead to the same.
fn confluence(encoding: &Encoding, globals: &Bdd) -> Fallible<Bdd> {
    let other = globals.rename(&encoding.rename.start_to_other)?;
    globals.and_exists(&other, &encoding.quantify.now_globals)?.minus(&encoding.start_is_other)
}

/// Where some view differs between `Start` and `Other`.
fn told_apart(encoding: &Encoding, views: &mut dyn Iterator<Item = &Bdd>, within: &Bdd) -> Fallible<Bdd> {
    let mut apart = encoding.store.falsity();
    for view in views {
        let other = view.rename(&encoding.rename.start_to_other)?;
        apart = apart.or(&view.xor(&other)?.and_exists(within, &encoding.quantify.all_but_start)?)?;
        if *within == apart {
            break;
        }
    }
    Ok(apart)
}

/// Algorithm 2: a safe partition of the domain of `U'`, over `Start`.
fn partition(encoding: &Encoding, globals: &Bdd, confluent: &Bdd) -> Fallible<Vec<Bdd>> {
    let Encoding { quantify, rename, store, .. } = encoding;
    let mut left = globals.exists(&quantify.now_globals)?;
    let ordered = confluent.and(&encoding.start_less_other)?;
    let mut classes = Vec::new();
    while !left.is_false() {
        // A value y0 that is left, and all x with S(x, y0).
        let chosen = left.pick().expect("it is not false");
        let mut y0 = store.truth();
        for variable in encoding.globals(Block::Start).into_iter().rev() {
            y0 = y0.and(&store.literal(variable, chosen[variable.0 as usize].unwrap_or(false))?)?;
        }
        // C is symmetric: the x that are confluent with y0 are the y for which C(y0, y) holds.
        let enemies = confluent.and_exists(&y0, &quantify.start)?.rename(&encoding.rename.other_to_start)?;
        let mut class = left.minus(&enemies)?;
        loop {
            let pairs = ordered.and(&class)?.and(&class.rename(&rename.start_to_other)?)?;
            if pairs.is_false() {
                break;
            }
            class = class.minus(&pairs.exists(&encoding.quantify.other)?)?;
        }
        left = left.minus(&class)?;
        classes.push(class);
    }
    Ok(classes)
}

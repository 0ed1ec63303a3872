//! Binary decision diagrams: the one file that names the BDD crate.
//!
//! A [`Store`] holds the nodes, with a capacity that is fixed when it is made. Every operation that may need
//! nodes returns a `Result`: when the store is full, dead nodes are collected and the operation is tried once
//! more before it fails. Each begins by asking whether it is still wanted ([`Stop`]), so no loop over operations
//! has to. The order of the variables is the order of their numbers, for good;
//! nothing here reorders. One thread works (docs/decisions/0020-bdd-library.md says why).

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxidd::bdd::{BDDFunction, BDDManagerRef};
use oxidd::util::{AllocResult, OptBool};
use oxidd::{
    BooleanFunction, BooleanFunctionQuant, BooleanOperator, Function, FunctionSubst, HasLevel, Manager,
    ManagerRef, Subst,
};

/// Why an operation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// The node store is full, even after its dead nodes were collected.
    Full,
    /// Nobody waits for the result any more.
    Stopped,
}

/// The result of an operation that may need nodes.
pub type Fallible<T> = Result<T, Unfinished>;

/// Whether operations are still wanted; its clones are the same.
///
/// ```
/// use selvedge_symbolic::bdd::{Capacity, Stop, Store, Unfinished, Variable};
/// let stop = Stop::default();
/// let store = Store::new(1, Capacity { nodes: 1 << 10, cache: 1 << 8 }, &stop)?;
/// let x = store.variable(Variable(0));
/// assert!(x.not().is_ok());
/// stop.ask();
/// assert_eq!(x.not(), Err(Unfinished::Stopped));
/// # Ok::<(), Unfinished>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on, no operation begins.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A variable. Its number is its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable(pub u32);

/// A Boolean function of the variables of one store. Equal functions are equal values.
#[derive(Clone)]
pub struct Bdd {
    function: BDDFunction,
    /// That of its store.
    stop: Rc<Stop>,
}

impl PartialEq for Bdd {
    fn eq(&self, other: &Bdd) -> bool {
        self.function == other.function
    }
}

impl Eq for Bdd {}

impl Hash for Bdd {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.hash(state);
    }
}

/// A set of variables to quantify.
#[derive(Clone)]
pub struct Cube {
    conjunction: BDDFunction,
    empty: bool,
}

/// A simultaneous replacement of variables by variables.
pub struct Renaming {
    substitution: Subst<BDDFunction>,
    empty: bool,
}

/// What is done with each assignment of some variables; answers whether to go on.
pub type Visitor<'a> = dyn FnMut(&[(Variable, bool)]) -> bool + 'a;

/// The nodes of all functions.
///
/// ```
/// use selvedge_symbolic::bdd::{Capacity, Store, Variable};
/// let store = Store::new(2, Capacity { nodes: 1 << 10, cache: 1 << 8 }, &Default::default())?;
/// let (x, y) = (store.variable(Variable(0)), store.variable(Variable(1)));
/// assert_eq!(x.and(&y)?.or(&x)?, x);
/// assert_eq!(x.or(&y)?.count(2), 3.0);
/// # Ok::<(), selvedge_symbolic::bdd::Unfinished>(())
/// ```
pub struct Store {
    manager: BDDManagerRef,
    truth: Bdd,
    falsity: Bdd,
    variables: Vec<Bdd>,
    peak: Cell<usize>,
}

/// Bytes that a node takes, with its share of the unique table; for turning a memory limit into a capacity.
const BYTES_PER_NODE: u64 = 24;
/// Bytes of an entry of the operation cache.
const BYTES_PER_CACHE_ENTRY: u64 = 24;

/// How large a store is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Inner nodes.
    pub nodes: usize,
    /// Entries of the operation cache.
    pub cache: usize,
}

impl Capacity {
    /// The capacity that fits into so many bytes.
    ///
    /// ```
    /// use selvedge_symbolic::bdd::Capacity;
    /// assert!(Capacity::of_bytes(1 << 30).nodes > 1 << 24);
    /// ```
    pub fn of_bytes(bytes: u64) -> Capacity {
        // An eighth to the cache, but no more than pays: it is written in full when the store is made. And never
        // more nodes than an index of 31 bits can name.
        let cache = (bytes / 8 / BYTES_PER_CACHE_ENTRY).clamp(1 << 10, 1 << 21);
        let cache = if cache.is_power_of_two() { cache } else { cache.next_power_of_two() / 2 };
        let rest = bytes.saturating_sub(cache * BYTES_PER_CACHE_ENTRY);
        let nodes = (rest / BYTES_PER_NODE).clamp(1 << 10, (1 << 31) - 16);
        Capacity { nodes: nodes as usize, cache: cache as usize }
    }
}

impl Store {
    /// A store with so many variables.
    pub fn new(variables: u32, capacity: Capacity, stop: &Stop) -> Fallible<Store> {
        let stop = Rc::new(stop.clone());
        let bdd = |function| Bdd { function, stop: stop.clone() };
        let manager = oxidd::bdd::new_manager(capacity.nodes, capacity.cache, 1);
        let made: AllocResult<_> = manager.with_manager_exclusive(|manager| {
            manager.add_vars(variables);
            let functions: AllocResult<Vec<_>> =
                (0..variables).map(|variable| BDDFunction::var(manager, variable).map(bdd)).collect();
            Ok((bdd(BDDFunction::t(manager)), bdd(BDDFunction::f(manager)), functions?))
        });
        let (truth, falsity, variables) = made.map_err(|_| Unfinished::Full)?;
        Ok(Store { manager, truth, falsity, variables, peak: Cell::new(0) })
    }

    /// The constant true.
    pub fn truth(&self) -> Bdd {
        self.truth.clone()
    }

    /// The constant false.
    pub fn falsity(&self) -> Bdd {
        self.falsity.clone()
    }

    /// A constant.
    pub fn constant(&self, value: bool) -> Bdd {
        if value { self.truth() } else { self.falsity() }
    }

    /// The function that is a variable's value.
    pub fn variable(&self, variable: Variable) -> Bdd {
        self.variables[variable.0 as usize].clone()
    }

    /// A variable or its negation.
    pub fn literal(&self, variable: Variable, value: bool) -> Fallible<Bdd> {
        let positive = self.variable(variable);
        if value { Ok(positive) } else { positive.not() }
    }

    /// A set of variables to quantify.
    pub fn cube(&self, variables: impl IntoIterator<Item = Variable>) -> Fallible<Cube> {
        let mut sorted: Vec<_> = variables.into_iter().collect();
        sorted.sort_unstable();
        let mut conjunction = self.truth();
        for &variable in sorted.iter().rev() {
            conjunction = conjunction.and(&self.variable(variable))?;
        }
        Ok(Cube { conjunction: conjunction.function, empty: sorted.is_empty() })
    }

    /// A renaming, from pairs of the old variable and the new.
    pub fn renaming(&self, pairs: impl IntoIterator<Item = (Variable, Variable)>) -> Renaming {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for (old, new) in pairs {
            from.push(old.0);
            to.push(self.variable(new).function);
        }
        Renaming { empty: from.is_empty(), substitution: Subst::new(from, to) }
    }

    /// Notes how many nodes the store holds now, and returns the number.
    pub fn sample(&self) -> usize {
        let nodes = self.manager.with_manager_shared(|manager| manager.approx_num_inner_nodes());
        self.peak.set(self.peak.get().max(nodes));
        nodes
    }

    /// The most nodes that a sample has seen.
    pub fn peak(&self) -> usize {
        self.sample();
        self.peak.get()
    }

    /// Collects dead nodes.
    pub fn collect(&self) {
        self.manager.with_manager_shared(|manager| manager.gc());
    }
}

impl Bdd {
    /// Another function of the same store.
    fn with(&self, function: BDDFunction) -> Bdd {
        Bdd { function, stop: self.stop.clone() }
    }

    /// Runs an operation if it is still wanted; if the store is full, collects dead nodes and runs it once more.
    #[inline]
    fn run(&self, operation: impl Fn() -> AllocResult<BDDFunction>) -> Fallible<Bdd> {
        if self.stop.is_asked() {
            return Err(Unfinished::Stopped);
        }
        if let Ok(result) = operation() {
            return Ok(self.with(result));
        }
        self.function.manager_ref().with_manager_shared(|manager| manager.gc());
        operation().map(|result| self.with(result)).map_err(|_| Unfinished::Full)
    }

    /// Conjunction.
    pub fn and(&self, other: &Bdd) -> Fallible<Bdd> {
        self.run(|| self.function.and(&other.function))
    }

    /// Disjunction.
    pub fn or(&self, other: &Bdd) -> Fallible<Bdd> {
        self.run(|| self.function.or(&other.function))
    }

    /// Negation.
    #[allow(clippy::should_implement_trait)] // It can fail.
    pub fn not(&self) -> Fallible<Bdd> {
        self.run(|| self.function.not())
    }

    /// This and not the other.
    pub fn minus(&self, other: &Bdd) -> Fallible<Bdd> {
        // `imp_strict` is "not the first, and the second".
        self.run(|| other.function.imp_strict(&self.function))
    }

    /// Exclusive disjunction.
    pub fn xor(&self, other: &Bdd) -> Fallible<Bdd> {
        self.run(|| self.function.xor(&other.function))
    }

    /// Equivalence.
    pub fn iff(&self, other: &Bdd) -> Fallible<Bdd> {
        self.run(|| self.function.equiv(&other.function))
    }

    /// If this then one else the other.
    pub fn if_else(&self, yes: &Bdd, no: &Bdd) -> Fallible<Bdd> {
        self.run(|| self.function.ite(&yes.function, &no.function))
    }

    /// Existential quantification.
    pub fn exists(&self, cube: &Cube) -> Fallible<Bdd> {
        if cube.empty {
            return Ok(self.clone());
        }
        self.run(|| self.function.exists(&cube.conjunction))
    }

    /// Existential quantification of a conjunction, in one pass.
    pub fn and_exists(&self, other: &Bdd, cube: &Cube) -> Fallible<Bdd> {
        if cube.empty {
            return self.and(other);
        }
        self.run(|| self.function.apply_exists(BooleanOperator::And, &other.function, &cube.conjunction))
    }

    /// Replaces variables.
    pub fn rename(&self, renaming: &Renaming) -> Fallible<Bdd> {
        if renaming.empty {
            return Ok(self.clone());
        }
        self.run(|| self.function.substitute(&renaming.substitution))
    }

    /// Whether it is the constant false.
    pub fn is_false(&self) -> bool {
        !self.function.satisfiable()
    }

    /// Whether it is the constant true.
    pub fn is_true(&self) -> bool {
        self.function.valid()
    }

    /// The nodes of this function.
    pub fn nodes(&self) -> usize {
        self.function.node_count()
    }

    /// An assignment that makes it true, by variable; `None` for a variable that does not matter. Prefers 0.
    pub fn pick(&self) -> Option<Vec<Option<bool>>> {
        let cube = self.function.pick_cube(|_, _, _| false)?;
        let value = |value| match value {
            OptBool::None => None,
            OptBool::False => Some(false),
            OptBool::True => Some(true),
        };
        Some(cube.into_iter().map(value).collect())
    }

    /// The uppermost variable on which it depends.
    fn top(&self) -> Option<Variable> {
        self.function.with_manager_shared(|manager, edge| match manager.get_node(edge) {
            oxidd::Node::Inner(node) => Some(Variable(node.level())),
            oxidd::Node::Terminal(_) => None,
        })
    }

    /// How many assignments of so many variables make it true; it must depend on no others.
    pub fn count(&self, variables: usize) -> f64 {
        fn density(of: &Bdd, known: &mut HashMap<Bdd, f64>) -> f64 {
            let Some((high, low)) = of.function.cofactors() else {
                return if of.is_true() { 1.0 } else { 0.0 };
            };
            if let Some(&known) = known.get(of) {
                return known;
            }
            let value = (density(&of.with(high), known) + density(&of.with(low), known)) / 2.0;
            known.insert(of.clone(), value);
            value
        }
        density(self, &mut HashMap::new()) * 2_f64.powi(variables as i32)
    }

    /// Every assignment of the given variables that makes it true, in ascending order of the variables; it must
    /// depend on no others. `visit` answers whether to go on; so does this.
    pub fn each_assignment(&self, variables: &[Variable], visit: &mut Visitor<'_>) -> bool {
        fn walk(
            of: &Bdd,
            rest: &[Variable],
            so_far: &mut Vec<(Variable, bool)>,
            visit: &mut Visitor<'_>,
        ) -> bool {
            if of.is_false() {
                return true;
            }
            let Some((&first, rest)) = rest.split_first() else { return visit(so_far) };
            let (high, low) = if of.top() == Some(first) {
                of.function
                    .cofactors()
                    .map(|(high, low)| (of.with(high), of.with(low)))
                    .expect("an inner node has two")
            } else {
                (of.clone(), of.clone())
            };
            for (value, branch) in [(false, low), (true, high)] {
                so_far.push((first, value));
                let go_on = walk(&branch, rest, so_far, visit);
                so_far.pop();
                if !go_on {
                    return false;
                }
            }
            true
        }
        let mut sorted = variables.to_vec();
        sorted.sort_unstable();
        walk(self, &sorted, &mut Vec::new(), visit)
    }
}

impl std::fmt::Debug for Bdd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bdd({} nodes)", self.nodes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(nodes: usize) -> Store {
        Store::new(16, Capacity { nodes, cache: 1 << 8 }, &Stop::default()).unwrap()
    }

    #[test]
    fn operations_agree_with_their_truth_tables() {
        let store = store(1 << 12);
        let (x, y) = (store.variable(Variable(0)), store.variable(Variable(1)));
        let check = |f: Bdd, expected: [bool; 4]| {
            for (index, &value) in expected.iter().enumerate() {
                let point = store
                    .literal(Variable(0), index & 2 != 0)
                    .unwrap()
                    .and(&store.literal(Variable(1), index & 1 != 0).unwrap())
                    .unwrap();
                assert_eq!(!point.and(&f).unwrap().is_false(), value);
            }
        };
        check(x.and(&y).unwrap(), [false, false, false, true]);
        check(x.or(&y).unwrap(), [false, true, true, true]);
        check(x.minus(&y).unwrap(), [false, false, true, false]);
        check(x.xor(&y).unwrap(), [false, true, true, false]);
        check(x.iff(&y).unwrap(), [true, false, false, true]);
        let cube = store.cube([Variable(1)]).unwrap();
        check(x.and_exists(&y, &cube).unwrap(), [false, false, true, true]);
        let swap = store.renaming([(Variable(0), Variable(1)), (Variable(1), Variable(0))]);
        check(x.minus(&y).unwrap().rename(&swap).unwrap(), [false, true, false, false]);
        assert_eq!(x.or(&y).unwrap().count(2), 3.0);
        let mut seen = Vec::new();
        x.or(&y).unwrap().each_assignment(&[Variable(1), Variable(0)], &mut |point| {
            seen.push((point[0].1, point[1].1));
            true
        });
        assert_eq!(seen, [(false, true), (true, false), (true, true)]);
    }

    #[test]
    fn a_full_store_is_an_error_and_not_the_end() {
        let store = store(1 << 10);
        // The hidden weighted bit needs exponentially many nodes; ten variables' multiplication would too.
        let mut functions = vec![store.truth()];
        let mut failed = false;
        for seed in 0..4000_u32 {
            let variable = store.variable(Variable(seed.wrapping_mul(2_654_435_761) >> 28));
            let last = functions.last().unwrap().clone();
            let other = functions[(seed.wrapping_mul(40_503) as usize >> 3) % functions.len()].clone();
            match variable.if_else(&last.not().unwrap_or(last.clone()), &other) {
                Ok(next) => functions.push(next),
                Err(Unfinished::Stopped) => panic!("nobody asked for that"),
                Err(Unfinished::Full) => {
                    failed = true;
                    break;
                }
            }
        }
        assert!(failed, "a thousand nodes cannot hold this");
        functions.truncate(1);
        store.collect();
        assert!(functions[0].and(&store.variable(Variable(3))).is_ok());
    }
}

//! What the searches ask of a system of processes.

/// What went wrong on a step, by the system's own number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fault(pub u32);

/// A step to a state.
#[derive(Clone, Copy, Debug)]
pub struct Successor {
    /// Where its bytes begin in [`Successors::bytes`].
    pub start: u32,
    /// How many bytes.
    pub len: u32,
    /// The process whose step it is. Switching to it is what a bound counts.
    pub owner: u32,
    /// The process that has control afterwards: the owner, unless control was handed over within the step.
    pub mover: u32,
    /// After a handshake: the other side, which may go on as freely as the mover.
    pub partner: Option<u32>,
    /// Something went wrong on the way. The state is kept all the same if the system can go on.
    pub fault: Option<Fault>,
    /// The step ended there: the state is not one to go on from.
    pub dead: bool,
}

impl Successor {
    /// The processes that may go on after it without a preemption.
    #[inline]
    pub fn movers(&self) -> impl Iterator<Item = u32> {
        [self.mover].into_iter().chain(self.partner)
    }
}

/// The steps out of a state: a list that is cleared and filled again without allocating.
#[derive(Clone, Debug, Default)]
pub struct Successors {
    /// The bytes of all the states.
    pub bytes: Vec<u8>,
    /// The steps.
    pub list: Vec<Successor>,
}

impl Successors {
    /// Forgets everything and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
    }

    /// Adds a step.
    #[inline]
    pub fn push(&mut self, state: &[u8], owner: u32, mover: u32, fault: Option<Fault>, dead: bool) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(state);
        let len = state.len() as u32;
        self.list.push(Successor { start, len, owner, mover, partner: None, fault, dead });
    }

    /// The state that a step leads to.
    #[inline]
    pub fn state(&self, index: usize) -> &[u8] {
        let step = &self.list[index];
        &self.bytes[step.start as usize..(step.start + step.len) as usize]
    }
}

/// A system of processes. A step is what no other process can see the middle of: an atomic sequence is one.
///
/// States are byte strings. The first bytes may hold what is not part of a state's identity
/// ([`TransitionSystem::key`]); the rest tells how long the state is ([`TransitionSystem::length`]).
pub trait TransitionSystem {
    /// The first state.
    ///
    /// # Errors
    /// What went wrong before the first step.
    fn initial(&mut self) -> Result<Vec<u8>, Fault>;

    /// How many bytes at the front of a state are not compared.
    fn key(&self) -> usize {
        0
    }

    /// The length of the state that these bytes begin with.
    fn length(&self, bytes: &[u8]) -> usize;

    /// How many processes there are in a state; they are numbered from 0.
    fn processes(&self, state: &[u8]) -> u32;

    /// Adds the steps that a process can take. With `timeout`, also those that wait for the others to be
    /// stuck; the caller knows that they are.
    fn expand(&mut self, state: &[u8], process: u32, timeout: bool, out: &mut Successors);

    /// Adds the steps that each process can take, in the order of their numbers.
    fn expand_each(&mut self, state: &[u8], out: &mut Successors) {
        for process in 0..self.processes(state) {
            self.expand(state, process, false, out);
        }
    }

    /// Whether there are steps that wait for the others to be stuck.
    fn has_timeout(&self) -> bool;

    /// A state without steps: what is wrong with it, if anything.
    fn stuck(&mut self, state: &[u8]) -> Option<Fault>;

    /// Whether a step can be taken whatever the processes do, by the system's environment (a claim that
    /// stutters). Adds those steps; called for states in which no process can move.
    fn stutter(&mut self, state: &[u8], out: &mut Successors);

    /// Whether an execution that comes to this state infinitely often is a violation.
    fn accepting(&self, _state: &[u8]) -> bool {
        false
    }

    /// Whether the system was told to stop in the middle of a state: the steps that it gave last are not all.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Whether all the steps of a process in a state commute with everything that other processes can do,
    /// now and later, and no property sees them.
    fn safe(&mut self, state: &[u8], process: u32) -> bool;
}

/// Adds the steps of every process, and those of a timeout if nothing else can move. Whether it timed out.
pub(crate) fn expand_all<S: TransitionSystem>(system: &mut S, state: &[u8], out: &mut Successors) -> bool {
    system.expand_each(state, out);
    let timeout = out.list.is_empty() && system.has_timeout();
    if timeout {
        for process in 0..system.processes(state) {
            system.expand(state, process, true, out);
        }
    }
    if out.list.is_empty() {
        system.stutter(state, out);
    }
    timeout
}

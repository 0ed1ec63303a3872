//! A program as one that the stateless engine can run: the machine behind the engine's interface.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use selvedge_core::{
    Access, Assumptions, Decision, Location, MemoryOrder, ObjectId, Op, OpKind, ThreadId, ThreadSet,
    ViolationKind,
};
use selvedge_stateless::{
    Description, Event, Execution, Gate, LaunchError, LocalEvent, Program as EngineProgram, Site, State,
    Stop, StopKind,
};

use crate::machine::{Local, Machine, Object, Performed, Until};
use crate::program::Program;

/// A program for the engine.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The program.
    pub program: Program,
    /// Accesses to cells are steps.
    pub race_mode: bool,
    /// So many spurious wakeups, and so many spurious failures, are explored in an execution.
    pub spurious: u32,
    /// For tests of the tests: the engine is told that loads write.
    pub loads_write: bool,
}

impl Interpreter {
    /// The program as it is.
    pub fn new(program: Program) -> Self {
        Interpreter { program, race_mode: false, spurious: 0, loads_write: false }
    }
}

impl EngineProgram for Interpreter {
    fn launch(&self) -> Result<Box<dyn Execution + '_>, LaunchError> {
        Ok(Box::new(Interpretation {
            interpreter: self,
            machine: Machine::new(&self.program, self.race_mode, self.spurious),
            enabled: ThreadSet::default(),
            waiting: ThreadSet::default(),
            objects: Vec::new(),
            under_way: None,
            events: Vec::new(),
            performed: Op::default(),
            site: Site::default(),
        }))
    }
}

struct Interpretation<'p> {
    interpreter: &'p Interpreter,
    machine: Machine<'p>,
    enabled: ThreadSet,
    waiting: ThreadSet,
    /// Objects by number: in the order in which a thread was first about to touch them.
    objects: Vec<Object>,
    /// The thread whose step waits for a value.
    under_way: Option<usize>,
    events: Vec<LocalEvent>,
    performed: Op,
    /// The statement of the last step.
    site: Site,
}

impl Interpretation<'_> {
    fn refresh(&mut self) {
        self.enabled.clear();
        self.waiting.clear();
        for thread in 0..self.machine.threads() {
            let id = ThreadId(thread as u32);
            self.enabled.set(id, self.machine.enabled(thread));
            self.waiting.set(id, self.machine.waits(thread));
        }
    }

    fn object(&mut self, object: Object) -> ObjectId {
        let index = self.objects.iter().position(|other| *other == object).unwrap_or_else(|| {
            self.objects.push(object);
            self.objects.len() - 1
        });
        ObjectId::new(index as u32)
    }

    fn op(&mut self, done: &Performed) -> Op {
        let mut op = Op { kind: done.kind, timed_out: done.timed_out, ..Op::default() };
        if let Some(&(object, access)) = done.touches.first() {
            let access = if self.interpreter.loads_write && done.kind == OpKind::Load {
                Access::Write
            } else {
                access
            };
            op = Op { object: Some(self.object(object)), access, ..op };
        }
        if let Some(&(object, _)) = done.touches.get(1) {
            op.also = Some(self.object(object));
        }
        let atomic =
            matches!(done.kind, OpKind::Load | OpKind::Store | OpKind::Rmw | OpKind::CompareExchange);
        let locks =
            matches!(done.kind, OpKind::Lock | OpKind::TryLock | OpKind::ReadLock | OpKind::TryReadLock);
        let takes = locks && !done.refused;
        match (atomic, takes) {
            (true, _) => op.ordered(MemoryOrder::SeqCst),
            (_, true) => op.ordered(MemoryOrder::Acquire),
            _ => op,
        }
    }
}

/// The place of a statement, so that failures can be told apart.
fn place(body: usize, statement: usize) -> Option<Location> {
    Some(Location { file: format!("body{body}"), line: statement as u32 + 1, column: None })
}

impl Execution for Interpretation<'_> {
    fn restart(&mut self) -> Result<(), LaunchError> {
        let Interpreter { program, race_mode, spurious, .. } = self.interpreter;
        self.machine = Machine::new(program, *race_mode, *spurious);
        self.objects.clear();
        self.events.clear();
        self.under_way = None;
        self.refresh();
        Ok(())
    }

    fn enabled(&self) -> &ThreadSet {
        &self.enabled
    }

    fn waiting(&self) -> &ThreadSet {
        &self.waiting
    }

    fn thread_count(&self) -> usize {
        self.machine.threads()
    }

    fn all_ended(&self) -> bool {
        self.machine.all_ended() || self.machine.is_infeasible()
    }

    fn state(&mut self) -> Option<State> {
        let mut hasher = DefaultHasher::new();
        (self.machine.state(), self.under_way).hash(&mut hasher);
        Some(State::Whole(hasher.finish()))
    }

    fn is_infeasible(&self) -> bool {
        self.machine.is_infeasible()
    }

    fn pending(&self, thread: ThreadId) -> Op {
        let done = self.machine.pending(thread.index());
        let known = |object: &Object| {
            self.objects.iter().position(|other| other == object).map(|index| ObjectId::new(index as u32))
        };
        let first = done.touches.first();
        Op {
            kind: done.kind,
            access: first.map_or(Access::None, |(_, access)| *access),
            object: first.and_then(|(object, _)| known(object)),
            also: done.touches.get(1).and_then(|(object, _)| known(object)),
            ..Op::default()
        }
    }

    fn gate(&self, thread: ThreadId) -> Gate {
        let (condition, signal, timed) = self.machine.waits_for(thread.index());
        let gate = match condition {
            None => Gate::OPEN,
            Some((object, until)) => {
                let known = self.objects.iter().position(|other| *other == object);
                match (known.map(|known| ObjectId::new(known as u32)), until) {
                    (Some(object), Until::Set(mask)) => Gate::set(object, mask),
                    (Some(object), Until::Clear(mask)) => Gate::clear(object, mask),
                    // Only after a failure are threads left where nobody has asked what they touch.
                    (None, _) => Gate::OPEN,
                }
            }
        };
        if signal { gate.and_signal().timed(timed) } else { gate.timed(timed) }
    }

    fn is_signalled(&self, thread: ThreadId) -> bool {
        self.machine.is_signalled(thread.index())
    }

    fn word(&self, object: ObjectId) -> u64 {
        self.objects.get(object.index()).map_or(0, |object| self.machine.word(*object))
    }

    fn step(&mut self, decision: Decision) -> Event {
        let (thread, value) = match decision {
            Decision::Thread(thread) => {
                let values = self.machine.values(thread.index());
                if values > 0 {
                    self.under_way = Some(thread.index());
                    return Event::Choose(values);
                }
                (thread.index(), None)
            }
            Decision::Value(value) => {
                (self.under_way.take().expect("a value belongs to a step that asked for one"), Some(value))
            }
        };
        let before = self.machine.threads();
        self.site = Site(self.machine.place(thread, false));
        let done = self.machine.step(thread, value);
        self.performed = self.op(&done);
        for local in self.machine.locals().to_vec() {
            let (by, event) = match local {
                Local::Spawned(by, child) => (by, LocalEvent::Spawned(ThreadId(child as u32))),
                Local::Read(by, cell) => (by, LocalEvent::Read(self.object(Object::Cell(cell)), Site(0))),
                Local::Write(by, cell) => (by, LocalEvent::Write(self.object(Object::Cell(cell)), Site(0))),
            };
            self.events.extend([LocalEvent::By(ThreadId(by as u32)), event]);
        }
        let reached = std::iter::once(thread).chain(before..self.machine.threads());
        for thread in reached.filter(|_| self.machine.failure().is_none()).collect::<Vec<_>>() {
            for (object, _) in self.machine.pending(thread).touches {
                self.object(object);
            }
            if let (Some((object, _)), ..) = self.machine.waits_for(thread) {
                self.object(object);
            }
        }
        self.refresh();
        // A race is for the engine to find.
        match self.machine.assertion() {
            Some((body, statement)) => {
                let kind = StopKind::Violation(ViolationKind::Assertion);
                let message = format!("the assertion at statement {statement} of body {body} failed");
                Event::Stopped(
                    self.performed,
                    Box::new(Stop { kind, message, location: place(body, statement) }),
                )
            }
            None => Event::Performed(self.performed),
        }
    }

    fn local_events(&mut self) -> &mut Vec<LocalEvent> {
        &mut self.events
    }

    fn site(&self) -> Site {
        self.site
    }

    fn describe(&self) -> Description {
        Description { text: format!("{:?}", self.performed), value: None, location: None }
    }

    fn thread_name(&self, thread: ThreadId) -> String {
        format!("body {}", self.machine.body(thread.index()))
    }

    fn object_name(&self, object: ObjectId) -> String {
        format!("{:?}", self.objects[object.index()])
    }

    fn why_blocked(&self, thread: ThreadId) -> Description {
        if self.machine.has_ended(thread.index()) {
            return Description::default();
        }
        let text = format!("cannot do {:?}", self.machine.pending(thread.index()));
        Description { text, value: None, location: None }
    }

    fn locate(&self, _: Site) -> Option<Location> {
        None
    }

    fn assume(&self, assumptions: &mut Assumptions) {
        self.machine
            .without()
            .for_each(|without| assumptions.add(without.assumption(self.interpreter.spurious)));
    }

    fn finish(&mut self) -> Option<Stop> {
        None
    }
}

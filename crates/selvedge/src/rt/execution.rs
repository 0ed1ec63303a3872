//! The engine's side of the runtime: a closure as a [`Program`].

use std::collections::HashMap;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use selvedge_core::{Assumptions, Decision, ObjectId, Op, OpKind, ThreadId, ThreadSet, ViolationKind};
use selvedge_stateless::{
    Description, Event, Execution, LaunchError, LocalEvent, Program, Site, State, Stop, StopKind,
};

use super::describe::{self, Value};
use super::overflow::SignalStack;
use super::thread::{self, BodyEnd, Thread};
use super::time::Carried;
use crate::pulse::Pulse;

use super::{
    Gate, Handle, Leaning, Mark, Options, Phase, Runtime, panic, set_current, site_of, state, statics,
};

/// A closure that is run again and again.
pub(crate) struct ClosureProgram<'a> {
    pub(crate) body: &'a (dyn Fn() + Send + Sync),
    pub(crate) options: Options,
    pub(crate) stack_size: usize,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) mark: &'a Mark,
}

impl<'a> ClosureProgram<'a> {
    /// Prepares to run it, on this OS thread.
    pub(crate) fn start(&self) -> Result<Box<ClosureExecution<'a>>, LaunchError> {
        if super::exploring().is_some() {
            return Err(LaunchError("a check cannot run inside another check".into()));
        }
        panic::install_hook();
        let runtime = Box::into_raw(Box::new(Runtime::new(self)));
        set_current(runtime);
        Ok(Box::new(ClosureExecution {
            body: self.body,
            runtime: Handle(runtime),
            mark: self.mark,
            not_send: PhantomData,
        }))
    }
}

impl Program for ClosureProgram<'_> {
    fn launch(&self) -> Result<Box<dyn Execution + '_>, LaunchError> {
        Ok(self.start()?)
    }
}

/// A run of a closure. It must stay on the OS thread that launched it.
pub(crate) struct ClosureExecution<'a> {
    body: &'a (dyn Fn() + Send + Sync),
    runtime: Handle,
    mark: &'a Mark,
    not_send: PhantomData<*mut ()>,
}

impl Drop for ClosureExecution<'_> {
    fn drop(&mut self) {
        set_current(std::ptr::null_mut());
        // SAFETY: `start` made it from a box; the thread-local that also held it is cleared, and no
        // coroutine is left to use it.
        drop(unsafe { Box::from_raw(self.runtime.0) });
    }
}

/// Numbers executions throughout the process, from 1.
static STAMPS: AtomicU64 = AtomicU64::new(1);

impl Runtime {
    fn new(program: &ClosureProgram<'_>) -> Self {
        Runtime {
            stamp: 0,
            options: program.options,
            current: ThreadId(0),
            threads: Vec::new(),
            enabled: ThreadSet::default(),
            waiting: ThreadSet::default(),
            alive: 0,
            objects: Vec::new(),
            object_count: 0,
            performed: Op::default(),
            site: None,
            value: Value::None,
            spawned: 0,
            names: Vec::new(),
            panics: None,
            events: Vec::new(),
            arity: 0,
            chosen: 0,
            stop: None,
            phase: Phase::Running,
            inside: false,
            abandoned: false,
            unwinding: 0,
            time_passes: false,
            carried: Carried::default(),
            at_end: Vec::new(),
            slots: Vec::new(),
            stack_size: program.stack_size,
            overflowed: false,
            left: Vec::new(),
            signal_stack: SignalStack::new(),
            pulse: program.pulse.clone(),
            references_matter: false,
            leaning: Leaning::default(),
            owned: Vec::new(),
            allocations: HashMap::new(),
            under_way: Vec::new(),
            turn: None,
            before: Vec::new(),
        }
    }

    /// Makes ready for another execution, in the memory of the last.
    fn reset(&mut self) {
        self.stamp = STAMPS.fetch_add(1, Ordering::Relaxed);
        self.threads.clear();
        self.enabled.clear();
        self.waiting.clear();
        self.alive = 0;
        self.object_count = 0;
        self.names.clear();
        self.events.clear();
        self.arity = 0;
        self.stop = None;
        self.phase = Phase::Running;
        self.time_passes = false;
        self.carried = Carried::default();
        self.leaning = Leaning::default();
        self.owned.clear();
        self.allocations.clear();
        self.under_way.clear();
        self.count_spurious();
    }
}

/// A thread that has rested so often at one place since main ended is thought to do so for ever.
const RESTS: usize = 10;

impl Runtime {
    /// Whether main has ended and each thread that can go on does nothing but rest in a loop, after a step of this thread. When
    /// main returns the process ends, in std, and nothing is left to wait for in such an execution.
    #[cold]
    fn only_daemons_are_left(&mut self, thread: ThreadId) -> bool {
        let rests = |thread: &Thread, waits: bool| waits || thread.pending.kind == OpKind::Sleep;
        let waits = self.waiting.contains(thread);
        let state = &mut self.threads[thread.index()];
        if let Some(site) = state.site.filter(|_| !state.ended && rests(state, waits)) {
            state.rested_at.push(site);
            let here = state.rested_at.iter().filter(|other| std::ptr::eq(**other, site)).count();
            state.is_daemon |= here >= RESTS;
        }
        let is_daemon = |thread: ThreadId| {
            let state = &self.threads[thread.index()];
            state.is_daemon && rests(state, self.waiting.contains(thread))
        };
        !self.enabled.is_empty() && self.enabled.iter().all(is_daemon)
    }
}

impl ClosureExecution<'_> {
    #[inline(always)]
    fn resume(&mut self, thread: ThreadId) {
        self.runtime.get().inside = true;
        thread::resume(self.runtime, thread);
        self.runtime.get().inside = false;
    }
}

impl Execution for ClosureExecution<'_> {
    fn restart(&mut self) -> Result<(), LaunchError> {
        self.runtime.get().reset();
        let body = self.body;
        let main = move || -> BodyEnd { thread::body(body, drop) };
        // SAFETY: the closure outlives this execution object, which tears down every coroutine in `finish`.
        unsafe { thread::spawn(self.runtime, None, None, main) };
        Ok(())
    }

    #[inline]
    fn enabled(&self) -> &ThreadSet {
        &self.runtime.get().enabled
    }

    #[inline]
    fn waiting(&self) -> &ThreadSet {
        &self.runtime.get().waiting
    }

    fn thread_count(&self) -> usize {
        self.runtime.get().threads.len()
    }

    fn all_ended(&self) -> bool {
        self.runtime.get().alive == 0
    }

    #[inline]
    fn pending(&self, thread: ThreadId) -> Op {
        self.runtime.get().threads[thread.index()].pending
    }

    fn gate(&self, thread: ThreadId) -> Gate {
        self.runtime.get().threads[thread.index()].gate
    }

    fn is_signalled(&self, thread: ThreadId) -> bool {
        self.runtime.get().threads[thread.index()].signalled
    }

    fn word(&self, object: ObjectId) -> u64 {
        self.runtime.get().state(object).word
    }

    #[inline(always)]
    fn step(&mut self, decision: Decision) -> Event {
        let runtime = self.runtime.get();
        let thread = match decision {
            Decision::Thread(thread) => {
                let next = &runtime.threads[thread.index()];
                runtime.performed = next.pending;
                runtime.site = next.site;
                runtime.value = Value::None;
                runtime.spawned = 0;
                runtime.panics = None;
                thread
            }
            Decision::Value(value) => {
                runtime.chosen = value;
                runtime.arity = 0;
                runtime.current
            }
        };
        runtime.pulse.begin(thread.0, runtime.site);
        self.resume(thread);
        let runtime = self.runtime.get();
        runtime.pulse.end();
        if let Some(stop) = self.mark.refused() {
            Event::Stopped(runtime.performed, Box::new(stop))
        } else if let Some(stop) = runtime.stop.take() {
            Event::Stopped(runtime.performed, stop)
        } else if runtime.arity > 0 {
            Event::Choose(runtime.arity)
        } else if runtime.threads[0].ended && runtime.only_daemons_are_left(thread) {
            let (kind, message) = (StopKind::Infeasible, String::from("only daemons are left"));
            Event::Stopped(runtime.performed, Box::new(Stop { kind, message, location: None }))
        } else {
            Event::Performed(runtime.performed)
        }
    }

    #[inline]
    fn local_events(&mut self) -> &mut Vec<LocalEvent> {
        &mut self.runtime.get().events
    }

    fn site(&self) -> Site {
        site_of(self.runtime.get().site)
    }

    fn describe(&self) -> Description {
        let runtime = self.runtime.get();
        describe::learn_name(runtime);
        describe::step(runtime)
    }

    fn thread_name(&self, thread: ThreadId) -> String {
        self.runtime.get().threads[thread.index()].label(thread.index())
    }

    fn object_name(&self, object: ObjectId) -> String {
        describe::object(self.runtime.get(), object)
    }

    fn why_blocked(&self, thread: ThreadId) -> Description {
        describe::why_blocked(self.runtime.get(), thread)
    }

    fn locate(&self, site: Site) -> Option<selvedge_core::Location> {
        if site == Site::default() {
            return None;
        }
        // SAFETY: a site is 0 or was made by `site_of` from a `&'static Location`, in this process.
        let location = unsafe { &*(site.0 as *const Location<'static>) };
        Some(describe::location(location))
    }

    fn state(&mut self) -> Option<State> {
        Some(State::Threads(state::of_threads(self.runtime.get())))
    }

    fn is_outdated(&self) -> bool {
        let runtime = self.runtime.get();
        runtime.references_matter && !runtime.options.counts_references
    }

    fn assume(&self, assumptions: &mut Assumptions) {
        let runtime = self.runtime.get();
        runtime.leaning.add_to(assumptions, runtime.options.spurious);
    }

    fn in_flight(&self) -> Option<Stop> {
        let threads = &self.runtime.get().threads;
        threads.iter().enumerate().find(|(_, thread)| thread.unwinding && !thread.ended).and_then(
            |(index, thread)| thread.panic.clone().map(|note| panic::stop(&thread.label(index), *note)),
        )
    }

    fn finish(&mut self) -> Option<Stop> {
        let handle = self.runtime;
        let complete = handle.get().alive == 0;
        if !complete {
            handle.get().phase = Phase::Unwinding;
            // Children before those who created them, from whose stacks they may borrow.
            for index in (0..handle.get().threads.len()).rev() {
                while handle.get().slots[index].is_busy() {
                    self.resume(ThreadId(index as u32));
                }
            }
        }
        handle.get().phase = Phase::Quiet;
        handle.get().inside = true;
        for index in 0..handle.get().threads.len() {
            // Those of threads that did not end by themselves are still there.
            if handle.get().threads[index].locals.values.is_empty() {
                continue;
            }
            handle.get().current = ThreadId(index as u32);
            thread::drop_locals(handle, ThreadId(index as u32), BodyEnd::TornDown);
        }
        while let Some(action) = handle.get().at_end.pop() {
            action();
        }
        handle.get().inside = false;
        statics::put_back(handle);
        handle.get().turn = None;
        thread::reuse_stacks(handle);
        if complete { leaks(handle.get()) } else { None }
    }
}

/// What is not freed, where that is asked for.
fn leaks(runtime: &Runtime) -> Option<Stop> {
    let alive: Vec<_> = runtime.owned.iter().flatten().collect();
    let (_, first) = alive.first().filter(|_| runtime.options.check_leaks)?;
    let mut message = String::from("made in this execution, and never freed:");
    for (what, place) in &alive {
        message.push_str(&format!("\n  {what} at {}", describe::location(place)));
    }
    Some(Stop {
        kind: StopKind::Violation(ViolationKind::Leak),
        message,
        location: Some(describe::location(first)),
    })
}

//! Counterexamples: from the states of a path to statements, and through the independent interpreter.

use selvedge_core::{Decision, Schedule, Step, ThreadId, Trace};
use selvedge_explicit::{Found, Problem, Successors, TransitionSystem};

use crate::ast::{Expr, Stmt, StmtId, StmtKind};
use crate::error::Error;
use crate::interp::{Choice, Cut, END, Interpreter, State, Trouble};
use crate::print::Printer;
use crate::program::Program;
use crate::question::{Accepts, Question};
use crate::system::{CLAIM, Micro, System, Wrong};
use crate::vm::Fault;

/// An execution that shows a violation, replayed.
pub(crate) struct Witness {
    pub(crate) steps: Vec<Taken>,
    pub(crate) trace: Trace,
    pub(crate) schedule: Schedule,
    pub(crate) preemptions: u32,
    /// How many times another process runs than the one before. A claim watches; its steps are no switches.
    pub(crate) switches: u32,
    /// For a stuck state: who waits where.
    pub(crate) explanation: String,
    /// Values that did not fit on the way.
    pub(crate) cuts: Vec<Cut>,
    /// The step with which the cycle begins.
    pub(crate) cycle: Option<usize>,
}

/// A step of the path: whose, which of its successors, and the statements of it.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) owner: u32,
    /// Who counts as the one that moved last; after a handshake it may be either side.
    mover: u32,
    partner: Option<u32>,
    index: u32,
    pub(crate) micros: Vec<Micro>,
    /// How many successors the owner had.
    width: u32,
}

/// A step, the state after it, and what went wrong on it.
type Edge = (Taken, Vec<u8>, Option<u32>);

/// Every step from a state, with its statements, and which processes have one.
fn steps_from(system: &mut System<'_>, state: &[u8]) -> (Vec<Edge>, Vec<bool>) {
    let mut out = Successors::default();
    let count = system.processes(state);
    // Once without writing anything down, so that a step without an end is known for one.
    (0..count).for_each(|process| system.expand(state, process, false, &mut out));
    out.clear();
    system.record = true;
    system.paths.clear();
    for process in 0..count {
        system.expand(state, process, false, &mut out);
    }
    if out.list.is_empty() && system.has_timeout() {
        for process in 0..count {
            system.expand(state, process, true, &mut out);
        }
    }
    if out.list.is_empty() {
        system.stutter(state, &mut out);
    }
    system.record = false;
    let mut enabled = vec![false; count as usize + 1];
    let mut widths = vec![0_u32; count as usize + 1];
    for step in &out.list {
        enabled[(step.owner as usize).min(count as usize)] = true;
    }
    let mut list = Vec::new();
    for (number, step) in out.list.iter().enumerate() {
        let width = &mut widths[(step.owner as usize).min(count as usize)];
        let micros = system.paths.get(number).cloned().unwrap_or_default();
        let (owner, mover, partner) = (step.owner, step.mover, step.partner);
        let taken = Taken { owner, mover, partner, index: *width, micros, width: 0 };
        *width += 1;
        list.push((taken, out.state(number).to_vec(), step.fault.map(|fault| fault.0)));
    }
    for (taken, ..) in &mut list {
        taken.width = widths[taken.owner as usize];
    }
    (list, enabled)
}

/// The statements behind a path of states, with the fewest preemptions, replayed by the interpreter.
pub(crate) fn witness(
    question: &Question,
    program: &Program,
    system: &mut System<'_>,
    found: &Found,
    go_on: &dyn Fn() -> bool,
) -> Result<Witness, Error> {
    let (steps, preemptions) = cheapest(program, system, found, go_on)?;
    let cycle = match found.problem {
        Problem::Cycle { start } => Some(start),
        _ => None,
    };
    let played = replay(question, program, &steps, system.wrong_of(found.problem), cycle, go_on)?;
    let counted = played.preemptions;
    if counted != preemptions {
        return Err(Error::Replay(format!("{counted} preemptions instead of {preemptions}")));
    }
    let Played { trace, switches, explanation, cuts, .. } = played;
    Ok(Witness { schedule: schedule(&steps), steps, trace, preemptions, switches, explanation, cuts, cycle })
}

/// The same path of the model whose steps are not merged.
pub(crate) fn spell_out(
    program: &Program,
    system: &mut System<'_>,
    found: &Found,
    single: &mut System<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<Found, Error> {
    let (steps, _) = cheapest(program, system, found, go_on)?;
    let statements: Vec<Micro> = steps.into_iter().flat_map(|step| step.micros).collect();
    let differs = || Error::Replay("the steps of the model are not those of its merged form".to_string());
    let mut state = match single.initial() {
        Ok(state) => state,
        Err(fault) => return Ok(Found { problem: Problem::Initial(fault), ..found.clone() }),
    };
    let mut states = vec![state.clone()];
    let mut rest = &statements[..];
    while !rest.is_empty() {
        look(states.len(), go_on)?;
        let (list, _) = steps_from(single, &state);
        // An assertion that fails in an atomic sequence ends one step, and another goes on after it.
        let begins = |(taken, ..): &&Edge| !taken.micros.is_empty() && rest.starts_with(&taken.micros);
        let edge = list.iter().filter(begins).max_by_key(|(taken, _, fault)| {
            let last = taken.micros.len() == rest.len();
            (taken.micros.len(), last == fault.is_some())
        });
        let Some((taken, next, fault)) = edge else { return Err(differs()) };
        rest = &rest[taken.micros.len()..];
        if let (Some(fault), true) = (fault, rest.is_empty()) {
            let problem = Problem::Step { fault: selvedge_explicit::Fault(*fault), owner: taken.owner };
            return Ok(Found { problem, states, bound: found.bound });
        }
        state.clone_from(next);
        states.push(state.clone());
    }
    let problem = Problem::Stuck(single.stuck(&state).ok_or_else(differs)?);
    Ok(Found { problem, states, bound: found.bound })
}

/// The steps behind a path of states, with the fewest preemptions, and how many they are.
fn cheapest(
    program: &Program,
    system: &mut System<'_>,
    found: &Found,
    go_on: &dyn Fn() -> bool,
) -> Result<(Vec<Taken>, u32), Error> {
    let key = program.key();
    let stuck = !matches!(found.problem, Problem::Step { .. });
    let edges = if stuck { found.states.len().saturating_sub(1) } else { found.states.len() };
    // For every process that may have moved last: the cheapest way there.
    let mut layers: Vec<Vec<(Taken, u32, usize)>> = Vec::new();
    for edge in 0..edges {
        look(edge, go_on)?;
        let (list, enabled) = steps_from(system, &found.states[edge]);
        let mut layer: Vec<(Taken, u32, usize)> = Vec::new();
        for (taken, state, fault) in list {
            let wanted = match found.states.get(edge + 1) {
                Some(next) => state.len() == next.len() && state[key..] == next[key..],
                None => {
                    matches!(found.problem, Problem::Step { fault: f, owner } if fault == Some(f.0) && owner == taken.owner)
                }
            };
            if !wanted {
                continue;
            }
            // A step of the claim alone is no switch.
            let moves = taken.micros.iter().any(|micro| micro.pid != CLAIM);
            let cost = |mover: u32| {
                u32::from(
                    moves && mover != taken.owner && enabled.get(mover as usize).copied().unwrap_or(false),
                )
            };
            let best = match layers.last() {
                None => Some((0, 0)),
                Some(before) => before
                    .iter()
                    .enumerate()
                    .map(|(index, (step, so_far, _))| (so_far + cost(step.mover), index))
                    .min(),
            };
            let Some((sum, from)) = best else { continue };
            for mover in [taken.mover].into_iter().chain(taken.partner) {
                let candidate = (Taken { mover, ..taken.clone() }, sum, from);
                match layer.iter_mut().find(|(step, ..)| step.mover == mover) {
                    Some(known) if known.1 <= sum => {}
                    Some(known) => *known = candidate,
                    None => layer.push(candidate),
                }
            }
        }
        if layer.is_empty() {
            return Err(Error::Replay(format!("no step leads to state {}", edge + 1)));
        }
        layers.push(layer);
    }
    let mut steps = Vec::new();
    let mut at = layers.last().map(|layer| (0..layer.len()).min_by_key(|&i| layer[i].1).expect("not empty"));
    let preemptions = at.map_or(0, |at| layers[layers.len() - 1][at].1);
    for layer in layers.iter().rev() {
        let index = at.expect("every layer has a way back");
        steps.push(layer[index].0.clone());
        at = Some(layer[index].2);
    }
    steps.reverse();
    Ok((steps, preemptions))
}

/// Asks every few steps whether to go on.
fn look(step: usize, go_on: &dyn Fn() -> bool) -> Result<(), Error> {
    if step.is_multiple_of(64) && !go_on() { Err(Error::Stopped) } else { Ok(()) }
}

fn schedule(steps: &[Taken]) -> Schedule {
    let mut decisions = Vec::new();
    for step in steps {
        decisions.push(Decision::Thread(ThreadId(step.owner)));
        if step.width > 1 {
            decisions.push(Decision::Value(step.index));
        }
    }
    Schedule(decisions)
}

/// Follows a schedule: the states it goes through, and the violation at its end.
pub(crate) fn run(system: &mut System<'_>, schedule: &Schedule) -> Result<(Problem, Vec<Vec<u8>>), Error> {
    let misfit = |step: usize, reason: &str| Err(Error::Trail { step: step + 1, reason: reason.to_string() });
    let Ok(mut state) = system.initial() else { return misfit(0, "the model has no first state") };
    let mut states = vec![state.clone()];
    let mut decisions = schedule.0.iter().peekable();
    while let Some(decision) = decisions.next() {
        let number = states.len() - 1;
        let Decision::Thread(ThreadId(owner)) = *decision else {
            return misfit(number, "expected a process");
        };
        let (list, _) = steps_from(system, &state);
        let mine: Vec<_> = list.into_iter().filter(|(taken, ..)| taken.owner == owner).collect();
        let choice = match decisions.peek() {
            Some(Decision::Value(value)) if mine.len() > 1 => {
                decisions.next();
                *value as usize
            }
            _ => 0,
        };
        let Some((_, next, fault)) = mine.into_iter().nth(choice) else {
            return misfit(number, &format!("process {owner} cannot take that step"));
        };
        if let (Some(fault), None) = (fault, decisions.peek()) {
            let fault = selvedge_explicit::Fault(fault);
            return Ok((Problem::Step { fault, owner }, states));
        }
        if next.is_empty() {
            return misfit(number, "the execution ends here");
        }
        state = next;
        states.push(state.clone());
    }
    if steps_from(system, &state).0.is_empty()
        && let Some(fault) = system.stuck(&state)
    {
        return Ok((Problem::Stuck(fault), states));
    }
    // A state that was there before, with an accepting one in between.
    let key = system.key();
    if let Some(start) = states[..states.len() - 1].iter().position(|before| before[key..] == state[key..])
        && states[start..].iter().any(|state| system.accepting(state))
    {
        return Ok((Problem::Cycle { start }, states));
    }
    misfit(states.len() - 1, "there is no violation at its end")
}

/// What the interpreter saw: the steps, who waits at the end, the preemptions and switches, and values that did not
/// fit.
#[derive(Default)]
struct Played {
    trace: Trace,
    explanation: String,
    preemptions: u32,
    switches: u32,
    cuts: Vec<Cut>,
}

/// Runs steps through the interpreter.
fn replay(
    question: &Question,
    program: &Program,
    steps: &[Taken],
    wrong: Wrong,
    cycle: Option<usize>,
    go_on: &dyn Fn() -> bool,
) -> Result<Played, Error> {
    let model = &program.model;
    let claim = program.claim.map(|_| 0);
    let mut interpreter = Interpreter::new(model, claim, program.watch.is_some());
    interpreter.go_on = go_on;
    let fail = |step: usize, reason: &str| Err(Error::Replay(format!("step {}: {reason}", step + 1)));
    let mut state = match interpreter.initial() {
        Ok(state) => state,
        // What is wrong with the first state needs no steps to show.
        Err(_) if steps.is_empty() && matches!(wrong, Wrong::Fault(..)) => {
            return Ok(Played::default());
        }
        Err(_) => return fail(0, "no first state"),
    };
    let (trace, sent) = (Trace::default(), Vec::new());
    let mut player = Player { program, interpreter, trace, last: None, switches: 0, sent };
    let (mut preemptions, mut before) = (0, None);
    let mut seen: Option<Trouble> = None;
    let mut claim_ended = false;
    // For a cycle: the state before each step, and where the trace of the cycle begins.
    let (mut states, mut loop_start) = (Vec::new(), None);
    for (number, step) in steps.iter().enumerate() {
        if cycle.is_some() {
            states.push(state.clone());
        }
        if cycle == Some(number) {
            loop_start = Some(player.trace.steps.len());
        }
        let owner = step.owner as usize;
        let last_step = number + 1 == steps.len();
        let mut preemption = match before {
            Some(mover) if mover != owner && mover < state.procs.len() => {
                player.interpreter.enabled(&state, mover)
            }
            _ => false,
        };
        // Only the claim may move in a stuck state; that is no switch.
        preemption &= step.micros.iter().any(|micro| micro.pid != CLAIM);
        preemptions += u32::from(preemption);
        let mut index = 0;
        let mut flag = preemption;
        while index < step.micros.len() {
            look(number + index, go_on)?;
            let micro = step.micros[index];
            let partner = player.partner(&step.micros, index);
            let result = player.play(&mut state, micro, partner, flag);
            flag &= micro.pid == CLAIM;
            index += if partner.is_some() { 2 } else { 1 };
            match result {
                Ok((trouble, ended)) => {
                    claim_ended |= ended;
                    seen = trouble.or(seen);
                }
                Err(Trouble::Error(text)) if last_step && index >= step.micros.len() => {
                    seen = Some(Trouble::Error(text));
                    if text == "not executable" {
                        return fail(number, text);
                    }
                }
                Err(Trouble::Error(text)) => return fail(number, text),
                Err(Trouble::Assertion | Trouble::Trace | Trouble::Fields) => {
                    return fail(number, "an assertion");
                }
            }
        }
        before = Some(step.mover as usize);
    }
    let confirmed = match wrong {
        Wrong::Fault(Fault::Assert(_), _) => seen == Some(Trouble::Assertion),
        Wrong::Fault(Fault::Event | Fault::Denied, _) => seen == Some(Trouble::Trace),
        Wrong::Fault(Fault::Fields(..), _) => matches!(seen, Some(Trouble::Fields | Trouble::Error(_))),
        // The interpreter loops as long as the machine would.
        Wrong::Fault(Fault::Endless, _) => true,
        Wrong::Fault(..) => matches!(seen, Some(Trouble::Error(_))),
        Wrong::Claim => claim_ended,
        Wrong::Cycle => {
            cycle.is_some_and(|start| goes_on(&player.interpreter, question, &states, &state, start))
        }
        Wrong::EndState => {
            let interpreter = &player.interpreter;
            (0..state.procs.len()).all(|pid| !interpreter.enabled(&state, pid))
                && !interpreter.valid_end(&state)
        }
    };
    if !confirmed {
        return fail(steps.len().saturating_sub(1), "the interpreter sees no violation");
    }
    let explanation = player.waiting(&state);
    player.trace.loop_start = loop_start.filter(|&start| start < player.trace.steps.len());
    let cuts = player.interpreter.take_cuts();
    Ok(Played { trace: player.trace, explanation, preemptions, switches: player.switches, cuts })
}

/// Whether the states from `start` on are a cycle that is wrong; `end` is the state after the last.
fn goes_on(
    interpreter: &Interpreter<'_>,
    question: &Question,
    states: &[State],
    end: &State,
    start: usize,
) -> bool {
    let processes = question.accepts == Accepts::All;
    let violated = question.formula.as_ref().is_none_or(|ltl| {
        let mut letter =
            |expr: &Expr, at: usize| interpreter.eval(&states[at], None, expr).is_ok_and(|value| value != 0);
        !crate::ltl::holds(&ltl.formula, states.len(), start, &mut letter)
    });
    interpreter.visible(&states[start]) == interpreter.visible(end)
        && states[start..].iter().any(|state| interpreter.accepting(state, processes))
        && violated
}

/// Plays statements and writes them down.
struct Player<'p> {
    program: &'p Program,
    interpreter: Interpreter<'p>,
    trace: Trace,
    /// The process that ran last, as a thread of the trace.
    last: Option<usize>,
    switches: u32,
    /// For each message in each channel, the step that sent it, where that is known.
    sent: Vec<Vec<Option<usize>>>,
}

impl Player<'_> {
    fn name(&self, micro: Micro) -> StmtId {
        self.program.trans[micro.trans as usize].stmt
    }

    /// For the sending half of a handshake: the receiving half, which follows it.
    fn partner(&self, micros: &[Micro], index: usize) -> Option<Micro> {
        use crate::program::Kind;
        let (this, next) = (micros[index], *micros.get(index + 1)?);
        let sends = matches!(self.program.trans[this.trans as usize].kind, Kind::Send(..));
        (sends && this.pid != next.pid && next.pid != CLAIM).then_some(next)
    }

    fn play(
        &mut self,
        state: &mut State,
        micro: Micro,
        partner: Option<Micro>,
        preemption: bool,
    ) -> Result<(Option<Trouble>, bool), Trouble> {
        let stmt = self.name(micro);
        if micro.pid == CLAIM {
            if !self.interpreter.claim_choices(state).contains(&stmt) {
                return Err(Trouble::Error("not executable"));
            }
            self.write(state, micro, None, false);
            let (ended, trouble) = self.interpreter.execute_claim(state, stmt)?;
            return Ok((trouble, ended));
        }
        let pid = micro.pid as usize;
        let choice = Choice { stmt, partner: partner.map(|micro| (micro.pid as usize, self.name(micro))) };
        if pid >= state.procs.len() || !self.interpreter.choices(state, pid).contains(&choice) {
            return Err(Trouble::Error("not executable"));
        }
        let value = self.value(state, pid, stmt);
        self.write(state, micro, value.clone(), preemption);
        let step = self.trace.steps.len() - 1;
        if let Some(partner) = partner {
            self.write(state, partner, value, false);
            let name = |step: usize| &self.trace.threads[self.trace.steps[step].thread];
            let (to, from) = (format!(" → {}", name(step + 1)), format!(" ← {}", name(step)));
            self.trace.steps[step].op += &to;
            self.trace.steps[step + 1].op += &from;
        }
        let before: Vec<Vec<Vec<i32>>> = state.chans.iter().map(|chan| chan.messages.clone()).collect();
        let (_, trouble) = self.interpreter.execute(state, pid, choice)?;
        self.follow_messages(&before, state, step);
        if partner.is_none() && pid < state.procs.len() && self.trace.steps[step].value.is_none() {
            self.trace.steps[step].value = self.assigned(state, pid, stmt);
        }
        Ok((trouble, false))
    }

    /// Draws the arrow of a message that was put into a channel or taken from it: a receive names the step that sent
    /// what it takes.
    fn follow_messages(&mut self, before: &[Vec<Vec<i32>>], state: &State, step: usize) {
        self.sent.resize(state.chans.len(), Vec::new());
        for (index, chan) in state.chans.iter().enumerate() {
            let (was, now) = (before.get(index).map_or(&[][..], Vec::as_slice), &chan.messages[..]);
            let sent = &mut self.sent[index];
            sent.resize(was.len(), None);
            if now.len() == was.len() + 1 {
                let slot = (0..was.len()).find(|&slot| was[slot] != now[slot]).unwrap_or(was.len());
                sent.insert(slot, Some(step));
                self.trace.steps[step].op += " →";
            } else if now.len() + 1 == was.len() {
                let rest = |slot: &usize| was[..*slot] == now[..*slot] && was[slot + 1..] == now[*slot..];
                let taken = (0..was.len()).find(rest).and_then(|slot| sent.remove(slot));
                if let Some(from) = taken {
                    self.trace.steps[step].op += &format!(" ← step {from}");
                }
            } else if now.len() != was.len() {
                // A d_step has moved several.
                *sent = vec![None; now.len()];
            }
        }
    }

    fn statement(&self, pid: usize, state: &State, name: StmtId) -> Option<&Stmt> {
        let process = &self.interpreter.model.procs[state.procs.get(pid)?.ty];
        find(&process.body, name)
    }

    /// The message of a send.
    fn value(&self, state: &State, pid: usize, name: StmtId) -> Option<String> {
        match &self.statement(pid, state, name)?.kind {
            StmtKind::Send { args, .. } => {
                let values: Option<Vec<String>> = args
                    .iter()
                    .map(|arg| self.interpreter.value_of(state, pid, arg).map(|v| v.to_string()))
                    .collect();
                Some(values?.join(","))
            }
            _ => None,
        }
    }

    /// What an assignment or a receive has stored.
    fn assigned(&self, state: &State, pid: usize, name: StmtId) -> Option<String> {
        let process = &self.interpreter.model.procs[state.procs.get(pid)?.ty];
        let printer = Printer { model: self.interpreter.model, process };
        let show = |place: &crate::ast::Place| {
            let value = self.interpreter.place_of(state, pid, place)?;
            Some(format!("{} = {value}", printer.place(place)))
        };
        match &find(&process.body, name)?.kind {
            StmtKind::Assign(place, _) => show(place),
            StmtKind::Recv { args, .. } => {
                let bound: Vec<String> = args
                    .iter()
                    .filter_map(
                        |arg| if let crate::ast::RecvArg::Bind(place) = arg { show(place) } else { None },
                    )
                    .collect();
                (!bound.is_empty()).then(|| bound.join(", "))
            }
            _ => None,
        }
    }

    fn write(&mut self, state: &State, micro: Micro, value: Option<String>, preemption: bool) {
        let model = self.interpreter.model;
        let trans = &self.program.trans[micro.trans as usize];
        let (name, text) = if micro.pid == CLAIM {
            let process = &model.claims[0];
            let text = find(&process.body, trans.stmt).map(|s| Printer { model, process }.statement(&s.kind));
            (":never:".to_string(), text)
        } else {
            let process = &model.procs[state.procs[micro.pid as usize].ty];
            let text = find(&process.body, trans.stmt).map(|s| Printer { model, process }.statement(&s.kind));
            (format!("{} ({})", process.name, micro.pid), text)
        };
        let thread = self.trace.threads.iter().position(|t| *t == name).unwrap_or_else(|| {
            self.trace.threads.push(name);
            self.trace.threads.len() - 1
        });
        let op = if trans.stmt == END { "-end-".to_string() } else { text.unwrap_or_default() };
        let location = Some(model.files.location(trans.at));
        self.trace.steps.push(Step { thread, op, value, location, preemption });
        if micro.pid != CLAIM {
            self.switches += u32::from(self.last.is_some_and(|last| last != thread));
            self.last = Some(thread);
        }
    }

    /// Where every process is, for a stuck state.
    fn waiting(&self, state: &State) -> String {
        let model = self.interpreter.model;
        let mut lines = vec!["invalid end state: no process can move".to_string()];
        for (pid, process) in state.procs.iter().enumerate() {
            let body = &model.procs[process.ty];
            let place = match self.interpreter.standing(state, pid) {
                None => "at its end".to_string(),
                Some(stmt) => {
                    let text = Printer { model, process: body }.statement(&stmt.kind);
                    format!("at {}, {text}", model.files.location(stmt.at))
                }
            };
            lines.push(format!("{} ({pid}) {place}", body.name));
        }
        lines.join("\n")
    }
}

/// The statement with a name.
pub(crate) fn find(seq: &crate::ast::Seq, name: StmtId) -> Option<&Stmt> {
    for stmt in seq {
        if stmt.id == name {
            return Some(stmt);
        }
        let inner = match &stmt.kind {
            StmtKind::If(options) | StmtKind::Do(options) => options.iter().find_map(|o| find(o, name)),
            StmtKind::Atomic(s) | StmtKind::DStep(s) | StmtKind::Block(s) => find(s, name),
            StmtKind::Unless(a, b) => find(a, name).or_else(|| find(b, name)),
            _ => None,
        };
        if inner.is_some() {
            return inner;
        }
    }
    None
}

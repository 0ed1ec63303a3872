//! Steps: what a process can do next, and doing it.

use super::control::is_jump;
use super::eval::POLLED;
use super::{Choice, END, Interpreter, Point, State, Trouble};
use crate::ast::{Expr, ExprKind, Proctype, RecvArg, Seq, Stmt, StmtId, StmtKind};
use crate::print::has_run;

/// Rounds and jumps that a `d_step` may take: more than the machine gives it.
const LONGEST: u32 = 4 * crate::vm::MOST_ROUNDS;

impl<'m> Interpreter<'m> {
    /// Everything that a process can execute next, in Spin's order.
    pub(crate) fn choices(&self, state: &State, pid: usize) -> Vec<Choice> {
        self.choices_if(state, pid, true)
    }

    fn choices_if(&self, state: &State, pid: usize, priorities: bool) -> Vec<Choice> {
        let body = self.body(state, Some(pid));
        if !self.permitted(state, pid, priorities) {
            return Vec::new();
        }
        let Some(point) = &state.procs[pid].point else {
            let last = pid + 1 == state.procs.len();
            return if last { vec![Choice { stmt: END, partner: None }] } else { Vec::new() };
        };
        let groups = self.groups(body, point);
        let lists = groups.iter().map(|group| self.executable(state, pid, body, group));
        lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default()
    }

    /// What control can begin with at a point: the escapes around each beginning, and then the beginnings.
    fn groups(&self, body: &Proctype, point: &Point) -> Vec<Vec<Point>> {
        let (mut begin, mut groups) = (Vec::new(), Vec::new());
        self.begins(body, point, &mut begin);
        for place in &begin {
            for escape in self.escapes(body, place) {
                if !groups.contains(&escape) {
                    groups.push(escape);
                }
            }
        }
        groups.push(begin);
        groups
    }

    fn permitted(&self, state: &State, pid: usize, priorities: bool) -> bool {
        let body = self.body(state, Some(pid));
        if let Some(provided) = &body.provided
            && !self.eval(state, Some(pid), provided).is_ok_and(|value| value != 0)
        {
            return false;
        }
        let mine = state.procs[pid].priority;
        !(priorities
            && self.model.uses_priority
            && (0..state.procs.len())
                .any(|other| state.procs[other].priority > mine && self.locally_enabled(state, other)))
    }

    fn executable(&self, state: &State, pid: usize, body: &Proctype, points: &[Point]) -> Vec<Choice> {
        let (mut list, mut moved) = (Vec::new(), false);
        for point in points {
            let stmt = self.statement(body, point);
            match &stmt.kind {
                StmtKind::Else if moved => {}
                StmtKind::Send { chan, args, .. } => match self.chan(state, Some(pid), chan) {
                    Ok((index, target)) if target.capacity == 0 => {
                        // A handshake leaves an else executable, as in Spin.
                        let partners = self.partners(state, pid, index, args);
                        if partners.is_empty() && args.len() != target.fields.len() {
                            // What is wrong with the message is seen without a partner too.
                            list.push(Choice { stmt: stmt.id, partner: None });
                        }
                        for partner in partners {
                            list.push(Choice { stmt: stmt.id, partner: Some(partner) });
                        }
                    }
                    Ok((_, target)) if target.messages.len() >= target.capacity => {}
                    _ => {
                        moved = true;
                        list.push(Choice { stmt: stmt.id, partner: None });
                    }
                },
                _ => {
                    // An error in a guard shows when the statement is executed.
                    if self.can_begin(state, Some(pid), stmt).unwrap_or(true) {
                        moved = true;
                        list.push(Choice { stmt: stmt.id, partner: None });
                    }
                }
            }
        }
        list
    }

    /// Who waits for this message, and at which statement.
    fn partners(&self, state: &State, pid: usize, chan: usize, args: &[Expr]) -> Vec<(usize, StmtId)> {
        // Only a message that is sent is worth a warning.
        let before = self.cuts.borrow().len();
        let built = self.build(state, pid, chan, args);
        self.cuts.borrow_mut().truncate(before);
        let Ok(message) = built else { return Vec::new() };
        let mut list = Vec::new();
        for other in (0..state.procs.len()).filter(|&other| other != pid) {
            if !self.permitted(state, other, true) {
                continue;
            }
            let body = self.body(state, Some(other));
            let Some(point) = &state.procs[other].point else { continue };
            for group in self.groups(body, point) {
                let before = list.len();
                for place in group {
                    let stmt = self.statement(body, &place);
                    if self.takes(state, Some(other), stmt, chan, &message) {
                        list.push((other, stmt.id));
                    }
                }
                if list.len() > before {
                    break;
                }
            }
        }
        list
    }

    /// Whether a statement can begin with receiving a message that is offered on a channel.
    fn takes(&self, state: &State, pid: Option<usize>, stmt: &Stmt, chan: usize, message: &[i32]) -> bool {
        match &stmt.kind {
            StmtKind::Recv { chan: source, keep: false, args, .. } => {
                self.chan(state, pid, source).is_ok_and(|(index, _)| index == chan)
                    && self.fits(state, pid, message, args).unwrap_or(false)
            }
            StmtKind::If(options) | StmtKind::Do(options) => {
                options.iter().any(|option| self.takes(state, pid, &option[0], chan, message))
            }
            StmtKind::DStep(body) | StmtKind::Atomic(body) | StmtKind::Block(body) => {
                self.takes(state, pid, &body[0], chan, message)
            }
            _ => false,
        }
    }

    fn build(&self, state: &State, pid: usize, chan: usize, args: &[Expr]) -> Result<Vec<i32>, Trouble> {
        let fields = &state.chans[chan].fields;
        let mut message = vec![0; fields.len()];
        for (index, arg) in args.iter().enumerate() {
            let value = self.eval(state, Some(pid), arg)?;
            if index < fields.len() {
                message[index] = self.cut(fields[index], value, arg.at);
            }
        }
        Ok(message)
    }

    /// Whether a statement (not a handshake) can be executed.
    fn can_begin(&self, state: &State, pid: Option<usize>, stmt: &Stmt) -> Result<bool, Trouble> {
        Ok(match &stmt.kind {
            StmtKind::Expr(value) if has_run(&value.kind) => true,
            StmtKind::Expr(value) => self.eval(state, pid, value)? != 0,
            StmtKind::Send { chan, .. } => {
                // Within a d_step a rendezvous is tried, and goes wrong.
                let (_, chan) = self.chan(state, pid, chan)?;
                chan.capacity == 0 || chan.messages.len() < chan.capacity
            }
            StmtKind::Recv { chan, anywhere, keep, args } => {
                let (_, chan) = self.chan(state, pid, chan)?;
                if chan.capacity == 0 && *keep {
                    return Err(POLLED);
                }
                self.message(state, pid, chan, args, *anywhere)?.is_some()
            }
            StmtKind::If(options) | StmtKind::Do(options) => {
                for option in options {
                    if self.can_begin(state, pid, &option[0])? {
                        return Ok(true);
                    }
                }
                false
            }
            StmtKind::Atomic(body)
            | StmtKind::DStep(body)
            | StmtKind::Block(body)
            | StmtKind::Unless(body, _) => self.can_begin(state, pid, &body[0])?,
            _ => true,
        })
    }

    /// Whether a process can move when nobody's priority matters.
    pub(super) fn locally_enabled(&self, state: &State, pid: usize) -> bool {
        let body = self.body(state, Some(pid));
        let Some(point) = &state.procs[pid].point else { return pid + 1 == state.procs.len() };
        self.groups(body, point).iter().flatten().any(|place| {
            let stmt = self.statement(body, place);
            match &stmt.kind {
                StmtKind::Send { chan, .. } => self
                    .chan(state, Some(pid), chan)
                    .is_ok_and(|(_, chan)| chan.capacity == 0 || chan.messages.len() < chan.capacity),
                StmtKind::Expr(value) if matches!(value.kind, ExprKind::Enabled(_)) => false,
                _ => self.can_begin(state, Some(pid), stmt).unwrap_or(false),
            }
        })
    }

    /// Whether nothing but a timeout can happen.
    pub(super) fn timed_out(&self, state: &State) -> bool {
        if state.last == TIMEOUT_PROBE {
            return false;
        }
        let mut probe = state.clone();
        probe.last = TIMEOUT_PROBE;
        (0..state.procs.len()).all(|pid| self.choices(&probe, pid).is_empty())
    }

    /// What a process can execute within its atomic sequence: there is no timeout there.
    pub(crate) fn going_on(&self, state: &State, pid: usize) -> Vec<Choice> {
        let mut probe = state.clone();
        probe.last = TIMEOUT_PROBE;
        self.choices(&probe, pid)
    }

    /// Whether a process can move.
    pub(crate) fn enabled(&self, state: &State, pid: usize) -> bool {
        !self.choices(state, pid).is_empty()
    }

    /// Executes a choice. Whether the process in control (the receiver, in a handshake) goes on atomically.
    pub(crate) fn execute(
        &self,
        state: &mut State,
        pid: usize,
        choice: Choice,
    ) -> Result<(bool, Option<Trouble>), Trouble> {
        if choice.stmt == END {
            let chans = state.procs[pid].chans;
            state.procs.pop();
            state.chans.truncate(chans);
            self.moved(state, pid);
            return Ok((false, None));
        }
        let body = self.body(state, Some(pid));
        let point = self.locate_choice(state, pid, choice.stmt).ok_or(Trouble::Error("not a choice"))?;
        let stmt = self.statement(body, &point);
        if let Some((other, waiting)) = choice.partner {
            let StmtKind::Send { chan, args, .. } = &stmt.kind else {
                return Err(Trouble::Error("not a send"));
            };
            let (index, _) = self.chan(state, Some(pid), chan)?;
            let message = self.build(state, pid, index, args)?;
            let place = self.locate_choice(state, other, waiting).ok_or(Trouble::Error("no partner"))?;
            let other_body = self.body(state, Some(other));
            state.procs[pid].point = self.after(body, &point);
            let mut trouble = self.observe(state, true, index, &message)?;
            trouble = trouble.or(self.observe(state, false, index, &message)?);
            trouble = trouble.or((args.len() != message.len()).then_some(Trouble::Fields));
            match &self.statement(other_body, &place).kind {
                StmtKind::Recv { args, .. } => self.take(state, Some(other), &message, args, &mut trouble)?,
                StmtKind::DStep(body) => {
                    let offer = Some((index, message));
                    self.run_all(
                        state,
                        Some(other),
                        body,
                        &mut trouble,
                        &mut Run { budget: LONGEST, offer },
                    )?;
                }
                _ => return Err(Trouble::Error("the partner does not receive")),
            }
            let target = self.after(other_body, &place);
            let atomic = self.in_atomic(other_body, &Some(place)) && self.in_atomic(other_body, &target);
            state.procs[other].point = target;
            self.moved(state, other);
            return Ok((atomic, trouble));
        }
        let mut trouble = None;
        self.perform(state, Some(pid), stmt, &mut trouble)?;
        let target = match &stmt.kind {
            kind if is_jump(kind) => self.jump(body, &point),
            _ => self.after(body, &point),
        };
        let atomic = self.in_atomic(body, &Some(point)) && self.in_atomic(body, &target);
        state.procs[pid].point = target;
        self.moved(state, pid);
        Ok((atomic, trouble))
    }

    /// Notes who moved last, where the model asks.
    fn moved(&self, state: &mut State, pid: usize) {
        if self.model.uses_last {
            state.last = pid as i32;
        }
    }

    fn locate_choice(&self, state: &State, pid: usize, name: StmtId) -> Option<Point> {
        let body = self.body(state, Some(pid));
        let point = state.procs[pid].point.as_ref()?;
        self.groups(body, point).into_iter().flatten().find(|place| self.statement(body, place).id == name)
    }

    /// Stores a message where a receive wants it. Too few places for it are wrong, and too many end the step.
    fn take(
        &self,
        state: &mut State,
        pid: Option<usize>,
        message: &[i32],
        args: &[RecvArg],
        trouble: &mut Option<Trouble>,
    ) -> Result<(), Trouble> {
        if args.len() > message.len() {
            return Err(Trouble::Error("a message has fewer fields"));
        }
        if args.len() < message.len() {
            trouble.get_or_insert(Trouble::Fields);
        }
        self.bind(state, pid, message, args)
    }

    fn bind(
        &self,
        state: &mut State,
        pid: Option<usize>,
        message: &[i32],
        args: &[RecvArg],
    ) -> Result<(), Trouble> {
        for (value, arg) in message.iter().zip(args) {
            if let RecvArg::Bind(place) = arg {
                self.store(state, pid, place, *value)?;
            }
        }
        Ok(())
    }

    /// The effect of a statement that can be executed.
    fn perform(
        &self,
        state: &mut State,
        pid: Option<usize>,
        stmt: &Stmt,
        trouble: &mut Option<Trouble>,
    ) -> Result<(), Trouble> {
        match &stmt.kind {
            StmtKind::Expr(value) if has_run(&value.kind) => {
                self.eval_run(state, pid, value)?;
            }
            StmtKind::Expr(value) => {
                self.eval(state, pid, value)?;
            }
            StmtKind::Assign(place, value) => {
                let value = self.eval_run(state, pid, value)?;
                self.store(state, pid, place, value)?;
            }
            StmtKind::Assert(value) => {
                let holds = self.eval(state, pid, value)? != 0;
                if !holds {
                    trouble.get_or_insert(Trouble::Assertion);
                }
            }
            StmtKind::Printf(_, args) => {
                for arg in args {
                    self.eval(state, pid, arg)?;
                }
            }
            StmtKind::Send { chan, sorted, args } => {
                let (index, _) = self.chan(state, pid, chan)?;
                let message = self.build(state, pid.expect("a claim does not send"), index, args)?;
                if state.chans[index].capacity == 0 {
                    return Err(Trouble::Error("a rendezvous send within a d_step"));
                }
                if args.len() != message.len() {
                    trouble.get_or_insert(Trouble::Fields);
                }
                let messages = &mut state.chans[index].messages;
                let slot = if *sorted { messages.iter().position(|m| message < *m) } else { None };
                messages.insert(slot.unwrap_or(messages.len()), message.clone());
                let seen = self.observe(state, true, index, &message)?;
                *trouble = trouble.take().or(seen);
            }
            StmtKind::Recv { chan, anywhere, keep, args } => {
                let (index, source) = self.chan(state, pid, chan)?;
                let slot = self.message(state, pid, source, args, *anywhere)?;
                let slot = slot.ok_or(Trouble::Error("nothing to receive"))?;
                let message = source.messages[slot].clone();
                if !keep {
                    let seen = self.observe(state, false, index, &message)?;
                    *trouble = trouble.take().or(seen);
                    state.chans[index].messages.remove(slot);
                }
                if *keep {
                    if args.len() > message.len() {
                        return Err(Trouble::Error("a message has fewer fields"));
                    }
                    return self.bind(state, pid, &message, args);
                }
                self.take(state, pid, &message, args, trouble)?;
            }
            StmtKind::DStep(body) => {
                self.run_all(state, pid, body, trouble, &mut Run { budget: LONGEST, offer: None })?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The statements of a `d_step`. What made it leave its sequence, if anything did.
    fn run_all(
        &self,
        state: &mut State,
        pid: Option<usize>,
        seq: &Seq,
        trouble: &mut Option<Trouble>,
        run: &mut Run,
    ) -> Result<Leave, Trouble> {
        let mut index = 0;
        while index < seq.len() {
            let stmt = &seq[index];
            if !matches!(stmt.kind, StmtKind::Else) && !self.can_go_on(state, pid, stmt, run)? {
                return Err(Trouble::Error("block in d_step"));
            }
            let leave = match &stmt.kind {
                StmtKind::If(options) => self.run_option(state, pid, options, trouble, run)?,
                StmtKind::Do(options) => loop {
                    self.spend(run)?;
                    match self.run_option(state, pid, options, trouble, run)? {
                        Leave::No => {}
                        Leave::Break => break Leave::No,
                        goto => break goto,
                    }
                },
                StmtKind::Atomic(body)
                | StmtKind::DStep(body)
                | StmtKind::Block(body)
                | StmtKind::Unless(body, _) => self.run_all(state, pid, body, trouble, run)?,
                StmtKind::Break => Leave::Break,
                StmtKind::Goto(label) => {
                    self.spend(run)?;
                    Leave::Goto(label.clone())
                }
                StmtKind::Recv { args, .. } if run.offer.is_some() => {
                    let (_, message) = run.offer.take().expect("a message is offered");
                    self.take(state, pid, &message, args, trouble)?;
                    Leave::No
                }
                _ => {
                    self.perform(state, pid, stmt, trouble)?;
                    Leave::No
                }
            };
            match leave {
                Leave::No => index += 1,
                Leave::Goto(label) => match seq.iter().position(|s| s.labels.contains(&label)) {
                    Some(target) => index = target,
                    None => return Ok(Leave::Goto(label)),
                },
                Leave::Break => return Ok(Leave::Break),
            }
        }
        Ok(Leave::No)
    }

    fn run_option(
        &self,
        state: &mut State,
        pid: Option<usize>,
        options: &[Seq],
        trouble: &mut Option<Trouble>,
        run: &mut Run,
    ) -> Result<Leave, Trouble> {
        let is_else = |option: &&Seq| matches!(option[0].kind, StmtKind::Else);
        for option in options.iter().filter(|o| !is_else(o)).chain(options.iter().filter(is_else)) {
            if self.can_go_on(state, pid, &option[0], run)? {
                return self.run_all(state, pid, option, trouble, run);
            }
        }
        Err(Trouble::Error("block in d_step"))
    }

    /// Counts a round or a jump.
    fn spend(&self, run: &mut Run) -> Result<(), Trouble> {
        run.budget = run.budget.checked_sub(1).ok_or(Trouble::Error("a d_step that does not end"))?;
        if run.budget.is_multiple_of(1 << 12) && !(self.go_on)() {
            return Err(Trouble::Error("told to stop"));
        }
        Ok(())
    }

    /// Whether a statement of a `d_step` can be executed: only a receive takes what is offered.
    fn can_go_on(&self, state: &State, pid: Option<usize>, stmt: &Stmt, run: &Run) -> Result<bool, Trouble> {
        match &run.offer {
            Some((chan, message)) => Ok(self.takes(state, pid, stmt, *chan, message)),
            None => self.can_begin(state, pid, stmt),
        }
    }

    /// An expression that may start a process.
    fn eval_run(&self, state: &mut State, pid: Option<usize>, expr: &Expr) -> Result<i32, Trouble> {
        match &expr.kind {
            ExprKind::Run { proc, args, priority } => {
                let mut values = Vec::new();
                for arg in args {
                    values.push(self.eval(state, pid, arg)?);
                }
                let number = self.start(state, *proc, &values, expr.at)?;
                if let Some(priority) = priority
                    && self.model.uses_priority
                {
                    let value = self.eval(state, pid, priority)?;
                    state.procs[number as usize].priority = value.clamp(1, 255);
                }
                Ok(number)
            }
            ExprKind::SetPriority(who, value) => {
                let (who, value) = (self.eval(state, pid, who)?, self.eval(state, pid, value)?);
                if let Some(process) = usize::try_from(who).ok().and_then(|who| state.procs.get_mut(who)) {
                    process.priority = value.clamp(1, 255);
                }
                Ok(1)
            }
            ExprKind::Binary(op, a, b) if has_run(&expr.kind) => {
                let (a, b) = (self.eval_run(state, pid, a)?, self.eval_run(state, pid, b)?);
                crate::parser::apply_binary(*op, a, b).ok_or(Trouble::Error("division by zero"))
            }
            ExprKind::Unary(op, a) if has_run(&expr.kind) => {
                let a = self.eval_run(state, pid, a)?;
                Ok(crate::parser::apply_unary(*op, a))
            }
            _ => self.eval(state, pid, expr),
        }
    }

    /// The moves of the claim, by statement.
    pub(crate) fn claim_choices(&self, state: &State) -> Vec<StmtId> {
        let Some(Some(point)) = state.claim.as_ref().map(|claim| &claim.point) else { return Vec::new() };
        let body = self.body(state, None);
        let mut begin = Vec::new();
        self.begins(body, point, &mut begin);
        let (mut list, mut moved) = (Vec::new(), false);
        for place in begin {
            let stmt = self.statement(body, &place);
            let ok = match stmt.kind {
                StmtKind::Else => !moved,
                _ => self.can_begin(state, None, stmt).unwrap_or(true),
            };
            if ok {
                moved = true;
                list.push(stmt.id);
            }
        }
        list
    }

    /// Moves the claim. What went wrong: a failed assertion, or the claim's end (`Ok(true)`).
    pub(crate) fn execute_claim(
        &self,
        state: &mut State,
        name: StmtId,
    ) -> Result<(bool, Option<Trouble>), Trouble> {
        let body = self.body(state, None);
        let point = state.claim.as_ref().and_then(|c| c.point.clone()).ok_or(Trouble::Error("no claim"))?;
        let mut begin = Vec::new();
        self.begins(body, &point, &mut begin);
        let place = begin.into_iter().find(|p| self.statement(body, p).id == name);
        let place = place.ok_or(Trouble::Error("not a choice of the claim"))?;
        let stmt = self.statement(body, &place);
        let mut trouble = None;
        self.perform(state, None, stmt, &mut trouble)?;
        let target = match &stmt.kind {
            kind if is_jump(kind) => self.jump(body, &place),
            _ => self.after(body, &place),
        };
        let ended = target.is_none();
        state.claim.as_mut().expect("the claim moves").point = target;
        Ok((ended, trouble))
    }
}

/// Marks a state in which `timeout` is being worked out.
const TIMEOUT_PROBE: i32 = -1;

/// A `d_step` that is being executed.
struct Run {
    /// Rounds and jumps that it may still take.
    budget: u32,
    /// The message that it begins with, in a handshake: the channel, the fields.
    offer: Option<(usize, Vec<i32>)>,
}

enum Leave {
    No,
    Break,
    Goto(String),
}

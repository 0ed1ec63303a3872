//! Waiting for the program: its turns, and what becomes of an execution that does not come back, or that goes on for longer than the
//! search does.

use std::time::{Duration, Instant};

use selvedge_core::Decision;
use selvedge_stateless::{Stop, StopKind};

use super::{NativeExecution, Next, answer};
use crate::ahead::Company;
use crate::protocol::Answer;
use crate::stuck;

/// How often who waits looks whether it is to end.
const SLICE: Duration = Duration::from_millis(20);
/// What takes longer than this when the search is to stop is said.
const LONG: Duration = Duration::from_secs(1);

impl NativeExecution<'_> {
    /// Waits for this side's turn. A program that does not come back is given up, and so is one that has not when the search
    /// is to stop.
    pub(super) fn wait(&mut self) {
        let began = Instant::now();
        let patience = self.program.how_patient();
        while !self.zygote.area.wait(SLICE) {
            if !self.zygote.is_alive() {
                if let Company::Scout(scout) = &self.company {
                    scout.is_gone();
                }
                self.give_up("the process that executions are forked from has ended".into());
                return;
            }
            let stops = self.is_to_stop();
            let waited = began.elapsed();
            if waited < patience && !stops {
                continue;
            }
            if stops && waited < LONG {
                // It may have waited for long in an execution before.
                let message = self.was_lost.clone();
                self.give_up(message);
                return self.kill();
            }
            let (doing, runs) = stuck::explain(self.zygote.execution().unwrap_or(0));
            let remedy = self.program.remedy(runs);
            self.was_lost = format!(
                "a thread has left our control: the program has not come to a scheduling point for {:.0} s; \
                 {doing}{remedy}",
                waited.as_secs_f64()
            );
            self.give_up(self.was_lost.clone());
            self.zygote.interrupt_execution();
            // Signals, of which there may be some now, cut a slice short.
            if (0..10).any(|_| self.zygote.area.wait(SLICE)) {
                return;
            }
            return self.kill();
        }
    }

    /// Whether the search is to stop.
    fn is_to_stop(&mut self) -> bool {
        match &self.company {
            Company::Scout(scout) => scout.ends(),
            _ => {
                self.cut_short = self.deadline.reached();
                self.cut_short.is_some()
            }
        }
    }

    /// Ends the execution, once it has begun, and waits until it is reaped; then it is this side's turn.
    fn kill(&mut self) {
        loop {
            self.zygote.kill_execution();
            if self.zygote.area.wait(SLICE) || !self.zygote.is_alive() {
                return;
            }
        }
    }

    #[cold]
    fn give_up(&mut self, message: String) {
        self.lost = Some(message);
    }

    /// Why the program stopped answering, if it did.
    pub(super) fn is_lost(&mut self) -> Option<Box<Stop>> {
        let message = self.lost.take()?;
        let message = message.replace(stuck::WHO, &self.words().thread(self.running as usize));
        self.next = Next::Nothing;
        Some(Box::new(Stop { kind: StopKind::Unsupported, message, location: None }))
    }

    /// Tells the program what it has asked for.
    pub(super) fn decide(&mut self, decision: Decision) {
        self.go_on(answer(decision));
    }

    /// The same, unless the search is to stop: an execution may have as many steps as the user allows.
    pub(super) fn go_on(&mut self, answer: Answer) {
        const OFTEN: u32 = 1 << 10;
        self.answers = self.answers.wrapping_add(1);
        if (answer == Answer::GoOn || self.answers.is_multiple_of(OFTEN)) && self.is_to_stop() {
            self.give_up(String::new());
            return self.kill();
        }
        self.reply(answer);
    }

    pub(super) fn reply(&mut self, answer: Answer) {
        self.zygote.area.answer(answer);
        self.position = 0;
        self.wait();
    }
}

//! Every execution of a program, by plain recursion over its states.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use selvedge_core::{Decision, ThreadId};

use crate::machine::{End, Machine, Outcome, Spurious};
use crate::order::{Graph, History};
use crate::program::Program;

/// What to leave out.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Executions with more preemptions.
    pub preemptions: Option<u32>,
    /// Executions that are not within this fair bound.
    pub yields: Option<u32>,
    /// An execution that has so many decisions and could go on is ended there.
    pub max_steps: usize,
    /// Give up after so many executions.
    pub executions: usize,
    /// Accesses to cells are steps.
    pub race_mode: bool,
    /// The fair bound counts yields for all statements of a kind together: what runs the program interprets its statements,
    /// so that those of a kind yield at one place.
    pub one_place: bool,
    /// A writer that waits for a reader-writer lock keeps no reader out.
    pub readers_first: bool,
    /// Executions with more spurious wakeups, or more spurious failures of weak exchanges.
    pub spurious: u32,
}

impl Limits {
    /// None but those on the search itself.
    pub const NONE: Limits = Limits {
        preemptions: None,
        yields: None,
        max_steps: 10_000,
        executions: 10_000,
        race_mode: false,
        one_place: false,
        readers_first: false,
        spurious: 0,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::NONE
    }
}

/// One execution.
#[derive(Clone, Debug)]
pub struct Run {
    /// The decisions that make it.
    pub schedule: Vec<Decision>,
    /// Switches away from a thread that could have gone on.
    pub preemptions: u32,
    /// Departures from a round-robin scheduler.
    pub delays: u32,
    /// Switches of any kind.
    pub switches: u32,
    /// What it came to.
    pub outcome: Outcome,
    /// How many spurious events it has.
    pub surprises: u32,
    /// The spurious events of which the limit left one out.
    pub without: Vec<Spurious>,
    /// Its happens-before graph.
    pub graph: Graph,
}

impl Run {
    /// Whether something went wrong.
    pub fn is_violation(&self) -> bool {
        !matches!(self.outcome.end, End::Complete | End::StepLimit)
    }

    /// Whether it was ended at the limit of steps, and might have ended later.
    pub fn is_long(&self) -> bool {
        self.outcome.end == End::StepLimit
    }
}

/// All executions within the limits.
#[derive(Debug, Default)]
pub struct Enumeration {
    /// The executions.
    pub runs: Vec<Run>,
    /// Every graph of a nonempty beginning of one, with the fewest preemptions that lead there.
    pub states: HashMap<Graph, u32>,
    /// Whether the bound on preemptions left something out.
    pub cut: bool,
    /// Whether the fair bound left something out.
    pub fair_cut: bool,
}

impl Enumeration {
    /// The executions with at most so many preemptions.
    pub fn within(&self, preemptions: u32) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.preemptions <= preemptions)
    }

    /// The most preemptions of an execution.
    pub fn most_preemptions(&self) -> u32 {
        self.runs.iter().map(|run| run.preemptions).max().unwrap_or(0)
    }

    /// The spurious events that are left out of executions with at most so many preemptions.
    pub fn without(&self, preemptions: u32) -> BTreeSet<Spurious> {
        self.within(preemptions).flat_map(|run| run.without.iter().copied()).collect()
    }

    /// Distinct happens-before graphs of executions with at most so many preemptions.
    pub fn orders_within(&self, preemptions: u32) -> usize {
        let graphs: std::collections::BTreeSet<_> = self.within(preemptions).map(|run| &run.graph).collect();
        graphs.len()
    }

    /// Distinct graphs of beginnings with at most so many preemptions.
    pub fn states_within(&self, preemptions: u32) -> usize {
        self.states.values().filter(|least| **least <= preemptions).count()
    }
}

/// Walks through all executions within the limits; `None` when there are too many.
pub fn enumerate(program: &Program, limits: Limits) -> Option<Enumeration> {
    let mut walk = Walk {
        limits,
        found: Enumeration::default(),
        history: History::default(),
        schedule: Vec::new(),
        nodes: 0,
    };
    let start = Here { last: None, preemptions: 0, delays: 0, switches: 0, yields: BTreeMap::new() };
    let machine =
        Machine::new(program, limits.race_mode, limits.spurious).readers_first(limits.readers_first);
    walk.go(&machine, &start).then_some(walk.found)
}

struct Walk {
    limits: Limits,
    found: Enumeration,
    history: History,
    schedule: Vec<Decision>,
    nodes: usize,
}

/// Where an execution stands, apart from the state of the program.
#[derive(Clone)]
struct Here {
    /// The thread that took the last step, and whether it yielded by it.
    last: Option<(usize, bool)>,
    preemptions: u32,
    delays: u32,
    switches: u32,
    /// How often each thread has yielded at each statement of its body.
    yields: BTreeMap<(usize, usize), u32>,
}

impl Walk {
    /// Goes on in every way. Says whether it is done, rather than out of budget.
    fn go(&mut self, machine: &Machine<'_>, here: &Here) -> bool {
        self.nodes += 1;
        if self.nodes > 40 * self.limits.executions {
            return false;
        }
        let enabled: Vec<usize> = (0..machine.threads()).filter(|t| machine.enabled(*t)).collect();
        let end = match machine.failure() {
            Some(end) => Some(end),
            None if enabled.is_empty() && (machine.all_ended() || machine.is_infeasible()) => {
                Some(End::Complete)
            }
            None if enabled.is_empty() => Some(End::Deadlock),
            None if self.schedule.len() >= self.limits.max_steps => {
                Some(match self.goes_in_a_circle(machine.program()) {
                    true if machine.is_infeasible() => End::Complete,
                    true => End::Livelock,
                    false => End::StepLimit,
                })
            }
            None => None,
        };
        if let Some(end) = end {
            self.found.runs.push(Run {
                schedule: self.schedule.clone(),
                preemptions: here.preemptions,
                delays: here.delays,
                switches: here.switches,
                outcome: machine.outcome(end),
                surprises: machine.surprises(),
                without: machine.without().collect(),
                graph: match machine.failure() {
                    Some(_) => self.history.ended_graph(),
                    None => self.history.graph(),
                },
            });
            return self.found.runs.len() <= self.limits.executions;
        }
        // The yields of a thread at the statement where it has most.
        let yields = |thread: usize| {
            let counts = here.yields.iter().filter(|((by, _), _)| *by == thread);
            counts.map(|(_, count)| *count).max().unwrap_or(0)
        };
        // Definition 2.6: a thread's yields exceed those of no enabled thread by more than the bound.
        let fair = |thread: usize| match self.limits.yields {
            Some(bound) => enabled.iter().all(|other| yields(thread) <= yields(*other) + bound),
            None => true,
        };
        let allowed: Vec<usize> = enabled.iter().copied().filter(|t| fair(*t)).collect();
        self.found.fair_cut |= allowed.len() < enabled.len();
        // The thread that a switch would preempt: it could go on, also within the fair bound, does not wait,
        // and did not yield.
        let preemptible = here
            .last
            .filter(|(last, yielded)| !yielded && allowed.contains(last) && !machine.waits(*last))
            .map(|(last, _)| last);
        let mut round: Vec<usize> = allowed.clone();
        let after = here.last.map_or(0, |(last, _)| last + 1);
        let count = machine.threads();
        round.sort_by_key(|thread| (Some(*thread) != preemptible, (thread + count - after % count) % count));
        for thread in allowed {
            let preempts = preemptible.is_some_and(|running| running != thread);
            let mut there = here.clone();
            there.preemptions += u32::from(preempts);
            there.switches += u32::from(here.last.is_some_and(|(last, _)| last != thread));
            there.delays += round.iter().position(|other| *other == thread).unwrap_or(0) as u32;
            if self.limits.preemptions.is_some_and(|most| there.preemptions > most) {
                self.found.cut = true;
                continue;
            }
            self.schedule.push(Decision::Thread(ThreadId(thread as u32)));
            let done = match machine.values(thread) {
                0 => self.take(machine, thread, None, &there),
                values => (0..values).all(|value| {
                    self.schedule.push(Decision::Value(value));
                    let done = self.take(machine, thread, Some(value), &there);
                    self.schedule.pop();
                    done
                }),
            };
            self.schedule.pop();
            if !done {
                return false;
            }
        }
        true
    }

    /// Whether the state at the end of the schedule is one that the program was in before, and every thread that could run in between
    /// has, without a choice of values.
    fn goes_in_a_circle(&self, program: &Program) -> bool {
        let Limits { race_mode, spurious, readers_first, .. } = self.limits;
        let mut machine = Machine::new(program, race_mode, spurious).readers_first(readers_first);
        let mut visited = Vec::new();
        let mut decisions = self.schedule.iter().copied().peekable();
        while let Some(Decision::Thread(thread)) = decisions.next() {
            let thread = thread.index();
            let enabled: Vec<usize> = (0..machine.threads()).filter(|t| machine.enabled(*t)).collect();
            let value = decisions.next_if(|next| matches!(next, Decision::Value(_)));
            if value.is_some() {
                visited.clear();
            } else {
                visited.push((machine.state(), enabled, thread));
            }
            let value = value.map(|value| match value {
                Decision::Value(value) => value,
                Decision::Thread(_) => unreachable!("it is a value"),
            });
            machine.step(thread, value);
        }
        let last = machine.state();
        let enabled: BTreeSet<usize> = (0..machine.threads()).filter(|t| machine.enabled(*t)).collect();
        visited.iter().enumerate().any(|(index, (state, ..))| {
            let since = &visited[index..];
            let could = since.iter().flat_map(|(_, enabled, _)| enabled).chain(&enabled);
            *state == last && could.into_iter().all(|thread| since.iter().any(|(.., ran)| ran == thread))
        })
    }

    fn take(&mut self, machine: &Machine<'_>, thread: usize, value: Option<u32>, here: &Here) -> bool {
        let mut machine = machine.clone();
        let mut here = here.clone();
        let place = machine.place(thread, self.limits.one_place);
        let done = machine.step(thread, value);
        here.last = Some((thread, done.yields()));
        if done.yields() {
            *here.yields.entry((thread, place)).or_default() += 1;
        }
        self.history.push(machine.body(thread), &done);
        let least = self.found.states.entry(self.history.graph()).or_insert(here.preemptions);
        *least = (*least).min(here.preemptions);
        let done = self.go(&machine, &here);
        self.history.pop();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(program: &str, yields: Option<u32>) -> Enumeration {
        let program = program.parse().expect("a program");
        enumerate(&program, Limits { yields, max_steps: 12, ..Limits::default() }).expect("a small program")
    }

    fn by_preemptions(all: &Enumeration) -> Vec<usize> {
        (0..=all.most_preemptions())
            .map(|n| all.runs.iter().filter(|run| run.preemptions == n).count())
            .collect()
    }

    /// After the start the first thread (M) and the second (C) have two steps each: M M C C without a
    /// preemption; M C C M and C C M M with 1; M C M C and C M M C with 2; C M C M with 3.
    #[test]
    fn two_threads_counted_by_hand() {
        let all = all("spawn 1; add 0 | add 0", None);
        assert_eq!(by_preemptions(&all), [1, 2, 2, 1]);
        assert_eq!((all.orders_within(0), all.orders_within(1), all.orders_within(3)), (1, 2, 2));
        assert!(!all.cut && !all.fair_cut);
    }

    /// The switch after a yield costs nothing, the one after a thread ended neither.
    #[test]
    fn a_yield_makes_switches_free() {
        let all = all("spawn 1; yield | ", None);
        // C before the yield preempts M; after the yield, or after M's end, it preempts nobody.
        assert_eq!(by_preemptions(&all), [2, 1]);
    }

    fn ends(program: &str) -> BTreeSet<End> {
        all(program, None).runs.iter().map(|run| run.outcome.end).collect()
    }

    /// The writer is before or after each of the readers; or it waits until one of them has left, or both, and the other has
    /// come before it began to wait, or comes after it. If nobody unlocks, it takes the lock before both, or begins to wait
    /// after one or both of them.
    #[test]
    fn readers_share_a_lock_and_writers_do_not() {
        let unlocked = all(
            "spawn 1; spawn 2; read-lock 0; read-unlock 0 | read-lock 0; read-unlock 0 \
             | write-lock 0; write-unlock 0",
            None,
        );
        assert_eq!(unlocked.orders_within(u32::MAX), 9);
        let kept = all("spawn 1; spawn 2; read-lock 0 | read-lock 0 | write-lock 0", None);
        assert_eq!(kept.orders_within(u32::MAX), 4);
        assert!(kept.runs.iter().all(|run| run.outcome.end == End::Deadlock));
    }

    #[test]
    fn a_writer_that_waits_keeps_out_who_reads_already() {
        let twice =
            "spawn 1; read-lock 0; read-lock 0; read-unlock 0; read-unlock 0 | write-lock 0; write-unlock 0";
        assert_eq!(ends(twice), BTreeSet::from([End::Complete, End::Deadlock]));
    }

    /// Readers see what writers did; only writers see what readers did.
    #[test]
    fn a_reader_is_not_after_another_reader() {
        let race = BTreeSet::from([End::Race]);
        let both = BTreeSet::from([End::Complete, End::Race]);
        let none = BTreeSet::from([End::Complete]);
        let one = |kind: &str, cell: &str| format!("{kind}-lock 0; {cell} 0; {kind}-unlock 0");
        let ends = |one: String, other: String| ends(&format!("spawn 1; {one} | {other}"));
        assert_eq!(ends(one("read", "write"), one("read", "write")), race);
        assert_eq!(ends(one("read", "read"), one("read", "read")), none);
        assert_eq!(ends(one("write", "write"), one("read", "read")), none);
        assert_eq!(ends(one("read", "write"), one("write", "read")), none);
        // An attempt that fails sees nothing, though it is a write to the lock.
        assert_eq!(ends(one("read", "write"), "try-write-lock 0; read 0; write-unlock 0".into()), both);
        assert_eq!(ends(one("write", "write"), "try-read-lock 0; read 0; read-unlock 0".into()), both);
    }

    #[test]
    fn a_thread_is_in_its_own_way() {
        let outcome = |program: &str| {
            let all = all(program, None);
            assert_eq!(all.runs.len(), 1, "{program}");
            (all.runs[0].outcome.end, all.runs[0].outcome.registers[0].clone())
        };
        assert_eq!(outcome("read-lock 0; write-lock 0"), (End::Deadlock, vec![]));
        let tries =
            "read-lock 0; try-read-lock 0; read-unlock 0; try-write-lock 0; read-unlock 0; try-write-lock 0";
        assert_eq!(outcome(tries), (End::Complete, vec![1, 0, 1]));
        let again =
            "write-lock 0; read-lock 0; write-lock 0; read-unlock 0; try-read-lock 0; try-write-lock 0";
        assert_eq!(outcome(again), (End::Complete, vec![0, 0]));
    }

    #[test]
    fn a_spin_loop_is_unrolled_within_the_fair_bound() {
        // With bound 0, a thread that has yielded once waits for the other to end.
        let strict = all("spawn 1; spin-until 0 1 | store 0 1", Some(0));
        let looser = all("spawn 1; spin-until 0 1 | store 0 1", Some(1));
        assert!(strict.fair_cut && looser.fair_cut);
        assert!(strict.runs.len() < looser.runs.len());
        assert!(strict.runs.iter().all(|run| run.outcome.end == End::Complete));
        let never = all("spin-until 0 1", Some(0));
        assert_eq!(never.runs.len(), 1);
        assert_eq!(never.runs[0].outcome.end, End::Livelock);
    }

    /// A thread that yields 20 times ends after that, and one that waits for what nobody does not.
    #[test]
    fn what_is_long_is_no_livelock() {
        let end = |program: &str| {
            let ends: BTreeSet<End> = all(program, Some(1)).runs.iter().map(|run| run.outcome.end).collect();
            ends.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(end("yields 20"), [End::StepLimit]);
        assert_eq!(end("spawn 1; yields 20 | spin-until 0 1"), [End::StepLimit]);
        assert_eq!(end("spin-until 0 1; load 0"), [End::Livelock]);
        assert_eq!(end("look-until 0 1"), [End::Livelock]);
        assert_eq!(end("choose-until 2"), [End::Complete, End::StepLimit]);
        // A thread that could end it is kept from running.
        let kept = end("spawn 1; look-until 0 1 | store 0 1");
        assert_eq!(kept, [End::Complete, End::StepLimit]);
        // One that waits for a thread that has assumed what is not so waits in no execution.
        assert_eq!(end("spawn 1; spin-until 0 1 | load 0; assume-not 0; store 0 1"), [End::Complete]);
        assert_eq!(end("spawn 1; yields 20 | load 0; assume-not 0; store 0 1"), [End::StepLimit]);
    }
}

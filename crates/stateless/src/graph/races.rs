//! Races: steps that depend on each other and could have come the other way round; and who goes first when they do.

use selvedge_core::{Access, Op, ThreadId, ThreadIter};

use super::{Graph, NONE, Scratch, join};
use crate::config::Status;
use crate::gate::Gate;
use crate::record::Pending;

/// Which races to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Races {
    /// In every state, for every thread's next operation, the most recent dependent step of each other
    /// thread.
    All,
    /// Of these only those in the transitive reduction of the order that can change places.
    Reduced,
    /// Both, apart.
    Both,
    /// No races: only the order of the steps is of interest.
    Neither,
}

impl Races {
    pub(super) fn all(self) -> bool {
        matches!(self, Races::All | Races::Both)
    }

    pub(super) fn reduced(self) -> bool {
        matches!(self, Races::Reduced | Races::Both)
    }
}

/// Two operations whose order could be the other way round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    /// The first of them.
    pub(crate) event: u32,
    /// The thread whose next operation at some later state is the second.
    pub(crate) thread: ThreadId,
    /// Where the clock of the second is.
    second: Option<u32>,
    /// What else is moved behind the second operation when they change places: where it begins and ends in
    /// [`Graph::moved`].
    also: (u32, u32),
}

impl Race {
    /// A step and the next operation of another thread.
    pub(crate) fn between(event: u32, thread: ThreadId) -> Self {
        Race { event, thread, second: None, also: (0, 0) }
    }
}

/// The second operation of races that are looked for.
struct Second<'a> {
    thread: ThreadId,
    /// How many steps the thread has taken before it.
    taken: u32,
    /// The thread's last event before it, or the one that created the thread.
    before: Option<u32>,
    /// The event that it is, or the number of events if it was not performed.
    last: u32,
    /// How many steps of each thread happened before it.
    clock: &'a [u32],
}

/// Marks a clock that belongs to no event.
const EXTRA: u32 = 1 << 31;

impl Graph {
    /// The races of what a thread will do first that is new.
    #[cold]
    pub(super) fn new_thread(&mut self, pending: &Pending) {
        self.next[pending.thread.index()] = pending.op;
        self.all_races(pending.thread, &pending.op);
    }

    /// The most recent dependent step of each other thread (Algorithm 2, line 6).
    #[inline(never)]
    pub(super) fn all_races(&mut self, thread: ThreadId, op: &Op) {
        for other in (0..self.threads.len()).filter(|other| *other != thread.index()) {
            if let Some(event) = self.last_dependent(other, op, |_| Some(true)) {
                self.note_race(event, thread);
            }
        }
    }

    /// The races of an event with what the other threads are about to do. Its bit, if there is none.
    pub(super) fn races_with(&mut self, event: u32, op: &Op, bit: u64) -> u64 {
        let mut alone = bit;
        for other in 0..self.next.len() {
            if self.next[other].conflicts_with(op) {
                self.note_race(event, ThreadId(other as u32));
                alone = 0;
            }
        }
        alone
    }

    /// Notes a race, once.
    fn note_race(&mut self, event: u32, thread: ThreadId) {
        let raced = &mut self.events[event as usize].raced;
        let bit = 1_u64.checked_shl(thread.0).unwrap_or(0);
        if *raced & bit == 0 {
            *raced |= bit;
            self.races.push(Race::between(event, thread));
        }
    }

    /// A thread's last step that an operation depends on and that is accepted; `None` ends the search.
    fn last_dependent(
        &self,
        thread: usize,
        op: &Op,
        mut accept: impl FnMut(u32) -> Option<bool>,
    ) -> Option<u32> {
        let mut last = None;
        for (object, access) in op.touches().filter(|(_, access)| *access != Access::None) {
            let mut at = self.last.get(object.index() * (self.stride + 1) + thread).copied().unwrap_or(NONE);
            while at != NONE {
                if access == Access::Read {
                    at = self.touches[at as usize].write;
                    if at == NONE {
                        break;
                    }
                }
                let touch = self.touches[at as usize];
                match accept(touch.event) {
                    Some(false) => at = touch.before,
                    Some(true) => {
                        last = last.max(Some(touch.event));
                        break;
                    }
                    None => break,
                }
            }
        }
        last
    }

    /// Whether a thread's operation could go on if it came before an earlier event and all that depends on that; if
    /// need be before others as well, which are added to `moved`.
    fn reversible(&self, event: u32, second: &Second<'_>, moved: &mut Vec<u32>) -> bool {
        let Second { thread, taken, last, .. } = *second;
        let pending = self.threads[thread.index()].pending.get(taken as usize);
        if pending.is_some_and(|(_, gate)| gate.is_open()) {
            return true;
        }
        let inside = |other: u32| self.stays_before(other, event, second, &[]);
        self.status_within(event..last, taken, thread, inside) != Status::Blocked
            || pending.is_some_and(|(_, gate)| self.make_way(event, second, gate, moved))
    }

    /// Whether an event stays before the second operation of a race when the first event is moved behind it, and so are
    /// others.
    #[inline]
    fn stays_before(&self, event: u32, first: u32, second: &Second<'_>, moved: &[u32]) -> bool {
        let step = &self.events[event as usize];
        if step.thread == second.thread {
            return step.number < second.taken;
        }
        let is_moved = |by: u32| self.happens_before(by as usize, event as usize);
        event < first
            || step.number < second.clock[step.thread.index()]
                && !is_moved(first)
                && !moved.iter().any(|moved| is_moved(*moved))
    }

    /// What else has to come after an operation that is kept from coming before an earlier event: of the readers that keep
    /// a writer out, it comes before all or before none. Says whether there is such a set, and adds it to `moved`. Only
    /// later events are in it: the same set is found for the first of them.
    fn make_way(&self, first: u32, second: &Second<'_>, gate: &Gate, moved: &mut Vec<u32>) -> bool {
        let Some(object) = gate.object else { return false };
        let (begin, range) = (moved.len(), first..second.last);
        let distance = |moved: &[u32]| {
            let inside = |other: u32| self.stays_before(other, first, second, moved);
            gate.distance(self.words.word_within(object.index(), range.clone(), inside))
        };
        let happened_before = |other: u32| {
            second.before.is_some_and(|before| self.happens_before(other as usize, before as usize))
        };
        // The last without which it is nearer to going on, again and again.
        let mut left = distance(&[]);
        while left > 0 {
            let mut changes = self.words.changes_within(object.index(), first + 1..second.last);
            let is_found = changes.any(|other| {
                if happened_before(other) || !self.stays_before(other, first, second, &moved[begin..]) {
                    return false;
                }
                moved.push(other);
                let now = distance(&moved[begin..]);
                let is_nearer = now < left;
                if is_nearer {
                    left = now;
                } else {
                    moved.pop();
                }
                is_nearer
            });
            if !is_found {
                break;
            }
        }
        let inside = |other: u32| self.stays_before(other, first, second, &moved[begin..]);
        let status = self.status_within(range, second.taken, second.thread, inside);
        if status == Status::Blocked {
            moved.truncate(begin);
        }
        status != Status::Blocked
    }

    /// The dependent steps that nothing stands between: those that could change places with the thread's
    /// next operation. `second` is the event of that operation, if it was performed.
    pub(super) fn reduced_races(&mut self, thread: ThreadId, op: &Op, second: Option<usize>) {
        let line = &self.threads[thread.index()];
        let taken_before = second.map_or(line.events.len(), |second| self.events[second].number as usize);
        let before = line.events[..taken_before].last().copied().or(line.creator);
        let mut moved = std::mem::take(&mut self.moved);
        let Scratch { clock, races, .. } = &mut self.scratch;
        let (mut clock, mut found) = (std::mem::take(clock), std::mem::take(races));
        found.clear();
        clock.clear();
        let taken = match second {
            Some(second) => {
                clock.extend_from_slice(self.clock(second));
                self.events[second].number
            }
            None => {
                self.clock_of(op, before, &mut clock);
                taken_before as u32
            }
        };
        let last = second.unwrap_or(self.events.len()) as u32;
        let operation = Second { thread, taken, before, last, clock: &clock };
        for other in (0..self.threads.len()).filter(|other| *other != thread.index()) {
            // Steps that happened before this thread's last one cannot change places with its next, and nor
            // can those before them.
            let ordered = before.map_or(0, |before| self.clock(before as usize)[other]);
            if clock[other] == ordered {
                continue;
            }
            // What is moved with the last event that was accepted and needs that.
            let mut with = (0, (0, 0));
            let accept = |event: u32| {
                if self.events[event as usize].number < ordered {
                    return None;
                }
                let begin = moved.len();
                let accepted = self.reversible(event, &operation, &mut moved);
                if moved.len() > begin {
                    with = with.max((event, (begin as u32, moved.len() as u32)));
                }
                Some(accepted)
            };
            if let Some(event) = self.last_dependent(other, op, accept) {
                let also = if with.0 == event { with.1 } else { (0, 0) };
                found.push(Race { also, ..Race::between(event, thread) });
            }
        }
        let mut reduced = std::mem::take(&mut self.reduced);
        let begin = reduced.len();
        let between = |race: &Race| {
            found.iter().any(|other| {
                other.event != race.event && self.happens_before(race.event as usize, other.event as usize)
            })
        };
        reduced.extend(found.iter().filter(|race| !between(race)));
        if reduced.len() > begin {
            let clock = match second {
                Some(second) => second as u32,
                None => {
                    self.extra.extend_from_slice(&clock);
                    EXTRA | (self.extra.len() / self.stride - 1) as u32
                }
            };
            reduced[begin..].iter_mut().for_each(|race| race.second = Some(clock));
        }
        self.reduced = reduced;
        self.moved = moved;
        (self.scratch.clock, self.scratch.races) = (clock, found);
    }

    /// How many steps the second thread of a race of the reduction had taken before its operation.
    pub(crate) fn second_number(&self, race: &Race) -> usize {
        match race.second {
            Some(second) if second & EXTRA == 0 => self.events[second as usize].number as usize,
            _ => self.threads[race.thread.index()].events.len(),
        }
    }

    /// How many steps of each thread happened before the second operation of a race.
    fn second_clock(&self, race: &Race) -> Option<&[u32]> {
        race.second.map(|second| match second & EXTRA {
            0 => self.clock(second as usize),
            _ => {
                let base = (second & !EXTRA) as usize * self.stride;
                &self.extra[base..base + self.stride]
            }
        })
    }

    /// The threads that can go first when a race is turned round: those whose first step among the steps
    /// after the race's first event that do not depend on it, and the second operation, depends on no other
    /// of them. Empty when only the second operation could, and could not have gone on.
    pub(crate) fn initials(&mut self, race: &Race, initials: &mut Vec<ThreadId>) {
        let first = race.event as usize;
        let last = match race.second {
            Some(second) if second & EXTRA == 0 => second as usize,
            _ => self.events.len(),
        };
        let mut independent = std::mem::take(&mut self.scratch.independent);
        independent.clear();
        independent.extend(self.threads.iter().map(|line| {
            let at = line.events.partition_point(|event| *event as usize <= first);
            let event = line.events.get(at).map(|event| *event as usize);
            event.filter(|event| *event < last && !self.is_moved(race, *event))
        }));
        let second = self.second_clock(race);
        let first_of = |thread: usize| {
            let clock = match independent[thread] {
                Some(event) => Some(self.clock(event)),
                None if thread == race.thread.index() => second,
                None => return false,
            };
            let other = |other: usize| {
                independent[other]
                    .is_some_and(|event| clock.is_some_and(|clock| clock[other] > self.events[event].number))
            };
            let enabled = independent[thread].is_some() || self.was_enabled(first, ThreadId(thread as u32));
            enabled && !(0..self.threads.len()).any(|index| index != thread && other(index))
        };
        initials.clear();
        initials.extend(
            (0..self.threads.len()).filter(|thread| first_of(*thread)).map(|thread| ThreadId(thread as u32)),
        );
        self.scratch.independent = independent;
    }

    /// What else is moved behind the second operation of a race when it and the first event change places.
    pub(crate) fn moved_with(&self, race: &Race) -> &[u32] {
        &self.moved[race.also.0 as usize..race.also.1 as usize]
    }

    /// Whether an event comes after the second operation of a race when that is turned round, as it depends on what is
    /// moved.
    fn is_moved(&self, race: &Race, event: usize) -> bool {
        self.happens_before(race.event as usize, event)
            || self.moved_with(race).iter().any(|moved| self.happens_before(*moved as usize, event))
    }

    /// What would happen before an operation, were it performed now.
    fn clock_of(&self, op: &Op, before: Option<u32>, clock: &mut Vec<u32>) {
        clock.clear();
        match before {
            Some(before) => clock.extend_from_slice(self.clock(before as usize)),
            None => clock.resize(self.stride, 0),
        }
        for (object, access) in op.touches() {
            self.past(object.index(), access, |event| join(clock, self.clock(event)));
        }
    }

    /// Whether a thread could have been chosen instead of an event's. Known where races of the reduction are collected.
    pub(crate) fn was_enabled(&self, event: usize, thread: ThreadId) -> bool {
        let word = self.enabled_before[event * self.stride.div_ceil(64) + thread.index() / 64];
        word >> (thread.0 % 64) & 1 == 1
    }

    /// The threads that could have been chosen instead of an event's, and its own.
    pub(crate) fn enabled(&self, event: usize) -> ThreadIter<'_> {
        let words = self.stride.div_ceil(64);
        ThreadIter::over(&self.enabled_before[event * words..(event + 1) * words])
    }

    /// The accesses to an object that another, of this kind, comes after; of those that come after each other,
    /// the last.
    #[inline]
    fn past(&self, object: usize, access: Access, mut each: impl FnMut(usize)) {
        let width = self.stride + 1;
        let Some(row) = self.last.get(object * width..(object + 1) * width) else { return };
        let (threads, write) = (&row[..self.threads.len()], &row[self.stride]);
        let last = match access {
            Access::None => &[],
            Access::Read => std::slice::from_ref(write),
            Access::Write => threads,
        };
        for &touch in last.iter().filter(|touch| **touch != NONE) {
            each(self.touches[touch as usize].event as usize);
        }
    }
}

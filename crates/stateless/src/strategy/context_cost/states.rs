//! A table of states: what is known of one is in one entry, of 24 bytes. A search that keeps millions of states waits
//! for memory more than for anything else, so to find one costs one place in it; that there is none is most often
//! seen from a byte, which are so few that they are at hand; and the table grows where it is.
//!
//! States come in two generations: those that were looked at since some were last forgotten, and the others, which are
//! forgotten next. That is so of states of which more is known than what they cost. What they cost can be worked out again; it
//! is not counted, and forgotten on its own: so what is forgotten of the others is the same, whoever has worked it out.

/// So many threads have a place in an entry, by their numbers.
pub(super) const THREADS: u32 = 16;
/// So many arrivals have one.
pub(super) const ARRIVALS: usize = 4;

/// So many tags are looked at together.
const TOGETHER: usize = 8;

/// What is known of a state. Sets of threads are by their numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// In two halves, which need no more room than they take.
    hash: (u64, u64),
    /// The threads whose next step leads to a marked state.
    into: u16,
    /// The epoch that this and the mark are of; 0 where there is no state.
    epoch: u8,
    /// See [`MARKED`], [`YOUNG`] and [`KEPT`].
    flags: u8,
    /// What it costs to arrive by the steps of the first threads whose last step nothing depends on.
    pub(super) costs: [Costs; ARRIVALS],
}

/// The state is marked.
const MARKED: u8 = 1;
/// It was looked at since states were last forgotten.
const YOUNG: u8 = 2;
/// More is known of it, or was in another epoch, than what it costs to arrive there. No other state is young.
const KEPT: u8 = 4;

impl State {
    #[inline]
    fn hash(&self) -> u128 {
        u128::from(self.hash.1) << 64 | u128::from(self.hash.0)
    }

    #[inline]
    pub(super) fn is_marked(&self) -> bool {
        self.flags & MARKED != 0
    }

    /// The threads whose next step leads to a marked state.
    #[inline]
    pub(super) fn leads(&self) -> u16 {
        self.into
    }
}

/// What is known of a state but for what it costs to arrive there. Where nothing is, it is as if there were no such state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marking {
    into: u16,
    lasting: u16,
    /// Marked, kept, or both.
    flags: u8,
}

/// What others are told of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    state: State,
    lasting: u16,
}

impl News {
    /// Whether anything is known of what it costs to arrive there.
    pub(crate) fn has_costs(&self) -> bool {
        self.state.costs.iter().any(|costs| costs.0 != 0)
    }
}

/// Two costs that one lies between, each less than 14, or more than any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Costs(u8);

impl Costs {
    /// Costs from this one on are not told apart.
    pub(super) const MANY: u32 = 14;

    /// It costs at least so much; `None` where that is more than anything.
    #[inline]
    pub(super) fn least(self) -> Option<u32> {
        let least = u32::from(self.0 & 0xF);
        (least <= Costs::MANY).then_some(least)
    }

    #[inline]
    pub(super) fn set_least(&mut self, least: Option<u32>) {
        self.0 = self.0 & 0xF0 | least.map_or(0xF, |least| least.min(Costs::MANY) as u8);
    }

    /// It costs no more than this, if anything is known.
    #[inline]
    pub(super) fn most(self) -> Option<u32> {
        Some(u32::from(0xF - (self.0 >> 4))).filter(|most| *most <= Costs::MANY)
    }

    #[inline]
    pub(super) fn set_most(&mut self, most: u32) {
        self.0 = self.0 & 0xF | (0xF - most.min(Costs::MANY) as u8) << 4;
    }

    /// It also lies between two others.
    fn narrow(&mut self, other: Costs) {
        // Either half is the greater, the more is known.
        self.0 = (self.0 & 0xF).max(other.0 & 0xF) | (self.0 & 0xF0).max(other.0 & 0xF0);
    }
}

/// Where a state is. As long as the table does not grow, it is found there at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) hash: u128,
    slot: usize,
}

/// The states.
#[derive(Clone, Debug)]
pub(super) struct States {
    /// With open addressing; its length is a power of two.
    table: Vec<State>,
    /// For each place in it, a part of the hash of the state that is there, with the highest bit set, or 0. The first few come
    /// once more at the end, so that so many follow every one as are looked at together.
    tags: Vec<u8>,
    /// For each place in it, the threads whose next step leads to a marked state in every epoch from then on.
    lasting: Vec<u16>,
    length: usize,
    /// How many of them are kept, and how many of these young.
    kept: usize,
    young: usize,
    epoch: u8,
}

impl Default for States {
    fn default() -> Self {
        States {
            table: vec![State::default(); 64],
            tags: vec![0; 64 + TOGETHER - 1],
            lasting: vec![0; 64],
            length: 0,
            kept: 0,
            young: 0,
            epoch: 1,
        }
    }
}

impl States {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// How many were looked at since some were last forgotten.
    pub(super) fn young(&self) -> usize {
        self.young
    }

    /// Of how many no more is known than what they cost.
    pub(super) fn spare(&self) -> usize {
        self.length - self.kept
    }

    /// Forgets those that were not looked at since this was last done.
    pub(super) fn forget(&mut self) {
        self.keep(YOUNG);
        self.table.iter_mut().for_each(|state| state.flags &= !YOUNG);
        self.young = 0;
    }

    /// Forgets those of which no more is known than what they cost.
    pub(super) fn forget_costs(&mut self) {
        self.keep(KEPT);
    }

    /// Keeps those that have a flag.
    fn keep(&mut self, flag: u8) {
        let all = self.table.iter().copied().zip(self.lasting.iter().copied());
        let kept: Vec<(State, u16)> = all.filter(|(state, _)| state.flags & flag != 0).collect();
        self.table.fill(State::default());
        self.tags.fill(0);
        self.lasting.fill(0);
        (self.length, self.kept) = (0, kept.len());
        for (state, lasting) in kept {
            let (Ok(slot) | Err(slot)) = self.slot(state.hash());
            let slot = self.add(slot, state);
            self.lasting[slot] = lasting;
        }
    }

    /// The place of a state, if it has one; else the one that it would have.
    fn slot(&self, hash: u128) -> Result<usize, usize> {
        let first = |tags: u64| tags.trailing_zeros() as usize / 8;
        let last = self.table.len() - 1;
        let mut slot = hash as usize & last;
        loop {
            let (mut same, empty) = self.tags(slot, hash);
            while same != 0 {
                let at = (slot + first(same)) & last;
                if self.table[at].hash() == hash {
                    return Ok(at);
                }
                same &= same - 1;
            }
            if empty != 0 {
                return Err((slot + first(empty)) & last);
            }
            slot = (slot + TOGETHER) & last;
        }
    }

    /// Of the tags from a place on: those that may be that of a state, up to the first that is empty; and the empty ones.
    /// Each is the highest bit of a byte.
    #[inline(always)]
    fn tags(&self, slot: usize, hash: u128) -> (u64, u64) {
        const LOWEST: u64 = u64::from_le_bytes([1; TOGETHER]);
        const HIGHEST: u64 = LOWEST << 7;
        let tags = self.tags[slot..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        let other = tags ^ (LOWEST * u64::from(tag(hash)));
        let empty = !tags & HIGHEST;
        let same = other.wrapping_sub(LOWEST) & !other & HIGHEST & (empty ^ empty.wrapping_sub(1));
        (same, empty)
    }

    /// Whether it is seen at once that a state has no place.
    #[inline(always)]
    pub(super) fn lacks(&self, hash: u128) -> bool {
        let (same, empty) = self.tags(hash as usize & (self.table.len() - 1), hash);
        same == 0 && empty != 0
    }

    /// Notes a part of the hash of the state that is in a place, or 0.
    #[inline]
    fn set_tag(&mut self, slot: usize, tag: u8) {
        self.tags[slot] = tag;
        if slot < TOGETHER - 1 {
            self.tags[self.table.len() + slot] = tag;
        }
    }

    /// Whether a state is marked.
    pub(super) fn is_marked(&self, hash: u128) -> bool {
        let state = self.slot(hash).map(|slot| &self.table[slot]);
        state.is_ok_and(|state| state.epoch == self.epoch && state.is_marked())
    }

    /// The threads whose next step leads from a state to a marked one.
    #[inline]
    pub(super) fn leads(&self, hash: u128) -> u16 {
        if self.lacks(hash) {
            return 0;
        }
        let Ok(slot) = self.slot(hash) else { return 0 };
        let state = &self.table[slot];
        if state.epoch == self.epoch { state.into } else { self.lasting[slot] }
    }

    /// Those whose next step does so in every epoch from now on, of a state that was found.
    #[inline]
    pub(super) fn lasting(&self, at: At) -> u16 {
        self.lasting[self.now(at)]
    }

    /// Notes that the next steps of these threads do so, from a state that was found.
    pub(super) fn last(&mut self, at: At, threads: u16) {
        let slot = self.now(at);
        self.lasting[slot] |= threads;
        self.table[slot].into |= threads;
        self.keep_at(slot);
    }

    /// Notes that the next steps of these threads lead to marked states.
    #[inline]
    pub(super) fn leads_on(&mut self, at: At, threads: u16) {
        let slot = self.now(at);
        self.table[slot].into |= threads;
        self.keep_at(slot);
    }

    /// Marks a state. Says whether it was not marked before.
    pub(super) fn mark(&mut self, at: At) -> bool {
        let slot = self.now(at);
        let was_marked = self.table[slot].is_marked();
        self.table[slot].flags |= MARKED;
        self.keep_at(slot);
        !was_marked
    }

    /// Whether more is known of a state than what it costs.
    #[inline]
    pub(super) fn is_kept(&self, at: At) -> bool {
        self.table[self.now(at)].flags & KEPT != 0
    }

    /// Has a state be one of which more is known than what it costs, and young.
    #[inline]
    fn keep_at(&mut self, slot: usize) {
        let flags = &mut self.table[slot].flags;
        self.kept += usize::from(*flags & KEPT == 0);
        self.young += usize::from(*flags & YOUNG == 0);
        *flags |= KEPT | YOUNG;
    }

    /// Has it be young, if it is such a state.
    #[inline]
    pub(super) fn look_at(&mut self, at: At) {
        let slot = self.now(at);
        let flags = &mut self.table[slot].flags;
        if *flags & (KEPT | YOUNG) == KEPT {
            *flags |= YOUNG;
            self.young += 1;
        }
    }

    /// A state that is there.
    #[inline]
    pub(super) fn get(&mut self, hash: u128) -> Option<At> {
        if self.lacks(hash) {
            return None;
        }
        let at = At { hash, slot: self.slot(hash).ok()? };
        self.renew(at.slot);
        Some(at)
    }

    /// Takes marks of another epoch away.
    #[inline]
    fn renew(&mut self, slot: usize) {
        let state = &mut self.table[slot];
        if state.epoch != self.epoch {
            state.epoch = self.epoch;
            state.flags &= !MARKED;
            state.into = self.lasting[slot];
        }
    }

    /// What is known of a state, for others.
    pub(super) fn news(&self, hash: u128) -> Option<News> {
        let slot = self.slot(hash).ok()?;
        let news = News { state: self.table[slot], lasting: self.lasting[slot] };
        (news.state.epoch == self.epoch).then_some(news)
    }

    /// What is known of a state but for costs.
    #[inline]
    pub(super) fn marking(&self, at: At) -> Marking {
        let slot = self.now(at);
        let state = &self.table[slot];
        Marking { into: state.into, lasting: self.lasting[slot], flags: state.flags & (MARKED | KEPT) }
    }

    /// Has a state be known like this, and looked at.
    pub(super) fn set_marking(&mut self, hash: u128, marking: Marking) {
        if marking.flags & KEPT == 0 {
            return;
        }
        let at = self.find(hash);
        let slot = self.now(at);
        self.table[slot].into = marking.into;
        self.table[slot].flags |= marking.flags & MARKED;
        self.lasting[slot] = marking.lasting;
        self.keep_at(slot);
    }

    /// Adds what another table has of a state: what it costs to arrive there, and if these are of the same epoch here and
    /// there, marks.
    pub(super) fn hear(&mut self, news: &News, marks: bool) {
        let other = &news.state;
        let at = self.find(other.hash());
        let state = self.at(at);
        for (costs, others) in state.costs.iter_mut().zip(other.costs) {
            costs.narrow(others);
        }
        if marks && other.flags & KEPT != 0 {
            self.last(at, news.lasting);
            self.leads_on(at, other.into);
            self.at(at).flags |= other.flags & MARKED;
        }
    }

    /// Finds a state, or adds it.
    #[inline]
    pub(super) fn find(&mut self, hash: u128) -> At {
        let epoch = self.epoch;
        let slot = match self.slot(hash) {
            Ok(slot) => {
                self.renew(slot);
                slot
            }
            Err(slot) => {
                let halves = (hash as u64, (hash >> 64) as u64);
                self.add(slot, State { hash: halves, epoch, ..State::default() })
            }
        };
        At { hash, slot }
    }

    /// Adds a state that has no place yet and would have this one.
    fn add(&mut self, mut slot: usize, state: State) -> usize {
        if self.length >= self.table.len() / 3 * 2 {
            self.grow();
            slot = self.slot(state.hash()).expect_err("it is new");
        }
        self.length += 1;
        self.set_tag(slot, tag(state.hash()));
        self.table[slot] = state;
        slot
    }

    /// A state that was found.
    #[inline]
    pub(super) fn at(&mut self, at: At) -> &mut State {
        let slot = self.now(at);
        &mut self.table[slot]
    }

    /// The place of a state that was found.
    #[inline]
    fn now(&self, at: At) -> usize {
        let state = &self.table[at.slot];
        if state.hash() == at.hash && state.epoch != 0 { at.slot } else { self.found(at.hash) }
    }

    #[cold]
    fn found(&self, hash: u128) -> usize {
        self.slot(hash).expect("states are not taken out")
    }

    /// Doubles the table, where it is.
    #[cold]
    fn grow(&mut self) {
        let length = self.table.len();
        self.table.resize(length * 2, State::default());
        self.tags.truncate(length);
        self.tags.resize(length * 2, 0);
        self.tags.extend_from_within(..TOGETHER - 1);
        self.lasting.resize(length * 2, 0);
        // From a place that is empty on, so that what comes before an entry in its way has been put where it belongs.
        let empty = self.tags.iter().position(|tag| *tag == 0).expect("there is room");
        for slot in (empty..empty + length).map(|slot| slot % length) {
            if self.tags[slot] != 0 {
                self.set_tag(slot, 0);
                let state = std::mem::take(&mut self.table[slot]);
                let lasting = std::mem::take(&mut self.lasting[slot]);
                let (Ok(to) | Err(to)) = self.slot(state.hash());
                self.set_tag(to, tag(state.hash()));
                self.table[to] = state;
                self.lasting[to] = lasting;
            }
        }
    }

    /// Takes all marks away, and all steps to marked states but those that last.
    pub(super) fn unmark_all(&mut self) {
        if self.epoch == u8::MAX {
            for (state, lasting) in self.table.iter_mut().zip(&self.lasting) {
                state.epoch = state.epoch.min(1);
                state.flags &= !MARKED;
                state.into = *lasting;
            }
            self.epoch = 1;
        }
        self.epoch += 1;
    }
}

/// A part of a hash that its place does not follow from.
#[inline]
fn tag(hash: u128) -> u8 {
    (hash >> 120) as u8 | 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_found_again_and_marks_are_of_an_epoch() {
        let mut states = States::default();
        let hash = |number: u128| number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        let first = states.find(hash(0));
        for number in 0..1000 {
            let at = states.find(hash(number));
            states.leads_on(at, number as u16);
            assert!(states.mark(at));
        }
        assert_eq!((states.len(), states.young()), (1000, 1000));
        assert!(states.at(first).is_marked(), "although the table has grown");
        for _ in 0..600 {
            states.unmark_all();
            assert!(!states.is_marked(hash(7)) && states.leads(hash(7)) == 0);
            let at = states.find(hash(7));
            assert!(states.mark(at));
            assert!(states.is_marked(hash(7)));
        }
        let at = states.get(hash(999)).expect("it was added");
        assert_eq!((states.at(at).leads(), states.at(at).is_marked(), states.len()), (0, false, 1000));
        assert!(states.get(hash(1001)).is_none());
    }

    #[test]
    fn some_steps_lead_on_in_every_epoch() {
        let mut states = States::default();
        let hash = |number: u128| number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        let lasting = |number: u128| if number.is_multiple_of(3) { number as u16 } else { 0 };
        for number in 0..1000 {
            let at = states.find(hash(number));
            states.leads_on(at, 1 << 15);
            states.last(at, lasting(number));
            assert_eq!(
                (states.leads(hash(number)), states.lasting(at)),
                (1 << 15 | lasting(number), lasting(number))
            );
        }
        // So often that epochs begin again.
        for _ in 0..300 {
            states.unmark_all();
            assert!((0..1000).all(|number| states.leads(hash(number)) == lasting(number)));
            let at = states.find(hash(7));
            states.leads_on(at, 2);
        }
        for number in 0..500 {
            assert_eq!(states.get(hash(number)).map(|at| states.lasting(at)), Some(lasting(number)));
        }
        states.forget();
        states.unmark_all();
        for number in 0..500 {
            let at = states.get(hash(number)).expect("it was young");
            states.look_at(at);
        }
        states.forget();
        for number in 0..1000 {
            assert_eq!(states.leads(hash(number)), if number < 500 { lasting(number) } else { 0 });
        }
    }

    #[test]
    fn what_was_not_looked_at_is_forgotten() {
        let mut states = States::default();
        let hash = |number: u128| number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        for number in 0..100 {
            let at = states.find(hash(number));
            states.leads_on(at, number as u16);
            states.mark(at);
        }
        states.forget();
        assert_eq!((states.len(), states.young()), (100, 0), "all were looked at");
        for number in 0..20 {
            let at = states.get(hash(number)).expect("it is there");
            if number < 10 {
                states.look_at(at);
            }
        }
        for _ in 0..2 {
            let at = states.find(hash(100));
            states.leads_on(at, 0);
        }
        assert_eq!((states.len(), states.young()), (101, 11));
        // Of which nothing but costs is known.
        let at = states.find(hash(101));
        states.at(at).costs[0].set_most(2);
        states.look_at(at);
        assert_eq!((states.len(), states.spare(), states.young(), states.is_kept(at)), (102, 1, 11, false));
        states.forget_costs();
        assert_eq!((states.len(), states.spare(), states.young()), (101, 0, 11));
        states.find(hash(101));
        states.forget();
        assert_eq!((states.len(), states.spare(), states.young()), (11, 0, 0));
        for number in 0..200 {
            let is_kept = number < 10 || number == 100;
            assert_eq!(states.slot(hash(number)).is_ok(), is_kept, "{number}");
            let marks = (states.leads(hash(number)), states.is_marked(hash(number)));
            let kept = if number < 10 { (number as u16, true) } else { (0, false) };
            assert_eq!(marks, kept, "{number}");
        }
    }

    #[test]
    fn costs_are_kept_apart() {
        let mut costs = Costs::default();
        assert_eq!((costs.least(), costs.most()), (Some(0), None));
        costs.set_most(13);
        costs.set_least(Some(3));
        assert_eq!((costs.least(), costs.most()), (Some(3), Some(13)));
        costs.set_least(None);
        costs.set_most(0);
        assert_eq!((costs.least(), costs.most()), (None, Some(0)));
        costs.set_least(Some(99));
        assert_eq!(costs.least(), Some(Costs::MANY));
    }
}

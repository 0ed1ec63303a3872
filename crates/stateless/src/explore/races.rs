//! Accesses to tracked cells, and whether they race.

use selvedge_core::{Op, OpKind, ThreadId};

use super::Explorer;
use crate::counterexample;
use crate::program::{Execution, LocalEvent, Site, Stop};

impl<E: Execution + ?Sized> Explorer<E> {
    /// A tracked cell is accessed: from the next run on there are clocks, unless races are allowed.
    #[inline]
    pub(super) fn saw_cell(&mut self) {
        self.has_cells = !self.settings.allow_races;
    }

    /// Brings the clocks up to date with the step that was taken, and says whether it raced.
    pub(super) fn follow(&mut self, thread: ThreadId, op: &Op) -> Option<Box<Stop>> {
        let is_access = matches!(op.kind, OpKind::Read | OpKind::Write);
        let site = if is_access || self.races.mixes { self.execution.site() } else { Site::default() };
        let race = self.races.step(thread, op, site)?;
        self.record.note_race(race.earlier.step);
        Some(Box::new(counterexample::data_race(self, &race)))
    }

    /// Brings clocks and names up to date with what else happened in the step, and says whether that raced.
    pub(super) fn follow_local_events(&mut self, thread: ThreadId, hashes: bool) -> Option<Box<Stop>> {
        let (mut thread, mut race, mut is_cell) = (thread, None, false);
        for event in self.execution.local_events().drain(..) {
            match event {
                LocalEvent::By(other) => thread = other,
                LocalEvent::Spawned(child) if hashes => {
                    self.happens_before.spawned(thread, child);
                    self.local_states.spawned(thread, child);
                }
                LocalEvent::Read(..) | LocalEvent::Write(..) => is_cell = true,
                LocalEvent::Unsync(..) => (is_cell, self.races.mixes) = (true, true),
                _ => {}
            }
            if self.clocks {
                race = race.or_else(|| self.races.local(thread, event));
            }
        }
        if is_cell {
            self.saw_cell();
        }
        let race = race?;
        self.record.note_race(race.earlier.step);
        Some(Box::new(counterexample::data_race(self, &race)))
    }
}

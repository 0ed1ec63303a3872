//! Accesses to tracked cells: those of a moment, and those that last.
//!
//! One that lasts is two events for the race detector, its beginning and its end. Two of them that overlap, one of them
//! a write, race whenever their ends are not ordered. Where synchronisation orders all four events in between each other
//! (a thread publishes in the middle of a write, and waits there for the answer), every execution of that order overlaps,
//! and the table of accesses under way shows it.

use std::panic::Location;

use selvedge_core::{Access, ObjectId, Op, OpKind, ThreadId, ViolationKind};
use selvedge_stateless::LocalEvent;

use super::{ObjectKind, ObjectSlot, Phase, current, describe, exploring, site_of};

/// Stops before an access to a tracked cell in race mode, and notes it otherwise.
#[inline]
pub(crate) fn access(slot: &ObjectSlot, writes: bool, site: &'static Location<'static>) {
    let Some(handle) = current() else { return };
    let runtime = handle.get();
    if runtime.phase != Phase::Running {
        return;
    }
    let cell = runtime.object(slot, ObjectKind::Cell, 0);
    if runtime.options.race_mode {
        let (kind, access) =
            if writes { (OpKind::Write, Access::Write) } else { (OpKind::Read, Access::Read) };
        handle.visible(Op::on(kind, access, cell), site);
    } else {
        runtime.event(event(cell, writes, site));
    }
}

fn event(cell: ObjectId, writes: bool, site: &'static Location<'static>) -> LocalEvent {
    let site = site_of(Some(site));
    if writes { LocalEvent::Write(cell, site) } else { LocalEvent::Read(cell, site) }
}

/// An access that has begun and not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    cell: ObjectId,
    writes: bool,
    thread: ThreadId,
    site: &'static Location<'static>,
}

/// An access to a tracked cell that lasts until this is dropped. Outside of a check it is nothing.
#[derive(Debug)]
pub(crate) struct Lasting(Option<(u64, UnderWay)>);

/// Begins an access to a tracked cell; the access of a moment otherwise where races are allowed.
#[inline]
pub(crate) fn begin(slot: &ObjectSlot, writes: bool, site: &'static Location<'static>) -> Lasting {
    access(slot, writes, site);
    let Some(handle) = current() else { return Lasting(None) };
    let runtime = handle.get();
    if runtime.phase != Phase::Running || runtime.options.allow_races {
        return Lasting(None);
    }
    let cell = runtime.object(slot, ObjectKind::Cell, 0);
    let this = UnderWay { cell, writes, thread: runtime.current, site };
    let conflicts = |other: &&UnderWay| other.cell == cell && (other.writes || writes);
    if let Some(other) = runtime.under_way.iter().find(conflicts) {
        let line = |access: &UnderWay| {
            let thread = runtime.threads[access.thread.index()].label(access.thread.index());
            let what = if access.writes { "writes" } else { "reads" };
            format!("{thread} {what} it at {}", describe::location(access.site))
        };
        let message = format!(
            "data race on {}: the second access begins before the first has ended\n  {}\n  {}",
            describe::object(runtime, cell),
            line(other),
            line(&this),
        );
        handle.violates(ViolationKind::DataRace, message, site);
    }
    runtime.under_way.push(this);
    Lasting(Some((runtime.stamp, this)))
}

impl Drop for Lasting {
    #[inline]
    fn drop(&mut self) {
        let Some((stamp, this)) = self.0 else { return };
        let Some(handle) = exploring() else { return };
        let runtime = handle.get();
        if runtime.stamp != stamp || runtime.phase != Phase::Running {
            return;
        }
        let is_this = |other: &UnderWay| {
            other.cell == this.cell && other.thread == this.thread && std::ptr::eq(other.site, this.site)
        };
        if let Some(place) = runtime.under_way.iter().rposition(is_this) {
            runtime.under_way.swap_remove(place);
        }
        // If nothing has happened since it began, its beginning says all.
        let end = event(this.cell, this.writes, this.site);
        if runtime.events.last() != Some(&end) {
            runtime.event(end);
        }
    }
}

//! Virtual time. It is carried along happens-before: an operation is not earlier than anything that happened before it. So
//! time is a function of what happened before, not of the schedule. The runtime of C programs, which depends on no crate, does the same
//! in its `time.rs`.

use std::time::Duration;

use selvedge_core::{Access, ObjectId, Op};

use super::{Phase, Runtime};

/// The virtual times of those who wrote an object last, and who have read it, whichever is the latest.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    written: Duration,
    read: Duration,
}

impl Times {
    fn latest(&self) -> Duration {
        self.written.max(self.read)
    }
}

/// What times there were before the running step, which can turn out to do something else than it announced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    /// The objects that it announced to touch, the second of which it writes, with what their times were.
    object: Option<(ObjectId, Times)>,
    also: Option<(ObjectId, Times)>,
    /// The thread's time, and what that was with what the step has seen.
    before: Duration,
    now: Duration,
}

impl Runtime {
    /// The virtual time of the running thread, since the execution began.
    pub(crate) fn now(&self) -> Duration {
        self.threads[self.current.index()].now
    }

    /// Moves the running thread's virtual time on to this moment, if it is not there yet.
    pub(crate) fn pass_time(&mut self, moment: Duration) {
        let now = &mut self.threads[self.current.index()].now;
        *now = (*now).max(moment);
        self.time_passes = true;
    }

    /// Carries virtual time along with what an operation does.
    #[cold]
    pub(super) fn carry_time(&mut self, op: &Op) {
        let times = |object: ObjectId| (object, self.objects[object.index()].times);
        let (object, also) = (op.object.map(times), op.also.map(times));
        let before = self.now();
        let mut now = before.max(also.map_or(Duration::ZERO, |(_, times)| times.latest()));
        if let Some((object, mut times)) = object {
            match op.access {
                Access::None => {}
                Access::Read => {
                    now = now.max(times.written);
                    times.read = times.read.max(now);
                }
                Access::Write => {
                    now = now.max(times.latest());
                    times.written = now;
                }
            }
            self.objects[object.index()].times = times;
        }
        if let Some((also, _)) = also {
            self.objects[also.index()].times.written = now;
        }
        self.threads[self.current.index()].now = now;
        self.carried = Carried { object, also, before, now };
    }

    /// The running step touches its object like this, and not as it announced.
    #[inline]
    pub(crate) fn performs(&mut self, access: Access) {
        self.performs_instead(Op { access, ..self.performed });
    }

    /// The running step does this, and not what it announced.
    #[inline]
    pub(crate) fn performs_instead(&mut self, op: Op) {
        self.performed = op;
        if self.time_passes && self.phase == Phase::Running {
            self.carry_instead(&op);
        }
    }

    #[cold]
    fn carry_instead(&mut self, op: &Op) {
        let Carried { object, also, before, now } = self.carried;
        for (object, times) in object.into_iter().chain(also) {
            self.objects[object.index()].times = times;
        }
        // It may have waited until some time since.
        let later = self.now();
        self.threads[self.current.index()].now = before;
        self.carry_time(op);
        if later > now {
            self.pass_time(later);
        }
    }
}

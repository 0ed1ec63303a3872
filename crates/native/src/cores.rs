//! A job and the core that it is on.
//!
//! The search and the program take turns. When one is woken on another core than the other's, that core has most often
//! gone to sleep meanwhile, and to wake it takes longer than many an execution; and to keep it awake takes a core. So both
//! are kept on the same one. Left to itself the system would not do that: it wakes who is woken wherever a core is idle.

use std::time::{Duration, Instant};

/// After so long the system may choose the core anew: others may have come to run on this one.
const STAY: Duration = Duration::from_millis(50);

/// The core that a job is on. Dropped, it lets the thread that drops it run where the search could before.
pub(crate) struct Core {
    /// The cores to choose from.
    all: libc::cpu_set_t,
    number: usize,
    since: Instant,
    /// Whether there are more than jobs.
    may_move: bool,
}

impl Core {
    /// The one that the calling thread is on, for the first of so many jobs. `None` where there is but one, or the system
    /// does not say.
    pub(crate) fn choose(jobs: usize) -> Option<Self> {
        let all = cores()?;
        let count = numbers(&all).count();
        (count > 1).then(|| Core { all, number: here(), since: Instant::now(), may_move: jobs < count })
    }

    /// The one for another job: the n-th after this one.
    pub(crate) fn of_job(&self, job: usize) -> Self {
        let before = numbers(&self.all).take_while(|number| *number < self.number).count();
        let number = numbers(&self.all).cycle().nth(before + job).unwrap_or(self.number);
        Core { number, ..*self }
    }

    /// Its number, as the program is given it.
    pub(crate) fn number(&self) -> u32 {
        self.number as u32
    }

    /// Has the calling thread stay there.
    pub(crate) fn enter(&self) {
        let mut one = self.all;
        for number in numbers(&self.all).filter(|number| *number != self.number) {
            // SAFETY: the set is one, and has the number.
            unsafe { libc::CPU_CLR(number, &mut one) };
        }
        stay(&one);
    }

    /// Lets the calling thread run on any core.
    pub(crate) fn leave(&self) {
        stay(&self.all);
    }

    /// Once in a while, before the calling thread waits: lets the system choose where it is woken. Says whether it does.
    pub(crate) fn is_left(&mut self, now: Instant) -> bool {
        let is_time = self.may_move && now.duration_since(self.since) >= STAY;
        if is_time {
            self.since = now;
            self.leave();
        }
        is_time
    }

    /// Stays where the system has woken the calling thread.
    pub(crate) fn settle(&mut self) {
        self.number = here();
        self.enter();
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The cores that the calling thread may run on.
fn cores() -> Option<libc::cpu_set_t> {
    // SAFETY: zeros are a set, which the call fills in.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut cores) == 0).then_some(cores)
    }
}

/// The core that the calling thread is on.
fn here() -> usize {
    // SAFETY: takes nothing.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(usize::MAX)
}

/// The numbers of the cores in a set.
fn numbers(cores: &libc::cpu_set_t) -> impl Iterator<Item = usize> + Clone {
    // SAFETY: the set is one, and the numbers are below its size.
    (0..libc::CPU_SETSIZE as usize).filter(|core| unsafe { libc::CPU_ISSET(*core, cores) })
}

/// Keeps the calling thread on these cores. If the system will not have it, it takes longer, that is all.
fn stay(cores: &libc::cpu_set_t) {
    // SAFETY: a set of its own size.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), cores) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Vec<usize> {
        numbers(&cores().unwrap()).collect()
    }

    #[test]
    fn a_job_stays_on_one_core_and_the_thread_gets_the_others_back() {
        let before = now();
        let Some(mut core) = Core::choose(1) else { return assert_eq!(before.len(), 1) };
        core.enter();
        assert_eq!(now(), [core.number]);
        assert!(!core.is_left(core.since), "it has only just been chosen");
        assert!(core.is_left(core.since + STAY));
        assert_eq!(now(), before);
        core.settle();
        assert_eq!(now(), [core.number]);
        drop(core);
        assert_eq!(now(), before);
    }

    #[test]
    fn each_job_has_a_core_of_its_own_as_far_as_there_are_any() {
        let all = now();
        let Some(core) = Core::choose(all.len()) else { return assert_eq!(all.len(), 1) };
        assert!(!core.may_move);
        let mut jobs: Vec<_> = (0..all.len()).map(|job| core.of_job(job).number).collect();
        assert_eq!(jobs[0], core.number);
        jobs.sort_unstable();
        assert_eq!(jobs, all);
        assert_eq!(core.of_job(all.len()).number, core.number);
    }
}

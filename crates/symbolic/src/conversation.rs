//! What the thread of a search and its caller tell each other.
//!
//! The search tells how far it is and, after each number of contexts, what it has covered. The caller tells it to stop,
//! which it heeds before its next operation on BDDs. A single operation may take minutes and cannot be ended from
//! outside: if the search does not come to an end soon, the caller goes on without it, with what was covered. The
//! thread ends with its operation.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use selvedge_core::{Gap, Verdict};

use crate::bdd::{Fallible, Stop, Unfinished};
use crate::check::{Progress, Report};

/// How often progress is told within a number of contexts, and the caller asks whether to go on.
const OFTEN: Duration = Duration::from_millis(50);

/// How long a search that was told to stop is waited for.
const PATIENCE: Duration = Duration::from_millis(300);

enum Told {
    Progress(Progress),
    Covered(Box<Report>),
}

/// The side of the search.
pub(crate) struct Searcher {
    told: Sender<Told>,
    heard: Receiver<()>,
    stop: Stop,
    last: Instant,
}

/// The side of the caller.
pub(crate) struct Caller {
    told: Receiver<Told>,
    heard: Sender<()>,
    stop: Stop,
    covered: Report,
}

/// How a search ended.
pub(crate) enum Ending {
    /// Its thread is over. If it was told to stop, it may have no result, and this is what it has covered.
    Over(Option<Report>),
    /// It was told to stop and is still on its last operation; this is what it has covered.
    Stuck(Report),
}

/// The two sides, where nothing but this is covered yet.
pub(crate) fn conversation(covered: Report) -> (Caller, Searcher) {
    let stop = Stop::default();
    let ((tell, told), (hear, heard)) = (channel(), channel());
    (
        Caller { told, heard: hear, stop: stop.clone(), covered },
        Searcher { told: tell, heard, stop, last: Instant::now() },
    )
}

impl Searcher {
    /// What operations are to heed.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// A number of contexts begins. The caller has heard of it, and may have stopped the search.
    pub(crate) fn begins(&mut self, progress: Progress) -> Fallible<()> {
        self.say(progress);
        if self.stop.is_asked() { Err(Unfinished::Stopped) } else { Ok(()) }
    }

    /// It goes on.
    pub(crate) fn tell(&mut self, progress: impl Fn() -> Progress) {
        if self.last.elapsed() > OFTEN {
            self.say(progress());
        }
    }

    /// Waits until the caller has answered, so that a search is not longer than the caller wants.
    fn say(&mut self, progress: Progress) {
        if self.told.send(Told::Progress(progress)).is_ok() {
            let _ = self.heard.recv();
        }
        self.last = Instant::now();
    }

    /// A number of contexts has been finished.
    pub(crate) fn covered(&mut self, report: Report) {
        let _ = self.told.send(Told::Covered(Box::new(report)));
    }
}

impl Caller {
    /// Listens until the search has ended or is given up.
    pub(crate) fn listen(
        mut self,
        limit: Option<Duration>,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Ending {
        let began = Instant::now();
        let mut last = Progress { contexts: 1, tuples: 0, nodes: 0, elapsed: Duration::ZERO };
        let mut stopped: Option<(Instant, String)> = None;
        loop {
            let heard = self.told.recv_timeout(OFTEN);
            match heard {
                Ok(Told::Covered(report)) => {
                    self.covered = *report;
                    continue;
                }
                Ok(Told::Progress(at)) => last = at,
                Err(RecvTimeoutError::Timeout) => last.elapsed = began.elapsed(),
                Err(RecvTimeoutError::Disconnected) => {
                    return Ending::Over(stopped.map(|(_, reason)| self.give(reason, began)));
                }
            }
            if stopped.is_none() {
                let reason = match limit {
                    Some(limit) if began.elapsed() > limit => {
                        Some(format!("the time limit of {limit:?} was reached"))
                    }
                    _ => (!progress(last)).then(|| "it was interrupted".to_string()),
                };
                if let Some(reason) = reason {
                    self.stop.ask();
                    stopped = Some((Instant::now(), reason));
                }
            }
            if matches!(heard, Ok(Told::Progress(_))) {
                let _ = self.heard.send(());
            }
            if let Some((since, reason)) = &stopped
                && since.elapsed() > PATIENCE
            {
                return Ending::Stuck(self.give(reason.clone(), began));
            }
        }
    }

    /// What was covered, as the answer.
    fn give(self, reason: String, began: Instant) -> Report {
        let mut report = self.covered;
        let covered = match report.outcome.verdict {
            Verdict::Holds(guarantee) => Some(guarantee),
            _ => None,
        };
        report.outcome.verdict = Verdict::Inconclusive(Gap { reason, covered });
        report.outcome.statistics.elapsed = began.elapsed();
        report
    }
}

//! A line on the terminal for work that takes a while; nothing elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Whether there is someone to show progress to.
pub(crate) fn wanted() -> bool {
    std::io::stderr().is_terminal()
}

/// A line that says what is going on and for how long; it goes when this is dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn start(what: String) -> Self {
        if !wanted() {
            return Progress(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})").expect("a constant template");
        let bar = ProgressBar::new_spinner().with_style(style).with_message(what);
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress(bar)
    }

    /// Says what is going on now.
    pub(crate) fn say(&self, what: String) {
        self.0.set_message(what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

//! What strategies foresee is what they ask for later.

use selvedge_core::Decision;
use selvedge_stateless::strategy::{Named, Parameters};
use selvedge_stateless::{Choice, Explorer, Finished, Onward, Point, Prefix, Report, Settings, Strategy};
use selvedge_testgen::{Interpreter, Theme, generate};

use crate::spy::as_the_inner_one_says;

type Beginning = (Vec<Decision>, Onward);

/// Notes what a strategy asks for, and what it has foreseen before that.
struct Seer {
    inner: Box<dyn Strategy>,
    asked: Vec<Beginning>,
    /// What was foreseen, with how much had been asked for then.
    foreseen: Vec<(usize, Beginning)>,
}

impl Strategy for Seer {
    fn next_prefix(&mut self, prefix: &mut Prefix) -> bool {
        let more = self.inner.next_prefix(prefix);
        if more {
            self.asked.push(([&prefix.decisions[..], &prefix.likely].concat(), prefix.onward));
            let (asked, foreseen) = (self.asked.len(), &mut self.foreseen);
            let mut most = 5;
            self.inner.ahead(&mut |decisions, onward| {
                most -= 1;
                foreseen.push((asked, (decisions.to_vec(), onward)));
                most == 0
            });
        }
        more
    }

    fn choose(&self, point: &Point<'_>) -> Choice {
        self.inner.choose(point)
    }

    fn finished(&mut self, execution: &Finished<'_>) {
        self.inner.finished(execution);
    }

    fn report(&mut self, execution: &Finished<'_>) -> Report {
        self.inner.report(execution)
    }

    fn learns(&self) -> bool {
        self.inner.learns()
    }

    fn wants_pending(&self) -> bool {
        self.inner.wants_pending()
    }

    as_the_inner_one_says!();
}

#[test]
fn what_is_foreseen_is_asked_for() {
    for (name, strategy) in Named::ALL {
        let (mut foreseen, mut asked) = (0, 0);
        for seed in 0..40 {
            let program = Interpreter::new(generate(Theme::Locks, seed));
            let told = Parameters::default();
            let limits = Settings { max_executions: Some(400), keep_going: true, ..Settings::default() };
            let settings = strategy.settings(&told, limits);
            let mut seer = Seer { inner: strategy.algorithm(&told), asked: Vec::new(), foreseen: Vec::new() };
            let outcome = Explorer::new(&program, settings).unwrap().search(&mut seer, &mut |_| ()).unwrap();
            if !strategy.samples() && outcome.statistics.executions >= Some(400) {
                continue;
            }
            for (at, beginning) in &seer.foreseen {
                foreseen += 1;
                asked += u32::from(seer.asked[*at..].contains(beginning));
            }
        }
        assert!(foreseen > 100, "{name} foresees something: {foreseen}");
        let certain = match strategy {
            // The last that are foreseen are beyond the limit; and an execution longer than any before changes what
            // comes after it.
            Named::Random | Named::Pct => foreseen * 9 / 10,
            // What is run meanwhile may show that there is nothing new.
            Named::CbPor | Named::Optimal => foreseen / 2,
            _ => foreseen,
        };
        assert!(asked >= certain, "{name}: {asked} of {foreseen}");
    }
}

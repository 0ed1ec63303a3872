//! Theorem 1 of Musuvathi and Qadeer, *Iterative Context Bounding* (PLDI 2007): a program with n threads, each of
//! which takes at most k steps of which at most b may block, has at most C(nk, c) · (nb + c)! executions with
//! exactly c preemptions. The end of a thread counts as a step that blocks.

use selvedge::sync::atomic::{AtomicU32, Ordering::SeqCst};
use selvedge::sync::{Arc, Mutex};
use selvedge::{Checker, Strategy, thread};

#[allow(dead_code, reason = "its main function is not called")]
#[path = "../examples/bluetooth.rs"]
mod bluetooth;
#[allow(dead_code, reason = "its main function is not called")]
#[path = "../examples/file_system.rs"]
mod file_system;
#[allow(dead_code, reason = "its main function is not called")]
#[path = "../examples/work_stealing_queue.rs"]
mod work_stealing_queue;

/// The numbers of the theorem for a program.
#[derive(Clone, Copy, Debug)]
struct Size {
    threads: u64,
    steps: u64,
    blocking: u64,
}

impl Size {
    /// The theorem's bound; the largest number there is when it is larger than that.
    fn executions_with(self, preemptions: u64) -> u128 {
        let points = self.threads * self.steps;
        let mut choices: u128 = 1;
        for taken in 0..preemptions {
            // The product of so many consecutive numbers can be divided by so many.
            choices = choices * u128::from(points.saturating_sub(taken)) / u128::from(taken + 1);
        }
        (1..=self.threads * self.blocking + preemptions)
            .fold(choices, |product, factor| product.saturating_mul(u128::from(factor)))
    }
}

/// Counts executions by preemptions up to a bound, and compares each count with the theorem's.
#[track_caller]
fn check(name: &str, size: Size, preemptions: u32, test: impl Fn() + Send + Sync + 'static) {
    let outcome = Checker::new().strategy(Strategy::Icb).preemptions(preemptions).explore(test);
    assert!(outcome.holds(), "{name}: {:?}", outcome.verdict);
    let depth = outcome.statistics.depth.expect("the depth is counted");
    assert!(depth <= size.threads * size.steps, "{name} is larger than {size:?}: it has {depth} steps");
    let mut fewer = 0;
    for row in &outcome.rows {
        let executions = row.executions.expect("executions are counted");
        let exactly = u128::from(executions - fewer);
        let most = size.executions_with(u64::from(row.bound));
        assert!(exactly <= most, "{name}: {exactly} executions with {} preemptions, not {most}", row.bound);
        fewer = executions;
    }
    assert!(outcome.rows.len() > 1, "{name}: nothing to count");
}

/// Threads that each take a lock a few times and change an atomic a few times.
fn workers(threads: u64, locks: u64, atomics: u64) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new((Mutex::new(0), AtomicU32::new(0)));
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    for _ in 0..locks {
                        *shared.0.lock().unwrap() += 1;
                    }
                    for _ in 0..atomics {
                        shared.1.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
    }
}

/// The main thread starts, joins the workers and ends; a worker locks, unlocks, changes the atomic and ends.
fn size_of_workers(threads: u64, locks: u64, atomics: u64) -> Size {
    Size {
        threads: threads + 1,
        steps: (threads + 2).max(2 * locks + atomics + 1),
        blocking: (threads + 1).max(locks + 1),
    }
}

#[test]
fn binomials_and_factorials() {
    let size = Size { threads: 2, steps: 3, blocking: 1 };
    assert_eq!(size.executions_with(0), 2);
    assert_eq!(size.executions_with(1), 6 * 6);
    assert_eq!(size.executions_with(2), 15 * 24);
    assert_eq!(Size { threads: 10, steps: 100, blocking: 10 }.executions_with(5), u128::MAX);
}

#[test]
fn generated_programs_keep_to_the_bound() {
    for threads in 2..=3 {
        for (locks, atomics) in [(0, 1), (0, 5), (1, 0), (2, 1), (3, 2)] {
            let name = format!("{threads} threads, {locks} locks, {atomics} atomics");
            let size = size_of_workers(threads, locks, atomics);
            let bound = if threads == 3 { 2 } else { 4 };
            check(&name, size, bound, workers(threads, locks, atomics));
        }
    }
}

/// A program of the corpus without its bugs.
#[track_caller]
fn fixed(variants: &[selvedge_corpus::Variant]) -> fn() {
    variants.iter().find(|(name, _)| *name == "fixed").expect("each program has a variant that holds").1
}

#[test]
fn the_corpus_keeps_to_the_bound() {
    // The most steps of a thread are pnp's: it stops, sets the event itself, and waits.
    let size = Size { threads: 3, steps: 12, blocking: 4 };
    check("bluetooth", size, 3, fixed(bluetooth::VARIANTS));
    // The main thread looks at everything in the end; so many steps may block as in the paper's Table 1.
    let size = Size { threads: 4, steps: 13, blocking: 8 };
    check("file_system", size, 3, fixed(file_system::VARIANTS));
    // The owner of the queue takes the lock at most once for each item and once more.
    let size = Size { threads: 2, steps: 70, blocking: 7 };
    check("work_stealing_queue", size, 3, fixed(work_stealing_queue::VARIANTS));
}

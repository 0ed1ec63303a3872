use std::collections::HashSet;
use std::time::Duration;

use selvedge::sync::Arc;
use selvedge::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use selvedge::thread::{self, Builder};
use selvedge::time::Instant;

use crate::{both, both_with_panics, message, panics};

#[test]
fn a_thread_gives_back_its_result() {
    both(|| {
        let thread = thread::spawn(|| vec![1, 2]);
        assert_eq!(thread.join().unwrap(), [1, 2]);
    });
}

#[test]
fn a_panic_reaches_whoever_joins() {
    both_with_panics(|| {
        let thread = thread::spawn(|| -> () { panic!("number {}", 7) });
        assert_eq!(message(thread.join().unwrap_err()), "number 7");
        let thread = thread::spawn(|| std::panic::panic_any(7_u8));
        assert_eq!(*thread.join().unwrap_err().downcast::<u8>().unwrap(), 7);
        let thread = thread::spawn(|| std::panic::resume_unwind(Box::new("quiet")));
        let result: thread::Result<()> = thread.join();
        assert_eq!(message(result.unwrap_err()), "quiet");
    });
}

#[test]
fn a_thread_can_have_a_name_and_a_stack() {
    both(|| {
        let builder = Builder::new().name("worker".into()).stack_size(1 << 20);
        let thread = builder.spawn(|| thread::current().name().map(String::from)).unwrap();
        assert_eq!(thread.thread().name(), Some("worker"));
        assert_eq!(thread.join().unwrap().as_deref(), Some("worker"));
        let thread = thread::spawn(|| thread::current().name().map(String::from));
        assert_eq!(thread.join().unwrap(), None);
        assert!(panics(|| Builder::new().name("a\0b".into())).contains("null bytes"));
    });
}

#[test]
fn threads_are_told_apart() {
    both(|| {
        let threads: Vec<_> = (0..3).map(|_| thread::spawn(|| thread::current().id())).collect();
        let ids: Vec<_> = threads.iter().map(|thread| thread.thread().id()).collect();
        let own: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(ids, own);
        let different: HashSet<_> = ids.into_iter().chain([thread::current().id()]).collect();
        assert_eq!(different.len(), 4);
        assert_eq!(thread::current().id(), thread::current().id());
    });
}

#[test]
fn a_thread_that_has_ended_is_finished() {
    both(|| {
        let thread = thread::spawn(|| 1);
        while !thread.is_finished() {
            thread::yield_now();
        }
        assert!(thread.is_finished());
        assert_eq!(thread.join().unwrap(), 1);
    });
}

#[test]
fn a_thread_that_has_not_been_let_go_is_not_finished() {
    both(|| {
        let go = Arc::new(AtomicBool::new(false));
        let other = go.clone();
        let thread = thread::spawn(move || {
            while !other.load(Ordering::Acquire) {
                thread::yield_now();
            }
        });
        assert!(!thread.is_finished());
        go.store(true, Ordering::Release);
        thread.join().unwrap();
    });
}

#[test]
fn a_thread_knows_that_it_panics() {
    struct Notes(Arc<AtomicU32>);

    impl Drop for Notes {
        fn drop(&mut self) {
            self.0.fetch_add(if thread::panicking() { 10 } else { 1 }, Ordering::Relaxed);
        }
    }

    both_with_panics(|| {
        let notes = Arc::new(AtomicU32::new(0));
        drop(Notes(notes.clone()));
        let theirs = Notes(notes.clone());
        let thread = thread::spawn(move || {
            let _theirs = theirs;
            panic!("on purpose");
        });
        drop(Notes(notes.clone()));
        assert!(!thread::panicking());
        let result: thread::Result<()> = thread.join();
        result.unwrap_err();
        assert_eq!(notes.load(Ordering::Relaxed), 12);
    });
}

#[test]
fn a_panic_that_is_caught_is_over() {
    both(|| {
        assert_eq!(panics(|| panic!("first")), "first");
        assert!(!thread::panicking());
        assert_eq!(panics(|| panic!("second")), "second");
    });
}

#[test]
fn sleeping_takes_its_time() {
    both(|| {
        let start = Instant::now();
        thread::sleep(Duration::from_millis(20));
        assert!(start.elapsed() >= Duration::from_millis(20));
        let other = thread::spawn(|| {
            let start = Instant::now();
            thread::sleep(Duration::from_millis(5));
            (start, Instant::now())
        });
        let (begin, end) = other.join().unwrap();
        assert!(begin >= start && end - begin >= Duration::from_millis(5));
        assert!(Instant::now() >= end);
        assert!(start.checked_duration_since(end).is_none());
        assert_eq!(start.saturating_duration_since(end), Duration::ZERO);
        assert_eq!((start + Duration::from_secs(1)) - start, Duration::from_secs(1));
    });
}

#[test]
fn there_is_always_some_parallelism() {
    both(|| {
        assert!(thread::available_parallelism().unwrap().get() > 0);
        thread::yield_now();
        selvedge::hint::spin_loop();
    });
}

#[test]
fn what_a_thread_did_is_seen_by_whoever_joined_it() {
    both(|| {
        let value = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (1..=2)
            .map(|amount| {
                let value = value.clone();
                thread::spawn(move || value.fetch_add(amount, Ordering::Relaxed))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(value.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn a_handle_that_outlives_its_execution_is_refused() {
    static KEPT: std::sync::Mutex<Option<thread::JoinHandle<()>>> = std::sync::Mutex::new(None);

    selvedge::check(|| {
        let thread = thread::spawn(thread::yield_now);
        let kept = KEPT.lock().unwrap().replace(thread);
        if let Some(kept) = kept {
            assert!(panics(|| kept.is_finished()).contains("in the execution that created it"));
            assert!(panics(|| kept.join()).contains("in the execution that created it"));
        }
    });
    let kept = KEPT.lock().unwrap().take().expect("the last one");
    assert_eq!(kept.thread().name(), None);
    assert!(panics(|| kept.join()).contains("in the execution that created it"));
}

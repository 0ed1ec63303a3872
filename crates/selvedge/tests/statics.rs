//! Statics begin every execution anew.

use std::sync::atomic::{AtomicUsize as Plain, Ordering as PlainOrder};

use selvedge::sync::atomic::{AtomicU32, Ordering};
use selvedge::sync::{Arc, LazyLock, Mutex, Once, OnceLock};
use selvedge::{Checker, thread};

#[test]
fn checks_that_run_at_the_same_time_do_not_disturb_each_other() {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    static SHARED: Mutex<u64> = Mutex::new(0);

    fn body() {
        *SHARED.lock().unwrap() = 0;
        let other = thread::spawn(|| {
            COUNTER.fetch_add(1, Ordering::SeqCst);
            *SHARED.lock().unwrap() += 1;
        });
        COUNTER.fetch_add(1, Ordering::SeqCst);
        *SHARED.lock().unwrap() += 1;
        other.join().unwrap();
        assert_eq!(COUNTER.load(Ordering::SeqCst), 2);
        assert_eq!(*SHARED.lock().unwrap(), 2);
    }

    let checks: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..100 {
                    Checker::new().check(body);
                }
            })
        })
        .collect();
    for check in checks {
        check.join().unwrap();
    }
}

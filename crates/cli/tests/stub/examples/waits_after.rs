//! Ends one check, and is stopped before the next says anything.
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
}

extern "C" fn note(_: i32) {
    INTERRUPTED.store(true, Ordering::SeqCst);
}

fn main() {
    unsafe { signal(2, note) };
    stub::holds("first");
    std::fs::write(std::env::var_os("STUB_READY").unwrap(), "").unwrap();
    let begin = Instant::now();
    while !INTERRUPTED.load(Ordering::SeqCst) && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    std::process::exit(130);
}

//! Does not listen to Ctrl-C.

use std::time::Duration;

unsafe extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
}

extern "C" fn nothing(_: i32) {}

fn main() {
    unsafe { signal(2, nothing) };
    std::fs::write(std::env::var_os("STUB_READY").unwrap(), "").unwrap();
    std::thread::sleep(Duration::from_secs(30));
}

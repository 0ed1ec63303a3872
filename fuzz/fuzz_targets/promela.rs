#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = selvedge_fuzz::promela::model(text);
});

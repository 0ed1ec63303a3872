#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    selvedge_fuzz::network::boolean(text);
});

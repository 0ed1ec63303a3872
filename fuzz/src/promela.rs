//! Promela models with their preprocessor, and trails: each is refused, checked or given up.

use std::time::Duration;

use selvedge_promela::{Claims, Guide, Options, check, parse, simulate};

/// The fuzz target `promela`. Answers whether the text is a model.
pub fn model(text: &str) -> bool {
    match parse(text, "f.pml", None, &[]) {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
        Ok(model) => {
            let options = Options {
                memory: Some(1 << 22),
                time: Some(Duration::from_millis(30)),
                claims: Claims::Safety,
                ..Options::default()
            };
            let _ = check(&model, &options, &mut |_| true);
            let _ = simulate(&model, Guide::Random(1), 50, &mut |_| {});
            true
        }
    }
}

/// What trails are followed in.
const MODEL: &str = "mtype = { go, stop }; chan c = [0] of { mtype, byte }; chan d = [2] of { byte }; byte x;\n\
    active [2] proctype P() { byte i; do :: i < 2 -> atomic { x++; i++ } :: c!go(i) :: d?i :: break od; assert(x < 3) }\n\
    active proctype Q() { mtype m; byte v; end: do :: c?m,v -> d!v :: m == stop -> break :: run R(v) od }\n\
    proctype R(byte n) { d_step { x = n; x = x + 1 } }\n";

/// The fuzz target `trail`.
pub fn trail(text: &str) {
    let model = parse(MODEL, "f.pml", None, &[]).expect("it is a model");
    if let Err(error) = simulate(&model, Guide::Trail(text), 500, &mut |_| {}) {
        assert!(!error.to_string().is_empty());
    }
}

//! The shape of the tables of Suwimonteerabuth, Esparza, Schwoon (SPIN 2008): counts, not times.

use std::path::PathBuf;

use selvedge_symbolic::{Options, Report, Splitting, check};

fn run(name: &str, change: impl Fn(String) -> String, contexts: u32, splitting: Splitting) -> Report {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/symbolic").join(name);
    let text = change(std::fs::read_to_string(path).unwrap());
    let network = selvedge_boolean::read(name, &text).unwrap();
    let memory = 256 << 20;
    let options =
        Options { contexts, splitting, threads: 1, memory, converge: false, count: 0, ..Options::default() };
    check(&network, &options, &mut |_| true).unwrap()
}

fn tuples(report: &Report) -> u64 {
    let extra = &report.outcome.statistics.extra;
    extra.iter().find(|(name, _)| name == "view_tuples").map(|&(_, number)| number).unwrap()
}

/// Table 1: lazy splitting does not see the width of what nothing depends on; eager doubles with each bit.
#[test]
fn vector() {
    for (name, violated) in [("vector_java5.bp", true), ("vector_java6.bp", false)] {
        let bits = |bits: u32| move |text: String| text.replace("int<8>", &format!("int<{bits}>"));
        let lazy: Vec<_> = (1..=8)
            .map(|width| {
                let report = run(name, bits(width), 3, Splitting::Lazy);
                assert_eq!(report.outcome.violation().is_some(), violated, "{name}, {width} bits");
                tuples(&report)
            })
            .collect();
        assert_eq!(lazy, [lazy[0]; 8], "{name}: lazy");
        assert_eq!(lazy[0], 3, "{name}: as many as in the paper");
        let eager: Vec<_> = (1..=4)
            .map(|width| {
                let report = run(name, bits(width), 3, Splitting::Eager);
                assert_eq!(report.outcome.violation().is_some(), violated, "{name}, {width} bits");
                tuples(&report)
            })
            .collect();
        for pair in eager.windows(2) {
            assert!((pair[0] * 18..=pair[0] * 21).contains(&(pair[1] * 10)), "{name}: eager {eager:?}");
        }
    }
}

/// Table 2: no more view tuples than a prototype made (23 and 5, 1056 and 181, 167 and 24).
#[test]
fn bluetooth() {
    for (version, contexts, most_eager, most_lazy) in [(1, 3, 23, 5), (2, 5, 1056, 181), (3, 4, 167, 24)] {
        let name = format!("bluetooth_v{version}.bp");
        let eager = run(&name, |text| text, 6, Splitting::Eager);
        let lazy = run(&name, |text| text, 6, Splitting::Lazy);
        for report in [&eager, &lazy] {
            assert_eq!(report.outcome.violation().unwrap().contexts, Some(contexts), "{name}");
        }
        assert!(tuples(&eager) <= most_eager && tuples(&lazy) <= most_lazy, "{name}");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&arguments[1]).unwrap();
    let network = match selvedge_boolean::read(&arguments[1], &text) { Ok(n) => n, Err(e) => { println!("{e}"); return } };
    let splitting = if arguments.get(3).is_some_and(|s| s == "eager") { selvedge_symbolic::Splitting::Eager } else { selvedge_symbolic::Splitting::Lazy };
    let options = selvedge_symbolic::Options { contexts: arguments[2].parse().unwrap(), splitting, threads: 3, count: std::env::var("COUNT").ok().map_or(0, |c| c.parse().unwrap()), ..Default::default() };
    match selvedge_symbolic::check(&network, &options, &mut |_| {}) {
        Err(e) => println!("{e}"),
        Ok(r) => {
            for row in &r.outcome.rows { println!("{row:?}"); }
            println!("{:?}", r.outcome.statistics);
            match &r.outcome.verdict {
                selvedge_core::Verdict::Violated(v) => {
                    println!("VIOLATED {} {:?} contexts {:?} below {:?} {}", v.message, v.location, v.contexts, v.below, v.schedule);
                    if arguments.len() > 4 { for s in &v.trace.steps { println!("{} {:40} {:60} {:?}", v.trace.threads[s.thread], s.op, s.value.clone().unwrap_or_default(), s.location.as_ref().map(|l| l.line)); } }
                }
                other => println!("{other:?}"),
            }
        }
    }
}

use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{Checker, Strategy, thread};

fn counter() {
    let x = Arc::new(AtomicUsize::new(0));
    let h: Vec<_> = (0..2)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || {
                let v = x.load(SeqCst);
                x.store(v + 1, SeqCst);
            })
        })
        .collect();
    for h in h {
        h.join().unwrap();
    }
    assert_eq!(x.load(SeqCst), 2);
}

#[test]
fn finds_lost_update() {
    let o = Checker::new().explore(counter);
    let v = o.violation().unwrap();
    assert_eq!(v.preemptions, 1);
    let r = selvedge_report::Report { subject: "x".into(), engine: "stateless".into(), outcome: o.clone() };
    println!(
        "{}",
        selvedge_report::to_text(&r, &selvedge_report::Style { color: false, width: 120 }, Some("x"))
    );
    let o = Checker::new().keep_going().strategy(Strategy::Dfs).explore(counter);
    println!("{:?}", o.rows);
    let o = Checker::new().keep_going().unbounded().explore(counter);
    println!("{:?}", o.rows);
}

#[test]
fn deadlock() {
    let o = Checker::new().explore(|| {
        let a = Arc::new((Mutex::new(0), Mutex::new(0)));
        let b = a.clone();
        let h = thread::spawn(move || {
            let _x = b.0.lock().unwrap();
            let _y = b.1.lock().unwrap();
        });
        let _y = a.1.lock().unwrap();
        let _x = a.0.lock().unwrap();
        drop((_x, _y));
        h.join().unwrap();
    });
    let r = selvedge_report::Report { subject: "x".into(), engine: "stateless".into(), outcome: o.clone() };
    println!(
        "{}",
        selvedge_report::to_text(&r, &selvedge_report::Style { color: false, width: 120 }, Some("x"))
    );
    assert_eq!(o.violation().unwrap().preemptions, 1);
}

#[test]
fn condvar() {
    let o = Checker::new().unbounded().explore(|| {
        let a = Arc::new((Mutex::new(false), Condvar::new()));
        let b = a.clone();
        let h = thread::spawn(move || {
            *b.0.lock().unwrap() = true;
            b.1.notify_one();
        });
        let mut g = a.0.lock().unwrap();
        while !*g {
            g = a.1.wait(g).unwrap();
        }
        drop(g);
        h.join().unwrap();
    });
    println!("{o:?}");
    assert!(o.holds());
}

struct Bad;
impl Drop for Bad {
    fn drop(&mut self) {
        panic!("in drop");
    }
}

#[test]
fn double_panic() {
    for _ in 0..3 {
        let o = Checker::new().explore(|| {
            let m = Arc::new(Mutex::new(1));
            let n = m.clone();
            thread::spawn(move || {
                let _g = n.lock().unwrap();
            });
            let _g = m.lock().unwrap();
            let _b = Bad;
            panic!("first");
        });
        println!("{:?}", o.violation().unwrap().message);
    }
}

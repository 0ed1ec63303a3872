//! dev
fn main(){ for f in std::env::args().skip(1) { let t=std::fs::read(&f).unwrap(); let t=String::from_utf8_lossy(&t).into_owned(); let d=std::path::Path::new(&f).parent().unwrap();
 match selvedge_promela::parse(&t,&f,Some(d),&[]) { Ok(m)=>{ let o=selvedge_explicit::Options{search:selvedge_explicit::Search::Dfs,all_errors:true,limits:selvedge_explicit::Limits{time:Some(std::time::Duration::from_secs(20)),..Default::default()},..Default::default()};
 let claim = if !m.claims.is_empty() {Some(0)} else {None};
 match selvedge_promela::count(m,&o,claim) { Ok(r)=>println!("{f} {} {} {} {:?} {:?}", r.states, r.transitions, r.errors.min(1), r.stopped, r.elapsed), Err(e)=>println!("ERR {e}") } }, Err(e)=>println!("ERR {e}") } } }

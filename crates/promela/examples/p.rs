//! dev
use selvedge_explicit::*;
fn main(){ let which = std::env::args().nth(1).unwrap(); for f in std::env::args().skip(2) { let t=std::fs::read(&f).unwrap(); let t=String::from_utf8_lossy(&t).into_owned(); let d=std::path::Path::new(&f).parent().unwrap();
 match selvedge_promela::parse(&t,&f,Some(d),&[]) { Ok(m)=>{ let o=Options{search:match &*which {"dfs"=>Search::Dfs,"bfs"=>Search::Bfs,"bcs"=>Search::Bcs,_=>Search::Layered},reduce: std::env::var("POR").is_ok(), all_errors:true,limits:Limits{time:Some(std::time::Duration::from_secs(20)),..Default::default()},bound: std::env::var("B").ok().map(|b|b.parse().unwrap()),at_bound:true, ..Default::default()};
 let claim = if !m.claims.is_empty() {Some(0)} else {None};
 match selvedge_promela::count(m,&o,claim) { Ok(r)=>{println!("{f} {} {} {} {:?} {:?} mem {}", r.states, r.transitions, r.errors.min(1), r.stopped, r.elapsed, r.memory/r.states); if which!="dfs" { for w in &r.rows { println!("   {} {} {}", w.bound,w.states,w.transitions); } }}, Err(e)=>println!("ERR {e}") } }, Err(e)=>println!("ERR {e}") } } }

fn main(){ for f in std::env::args().skip(1) { let t=std::fs::read(&f).unwrap(); let t=String::from_utf8_lossy(&t).into_owned(); let d=std::path::Path::new(&f).parent().unwrap();
 match selvedge_promela::parse(&t,&f,Some(d),&[]) { Ok(m)=>println!("ok {f} {}",m.procs.len()), Err(e)=>println!("ERR {e}") } } }

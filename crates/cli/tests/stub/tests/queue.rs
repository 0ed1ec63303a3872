#[test]
fn opens() {
    stub::holds("opens");
}

#[test]
fn closes() {
    stub::violated("closes");
    panic!("a violation");
}

#[test]
fn closes_again() {
    stub::holds("closes_again");
}

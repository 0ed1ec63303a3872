fn main() {
    stub::holds("held");
    panic!("after the check");
}

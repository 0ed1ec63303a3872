fn main() {
    panic!("before any check");
}

fn main() {
    stub::holds("first");
    stub::violated("second");
    stub::inconclusive("third");
    std::process::exit(101);
}

fn main() {
    stub::violated("violated");
    std::process::exit(101);
}

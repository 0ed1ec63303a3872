fn main() {
    stub::holds("gated");
}

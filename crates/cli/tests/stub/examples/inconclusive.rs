fn main() {
    stub::inconclusive("inconclusive");
}

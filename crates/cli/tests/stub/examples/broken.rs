fn main() {
    this_does_not_compile
}

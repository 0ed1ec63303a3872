fn main() {
    stub::append("{\"schema\": 7}");
}

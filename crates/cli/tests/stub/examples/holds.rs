fn main() {
    println!("the program prints");
    stub::holds("holds");
}

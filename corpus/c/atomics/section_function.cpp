// A function that is an atomic section by its name, which C++ writes otherwise.
// expect: holds
#include <cassert>
#include <thread>

static int counter;

static void __VERIFIER_atomic_add(int number) {
    int before = counter;
    counter = before + number;
}

int main() {
    std::thread thread(__VERIFIER_atomic_add, 1);
    __VERIFIER_atomic_add(2);
    thread.join();
    assert(counter == 3);
}

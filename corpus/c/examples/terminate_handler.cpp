// What a program says to do when C++ gives up is done, if that is not for an exception; and it is told of its own handlers.
// expect: holds
#include <cassert>
#include <cstdlib>
#include <exception>
#include <thread>

static void leaves() {
    std::_Exit(0);
}

int main() {
    std::terminate_handler first = std::get_terminate();
    assert(std::set_terminate(std::abort) == first);
    assert(std::get_terminate() == std::abort);
    assert(std::set_terminate(nullptr) == std::abort);
    assert(std::set_terminate(leaves) == first);
    try {
        throw 1;
    } catch (int) {
    }
    assert(std::get_terminate() == leaves);
    std::thread worker([] {});
}

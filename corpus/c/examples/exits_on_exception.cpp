// The program exits when an exception is not caught: the exception is found all the same, with its type.
// expect: crash preemptions=0 says=an exception is not caught: std::out_of_range
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static std::vector<int> queue{1};

static void take() {
    std::lock_guard<std::mutex> guard(lock);
    queue.at(0);
    queue.clear();
}

int main() {
    std::set_terminate([] { std::exit(0); });
    std::thread one(take), other(take);
    one.join();
    other.join();
}

// A thread throws what nobody catches.
// expect: crash preemptions=0 says=an exception is not caught: std::runtime_error
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex lock;
static bool closed;

int main() {
    std::thread closer([] {
        std::lock_guard<std::mutex> guard(lock);
        closed = true;
    });
    std::thread user([] {
        std::lock_guard<std::mutex> guard(lock);
        if (closed)
            throw std::runtime_error("it is closed");
    });
    closer.join();
    user.join();
}

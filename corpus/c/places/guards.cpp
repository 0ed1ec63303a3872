// Locks of C++'s library, taken in the wrong order: the lines are these, and not those of the library's headers.
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::mutex a, b;
static std::shared_mutex shared;

static void one() {
    std::lock_guard<std::mutex> first(a);
    std::shared_lock<std::shared_mutex> reads(shared);
    std::unique_lock<std::mutex> second(b);
}

static void other() {
    std::unique_lock<std::mutex> first(b);
    std::lock_guard<std::mutex> second(a);
}

int main() {
    {
        std::scoped_lock both(a, b);
    }
    std::thread thread(one);
    other();
    thread.join();
}

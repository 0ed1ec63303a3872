// A queue goes away with its mutex while the consumer has yet to wake.
// expect: use-after-free preemptions=0 says=a mutex is used after its memory was freed
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

struct queue {
    std::mutex lock;
    std::condition_variable filled;
    int length = 0;

    void put() {
        std::lock_guard<std::mutex> guard(lock);
        length++;
        filled.notify_one();
    }

    void take() {
        std::unique_lock<std::mutex> guard(lock);
        filled.wait(guard, [this] { return length > 0; });
        length--;
    }
};

int main() {
    auto messages = std::make_unique<queue>();
    std::thread consumer([all = messages.get()] { all->take(); });
    messages->put();
    messages.reset();
    consumer.join();
}

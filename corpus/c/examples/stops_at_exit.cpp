// A global has a thread, which its destructor stops and joins, while a thread that nobody joins goes on.
// expect: holds
#include <condition_variable>
#include <mutex>
#include <thread>

class Pool {
    std::mutex lock;
    std::condition_variable changed;
    bool stopped = false;
    std::thread worker;

  public:
    void start() {
        worker = std::thread([this] {
            std::unique_lock<std::mutex> held(lock);
            changed.wait(held, [this] { return stopped; });
        });
    }

    ~Pool() {
        {
            std::lock_guard<std::mutex> held(lock);
            stopped = true;
        }
        changed.notify_all();
        worker.join();
    }
};

static Pool pool;
static std::mutex other;

int main() {
    pool.start();
    std::thread([] { std::lock_guard<std::mutex> held(other); }).detach();
    return 0;
}

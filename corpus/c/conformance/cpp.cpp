// C++: std::thread and its relatives.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::once_flag once;
static int destroyed;
struct Local {
    ~Local() { destroyed++; }
    int value = 0;
};
static thread_local Local local;

int main() {
    std::mutex mutex;
    int count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([&] {
            std::lock_guard<std::mutex> guard(mutex);
            local.value = ++count;
        });
    for (auto &thread : threads)
        thread.join();
    std::printf("count %d, destroyed %d\n", count, destroyed);

    std::timed_mutex timed;
    timed.lock();
    std::thread([&] {
        std::printf("try_lock_for %d\n", timed.try_lock_for(std::chrono::milliseconds(2)));
        std::printf("try_lock %d\n", timed.try_lock());
    }).join();
    timed.unlock();
    std::recursive_mutex recursive;
    recursive.lock();
    std::printf("recursive try_lock %d\n", recursive.try_lock());
    recursive.unlock();
    recursive.unlock();

    std::condition_variable condition;
    bool ready = false;
    std::thread waiter([&] {
        std::unique_lock<std::mutex> guard(mutex);
        condition.wait(guard, [&] { return ready; });
        std::printf("woken\n");
    });
    {
        std::lock_guard<std::mutex> guard(mutex);
        ready = true;
    }
    condition.notify_all();
    waiter.join();
    {
        std::unique_lock<std::mutex> guard(mutex);
        bool met = condition.wait_for(guard, std::chrono::milliseconds(2), [] { return false; });
        std::printf("wait_for %d\n", met);
    }

    std::shared_mutex shared;
    shared.lock_shared();
    std::thread([&] {
        std::printf("try_lock %d, try_lock_shared %d\n", shared.try_lock(), shared.try_lock_shared());
        shared.unlock_shared();
    }).join();
    shared.unlock_shared();

    auto future = std::async(std::launch::async, [] { return 6 * 7; });
    std::printf("async %d\n", future.get());
    std::promise<int> promise;
    std::thread([&] { promise.set_exception(std::make_exception_ptr(std::runtime_error("thrown"))); }).join();
    try {
        promise.get_future().get();
    } catch (const std::exception &error) {
        std::printf("caught %s\n", error.what());
    }
    for (int i = 0; i < 2; i++) {
        try {
            std::call_once(once, [&] {
                if (i == 0)
                    throw 1;
                std::printf("initialised\n");
            });
        } catch (int) {
            std::printf("call_once threw\n");
        }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::yield();
    return 0;
}

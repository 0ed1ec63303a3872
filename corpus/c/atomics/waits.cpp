// What C++ makes of futexes: threads wait for the value of an atomic, at a latch, for a semaphore and for a future. What
// is written before is read after, and so is a local static.
// expect: holds
#include <atomic>
#include <cassert>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>

static std::atomic<int> ready;
static int data[3];

static int first() { return data[0]; }

static int once() {
    static int value = first();
    return value;
}

int main() {
    {
        std::thread thread([] {
            data[0] = 1;
            ready.store(1, std::memory_order_release);
            ready.notify_one();
        });
        ready.wait(0, std::memory_order_acquire);
        assert(data[0] == 1);
        thread.join();
    }
    {
        std::latch latch(2);
        std::binary_semaphore semaphore(0);
        std::promise<int> promise;
        auto future = promise.get_future();
        std::thread thread([&] {
            data[1] = 1;
            latch.arrive_and_wait();
            semaphore.acquire();
            assert(data[2] == 1);
            promise.set_value(once());
        });
        latch.arrive_and_wait();
        assert(data[1] == 1);
        data[2] = 1;
        semaphore.release();
        assert(once() == 1);
        assert(future.get() == 1);
        thread.join();
    }
}

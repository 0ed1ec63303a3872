// A thread waits, without yielding, for one that writes to its stack before it says that it is done.
// expect: holds
#include <atomic>
#include <cassert>
#include <thread>

int main() {
    std::atomic<int> begun{0}, done{0};
    int results[3] = {0, 0, 0};
    std::thread thread([&] {
        while (!begun.load())
            ;
        for (int i = 0; i < 3; i++)
            results[i] = i + 1;
        done.store(1);
    });
    begun.store(1);
    while (!done.load())
        ;
    assert(results[2] == 3);
    thread.join();
}

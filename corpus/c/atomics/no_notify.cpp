// A thread waits for an atomic to change, and who changes it does not say so: if the wait has begun, it does not end.
// expect: deadlock preemptions=1 says=waits
#include <atomic>
#include <thread>

static std::atomic<int> value;

int main() {
    std::thread thread([] { value.wait(0); });
    value = 1;
    thread.join();
}

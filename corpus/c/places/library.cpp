// A library that is loaded by `loads.c`.
#include <mutex>

int count;
std::mutex count_lock;

extern "C" void add_one() {
    count++; // the race
}

extern "C" void look() {
    std::lock_guard<std::mutex> guard(count_lock); // the lock
}

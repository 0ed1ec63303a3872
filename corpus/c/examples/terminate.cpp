// A thread is neither joined nor detached when its object is destroyed.
// expect: crash preemptions=0 says=std::terminate was called
#include <thread>

int main() {
    std::thread worker([] {});
}

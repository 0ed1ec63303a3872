// A thread is to end, but catches what unwinds its stack and does not throw it on.
// expect: crash preemptions=0 says=not rethrown
#include <pthread.h>

static void *worker(void *argument) {
    try {
        pthread_exit(argument);
    } catch (...) {
    }
    return nullptr;
}

int main() {
    pthread_t thread;
    pthread_create(&thread, nullptr, worker, nullptr);
    pthread_join(thread, nullptr);
}

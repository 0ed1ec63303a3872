// A fence publishes what was written before it, and not what is written after it and before the flag.
// expect: data-race preemptions=1 says=data
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag;
static int data, sink;

static void *publish(void *unused) {
    (void)unused;
    data = 1;
    atomic_thread_fence(memory_order_release);
    data = 2;
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, publish, NULL);
    if (atomic_load_explicit(&flag, memory_order_acquire))
        sink = data;
    pthread_join(thread, NULL);
    return 0;
}

// What comes after a release that is told of is not published by it.
// expect: data-race preemptions=1 says=other
#include <pthread.h>
#include <stdatomic.h>

void __tsan_acquire(void *at);
void __tsan_release(void *at);

static int one, other;
static atomic_int ready;

static void *writes(void *argument) {
    one = 1;
    __tsan_release(&one);
    other = 1;
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
    int sum = 0;
    if (atomic_load_explicit(&ready, memory_order_relaxed)) {
        __tsan_acquire(&one);
        sum = one + other;
    }
    pthread_join(thread, NULL);
    return sum;
}

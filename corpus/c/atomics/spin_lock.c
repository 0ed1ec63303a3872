// A lock that is waited for in a loop which does not yield, as on real machines.
// expect: holds
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int taken;
static int counter;

static void *work(void *argument) {
    for (int i = 0; i < 2; i++) {
        while (atomic_exchange_explicit(&taken, 1, memory_order_acquire))
            __builtin_ia32_pause();
        counter++;
        atomic_store_explicit(&taken, 0, memory_order_release);
    }
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    assert(counter == 4);
    return 0;
}

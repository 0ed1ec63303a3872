// A lock with tickets: who has drawn one looks whose turn it is, again and again, and does not yield.
// expect: holds
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint next, turn;
static int counter;

static void *work(void *argument) {
    unsigned mine = atomic_fetch_add(&next, 1);
    while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
        ;
    counter++;
    atomic_store_explicit(&turn, mine + 1, memory_order_release);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    assert(counter == 2);
    return 0;
}

// A variable is written by plain and by atomic operations, always in an order: no race. In race mode too, and the values
// are those of every order.
// expect: assertion preemptions=1 says=turn
// options: --race-mode
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) published;
static atomic_int turn;

static void *takes(void *argument) {
    int *place = atomic_load_explicit(&published, memory_order_acquire);
    if (place) {
        __atomic_fetch_add(place, 1, __ATOMIC_RELAXED);
        atomic_store_explicit(&turn, 1, memory_order_release);
    }
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, takes, NULL);
    int *place = malloc(sizeof *place);
    *place = 1;
    atomic_store_explicit(&published, place, memory_order_release);
    if (atomic_load_explicit(&turn, memory_order_acquire)) {
        *place += 1;
        assert(*place == 3);
        assert(turn == 0);
    }
    pthread_join(thread, NULL);
    free(place);
    return 0;
}

// A counter that is atomic, and an increment that is not.
// expect: assertion preemptions=1 says=counter
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int counter;

static void *counts(void *argument) {
    int now = atomic_load(&counter);
    atomic_store(&counter, now + 1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, counts, NULL);
    counts(NULL);
    pthread_join(thread, NULL);
    assert(counter == 2);
    return 0;
}

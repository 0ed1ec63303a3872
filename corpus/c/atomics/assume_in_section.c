// The lock of verification benchmarks: an assumption in an atomic section. Where it is not met, nobody sees what was
// written in the section before it.
// expect: holds
#include <assert.h>
#include <pthread.h>
#include <selvedge.h>

static int taken, counter, half;

static void take(void) {
    __VERIFIER_atomic_begin();
    half = 1;
    __VERIFIER_assume(!taken);
    half = 0;
    taken = 1;
    __VERIFIER_atomic_end();
}

static void give(void) {
    __VERIFIER_atomic_begin();
    assert(!half);
    taken = 0;
    __VERIFIER_atomic_end();
}

static void *counts(void *argument) {
    take();
    counter++;
    give();
    return argument;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, counts, NULL);
    counts(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(counter == 3);
    return 0;
}

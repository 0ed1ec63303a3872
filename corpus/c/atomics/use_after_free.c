// The owner frees while the other may still write.
// expect: use-after-free preemptions=0 says=freed
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) shared;

static void *writes(void *argument) {
    int *block = atomic_load(&shared);
    if (block)
        *block = 1;
    return argument;
}

int main(void) {
    pthread_t thread;
    int *block = malloc(sizeof *block);
    atomic_store(&shared, block);
    pthread_create(&thread, NULL, writes, NULL);
    free(block);
    pthread_join(thread, NULL);
    return 0;
}

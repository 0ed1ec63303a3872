// Two threads each wait for the other to begin, in loops that do not yield; and nobody begins.
// expect: livelock preemptions=0 says=nothing comes of it
#include <pthread.h>
#include <stdatomic.h>

static atomic_int begun[2];

static void *begin(void *argument) {
    int me = argument != NULL;
    while (!atomic_load(&begun[1 - me]))
        ;
    atomic_store(&begun[me], 1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, begin, &begun);
    begin(NULL);
    pthread_join(thread, NULL);
    return 0;
}

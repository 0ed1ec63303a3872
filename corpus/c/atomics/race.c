// Two threads count without a lock.
// expect: data-race preemptions=0 says=counter
#include <pthread.h>

static int counter;

static void *counts(void *argument) {
    counter++;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, counts, NULL);
    counts(NULL);
    pthread_join(thread, NULL);
    return 0;
}

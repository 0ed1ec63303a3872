// A thread waits by looking at a variable that is no atomic: between its steps it would look for ever.
// expect: data-race preemptions=0 says=memory begun
#include <pthread.h>

static volatile int begun;

static void *wait_for_it(void *argument) {
    while (!begun)
        ;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, NULL);
    begun = 1;
    pthread_join(thread, NULL);
    return 0;
}

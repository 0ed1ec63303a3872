// One thread assumes what is not so, and another waits for it in a loop: no execution is feasible. It was a livelock.
// expect: holds
#include <pthread.h>
#include <selvedge.h>
#include <stdatomic.h>

static atomic_int done;

static void *assumes(void *argument) {
    __VERIFIER_assume(0);
    atomic_store(&done, 1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, assumes, NULL);
    while (!atomic_load(&done))
        ;
    return pthread_join(thread, NULL);
}

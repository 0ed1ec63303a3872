// The barrier is freed by who does not need it any more.
// expect: use-after-free preemptions=0 says=a barrier is used after its memory was freed
#include <pthread.h>
#include <stdlib.h>

static void *arrives(void *barrier) {
    pthread_barrier_wait(barrier);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_t *barrier = malloc(sizeof *barrier);
    pthread_barrier_init(barrier, NULL, 1);
    pthread_create(&thread, NULL, arrives, barrier);
    pthread_barrier_wait(barrier);
    free(barrier);
    pthread_join(thread, NULL);
    return 0;
}

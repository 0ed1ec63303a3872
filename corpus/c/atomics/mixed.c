// One thread writes a variable by an atomic operation, the other reads it by a plain one.
// expect: data-race preemptions=0 says=shared
#include <pthread.h>

static int shared, copy;

static void *writes(void *argument) {
    __atomic_store_n(&shared, 1, __ATOMIC_SEQ_CST);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
    copy = shared;
    pthread_join(thread, NULL);
    return 0;
}

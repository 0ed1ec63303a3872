// A thread read-locks a lock twice, which prefers writers: one that waits in between keeps it out.
// expect: deadlock preemptions=1 says=waits to read-lock
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void *reads(void *argument) {
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_unlock(&lock);
    return argument;
}

static void *writes(void *argument) {
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, reads, NULL);
    pthread_create(&threads[1], NULL, writes, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

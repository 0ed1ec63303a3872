// A table is replaced, and the old one freed, while a thread is about to read it.
// expect: use-after-free preemptions=0 says=a rwlock is used after its memory was freed
#include <pthread.h>
#include <stdlib.h>

static void *reads(void *lock) {
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_unlock(lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_rwlock_t *lock = malloc(sizeof *lock);
    pthread_rwlock_init(lock, NULL);
    pthread_create(&thread, NULL, reads, lock);
    free(lock);
    pthread_join(thread, NULL);
    return 0;
}

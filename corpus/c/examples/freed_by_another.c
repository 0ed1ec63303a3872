// Nothing but the order of the two threads keeps the mutex from being freed before it is used.
// expect: use-after-free preemptions=1 says=a mutex is used after its memory was freed
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;

static void *frees(void *block) {
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    free(block);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_t *lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, NULL);
    pthread_create(&thread, NULL, frees, lock);
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    pthread_join(thread, NULL);
    return 0;
}

// Nothing but the order of the two threads keeps the spin lock from being freed before it is used.
// expect: use-after-free preemptions=1 says=a spin lock is used after its memory was freed
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
    pthread_spinlock_t *lock = malloc(sizeof *lock);
    pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&thread, NULL, frees, (void *)lock);
    pthread_spin_lock(lock);
    pthread_spin_unlock(lock);
    pthread_join(thread, NULL);
    return 0;
}

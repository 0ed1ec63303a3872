// A spin lock is freed by who has unlocked it first.
// expect: use-after-free preemptions=0 says=a spin lock is used after its memory was freed
#include <pthread.h>
#include <stdlib.h>

static void *uses(void *lock) {
    pthread_spin_lock(lock);
    pthread_spin_unlock(lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_spinlock_t *lock = malloc(sizeof *lock);
    pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&thread, NULL, uses, (void *)lock);
    uses((void *)lock);
    free((void *)lock);
    pthread_join(thread, NULL);
    return 0;
}

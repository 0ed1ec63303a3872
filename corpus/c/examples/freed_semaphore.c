// Who waits for a message frees the semaphore when it has run out of patience.
// expect: use-after-free preemptions=0 says=a semaphore is used after its memory was freed
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static void *sends(void *semaphore) {
    sem_post(semaphore);
    return NULL;
}

int main(void) {
    pthread_t thread;
    sem_t *semaphore = malloc(sizeof *semaphore);
    sem_init(semaphore, 0, 0);
    pthread_create(&thread, NULL, sends, semaphore);
    if (sem_trywait(semaphore) != 0)
        free(semaphore);
    pthread_join(thread, NULL);
    return 0;
}

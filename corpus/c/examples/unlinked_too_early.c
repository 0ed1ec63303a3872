// A named semaphore may be unlinked before the other thread has opened it.
// expect: assertion preemptions=0 says=semaphore
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>

static void *opens(void *argument) {
    sem_t *semaphore = sem_open("/selvedge-early", 0);
    assert(semaphore != SEM_FAILED);
    return argument;
}

int main(void) {
    pthread_t thread;
    sem_open("/selvedge-early", O_CREAT, 0600, 1);
    pthread_create(&thread, NULL, opens, NULL);
    sem_unlink("/selvedge-early");
    pthread_join(thread, NULL);
    return 0;
}

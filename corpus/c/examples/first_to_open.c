// Of two threads that create a named semaphore, either may be the first.
// expect: assertion preemptions=0 says=creator
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>

static int creator;

static void *creates(void *argument) {
    if (sem_open("/selvedge-first", O_CREAT | O_EXCL, 0600, 1) != SEM_FAILED)
        creator = *(int *)argument;
    return NULL;
}

int main(void) {
    static int numbers[] = {1, 2};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, creates, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    sem_unlink("/selvedge-first");
    assert(creator == 1);
    return 0;
}

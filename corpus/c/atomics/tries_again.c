// Locks that are tried until they are free: a mutex, a semaphore, a read lock.
// expect: holds
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static sem_t tokens;
static int count;

static void *add(void *argument) {
    while (pthread_mutex_trylock(&lock) != 0)
        ;
    count++;
    pthread_mutex_unlock(&lock);
    while (sem_trywait(&tokens) != 0)
        ;
    sem_post(&tokens);
    return argument;
}

int main(void) {
    sem_init(&tokens, 0, 1);
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    add(NULL);
    while (pthread_rwlock_tryrdlock(&shared) != 0)
        ;
    pthread_rwlock_unlock(&shared);
    pthread_join(thread, NULL);
    assert(count == 2);
    return 0;
}

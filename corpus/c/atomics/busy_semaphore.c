// To find a semaphore at 0 orders nothing, though it was posted before.
// expect: data-race preemptions=1 says=shared
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static sem_t semaphore;
static int shared;
static atomic_int taken;

static void *posts(void *argument) {
    shared = 1;
    sem_post(&semaphore);
    sem_wait(&semaphore);
    atomic_store_explicit(&taken, 1, memory_order_relaxed);
    return argument;
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_create(&thread, NULL, posts, NULL);
    if (atomic_load_explicit(&taken, memory_order_relaxed) && sem_trywait(&semaphore) != 0)
        shared = 2;
    pthread_join(thread, NULL);
    return 0;
}

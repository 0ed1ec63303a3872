// Who waits for the report destroys the semaphore before the other thread has got to it.
// expect: misuse preemptions=0 says=a semaphore is used after it was destroyed
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t reported;
static int done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reports(void *argument) {
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    sem_post(&reported);
    return argument;
}

int main(void) {
    pthread_t thread;
    sem_init(&reported, 0, 0);
    pthread_create(&thread, NULL, reports, NULL);
    sem_trywait(&reported);
    sem_destroy(&reported);
    pthread_join(thread, NULL);
    return 0;
}

// What is to be done at the exit waits for a thread that never ends.
// expect: deadlock preemptions=0 says=waits for waits 1 to end
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_t thread;

static void *waits(void *argument) {
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
    return argument;
}

static void joins(void) { pthread_join(thread, NULL); }

int main(void) {
    atexit(joins);
    pthread_create(&thread, NULL, waits, NULL);
    return 0;
}

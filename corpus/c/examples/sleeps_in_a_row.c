// Main sleeps three times in a row, and still goes on before the other thread has set what it needs.
// expect: assertion preemptions=0 says=ready
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;

static void *sets(void *argument) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sets, NULL);
    usleep(1000);
    usleep(1000);
    sched_yield();
    pthread_mutex_lock(&lock);
    assert(ready);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}

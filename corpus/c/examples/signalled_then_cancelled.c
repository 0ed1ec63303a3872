// A waiter is signalled, and cancelled while it has yet to get the mutex. Either may come first: it may go on.
// expect: assertion preemptions=0 says=result
#include <assert.h>
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int waiting, set;

static void unlock(void *argument) { pthread_mutex_unlock(argument); }

static void *waits(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    waiting = 1;
    while (!set)
        pthread_cond_wait(&ready, &lock);
    pthread_cleanup_pop(1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    pthread_mutex_lock(&lock);
    while (!waiting) {
        pthread_mutex_unlock(&lock);
        sched_yield();
        pthread_mutex_lock(&lock);
    }
    set = 1;
    pthread_cond_signal(&ready);
    pthread_cancel(thread);
    pthread_mutex_unlock(&lock);
    void *result;
    pthread_join(thread, &result);
    assert(result == PTHREAD_CANCELED);
    return 0;
}

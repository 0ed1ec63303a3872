// One of two waiters is signalled, and both are cancelled: it may be before the one that was signalled goes on.
// expect: assertion preemptions=1 says=woken
#include <assert.h>
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int waiting, woken;

static void unlock(void *argument) { pthread_mutex_unlock(argument); }

static void *waits(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    waiting++;
    pthread_cond_wait(&ready, &lock);
    woken++;
    pthread_cleanup_pop(1);
    return argument;
}

static void *signals(void *argument) {
    pthread_cond_signal(&ready);
    return argument;
}

int main(void) {
    pthread_t threads[2], signaller;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, waits, NULL);
    for (int all = 0; !all; sched_yield()) {
        pthread_mutex_lock(&lock);
        all = waiting == 2;
        pthread_mutex_unlock(&lock);
    }
    pthread_create(&signaller, NULL, signals, NULL);
    pthread_cancel(threads[0]);
    pthread_join(threads[0], NULL);
    pthread_join(signaller, NULL);
    pthread_cancel(threads[1]);
    pthread_join(threads[1], NULL);
    assert(woken == 1);
    return 0;
}

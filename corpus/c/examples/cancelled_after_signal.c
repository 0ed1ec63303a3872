// A waiter that was signalled is cancelled before it has gone on: then another gets the signal.
// expect: holds
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int waiting, tokens;

static void unlock(void *argument) { pthread_mutex_unlock(argument); }

static void *takes(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    waiting++;
    while (!tokens)
        pthread_cond_wait(&ready, &lock);
    tokens--;
    pthread_cleanup_pop(1);
    return argument;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, takes, NULL);
    for (int all = 0; !all; sched_yield()) {
        pthread_mutex_lock(&lock);
        all = waiting == 2;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    tokens = 1;
    pthread_cond_signal(&ready);
    pthread_cancel(threads[0]);
    pthread_mutex_unlock(&lock);
    void *result;
    pthread_join(threads[0], &result);
    if (result == PTHREAD_CANCELED)
        pthread_join(threads[1], NULL);
    return 0;
}

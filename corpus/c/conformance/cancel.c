// Cancellation at cancellation points.
#include "say.h"
#include <semaphore.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty, started;

static void unlock(void *argument) {
    printf("unlocks\n");
    pthread_mutex_unlock(argument);
}

static void *in_condvar(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    sem_post(&started);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return argument;
}

static void *in_semaphore(void *argument) {
    sem_post(&started);
    sem_wait(&empty);
    return argument;
}

static void *in_sleep(void *argument) {
    sem_post(&started);
    for (;;)
        sleep(1000);
    return argument;
}

static void *in_join(void *argument) {
    sem_post(&started);
    pthread_join(*(pthread_t *)argument, NULL);
    return NULL;
}

static void *by_testing(void *argument) {
    sem_post(&started);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    return argument;
}

static void *disabled(void *argument) {
    int old;
    SAY(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    SAY_NUMBER(old == PTHREAD_CANCEL_ENABLE);
    SAY(pthread_setcancelstate(7, NULL));
    sem_post(&started);
    sem_wait(argument);
    SAY(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    SAY_NUMBER(old == PTHREAD_CANCEL_DISABLE);
    pthread_testcancel();
    printf("not reached\n");
    return NULL;
}

static void cancel(const char *name, void *(*function)(void *), void *argument, sem_t *then) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, function, argument);
    sem_wait(&started);
    int cancelled = pthread_cancel(thread);
    if (then)
        sem_post(then);
    pthread_join(thread, &result);
    printf("%s: %s, cancelled %d\n", name, error_name(cancelled), result == PTHREAD_CANCELED);
}

int main(void) {
    sem_init(&empty, 0, 0);
    sem_init(&started, 0, 0);
    SAY(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL));
    SAY(pthread_setcanceltype(7, NULL));
    cancel("in_condvar", in_condvar, NULL, NULL);
    SAY(pthread_mutex_trylock(&lock));
    SAY(pthread_mutex_unlock(&lock));
    cancel("in_semaphore", in_semaphore, NULL, NULL);
    cancel("in_sleep", in_sleep, NULL, NULL);
    pthread_t self = pthread_self();
    cancel("in_join", in_join, &self, NULL);
    cancel("by_testing", by_testing, NULL, NULL);
    cancel("disabled", disabled, &empty, &empty);
    return 0;
}

// Condition variables: waits, signals, broadcasts, time limits by both clocks.
#include "say.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int stage, woken;

static void *waits(void *argument) {
    (void)argument;
    pthread_mutex_lock(&lock);
    stage++;
    pthread_cond_broadcast(&ready);
    while (stage < 10)
        pthread_cond_wait(&ready, &lock);
    woken++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    SAY(pthread_cond_signal(&ready));
    SAY(pthread_cond_broadcast(&ready));
    for (int i = 0; i < 2; i++)
        SAY(pthread_create(&threads[i], NULL, waits, NULL));
    SAY(pthread_mutex_lock(&lock));
    while (stage < 2)
        pthread_cond_wait(&ready, &lock);
    stage = 10;
    SAY(pthread_cond_broadcast(&ready));
    SAY(pthread_mutex_unlock(&lock));
    for (int i = 0; i < 2; i++)
        SAY(pthread_join(threads[i], NULL));
    SAY_NUMBER(woken);

    SAY(pthread_mutex_lock(&lock));
    struct timespec limit = in_ms(CLOCK_REALTIME, 5);
    SAY(pthread_cond_timedwait(&ready, &lock, &limit));
    limit = in_ms(CLOCK_MONOTONIC, 5);
    SAY(pthread_cond_clockwait(&ready, &lock, CLOCK_MONOTONIC, &limit));
    struct timespec wrong = {0, -1};
    SAY(pthread_cond_timedwait(&ready, &lock, &wrong));
    SAY(pthread_mutex_trylock(&lock));
    SAY(pthread_mutex_unlock(&lock));

    pthread_condattr_t attributes;
    pthread_cond_t monotonic;
    SAY(pthread_condattr_init(&attributes));
    SAY(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    SAY(pthread_cond_init(&monotonic, &attributes));
    SAY(pthread_mutex_lock(&lock));
    limit = in_ms(CLOCK_MONOTONIC, 5);
    SAY(pthread_cond_timedwait(&monotonic, &lock, &limit));
    struct timespec after;
    clock_gettime(CLOCK_MONOTONIC, &after);
    SAY_NUMBER(after.tv_sec > limit.tv_sec || (after.tv_sec == limit.tv_sec && after.tv_nsec >= limit.tv_nsec));
    SAY(pthread_mutex_unlock(&lock));
    SAY(pthread_cond_destroy(&monotonic));
    SAY(pthread_cond_destroy(&ready));
    return 0;
}

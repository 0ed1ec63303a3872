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

static pthread_mutex_t nested = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *waits_nested(void *argument) {
    (void)argument;
    SAY(pthread_mutex_lock(&nested));
    SAY(pthread_mutex_lock(&nested));
    SAY(pthread_cond_wait(&ready, &nested));
    SAY(pthread_mutex_unlock(&nested));
    SAY(pthread_mutex_unlock(&nested));
    SAY(pthread_mutex_unlock(&nested));
    return NULL;
}

// A recursive mutex that is locked twice stays locked while its holder waits, and is locked twice after that.
static void waits_with_a_nested_lock(void) {
    SAY(pthread_mutex_lock(&nested));
    SAY(pthread_mutex_lock(&nested));
    struct timespec limit = in_ms(CLOCK_REALTIME, 5);
    SAY(pthread_cond_timedwait(&ready, &nested, &limit));
    SAY(pthread_mutex_unlock(&nested));
    SAY(pthread_mutex_unlock(&nested));
    SAY(pthread_mutex_unlock(&nested));
    pthread_t thread;
    pthread_create(&thread, NULL, waits_nested, NULL);
    while (pthread_tryjoin_np(thread, NULL)) {
        pthread_cond_signal(&ready);
        sched_yield();
    }
}

// Mutexes that say so where a thread unlocks them and does not hold them say so here too.
static void waits_without_the_lock(void) {
    struct timespec limit = in_ms(CLOCK_REALTIME, 5);
    pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    SAY(pthread_cond_wait(&ready, &checking));
    SAY(pthread_cond_timedwait(&ready, &checking, &limit));
    SAY(pthread_cond_wait(&ready, &nested));
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
    waits_with_a_nested_lock();
    waits_without_the_lock();
    SAY(pthread_cond_destroy(&ready));
    return 0;
}

// Robust mutexes: a holder that ends, recovery, and what nobody recovers.
#include "say.h"

static pthread_mutex_t recovered, lost, waited_with;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *ends(void *argument) {
    pthread_mutex_lock(argument);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    SAY(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    SAY(pthread_mutex_init(&recovered, &attributes));
    SAY(pthread_mutex_init(&lost, &attributes));
    run(ends, &recovered);
    SAY(pthread_mutex_lock(&recovered));
    SAY(pthread_mutex_consistent(&recovered));
    SAY(pthread_mutex_consistent(&recovered));
    SAY(pthread_mutex_unlock(&recovered));
    SAY(pthread_mutex_lock(&recovered));
    SAY(pthread_mutex_unlock(&recovered));
    SAY(pthread_mutex_unlock(&recovered));
    run(ends, &lost);
    SAY(pthread_mutex_trylock(&lost));
    SAY(pthread_mutex_unlock(&lost));
    SAY(pthread_mutex_lock(&lost));
    SAY(pthread_mutex_trylock(&lost));
    SAY(pthread_mutex_destroy(&recovered));

    // That its owner has ended is said also where the time has run out.
    SAY(pthread_mutex_init(&waited_with, &attributes));
    SAY(pthread_cond_wait(&never, &waited_with));
    SAY(pthread_mutex_lock(&waited_with));
    pthread_t thread;
    SAY(pthread_create(&thread, NULL, ends, &waited_with));
    int error = ETIMEDOUT;
    while (error == ETIMEDOUT) {
        struct timespec limit = in_ms(CLOCK_REALTIME, 5);
        error = pthread_cond_timedwait(&never, &waited_with, &limit);
    }
    SAY(error);
    SAY(pthread_mutex_consistent(&waited_with));
    SAY(pthread_mutex_unlock(&waited_with));
    SAY(pthread_join(thread, NULL));
    return 0;
}

// Robust mutexes: a holder that ends, recovery, and what nobody recovers.
#include "say.h"

static pthread_mutex_t recovered, lost;

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
    return 0;
}

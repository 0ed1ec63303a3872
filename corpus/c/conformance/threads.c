// Creating, joining, detaching and ending threads.
#include "say.h"
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t first;

static void *returns(void *argument) { return (char *)argument + 1; }

static void inner(void) { pthread_exit((void *)42); }

static void *exits(void *argument) {
    inner();
    return argument;
}

static void *joins_itself(void *argument) {
    (void)argument;
    SAY(pthread_join(pthread_self(), NULL));
    SAY_NUMBER(pthread_equal(pthread_self(), first) != 0);
    return NULL;
}

static void *waits(void *argument) {
    (void)argument;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return (void *)7;
}

static void *last(void *argument) {
    pthread_join(*(pthread_t *)argument, NULL);
    printf("the first thread has ended, the process has not\n");
    return NULL;
}

int main(void) {
    first = pthread_self();
    SAY_NUMBER(pthread_equal(first, pthread_self()) != 0);
    SAY_NUMBER((long)run(returns, (void *)4));
    SAY_NUMBER((long)run(exits, NULL));
    run(joins_itself, NULL);

    pthread_t thread;
    void *result;
    pthread_mutex_lock(&lock);
    SAY(pthread_create(&thread, NULL, waits, NULL));
    SAY(pthread_tryjoin_np(thread, &result));
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SAY(pthread_timedjoin_np(thread, &result, &soon));
    soon = in_ms(CLOCK_MONOTONIC, 5);
    SAY(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &soon));
    pthread_mutex_unlock(&lock);
    SAY(pthread_join(thread, &result));
    SAY_NUMBER((long)result);

    pthread_attr_t attributes;
    SAY(pthread_attr_init(&attributes));
    SAY(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED));
    pthread_mutex_lock(&lock);
    SAY(pthread_create(&thread, &attributes, waits, NULL));
    SAY(pthread_join(thread, NULL));
    SAY(pthread_detach(thread));
    pthread_mutex_unlock(&lock);
    SAY(pthread_attr_destroy(&attributes));
    pthread_mutex_lock(&lock);
    SAY(pthread_create(&thread, NULL, waits, NULL));
    SAY(pthread_detach(thread));
    SAY(pthread_join(thread, NULL));
    pthread_mutex_unlock(&lock);

    SAY(pthread_create(&thread, NULL, last, &first));
    fflush(stdout);
    pthread_exit(NULL);
}

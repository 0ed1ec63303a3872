// Mutexes of the types normal, recursive, error-checking and adaptive.
#include "say.h"

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t early_twice = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

__attribute__((constructor)) static void before_main(void) {
    pthread_mutex_lock(&early);
    pthread_mutex_lock(&early_twice);
    pthread_mutex_lock(&early_twice);
}

static void *after_main(void *argument) {
    (void)argument;
    SAY(pthread_mutex_trylock(&early));
    SAY(pthread_mutex_trylock(&early_twice));
    return NULL;
}

// What a constructor has locked, the first thread holds.
static void locked_before_main(void) {
    SAY(pthread_mutex_trylock(&early));
    run(after_main, NULL);
    SAY(pthread_mutex_unlock(&early));
    for (int i = 0; i < 3; i++)
        SAY(pthread_mutex_unlock(&early_twice));
    run(after_main, NULL);
}

static void *other(void *argument) {
    (void)argument;
    SAY(pthread_mutex_trylock(&normal));
    SAY(pthread_mutex_trylock(&recursive));
    SAY(pthread_mutex_unlock(&recursive));
    SAY(pthread_mutex_trylock(&checking));
    SAY(pthread_mutex_unlock(&checking));
    SAY(pthread_mutex_trylock(&adaptive));
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SAY(pthread_mutex_timedlock(&normal, &soon));
    soon = in_ms(CLOCK_MONOTONIC, 5);
    SAY(pthread_mutex_clocklock(&normal, CLOCK_MONOTONIC, &soon));
    struct timespec wrong = {0, 2000000000};
    SAY(pthread_mutex_timedlock(&normal, &wrong));
    return NULL;
}

static void *free_again(void *argument) {
    (void)argument;
    SAY(pthread_mutex_trylock(&normal));
    SAY(pthread_mutex_trylock(&normal));
    SAY(pthread_mutex_unlock(&normal));
    struct timespec soon = in_ms(CLOCK_REALTIME, 1000);
    SAY(pthread_mutex_timedlock(&normal, &soon));
    SAY(pthread_mutex_unlock(&normal));
    return NULL;
}

int main(void) {
    locked_before_main();
    SAY(pthread_mutex_lock(&normal));
    SAY(pthread_mutex_lock(&recursive));
    SAY(pthread_mutex_lock(&recursive));
    SAY(pthread_mutex_trylock(&recursive));
    SAY(pthread_mutex_lock(&checking));
    SAY(pthread_mutex_lock(&checking));
    SAY(pthread_mutex_trylock(&checking));
    SAY(pthread_mutex_lock(&adaptive));
    run(other, NULL);
    SAY(pthread_mutex_unlock(&normal));
    for (int i = 0; i < 3; i++)
        SAY(pthread_mutex_unlock(&recursive));
    SAY(pthread_mutex_unlock(&recursive));
    SAY(pthread_mutex_unlock(&checking));
    SAY(pthread_mutex_unlock(&checking));
    SAY(pthread_mutex_unlock(&adaptive));
    run(free_again, NULL);

    pthread_mutexattr_t attributes;
    pthread_mutex_t made;
    SAY(pthread_mutexattr_init(&attributes));
    SAY(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE));
    SAY(pthread_mutex_init(&made, &attributes));
    SAY(pthread_mutex_lock(&made));
    SAY(pthread_mutex_lock(&made));
    SAY(pthread_mutex_unlock(&made));
    SAY(pthread_mutex_unlock(&made));
    SAY(pthread_mutex_destroy(&made));
    SAY(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK));
    SAY(pthread_mutex_init(&made, &attributes));
    SAY(pthread_mutex_unlock(&made));
    SAY(pthread_mutex_lock(&made));
    SAY(pthread_mutex_lock(&made));
    SAY(pthread_mutex_unlock(&made));
    SAY(pthread_mutex_destroy(&made));
    SAY(pthread_mutexattr_destroy(&attributes));
    return 0;
}

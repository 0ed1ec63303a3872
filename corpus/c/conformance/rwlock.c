// Read-write locks.
#include "say.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *against_reader(void *argument) {
    (void)argument;
    SAY(pthread_rwlock_tryrdlock(&lock));
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_rdlock(&lock));
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_trywrlock(&lock));
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SAY(pthread_rwlock_timedwrlock(&lock, &soon));
    SAY(pthread_rwlock_timedrdlock(&lock, &soon));
    SAY(pthread_rwlock_unlock(&lock));
    return NULL;
}

static void *against_writer(void *argument) {
    (void)argument;
    SAY(pthread_rwlock_tryrdlock(&lock));
    SAY(pthread_rwlock_trywrlock(&lock));
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SAY(pthread_rwlock_timedrdlock(&lock, &soon));
    soon = in_ms(CLOCK_MONOTONIC, 5);
    SAY(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &soon));
    SAY(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon));
    return NULL;
}

// A lock that prefers writers: none waits, and readers get in more than once.
static void prefers_writers(void) {
    pthread_rwlockattr_t attributes;
    pthread_rwlock_t preferring;
    SAY(pthread_rwlockattr_init(&attributes));
    SAY(pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
    SAY(pthread_rwlock_init(&preferring, &attributes));
    SAY(pthread_rwlock_rdlock(&preferring));
    SAY(pthread_rwlock_rdlock(&preferring));
    SAY(pthread_rwlock_trywrlock(&preferring));
    SAY(pthread_rwlock_tryrdlock(&preferring));
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SAY(pthread_rwlock_timedwrlock(&preferring, &soon));
    SAY(pthread_rwlock_tryrdlock(&preferring));
    for (int i = 0; i < 4; i++)
        SAY(pthread_rwlock_unlock(&preferring));
    SAY(pthread_rwlock_wrlock(&preferring));
    SAY(pthread_rwlock_wrlock(&preferring));
    SAY(pthread_rwlock_tryrdlock(&preferring));
    SAY(pthread_rwlock_unlock(&preferring));
    SAY(pthread_rwlock_destroy(&preferring));
}

int main(void) {
    SAY(pthread_rwlock_rdlock(&lock));
    SAY(pthread_rwlock_rdlock(&lock));
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_trywrlock(&lock));
    run(against_reader, NULL);
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_wrlock(&lock));
    SAY(pthread_rwlock_wrlock(&lock));
    SAY(pthread_rwlock_rdlock(&lock));
    run(against_writer, NULL);
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_destroy(&lock));
    pthread_rwlock_t made;
    SAY(pthread_rwlock_init(&made, NULL));
    SAY(pthread_rwlock_trywrlock(&made));
    SAY(pthread_rwlock_unlock(&made));
    SAY(pthread_rwlock_destroy(&made));
    prefers_writers();
    return 0;
}

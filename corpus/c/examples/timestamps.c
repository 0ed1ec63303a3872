// Whoever comes later sees a later time, by whichever kind of lock it comes later.
// expect: holds
#include <assert.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long last, last_read;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void *stamps(void *argument) {
    pthread_mutex_lock(&mutex);
    assert(now() > last);
    // One that has looked at the clock more often than the other.
    for (int i = 0; i < 3; i++)
        last = now();
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void *reads(void *argument) {
    pthread_rwlock_rdlock(&lock);
    last_read = now();
    last_read = now();
    pthread_rwlock_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, stamps, NULL);
    pthread_create(&threads[1], NULL, reads, NULL);
    stamps(NULL);
    pthread_rwlock_wrlock(&lock);
    assert(now() > last_read);
    pthread_rwlock_unlock(&lock);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}

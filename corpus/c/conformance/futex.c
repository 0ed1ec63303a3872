// What a program asks the system for itself: to wait on a word and to be woken, and the number of a thread. And memory
// that is resized to nothing.
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

static unsigned word;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long futex(unsigned *at, int what, unsigned value, struct timespec *limit) {
    return syscall(SYS_futex, at, what, value, limit, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void *sets(void *argument) {
    // Here another thread gets to wait.
    pthread_mutex_lock(&lock);
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL);
    return argument;
}

static void *waits(void *argument) {
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 1)
        futex(&word, FUTEX_WAIT_BITSET, 1, NULL);
    return argument;
}

static void *number(void *argument) {
    *(long *)argument = syscall(SYS_gettid);
    return NULL;
}

int main(void) {
    struct timespec soon = {0, 1000000}, wrong = {0, -1}, moment;
    pthread_t threads[3];
    long other = 0;

    SAY_ERRNO(futex(&word, FUTEX_WAIT, 7, NULL));
    SAY_ERRNO(futex(&word, FUTEX_WAIT, 0, &soon));
    SAY_ERRNO(futex(&word, FUTEX_WAIT, 0, &wrong));
    moment = in_ms(CLOCK_MONOTONIC, 1);
    SAY_ERRNO(futex(&word, FUTEX_WAIT_BITSET, 0, &moment));
    moment = in_ms(CLOCK_REALTIME, 1);
    SAY_ERRNO(futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &moment));
    SAY_NUMBER(futex(&word, FUTEX_WAKE, 1, NULL));

    pthread_create(&threads[0], NULL, sets, NULL);
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0)
        futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL);
    pthread_join(threads[0], NULL);
    SAY_NUMBER(word);

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, waits, NULL);
    __atomic_store_n(&word, 2, __ATOMIC_RELEASE);
    SAY_NUMBER(futex(&word, FUTEX_WAKE, 100, NULL) <= 3);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);

    run(number, &other);
    SAY_NUMBER(other == syscall(SYS_gettid));
    SAY_NUMBER(syscall(SYS_gettid) == gettid());

    SAY_NUMBER(realloc(malloc(100), 0) == NULL);
    return 0;
}

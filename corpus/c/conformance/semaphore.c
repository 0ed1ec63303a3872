// Semaphores, unnamed and named.
#include "say.h"
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t items;

static void *posts(void *argument) {
    SAY_ERRNO(sem_post(argument));
    return NULL;
}

static void tries(const char *name, int flags, unsigned value) {
    errno = 0;
    int fails = sem_open(name, flags, 0600, value) == SEM_FAILED;
    printf("sem_open: %s\n", fails ? error_name(errno) : "0");
}

int main(void) {
    int value;
    SAY_ERRNO(sem_init(&items, 0, 1));
    SAY_ERRNO(sem_init(&items, 0, (unsigned)INT_MAX + 1));
    SAY_ERRNO(sem_wait(&items));
    SAY_ERRNO(sem_trywait(&items));
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SAY_ERRNO(sem_timedwait(&items, &soon));
    soon = in_ms(CLOCK_MONOTONIC, 5);
    SAY_ERRNO(sem_clockwait(&items, CLOCK_MONOTONIC, &soon));
    struct timespec wrong = {0, 2000000000};
    SAY_ERRNO(sem_timedwait(&items, &wrong));
    run(posts, &items);
    SAY_ERRNO(sem_getvalue(&items, &value));
    SAY_NUMBER(value);
    SAY_ERRNO(sem_trywait(&items));
    SAY_ERRNO(sem_getvalue(&items, &value));
    SAY_NUMBER(value);
    SAY_ERRNO(sem_destroy(&items));
    sem_t full;
    SAY_ERRNO(sem_init(&full, 0, INT_MAX));
    SAY_ERRNO(sem_post(&full));

    char name[64];
    snprintf(name, sizeof name, "/selvedge-conformance-%d", (int)getpid());
    errno = 0;
    sem_t *missing = sem_open(name, 0);
    printf("sem_open without O_CREAT: %d %s\n", missing == SEM_FAILED, error_name(errno));
    sem_t *named = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
    SAY_NUMBER(named != SEM_FAILED);
    errno = 0;
    sem_t *again = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
    printf("sem_open with O_EXCL: %d %s\n", again == SEM_FAILED, error_name(errno));
    again = sem_open(name, O_CREAT, 0600, 7);
    SAY_ERRNO(sem_getvalue(again, &value));
    SAY_NUMBER(value);
    run(posts, again);
    SAY_ERRNO(sem_getvalue(named, &value));
    SAY_NUMBER(value);
    SAY_ERRNO(sem_close(again));
    SAY_ERRNO(sem_unlink(name));
    SAY_ERRNO(sem_unlink(name));
    SAY_ERRNO(sem_wait(named));
    SAY_ERRNO(sem_close(named));

    // The slashes before a name are no part of it, and it may be as long as that of a file, without `sem.`.
    again = sem_open(name + 1, O_CREAT | O_EXCL, 0600, 2);
    SAY_NUMBER(again != SEM_FAILED);
    SAY_ERRNO(sem_post(sem_open(name, 0)));
    SAY_ERRNO(sem_getvalue(again, &value));
    SAY_NUMBER(value);
    char slashes[80];
    snprintf(slashes, sizeof slashes, "//%s", name);
    SAY_ERRNO(sem_unlink(slashes));
    char long_name[300];
    for (int length = 251; length <= 252; length++) {
        snprintf(long_name, sizeof long_name, "%s", name);
        memset(long_name + strlen(name), 'n', length + 1 - strlen(name));
        long_name[length + 1] = 0;
        tries(long_name, O_CREAT, 1);
        SAY_ERRNO(sem_unlink(long_name));
    }
    tries("", O_CREAT, 1);
    tries("//", O_CREAT, 1);
    tries("/selvedge/conformance", O_CREAT, 1);
    SAY_ERRNO(sem_unlink("/selvedge/conformance"));
    tries(name, O_CREAT, (unsigned)INT_MAX + 1);
    tries(name, O_CREAT, 1);
    tries(name, O_CREAT | O_EXCL, (unsigned)INT_MAX + 1);
    SAY_ERRNO(sem_unlink(name));
    return 0;
}

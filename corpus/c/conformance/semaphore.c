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
    return 0;
}

// Error codes that the other programs of the suite do not come upon: a line for each function and code.
#include "say.h"
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <threads.h>
#include <unistd.h>

enum { NO_CLOCK = 77 };
static const struct timespec bad = {0, -1}, also_bad = {0, 1000000000};

static pthread_mutex_t of_kind(int kind, int robust) {
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutexattr_setrobust(&attributes, robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return mutex;
}

static void *lock_and_end(void *mutex) {
    pthread_mutex_lock(mutex);
    return NULL;
}

static void *unlock_of_another(void *mutex) {
    SAY(pthread_mutex_unlock(mutex));
    return NULL;
}

static void mutexes(void) {
    struct timespec later = in_ms(CLOCK_REALTIME, 50), later_monotonic = in_ms(CLOCK_MONOTONIC, 50);
    pthread_mutex_t checking = of_kind(PTHREAD_MUTEX_ERRORCHECK, 0), recursive = of_kind(PTHREAD_MUTEX_RECURSIVE, 0);
    SAY(pthread_mutex_lock(&checking));
    SAY(pthread_mutex_timedlock(&checking, &later));
    SAY(pthread_mutex_clocklock(&checking, CLOCK_MONOTONIC, &later_monotonic));
    SAY(pthread_mutex_trylock(&checking));
    run(unlock_of_another, &checking);
    SAY(pthread_mutex_unlock(&checking));
    SAY(pthread_mutex_unlock(&checking));
    SAY(pthread_mutex_destroy(&checking));
    SAY(pthread_mutex_timedlock(&recursive, &later));
    SAY(pthread_mutex_clocklock(&recursive, CLOCK_MONOTONIC, &later_monotonic));
    SAY(pthread_mutex_unlock(&recursive));
    SAY(pthread_mutex_unlock(&recursive));
    run(unlock_of_another, &recursive);
    SAY(pthread_mutex_unlock(&recursive));
    SAY(pthread_mutex_clocklock(&recursive, NO_CLOCK, &later));
    SAY(pthread_mutex_destroy(&recursive));
    for (int way = 0; way < 2; way++) {
        pthread_mutex_t robust = of_kind(PTHREAD_MUTEX_NORMAL, 1);
        run(lock_and_end, &robust);
        if (way == 0)
            SAY(pthread_mutex_timedlock(&robust, &later));
        else
            SAY(pthread_mutex_clocklock(&robust, CLOCK_MONOTONIC, &later_monotonic));
        SAY(pthread_mutex_consistent(&robust));
        SAY(pthread_mutex_unlock(&robust));
        SAY(pthread_mutex_unlock(&robust));
        SAY(pthread_mutex_destroy(&robust));
    }
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *too_late(void *unused) {
    struct timespec past = {1, 0};
    SAY(pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &bad));
    SAY(pthread_mutex_clocklock(&held, CLOCK_REALTIME, &past));
    SAY(pthread_mutex_timedlock(&held, &also_bad));
    return unused;
}

static void conditions(void) {
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&held);
    run(too_late, NULL);
    SAY(pthread_cond_clockwait(&condition, &held, NO_CLOCK, &bad));
    SAY(pthread_cond_clockwait(&condition, &held, CLOCK_MONOTONIC, &bad));
    SAY(pthread_cond_timedwait(&condition, &held, &also_bad));
    SAY(pthread_cond_signal(&condition));
    SAY(pthread_cond_broadcast(&condition));
    SAY(pthread_mutex_unlock(&held));
    SAY(pthread_cond_destroy(&condition));
}

static void locks(void) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec later = in_ms(CLOCK_REALTIME, 50), later_monotonic = in_ms(CLOCK_MONOTONIC, 50);
    SAY(pthread_rwlock_wrlock(&lock));
    SAY(pthread_rwlock_timedrdlock(&lock, &later));
    SAY(pthread_rwlock_timedwrlock(&lock, &later));
    SAY(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &later_monotonic));
    SAY(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &later_monotonic));
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_timedrdlock(&lock, &bad));
    SAY(pthread_rwlock_timedwrlock(&lock, &also_bad));
    SAY(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &bad));
    SAY(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &also_bad));
    SAY(pthread_rwlock_clockrdlock(&lock, NO_CLOCK, &later));
    SAY(pthread_rwlock_clockwrlock(&lock, NO_CLOCK, &later));
    SAY(pthread_rwlock_destroy(&lock));
}

static void semaphores(void) {
    sem_t semaphore;
    SAY_ERRNO(sem_init(&semaphore, 0, 0));
    SAY_ERRNO(sem_clockwait(&semaphore, NO_CLOCK, &bad));
    SAY_ERRNO(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &bad));
    SAY_ERRNO(sem_timedwait(&semaphore, &also_bad));
    SAY_ERRNO(sem_destroy(&semaphore));
    char name[60];
    snprintf(name, sizeof name, "/selvedge-codes-%d", (int)getpid());
    sem_unlink(name);
    printf("sem_open, none: %s\n", sem_open(name, 0) == SEM_FAILED ? error_name(errno) : "0");
    sem_t *named = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    printf("sem_open: %d\n", named != SEM_FAILED);
    printf("sem_open, again: %s\n", sem_open(name, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED ? error_name(errno) : "0");
    printf("sem_open, the same: %d\n", sem_open(name, 0) == named);
    SAY_ERRNO(sem_close(named));
    SAY_ERRNO(sem_close(named));
    SAY_ERRNO(sem_unlink(name));
    SAY_ERRNO(sem_unlink(name));
    snprintf(name, sizeof name, "/selvedge-too-many-%d", (int)getpid());
    printf("sem_open, too many: %s\n",
           sem_open(name, O_CREAT, 0600, SEM_VALUE_MAX + 1u) == SEM_FAILED ? error_name(errno) : "0");
}

static void *ends(void *argument) { return argument; }

static void threads(void) {
    pthread_t thread, detached;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    struct timespec later = in_ms(CLOCK_REALTIME, 50);
    static pthread_mutex_t until = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&until);
    SAY(pthread_create(&detached, &attributes, lock_and_end, &until));
    SAY(pthread_tryjoin_np(detached, NULL));
    SAY(pthread_timedjoin_np(detached, NULL, &later));
    SAY(pthread_clockjoin_np(detached, NULL, CLOCK_REALTIME, &later));
    SAY(pthread_detach(detached));
    SAY(pthread_kill(detached, 0));
    SAY(pthread_kill(detached, -1));
    SAY(pthread_kill(detached, 1000));
    SAY(pthread_mutex_unlock(&until));
    SAY(pthread_attr_destroy(&attributes));
    SAY(pthread_create(&thread, NULL, ends, NULL));
    SAY(pthread_kill(thread, 0));
    SAY(pthread_setname_np(pthread_self(), "a name"));
    SAY(pthread_setname_np(pthread_self(), "a name that is longer than there is room for"));
    SAY(pthread_clockjoin_np(thread, NULL, NO_CLOCK, &later));
    SAY(pthread_join(thread, NULL));
    SAY(pthread_timedjoin_np(pthread_self(), NULL, &later));
    SAY(pthread_clockjoin_np(pthread_self(), NULL, CLOCK_MONOTONIC, &later));
}

static void memory(void) {
    char *block = realloc(malloc(10), 100000);
    memset(block, 1, 100000);
    block = realloc(block, 20);
    SAY_NUMBER(block[19]);
    free(block);
    free(NULL);
}

static void keys(void) {
    static pthread_key_t keys[PTHREAD_KEYS_MAX + 1];
    int count = 0, error = 0;
    while (count <= PTHREAD_KEYS_MAX && (error = pthread_key_create(&keys[count], NULL)) == 0)
        count++;
    printf("pthread_key_create, too many: %s\n", error_name(error));
    while (count > 0)
        pthread_key_delete(keys[--count]);
    SAY(pthread_key_delete(keys[0]));
    SAY(pthread_key_delete(PTHREAD_KEYS_MAX));
}

static void clocks(void) {
    struct timespec time;
    SAY_NUMBER(clock() != -1);
    SAY_ERRNO(clock_gettime(NO_CLOCK, &time));
    SAY_ERRNO(nanosleep(&also_bad, NULL));
    SAY(clock_nanosleep(NO_CLOCK, 0, &time, NULL));
    SAY(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL));
}

static const char *c11_name(int result) {
    return result == thrd_success    ? "success"
           : result == thrd_busy     ? "busy"
           : result == thrd_timedout ? "timedout"
           : result == thrd_nomem    ? "nomem"
                                     : "error";
}
#define SAY_C11(call) printf("%s: %s\n", #call, c11_name(call))

static mtx_t plain;

static int another(void *unused) {
    struct timespec past = {1, 0};
    SAY_C11(mtx_trylock(&plain));
    SAY_C11(mtx_timedlock(&plain, &past));
    SAY_C11(mtx_timedlock(&plain, &bad));
    return unused != NULL;
}

static void c11(void) {
    struct timespec past = {1, 0};
    thrd_t thread;
    cnd_t condition;
    int result = 7;
    SAY_C11(mtx_init(&plain, mtx_timed));
    SAY_C11(mtx_init(&plain, 1000));
    SAY_C11(cnd_init(&condition));
    SAY_C11(mtx_lock(&plain));
    // Said when the other has said its own.
    int created = thrd_create(&thread, another, NULL);
    SAY_C11(thrd_join(thread, &result));
    SAY_C11(created);
    SAY_NUMBER(result);
    SAY_C11(cnd_timedwait(&condition, &plain, &past));
    SAY_C11(cnd_timedwait(&condition, &plain, &bad));
    SAY_C11(mtx_unlock(&plain));
    SAY_NUMBER(thrd_sleep(&also_bad, NULL));
    cnd_destroy(&condition);
    mtx_destroy(&plain);
}

int main(void) {
    mutexes();
    conditions();
    locks();
    semaphores();
    threads();
    keys();
    memory();
    clocks();
    c11();
    exit(0);
}

// GLib's mutexes and condition variables. They are declared here, such that the library is enough without its headers.
#include "say.h"

#include <stdint.h>
#include <stdlib.h>

typedef union { void *pointer; unsigned words[2]; } GMutex;
typedef struct { void *pointer; unsigned words[2]; } GCond;
void g_mutex_init(GMutex *), g_mutex_clear(GMutex *), g_mutex_lock(GMutex *), g_mutex_unlock(GMutex *);
int g_mutex_trylock(GMutex *);
void g_cond_init(GCond *), g_cond_clear(GCond *), g_cond_wait(GCond *, GMutex *);
int g_cond_wait_until(GCond *, GMutex *, int64_t);
void g_cond_signal(GCond *), g_cond_broadcast(GCond *);
int g_once_init_enter(volatile void *);
void g_once_init_leave(volatile void *, uintptr_t);
int64_t g_get_monotonic_time(void);

static GMutex lock, early;
static GCond ready;
static int stage, woken;

__attribute__((constructor)) static void locks_early(void) { g_mutex_lock(&early); }

static void *tries(void *mutex) { return (void *)(long)g_mutex_trylock(mutex); }

static void *tries_and_gives_back(void *mutex) {
    if (!g_mutex_trylock(mutex))
        return NULL;
    g_mutex_unlock(mutex);
    return mutex;
}

static void *waits(void *argument) {
    g_mutex_lock(&lock);
    stage++;
    g_cond_broadcast(&ready);
    while (stage < 10)
        g_cond_wait(&ready, &lock);
    woken++;
    g_mutex_unlock(&lock);
    return argument;
}

static void *signals(void *argument) {
    g_mutex_lock(&lock);
    stage = 20;
    g_cond_signal(&ready);
    g_mutex_unlock(&lock);
    return argument;
}

static uintptr_t once;
static int made;

static void *makes(void *argument) {
    if (!__atomic_load_n(&once, __ATOMIC_ACQUIRE) && g_once_init_enter(&once)) {
        made++;
        g_once_init_leave(&once, 7);
    }
    return made == 1 ? argument : NULL;
}

int main(void) {
    pthread_t makers[2];
    for (int i = 0; i < 2; i++) pthread_create(&makers[i], NULL, makes, &once);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(makers[i], &result);
        SAY_NUMBER(result != NULL);
    }
    SAY_NUMBER(once);
    SAY_NUMBER(run(tries, &early) != NULL);
    g_mutex_unlock(&early);
    SAY_NUMBER(run(tries_and_gives_back, &early) != NULL);

    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, waits, NULL);
    g_mutex_lock(&lock);
    SAY_NUMBER(run(tries, &lock) != NULL);
    while (stage < 2)
        g_cond_wait(&ready, &lock);
    stage = 10;
    g_cond_broadcast(&ready);
    g_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    SAY_NUMBER(woken);

    g_mutex_lock(&lock);
    SAY_NUMBER(g_cond_wait_until(&ready, &lock, g_get_monotonic_time() + 2000) != 0);
    SAY_NUMBER(g_cond_wait_until(&ready, &lock, -1) != 0);
    SAY_NUMBER(run(tries, &lock) != NULL);
    pthread_create(&threads[0], NULL, signals, NULL);
    while (stage < 20)
        g_cond_wait(&ready, &lock);
    g_mutex_unlock(&lock);
    pthread_join(threads[0], NULL);

    GMutex *mutex = malloc(sizeof *mutex);
    GCond *condvar = malloc(sizeof *condvar);
    g_mutex_init(mutex);
    g_cond_init(condvar);
    g_mutex_lock(mutex);
    g_cond_signal(condvar);
    g_mutex_unlock(mutex);
    g_cond_clear(condvar);
    g_mutex_clear(mutex);
    g_mutex_init(mutex);
    SAY_NUMBER(run(tries_and_gives_back, mutex) != NULL);
    g_mutex_clear(mutex);
    free(condvar);
    free(mutex);
    return 0;
}

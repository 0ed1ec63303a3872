// C11 threads.
#include "say.h"
#include <threads.h>

static const char *result_name(int result) {
    switch (result) {
    case thrd_success: return "thrd_success";
    case thrd_busy: return "thrd_busy";
    case thrd_error: return "thrd_error";
    case thrd_nomem: return "thrd_nomem";
    case thrd_timedout: return "thrd_timedout";
    default: return "?";
    }
}
#define SAY11(call) printf("%s: %s\n", #call, result_name(call))

static mtx_t plain, timed, recursive;
static cnd_t condition;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int initialised, ready, destroyed;

static void initialise(void) { initialised++; }
static void destroy(void *value) { destroyed += (int)(long)value; }

static int tries(void *argument) {
    (void)argument;
    call_once(&once, initialise);
    SAY11(tss_set(key, (void *)3));
    SAY11(mtx_trylock(&plain));
    SAY11(mtx_trylock(&recursive));
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SAY11(mtx_timedlock(&timed, &soon));
    thrd_exit(9);
}

static int waits(void *argument) {
    (void)argument;
    mtx_lock(&plain);
    while (!ready)
        cnd_wait(&condition, &plain);
    mtx_unlock(&plain);
    return 5;
}

int main(void) {
    thrd_t thread;
    int result;
    SAY11(mtx_init(&plain, mtx_plain));
    SAY11(mtx_init(&timed, mtx_timed));
    SAY11(mtx_init(&recursive, mtx_plain | mtx_recursive));
    SAY11(cnd_init(&condition));
    SAY11(tss_create(&key, destroy));
    call_once(&once, initialise);
    SAY11(mtx_lock(&plain));
    SAY11(mtx_lock(&timed));
    SAY11(mtx_lock(&recursive));
    SAY11(mtx_lock(&recursive));
    int created = thrd_create(&thread, tries, NULL);
    SAY11(thrd_join(thread, &result));
    SAY11(created);
    SAY_NUMBER(result);
    SAY_NUMBER(initialised);
    SAY_NUMBER(destroyed);
    SAY11(mtx_unlock(&recursive));
    SAY11(mtx_unlock(&recursive));
    SAY11(mtx_unlock(&timed));
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SAY11(cnd_timedwait(&condition, &plain, &soon));
    SAY11(mtx_unlock(&plain));
    SAY11(thrd_create(&thread, waits, NULL));
    SAY_NUMBER(thrd_equal(thrd_current(), thread) != 0);
    thrd_yield();
    mtx_lock(&plain);
    ready = 1;
    SAY11(cnd_signal(&condition));
    SAY11(cnd_broadcast(&condition));
    mtx_unlock(&plain);
    SAY11(thrd_join(thread, &result));
    SAY_NUMBER(result);
    struct timespec short_time = {0, 1000};
    SAY_NUMBER(thrd_sleep(&short_time, NULL));
    SAY11(thrd_create(&thread, waits, NULL));
    SAY11(thrd_detach(thread));
    mtx_destroy(&recursive);
    mtx_destroy(&timed);
    tss_delete(key);
    return 0;
}

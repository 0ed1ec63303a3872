// A thread looks at an atomic until it is set or two seconds are over, with and without letting others run. Before there are
// threads, time passes as usual.
// expect: holds
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int never;
static int timed_out[2];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *look(void *yields) {
    double deadline = now() + 2;
    while (!atomic_load(&never)) {
        if (now() > deadline) {
            timed_out[yields != NULL] = 1;
            break;
        }
        if (yields)
            sched_yield();
    }
    return NULL;
}

int main(void) {
    double begin = now();
    for (int i = 0; i < 100; i++)
        now();
    assert(now() < begin + 1);
    pthread_t thread;
    pthread_create(&thread, NULL, look, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, look, &thread);
    pthread_join(thread, NULL);
    assert(timed_out[0] && timed_out[1]);
    return 0;
}

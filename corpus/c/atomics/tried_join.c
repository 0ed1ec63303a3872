// A thread that was joined without waiting for it has done all that it does.
// expect: holds
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>

static int written;

static void *writes(void *argument) {
    written = 1;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
    while (pthread_tryjoin_np(thread, NULL) != 0)
        sched_yield();
    assert(written == 1);
    return 0;
}

// A thread waits with a limit of time when the process exits, and fails when the time runs out.
// expect: crash preemptions=0 says=abort
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *waits(void *argument) {
    struct timespec past = {1, 0};
    (void)argument;
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&never, &lock, &past);
    abort();
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    return 0;
}

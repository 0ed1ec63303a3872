// The assumption of verification benchmarks that ends by abort: where it is not met, nothing is wrong.
// expect: assertion preemptions=1 says=lost
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns, lost;

void assume_abort_if_not(int condition) {
    if (!condition)
        abort();
}

static void *turn(void *argument) {
    pthread_mutex_lock(&lock);
    int seen = turns;
    pthread_mutex_unlock(&lock);
    // Only executions in which the other has not been here are of interest.
    assume_abort_if_not(seen == 0);
    pthread_mutex_lock(&lock);
    lost = turns++ > 0;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, turn, NULL);
    turn(NULL);
    pthread_join(thread, NULL);
    assert(!lost);
    return 0;
}

// Two threads wait for each other, politely and for ever.
// expect: livelock preemptions=0
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turn;

static int look(void) {
    pthread_mutex_lock(&lock);
    int now = turn;
    pthread_mutex_unlock(&lock);
    return now;
}

static void *waits(void *argument) {
    while (look() == 0)
        sched_yield();
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    waits(NULL);
    pthread_join(thread, NULL);
    return 0;
}

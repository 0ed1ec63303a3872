// What is done at the exit comes between two steps of a thread that nobody has joined.
// expect: assertion preemptions=1 says=is_open
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_open = 1;

static int looks(void) {
    pthread_mutex_lock(&lock);
    int found = is_open;
    pthread_mutex_unlock(&lock);
    return found;
}

static void *uses(void *argument) {
    if (looks()) {
        pthread_mutex_lock(&lock);
        assert(is_open);
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

static void closes(void) {
    pthread_mutex_lock(&lock);
    is_open = 0;
    pthread_mutex_unlock(&lock);
}

int main(void) {
    pthread_t thread;
    atexit(closes);
    pthread_create(&thread, NULL, uses, NULL);
    pthread_detach(thread);
    sched_yield();
    return 0;
}

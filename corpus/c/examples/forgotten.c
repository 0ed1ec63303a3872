// Main does not wait for the thread, which fails if it gets to run.
// expect: assertion preemptions=0
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *fails(void *argument) {
    pthread_mutex_lock(&lock);
    assert(!done);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, fails, NULL);
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    return 0;
}

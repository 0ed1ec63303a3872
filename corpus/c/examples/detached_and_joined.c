// A thread detaches itself, and then it cannot be joined.
// expect: assertion preemptions=0 says=pthread_join
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *detaches(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_detach(pthread_self());
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, detaches, NULL);
    assert(pthread_join(thread, NULL) == 0);
    return 0;
}

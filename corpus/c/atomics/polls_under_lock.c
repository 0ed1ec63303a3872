// A thread looks at a variable under a lock until another has set it: each time it gives the lock back, and has done nothing.
// expect: holds
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready, value;

static void *set(void *argument) {
    pthread_mutex_lock(&lock);
    value = 42;
    ready = 1;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, set, NULL);
    for (;;) {
        pthread_mutex_lock(&lock);
        int is_ready = ready;
        pthread_mutex_unlock(&lock);
        if (is_ready)
            break;
    }
    assert(value == 42);
    pthread_join(thread, NULL);
    return 0;
}

// A mutex is destroyed while a thread may still use it.
// expect: misuse preemptions=0 says=destroyed
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *uses(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, uses, NULL);
    pthread_mutex_destroy(&lock);
    pthread_join(thread, NULL);
    return 0;
}

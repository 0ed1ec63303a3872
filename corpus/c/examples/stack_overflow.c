// A thread that calls itself without end.
// expect: crash preemptions=0 says=worker 1: segmentation fault: the stack has overflown
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int recurses(volatile char *outer) {
    volatile char page[4096];
    page[0] = outer[0];
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return recurses(page) + page[0];
}

static void *worker(void *argument) {
    char first = 1;
    recurses(&first);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    return 0;
}

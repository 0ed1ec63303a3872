// One of two threads ends the process by a signal that nothing catches, if the other has been first.
// expect: crash preemptions=0 says=signal 15 (SIGTERM)
#include <pthread.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first;

static void *ends(void *argument) {
    pthread_mutex_lock(&lock);
    if (first)
        raise(SIGTERM);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    pthread_mutex_lock(&lock);
    first = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}

// A thread unlocks what the other has locked.
// expect: misuse preemptions=0 says=another thread holds
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *unlocks(void *argument) {
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, unlocks, NULL);
    pthread_join(thread, NULL);
    return 0;
}

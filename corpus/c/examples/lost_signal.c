// The waiter looks at the flag without the mutex, so that the signal can come between looking and waiting.
// expect: lost-signal preemptions=2 says=nobody waited
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int flag;

static int is_set(void) {
    pthread_mutex_lock(&lock);
    int now = flag;
    pthread_mutex_unlock(&lock);
    return now;
}

static void *waits(void *argument) {
    if (!is_set()) {
        pthread_mutex_lock(&lock);
        pthread_cond_wait(&ready, &lock);
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    pthread_mutex_lock(&lock);
    flag = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}

// The receiver waits in an `if`: where the wait ends for no reason, there is nothing to receive.
// options: --spurious 1
// expect: assertion preemptions=0 says=full
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int full;

static void *sends(void *argument) {
    pthread_mutex_lock(&lock);
    full = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t sender;
    pthread_create(&sender, NULL, sends, NULL);
    pthread_mutex_lock(&lock);
    if (!full)
        pthread_cond_wait(&filled, &lock);
    assert(full);
    pthread_mutex_unlock(&lock);
    pthread_join(sender, NULL);
    return 0;
}

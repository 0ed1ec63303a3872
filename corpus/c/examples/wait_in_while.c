// The receiver waits in a loop, so that it may wake for no reason as often as it likes.
// options: --spurious 2
// expect: holds
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
    while (!full)
        pthread_cond_wait(&filled, &lock);
    assert(full);
    pthread_mutex_unlock(&lock);
    pthread_join(sender, NULL);
    return 0;
}

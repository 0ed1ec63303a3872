// A thread that nobody waits for, and that never ends by itself: the exit of main ends it.
// expect: holds
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int beats;

static void *beats_for_ever(void *argument) {
    for (;;) {
        pthread_mutex_lock(&lock);
        beats++;
        pthread_mutex_unlock(&lock);
        sleep(1);
    }
    return argument;
}

static void *waits_for_ever(void *argument) {
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, beats_for_ever, NULL);
    pthread_detach(thread);
    pthread_create(&thread, NULL, waits_for_ever, NULL);
    pthread_mutex_lock(&lock);
    beats++;
    pthread_mutex_unlock(&lock);
    return 0;
}

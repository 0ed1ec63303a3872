// A thread waits for another in a loop that sleeps by way of waiting for no file.
// expect: holds
#include <pthread.h>
#include <sys/select.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *does(void *argument) {
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    return argument;
}

static int is_done(void) {
    pthread_mutex_lock(&lock);
    int found = done;
    pthread_mutex_unlock(&lock);
    return found;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, does, NULL);
    while (!is_done()) {
        struct timeval limit = {0, 1000};
        select(0, NULL, NULL, NULL, &limit);
    }
    pthread_join(thread, NULL);
    return 0;
}

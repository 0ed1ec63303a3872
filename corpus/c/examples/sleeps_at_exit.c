// What is to be done at the exit waits for a thread that sleeps, and then goes on.
// expect: holds
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *sleeps(void *argument) {
    pthread_mutex_lock(&lock);
    sleep(1);
    pthread_mutex_unlock(&lock);
    return argument;
}

static void finish(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

int main(void) {
    pthread_t thread;
    atexit(finish);
    pthread_create(&thread, NULL, sleeps, NULL);
    pthread_detach(thread);
    usleep(1000);
    return 0;
}

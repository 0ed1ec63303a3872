// A program that gives up when two threads meet.
// expect: crash preemptions=1 says=abort was called
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int inside;

static void enter(int by) {
    pthread_mutex_lock(&lock);
    inside += by;
    int now = inside;
    pthread_mutex_unlock(&lock);
    if (now > 1) {
        fprintf(stderr, "%d threads inside\n", now);
        abort();
    }
}

static void *works(void *argument) {
    enter(1);
    enter(-1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, works, NULL);
    works(NULL);
    pthread_join(thread, NULL);
    return 0;
}

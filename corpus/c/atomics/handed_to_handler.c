// What a thread writes before it registers a handler of the exit is there when the handler runs.
// expect: holds
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int data;

static void uses(void) { assert(data == 1); }

static void *hands_over(void *argument) {
    data = 1;
    atexit(uses);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, hands_over, NULL);
    pthread_detach(thread);
    return 0;
}

// A thread ends the process: whoever waits for it to end never goes on.
// expect: holds
#include <pthread.h>
#include <stdlib.h>

static void *ends(void *argument) {
    (void)argument;
    exit(0);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    pthread_join(thread, NULL);
    abort();
}

// Two threads end the process: which is first decides about the status.
// expect: assertion preemptions=1 says=status 1
// options: --exit-status
#include <pthread.h>
#include <stdlib.h>

static void *ends(void *argument) {
    (void)argument;
    exit(1);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    return 0;
}

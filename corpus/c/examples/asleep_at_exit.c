// A thread sleeps when the process may exit, and fails if it gets to go on before.
// expect: crash preemptions=1 says=abort
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *sleeps(void *argument) {
    (void)argument;
    sleep(1);
    abort();
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps, NULL);
    return 0;
}

// A handler does its part and sends the signal again, to what is done without it.
// expect: crash preemptions=0 says=arithmetic error, as a signal that the program sends itself
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile int zero;

static void sends_again(int number) {
    signal(number, SIG_DFL);
    raise(number);
}

static void *divides(void *argument) {
    return (char *)argument + 10 / zero;
}

int main(void) {
    pthread_t thread;
    signal(SIGFPE, sends_again);
    pthread_create(&thread, NULL, divides, NULL);
    pthread_join(thread, NULL);
    return 0;
}

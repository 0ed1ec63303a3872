// A handler does its part and leaves the rest to what is done without it: the crash is told of with its thread and line.
// expect: crash preemptions=0 says=segmentation fault at a null pointer
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static void gives_back(int number) {
    signal(number, SIG_DFL);
}

static void *writes(void *argument) {
    *(volatile int *)argument = 1;
    return NULL;
}

int main(void) {
    pthread_t thread;
    signal(SIGSEGV, gives_back);
    pthread_create(&thread, NULL, writes, NULL);
    pthread_join(thread, NULL);
    return 0;
}

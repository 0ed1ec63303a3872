// A thread waits for a signal that nobody sends.
// expect: deadlock preemptions=0 says=waits for a signal of the system, and no thread is left that could send it
#include <pthread.h>
#include <unistd.h>

static void *waits(void *argument) {
    pause();
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    return pthread_join(thread, NULL);
}

// A thread ends in an atomic section.
// expect: misuse preemptions=0 says=__VERIFIER_atomic_end is missing
#include <pthread.h>
#include <selvedge.h>

static int value;

static void *begin(void *argument) {
    __VERIFIER_atomic_begin();
    value++;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, begin, NULL);
    pthread_join(thread, NULL);
    return 0;
}

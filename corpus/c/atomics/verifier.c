// Values that are explored, assumptions and atomic sections, as verification benchmarks have them.
// expect: assertion preemptions=0 says=reach_error
#include <pthread.h>
#include <selvedge.h>

extern void reach_error(void);
static int sum;

static void add(int value) {
    __VERIFIER_atomic_begin();
    sum += value;
    __VERIFIER_atomic_end();
}

static void *adds(void *argument) {
    int value = selvedge_choose(-1, 5);
    __VERIFIER_assume(value > 2);
    add(value);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, adds, NULL);
    add(__VERIFIER_nondet_int());
    pthread_join(thread, NULL);
    if (sum == 7)
        reach_error();
    return 0;
}

// Functions that are atomic sections by their names.
// expect: holds
#include <assert.h>
#include <pthread.h>

static int counter;

static int __VERIFIER_atomic_add(int number) {
    int before = counter;
    counter = before + number;
    return before;
}

void __VERIFIER_atomic_add_twice(int number) {
    __VERIFIER_atomic_add(number);
    __VERIFIER_atomic_add(number);
}

static void *adds(void *argument) {
    __VERIFIER_atomic_add_twice(1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, adds, NULL);
    assert(__VERIFIER_atomic_add(2) != 1);
    pthread_join(thread, NULL);
    assert(counter == 4);
    return 0;
}

// A thread waits in one loop, and in another right after it, and writes nothing in between.
// expect: holds
#include <pthread.h>
#include <stdatomic.h>

static atomic_int first, second;

static void *work(void *argument) {
    atomic_store(&first, 1);
    atomic_store(&second, 1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    while (!atomic_load(&first))
        ;
    while (!atomic_load(&second))
        ;
    pthread_join(thread, NULL);
    return 0;
}

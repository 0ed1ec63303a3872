// A weak exchange may fail although nobody has changed the value, and this one is not tried again.
// only: gcc (clang does not tell which exchanges are weak)
// options: --spurious 1
// expect: assertion preemptions=0 says=counter == 2
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int counter;

static void *adds(void *argument) {
    pthread_mutex_lock(&lock);
    int before = atomic_load(&counter);
    atomic_compare_exchange_weak(&counter, &before, before + 1);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, adds, NULL);
    adds(NULL);
    pthread_join(thread, NULL);
    assert(counter == 2);
    return 0;
}

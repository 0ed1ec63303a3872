// A thread locks a mutex that it holds.
// expect: deadlock preemptions=0 says=which it holds itself
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    return 0;
}

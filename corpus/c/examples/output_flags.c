// Standard input and output begin as they are in each execution, whatever the one before has set.
// expect: holds
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock(void *argument) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return argument;
}

int main(void) {
    for (int file = 0; file < 2; file++) {
        int flags = fcntl(file, F_GETFL);
        assert(!(flags & O_NONBLOCK));
        fcntl(file, F_SETFL, flags | O_NONBLOCK);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, lock, NULL);
    lock(NULL);
    pthread_join(thread, NULL);
    return 0;
}

// Two threads take two locks in different orders; one gives the first back where it cannot have the second.
// expect: holds
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *takes_both(void *argument) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    count++;
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, takes_both, NULL);
    for (;;) {
        pthread_mutex_lock(&second);
        if (pthread_mutex_trylock(&first) == 0)
            break;
        pthread_mutex_unlock(&second);
    }
    count++;
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    pthread_join(thread, NULL);
    assert(count == 2);
    return 0;
}

// One thread frees what another still looks at.
// expect: crash preemptions=2 says=null pointer
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *shared;

static int is_there(void) {
    pthread_mutex_lock(&lock);
    int there = shared != NULL;
    pthread_mutex_unlock(&lock);
    return there;
}

static void *reads(void *argument) {
    if (is_there()) {
        pthread_mutex_lock(&lock);
        *shared += 1;
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

int main(void) {
    int value = 0;
    pthread_t thread;
    shared = &value;
    pthread_create(&thread, NULL, reads, NULL);
    pthread_mutex_lock(&lock);
    shared = NULL;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}

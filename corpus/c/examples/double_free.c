// Both threads think that they are the last.
// expect: double-free preemptions=1 says=freed before
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users = 2;
static char *block;

static void *drops(void *argument) {
    pthread_mutex_lock(&lock);
    users--;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    int left = users;
    pthread_mutex_unlock(&lock);
    if (left == 0)
        free(block);
    return argument;
}

int main(void) {
    pthread_t thread;
    block = malloc(10);
    pthread_create(&thread, NULL, drops, NULL);
    drops(NULL);
    pthread_join(thread, NULL);
    return 0;
}

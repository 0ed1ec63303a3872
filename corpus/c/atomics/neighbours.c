// Two threads write neighbouring bytes of one word, and memory that one frees is used again by the other: no race.
// expect: holds
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char first, second;
    short third;
} pair;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *writes(void *argument) {
    if (argument)
        pair.first = 1;
    else
        pair.second = 2;
    char *block = malloc(100000);
    block[0] = 1;
    free(block);
    pthread_mutex_lock(&lock);
    pair.third++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writes, &pair);
    writes(NULL);
    pthread_join(thread, NULL);
    return pair.third != 2;
}

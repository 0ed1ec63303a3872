// Two threads add to a counter; one of them forgets that others may do so between reading and writing it.
// expect: assertion preemptions=1
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static int get(void) {
    pthread_mutex_lock(&lock);
    int value = counter;
    pthread_mutex_unlock(&lock);
    return value;
}

static void set(int value) {
    pthread_mutex_lock(&lock);
    counter = value;
    pthread_mutex_unlock(&lock);
}

static void *adder(void *argument) {
    (void)argument;
    set(get() + 1);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, adder, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("counted to %d\n", counter);
    assert(counter == 2);
    return 0;
}

// What is wrong is found in what runs at the exit.
// expect: assertion preemptions=1 says=balance
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 10;

static void audit(void) { assert(balance == 12); }

static void *deposits(void *argument) {
    pthread_mutex_lock(&lock);
    int now = balance;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    balance = now + 1;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    atexit(audit);
    pthread_create(&thread, NULL, deposits, NULL);
    deposits(NULL);
    pthread_join(thread, NULL);
    exit(0);
}

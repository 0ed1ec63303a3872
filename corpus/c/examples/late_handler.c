// A thread that nobody waits for may be too late to register what is to be done at the exit.
// expect: assertion preemptions=0 says=saved
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int saved;

static void audit(void) { assert(saved); }
static void save(void) { saved = 1; }

static void *saves(void *argument) {
    // Handlers run in reverse: this one before the audit.
    atexit(save);
    return argument;
}

int main(void) {
    pthread_t thread;
    atexit(audit);
    pthread_create(&thread, NULL, saves, NULL);
    pthread_detach(thread);
    return 0;
}

// The process ends by way of a function that is not `exit`, when a thread has still something to do.
// expect: crash preemptions=0 says=abort
#include <err.h>
#include <error.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef END
#define END errx(0, "the end")
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *fails(void *argument) {
    (void)argument;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    abort();
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, fails, NULL);
    END;
}

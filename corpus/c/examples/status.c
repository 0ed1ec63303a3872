// The exit status says whether the work was done in time.
// expect: assertion preemptions=2 says=exits with status 3
// options: --exit-status
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *works(void *argument) {
    pthread_mutex_lock(&lock);
    done |= 1;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    done |= done << 1;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, works, NULL);
    pthread_mutex_lock(&lock);
    int seen = done;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return seen == 1 ? 3 : 0;
}

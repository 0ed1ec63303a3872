// A wait's time runs out while another thread has the mutex, which sets what is waited for before it gives it back: that the
// time ran out does not tell that nothing is there.
// expect: assertion preemptions=0 says=nothing
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_there;

static void *bring(void *argument) {
    pthread_mutex_lock(&mutex);
    sleep(2);
    is_there = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return argument;
}

int main(void) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec++;
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, bring, NULL);
    int error = is_there ? 0 : pthread_cond_timedwait(&changed, &mutex, &limit);
    int nothing = !is_there;
    if (error == ETIMEDOUT)
        assert(nothing);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}

// A loop that takes a lock and gives it back may have done something in between: one thread can take all there is before the
// other, without a preemption.
// expect: assertion preemptions=0 says=shared_out
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left = 6, taken[2];

static void *take(void *argument) {
    int me = argument != NULL;
    for (;;) {
        pthread_mutex_lock(&lock);
        int is_over = left == 0;
        if (!is_over) {
            left--;
            taken[me]++;
        }
        pthread_mutex_unlock(&lock);
        if (is_over)
            return argument;
    }
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, take, &lock);
    take(NULL);
    pthread_join(thread, NULL);
    int shared_out = taken[0] < 6 && taken[1] < 6;
    assert(shared_out);
    return 0;
}

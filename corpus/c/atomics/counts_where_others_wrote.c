// A loop that gives up after six looks counts where another thread has written before: on the stack of a function that has
// returned since.
// expect: assertion preemptions=0 says=in_time
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;

static void *fill(void *numbers) {
    for (int i = 0; i < 64; i++)
        atomic_store((atomic_int *)numbers + i, i);
    return NULL;
}

static void *set_stop(void *argument) {
    atomic_store(&stop, 1);
    return argument;
}

static int filled(void) {
    pthread_t thread;
    atomic_int numbers[64] = {0};
    pthread_create(&thread, NULL, fill, numbers);
    pthread_join(thread, NULL);
    return numbers[3];
}

static int looks(void) {
    int count;
    for (count = 0; count < 6; count++)
        if (atomic_load(&stop))
            break;
    return count;
}

static int stopped_after(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, set_stop, NULL);
    int count = looks();
    pthread_join(thread, NULL);
    return count;
}

int main(void) {
    assert(filled() == 3);
    int in_time = stopped_after() < 6;
    assert(in_time);
    return 0;
}

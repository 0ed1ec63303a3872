// A loop that looks six times and gives up: it does not wait, since it counts. All six come before the other's store.
// expect: assertion preemptions=1 says=looks < 6
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;
static int looks;

static void *look(void *argument) {
    int i;
    for (i = 0; i < 6; i++)
        if (atomic_load(&stop))
            break;
    looks = i;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, look, NULL);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    assert(looks < 6);
    return 0;
}

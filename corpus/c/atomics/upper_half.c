// The upper half of an atomic of sixteen bytes is read plainly.
// expect: data-race preemptions=0 says=pair
#include <pthread.h>
#include <stdint.h>

static union {
    unsigned __int128 whole;
    uint64_t parts[2];
} pair;
static uint64_t sink;

static void *swap(void *unused) {
    (void)unused;
    __sync_val_compare_and_swap(&pair.whole, (unsigned __int128)0, (unsigned __int128)1 << 64);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, swap, NULL);
    sink = pair.parts[1];
    pthread_join(thread, NULL);
    return 0;
}

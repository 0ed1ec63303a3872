// A pointer and its tag are exchanged together, and the tag alone is loaded: it may be that of the next pointer.
// expect: assertion preemptions=1 says=tag == 0
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static union {
    unsigned __int128 whole;
    uint64_t parts[2];
} top;

static void *push(void *unused) {
    (void)unused;
    unsigned __int128 seen = 0;
    __sync_val_compare_and_swap(&top.whole, seen, (unsigned __int128)1 << 64 | 7);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, push, NULL);
    uint64_t tag = __atomic_load_n(&top.parts[1], __ATOMIC_ACQUIRE);
    assert(tag == 0);
    pthread_join(thread, NULL);
    return 0;
}

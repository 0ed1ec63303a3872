// A word is stored whole, and one of its halves is loaded: that is one object, though at two addresses.
// expect: assertion preemptions=1 says=half == 0
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static union {
    uint64_t whole;
    uint32_t halves[2];
} word;

static void *store(void *unused) {
    (void)unused;
    __atomic_store_n(&word.whole, (uint64_t)1 << 32, __ATOMIC_SEQ_CST);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, store, NULL);
    uint32_t half = __atomic_load_n(&word.halves[1], __ATOMIC_SEQ_CST);
    assert(half == 0);
    pthread_join(thread, NULL);
    return 0;
}

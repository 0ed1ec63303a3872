// Two halves that belong together, in one atomic of sixteen bytes: they are exchanged together, but an update that
// loads and stores can lose another.
// expect: assertion preemptions=2 says=2 * step
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

typedef unsigned __int128 both;
static _Atomic both pair;
static const both step = (both)1 << 64 | 1;

static int halves_agree(both value) {
    return (unsigned long)value == (unsigned long)(value >> 64);
}

static void *add(void *unused) {
    (void)unused;
    both seen = atomic_load(&pair);
    assert(halves_agree(seen));
    atomic_store(&pair, seen + step);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    both seen = atomic_load_explicit(&pair, memory_order_acquire);
    while (!atomic_compare_exchange_strong(&pair, &seen, seen + step))
        assert(halves_agree(seen));
    assert(halves_agree(atomic_fetch_xor(&pair, 0)));
    pthread_join(thread, NULL);
    both end = atomic_exchange(&pair, 0);
    assert(halves_agree(end) && end == 2 * step);
    return 0;
}

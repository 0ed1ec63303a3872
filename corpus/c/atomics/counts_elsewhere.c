// A loop that looks at an atomic counts where its own accesses to memory do not show: in a value of its thread, and then in the
// upper half of an atomic of sixteen bytes.
// expect: assertion preemptions=0 says=in_time
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;
static pthread_key_t key;
static unsigned __int128 large;

static void count_in_key(void) { pthread_setspecific(key, (char *)pthread_getspecific(key) + 1); }
static long counted_in_key(void) { return (long)pthread_getspecific(key); }
static void count_in_large(void) { __atomic_fetch_add(&large, (unsigned __int128)1 << 64, __ATOMIC_SEQ_CST); }
static long counted_in_large(void) { return (long)(__atomic_load_n(&large, __ATOMIC_SEQ_CST) >> 64); }

static void *set_stop(void *argument) {
    atomic_store(&stop, 1);
    return argument;
}

static int looks(void (*count)(void), long (*counted)(void)) {
    while (!atomic_load(&stop) && counted() < 6)
        count();
    return counted() < 6;
}

int main(void) {
    pthread_t thread;
    pthread_key_create(&key, NULL);
    pthread_create(&thread, NULL, set_stop, NULL);
    int in_key = looks(count_in_key, counted_in_key), in_large = looks(count_in_large, counted_in_large);
    pthread_join(thread, NULL);
    int in_time = in_key || in_large;
    assert(in_time);
    return 0;
}

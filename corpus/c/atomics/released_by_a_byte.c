// What is released by a store to one byte of a word is behind who loads all of the word.
// expect: holds
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static union {
    uint32_t whole;
    uint8_t bytes[4];
} flags;
static int data;

static void *publish(void *unused) {
    (void)unused;
    data = 1;
    __atomic_store_n(&flags.bytes[2], 1, __ATOMIC_RELEASE);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, publish, NULL);
    if (__atomic_load_n(&flags.whole, __ATOMIC_ACQUIRE) != 0)
        assert(data == 1);
    pthread_join(thread, NULL);
    return 0;
}

// Loops that wait: one comes back to what it was every second time only, one looks at many atomics in turn, one has much on its
// stack that others write, one looks in an atomic section.
// expect: holds
#include <assert.h>
#include <pthread.h>
#include <selvedge.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int done, slots[20];
static int in_section;

static void *work(void *buffer) {
    memset(buffer, 1, 4096);
    atomic_store(&slots[19], 1);
    atomic_store(&done, 1);
    __VERIFIER_atomic_begin();
    in_section = 1;
    __VERIFIER_atomic_end();
    return NULL;
}

static int found(void) {
    for (int i = 0; i < 20; i++)
        if (atomic_load(&slots[i]))
            return i;
    return -1;
}

int main(void) {
    pthread_t thread;
    char buffer[1 << 17];
    pthread_create(&thread, NULL, work, buffer);
    while (found() < 0)
        ;
    for (int turn = 0; !atomic_load(&done); turn = !turn)
        ;
    for (int seen = 0; !seen;) {
        __VERIFIER_atomic_begin();
        seen = in_section;
        __VERIFIER_atomic_end();
    }
    assert(buffer[77] == 1);
    pthread_join(thread, NULL);
    return 0;
}

// The Bluetooth driver of corpus/rust/examples/bluetooth.rs, in C: it is stopped while requests are under way. The
// variant is its argument.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static bool check_then_count;
// Requests under way, and one more until the driver is stopped.
static atomic_int pending_io = 1;
static atomic_bool stopping, stopped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_set;

static void io_decrement(void) {
    if (atomic_fetch_sub(&pending_io, 1) == 1) {
        pthread_mutex_lock(&lock);
        is_set = true;
        pthread_mutex_unlock(&lock);
        pthread_cond_broadcast(&changed);
    }
}

static bool io_increment(void) {
    if (check_then_count) {
        if (atomic_load(&stopping))
            return false;
        atomic_fetch_add(&pending_io, 1);
        return true;
    }
    atomic_fetch_add(&pending_io, 1);
    if (atomic_load(&stopping)) {
        io_decrement();
        return false;
    }
    return true;
}

static void *request(void *argument) {
    if (io_increment()) {
        assert(!atomic_load(&stopped));
        io_decrement();
    }
    return argument;
}

static void *stop(void *argument) {
    atomic_store(&stopping, true);
    io_decrement();
    pthread_mutex_lock(&lock);
    while (!is_set)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    atomic_store(&stopped, true);
    return argument;
}

int main(int count, char **arguments) {
    check_then_count = count > 1 && strcmp(arguments[1], "check-then-count") == 0;
    pthread_t pnp, reader;
    pthread_create(&pnp, NULL, stop, NULL);
    pthread_create(&reader, NULL, request, NULL);
    request(NULL);
    pthread_join(pnp, NULL);
    pthread_join(reader, NULL);
    return 0;
}

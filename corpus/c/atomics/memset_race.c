// One thread clears a buffer while another looks at a byte in its middle: the first is an access within a function of
// the C library.
// expect: data-race preemptions=0 says=buffer
#include <pthread.h>
#include <string.h>

static char buffer[64];

static void *clear(void *unused) {
    (void)unused;
    memset(buffer, 0, sizeof buffer);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, clear, NULL);
    volatile char seen = buffer[37];
    (void)seen;
    pthread_join(thread, NULL);
    return 0;
}

// The block is freed again when the C library has long had it back.
// expect: double-free preemptions=0 says=freed before
#include <pthread.h>
#include <stdlib.h>

static void *works(void *session) {
    free(session);
    for (int i = 0; i < 300; i++)
        free(malloc(100));
    return session;
}

int main(void) {
    pthread_t thread;
    void *session = malloc(24);
    pthread_create(&thread, NULL, works, session);
    pthread_join(thread, &session);
    free(session);
    return 0;
}

// What is freed is within a block, and none itself.
// expect: misuse preemptions=0 says=no block of malloc's
#include <pthread.h>
#include <stdlib.h>

static void *frees(void *block) {
    free((char *)block + 16);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, frees, malloc(100));
    pthread_join(thread, NULL);
    return 0;
}

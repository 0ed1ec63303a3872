// Memory is freed while nothing says that the thread which reads it has done so.
// expect: data-race preemptions=0 says=main frees it
#include <pthread.h>
#include <stdlib.h>

static int copy;

static void *reads(void *argument) {
    copy = *(int *)argument;
    return NULL;
}

int main(void) {
    pthread_t thread;
    int *block = calloc(1, sizeof *block);
    pthread_create(&thread, NULL, reads, block);
    free(block);
    pthread_join(thread, NULL);
    return 0;
}

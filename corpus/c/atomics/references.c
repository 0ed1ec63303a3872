// An atomic operation on memory that was freed before.
// expect: use-after-free preemptions=0 says=written after it was freed
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_freed;

static void *gives_up(void *references) {
    pthread_mutex_lock(&lock);
    if (is_freed)
        atomic_fetch_sub((atomic_int *)references, 1);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    atomic_int *references = calloc(1, sizeof *references);
    pthread_create(&thread, NULL, gives_up, references);
    pthread_mutex_lock(&lock);
    free(references);
    is_freed = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}

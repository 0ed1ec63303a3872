// One thread follows a list while another frees what it is made of.
// expect: crash preemptions=2 says=it looks like a pointer that was read from freed memory
#include <pthread.h>
#include <stdlib.h>

struct item {
    struct item *next;
    int value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct item last;
static struct item *first;

static struct item *get_first(void) {
    pthread_mutex_lock(&lock);
    struct item *item = first;
    pthread_mutex_unlock(&lock);
    return item;
}

static void *follows(void *argument) {
    struct item *item = get_first();
    pthread_mutex_lock(&lock);
    item->next->value = 1;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    first = malloc(sizeof *first);
    first->next = &last;
    pthread_create(&thread, NULL, follows, NULL);
    pthread_mutex_lock(&lock);
    struct item *gone = first;
    first = &last;
    last.next = &last;
    pthread_mutex_unlock(&lock);
    free(gone);
    pthread_join(thread, NULL);
    return 0;
}

// What is written before a thread is created is behind it; the same once more after that is not.
// expect: data-race preemptions=0 says=data
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data, sink;

static void *idle(void *unused) {
    return unused;
}

static void *reads(void *unused) {
    pthread_mutex_lock(&lock);
    sink = data;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, idle, NULL);
    data = 1;
    pthread_create(&threads[1], NULL, reads, NULL);
    data = 2;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

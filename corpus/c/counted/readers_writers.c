// Readers and writers of one value under a read-write lock: as many of each as the arguments say.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int first, second;

static void *reads(void *unused) {
    pthread_rwlock_rdlock(&lock);
    assert(first == second);
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *writes(void *unused) {
    pthread_rwlock_wrlock(&lock);
    first++;
    second++;
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(int count, char **words) {
    int readers = count > 1 ? atoi(words[1]) : 1, writers = count > 2 ? atoi(words[2]) : 1;
    pthread_t threads[8];
    for (int i = 0; i < readers + writers; i++)
        pthread_create(&threads[i], NULL, i < readers ? reads : writes, NULL);
    for (int i = 0; i < readers + writers; i++)
        pthread_join(threads[i], NULL);
    return first != writers;
}

/* So many threads, each of which takes one lock so many times, and computes for so long before each. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds, length, counter;

static void *work(void *unused) {
    for (int i = 0; i < rounds; i++) {
        for (volatile int j = 0; j < length; j++)
            ;
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int others = atoi(argv[1]) - 1;
    rounds = atoi(argv[2]);
    length = atoi(argv[3]);
    pthread_t *threads = calloc(others, sizeof *threads);
    for (int i = 0; i < others; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    work(NULL);
    for (int i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

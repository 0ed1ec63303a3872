/* So many threads, each of which takes a lock so many times, one of so many by turns, and computes for so long before each. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 8 };

static pthread_mutex_t lock[MOST];
static int rounds, length, locks, counter[MOST];

static void *work(void *first) {
    for (int i = 0; i < rounds; i++) {
        for (volatile int j = 0; j < length; j++)
            ;
        int which = (i + (int)(long)first) % locks;
        pthread_mutex_lock(&lock[which]);
        counter[which]++;
        pthread_mutex_unlock(&lock[which]);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    int others = atoi(argv[1]) - 1;
    rounds = atoi(argv[2]);
    length = atoi(argv[3]);
    locks = atoi(argv[4]);
    if (locks < 1 || locks > MOST)
        return 2;
#ifdef OWN_PROCESS
    /* That is not taken back: the process ends with its execution. */
    int ends[2];
    if (pipe(ends) != 0)
        return 2;
#endif
    for (int i = 0; i < locks; i++)
        pthread_mutex_init(&lock[i], NULL);
    pthread_t *threads = calloc(others, sizeof *threads);
    for (int i = 0; i < others; i++)
        pthread_create(&threads[i], NULL, work, (void *)(long)(i + 1));
    work(NULL);
    for (int i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

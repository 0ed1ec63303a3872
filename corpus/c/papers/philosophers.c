// Dining philosophers: each takes the fork on its left and then the one on its right. How many there are is the first
// argument; with a second, the last one begins on the right, and nobody starves.
#include <pthread.h>
#include <stdlib.h>

enum { MOST = 16 };
static pthread_mutex_t forks[MOST];
static int count, last_is_left_handed;

static void *dines(void *argument) {
    int me = (int)(long)argument, left = me, right = (me + 1) % count;
    if (last_is_left_handed && me == count - 1) {
        int other = left;
        left = right;
        right = other;
    }
    pthread_mutex_lock(&forks[left]);
    pthread_mutex_lock(&forks[right]);
    pthread_mutex_unlock(&forks[right]);
    pthread_mutex_unlock(&forks[left]);
    return NULL;
}

int main(int words, char **arguments) {
    pthread_t threads[MOST];
    count = words > 1 ? atoi(arguments[1]) : 2;
    last_is_left_handed = words > 2;
    for (long i = 0; i < count; i++)
        pthread_mutex_init(&forks[i], NULL);
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, dines, (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

// A queue with room for one: producers put one thing each and consumers take one each, as many as the arguments say.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_room = PTHREAD_COND_INITIALIZER, has_some = PTHREAD_COND_INITIALIZER;
static int used;

static void *put(void *unused) {
    pthread_mutex_lock(&lock);
    while (used == 1)
        pthread_cond_wait(&has_room, &lock);
    used++;
    pthread_cond_signal(&has_some);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *take(void *unused) {
    pthread_mutex_lock(&lock);
    while (used == 0)
        pthread_cond_wait(&has_some, &lock);
    used--;
    pthread_cond_signal(&has_room);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int count, char **words) {
    int producers = count > 1 ? atoi(words[1]) : 1, consumers = count > 2 ? atoi(words[2]) : 1;
    pthread_t threads[8];
    for (int i = 0; i < producers + consumers; i++)
        pthread_create(&threads[i], NULL, i < producers ? put : take, NULL);
    for (int i = 0; i < producers + consumers; i++)
        pthread_join(threads[i], NULL);
    return used != producers - consumers;
}

// Two variables with a lock each: a writer sets the first and then, later, the second to one more; a reader that comes
// in between sees the first without the second. How many writers and readers there are are its arguments.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER;
static int first, second;

static void *writes(void *argument) {
    pthread_mutex_lock(&first_lock);
    first = 1;
    pthread_mutex_unlock(&first_lock);
    pthread_mutex_lock(&second_lock);
    second = first + 1;
    pthread_mutex_unlock(&second_lock);
    return argument;
}

static void *reads(void *argument) {
    pthread_mutex_lock(&first_lock);
    int seen = first;
    pthread_mutex_unlock(&first_lock);
    if (seen == 0)
        return argument;
    pthread_mutex_lock(&second_lock);
    int then = second;
    pthread_mutex_unlock(&second_lock);
    assert(then == seen + 1);
    return argument;
}

int main(int words, char **arguments) {
    int writers = words > 1 ? atoi(arguments[1]) : 2, readers = words > 2 ? atoi(arguments[2]) : 1;
    pthread_t threads[32];
    for (int i = 0; i < writers; i++)
        pthread_create(&threads[i], NULL, writes, NULL);
    for (int i = 0; i < readers; i++)
        pthread_create(&threads[writers + i], NULL, reads, NULL);
    for (int i = 0; i < writers + readers; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

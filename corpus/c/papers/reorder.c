// Setters write two variables one after the other, a checker reads them; it is wrong only if it comes between the two
// writes of one setter and after none of another. How many setters and checkers there are are its arguments.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int a, b;

static void *sets(void *argument) {
    atomic_store(&a, 1);
    atomic_store(&b, -1);
    return argument;
}

static void *checks(void *argument) {
    int first = atomic_load(&a), second = atomic_load(&b);
    assert((first == 0 && second == 0) || (first == 1 && second == -1));
    return argument;
}

int main(int words, char **arguments) {
    int setters = words > 1 ? atoi(arguments[1]) : 2, checkers = words > 2 ? atoi(arguments[2]) : 1;
    pthread_t threads[32];
    for (int i = 0; i < setters; i++)
        pthread_create(&threads[i], NULL, sets, NULL);
    for (int i = 0; i < checkers; i++)
        pthread_create(&threads[setters + i], NULL, checks, NULL);
    for (int i = 0; i < setters + checkers; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

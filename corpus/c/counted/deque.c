// A deque: its owner puts two things in at the bottom and takes one out there, thieves take one each from the top, as
// many of each as the arguments say (one owner at most).
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int top, bottom;
static int taken[8][2];

static void *own(void *taken_here) {
    int *taken = taken_here;
    atomic_store(&bottom, 1);
    atomic_store(&bottom, 2);
    atomic_store(&bottom, 1);
    int first = atomic_load(&top);
    if (first < 1) {
        taken[1]++;
        return NULL;
    }
    // The last one, or none.
    if (first == 1 && atomic_compare_exchange_strong(&top, &first, 2))
        taken[1]++;
    atomic_store(&bottom, 2);
    return NULL;
}

static void *steal(void *taken_here) {
    int *taken = taken_here;
    int first = atomic_load(&top);
    int end = atomic_load(&bottom);
    int stolen = first;
    if (first < end && atomic_compare_exchange_strong(&top, &first, first + 1))
        taken[stolen]++;
    return NULL;
}

int main(int count, char **words) {
    int owners = count > 1 ? atoi(words[1]) : 1, thieves = count > 2 ? atoi(words[2]) : 1;
    pthread_t threads[8];
    for (int i = 0; i < owners + thieves; i++)
        pthread_create(&threads[i], NULL, i < owners ? own : steal, taken[i]);
    for (int i = 0; i < owners + thieves; i++)
        pthread_join(threads[i], NULL);
    for (int thing = 0; thing < 2; thing++) {
        int times = 0;
        for (int i = 0; i < owners + thieves; i++)
            times += taken[i][thing];
        assert(times <= 1);
    }
    return 0;
}

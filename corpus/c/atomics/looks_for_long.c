// Two threads read the same numbers again and again, and count in variables of their own: that is no wait.
// expect: holds
#include <assert.h>
#include <pthread.h>

static int numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static long sums[2];

static void *sum_up(void *argument) {
    long sum = 0;
    for (int round = 0; round < 10000; round++)
        for (int i = 0; i < 8; i++)
            sum += numbers[i];
    *(long *)argument = sum;
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sum_up, &sums[0]);
    sum_up(&sums[1]);
    pthread_join(thread, NULL);
    assert(sums[0] == 360000 && sums[1] == 360000);
    return 0;
}

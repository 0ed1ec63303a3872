// Barriers and spin locks.
#include "say.h"

static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static int count, leaders;

static void *meets(void *argument) {
    (void)argument;
    for (int round = 0; round < 2; round++) {
        pthread_spin_lock(&spin);
        count++;
        pthread_spin_unlock(&spin);
        int result = pthread_barrier_wait(&barrier);
        pthread_spin_lock(&spin);
        leaders += result == PTHREAD_BARRIER_SERIAL_THREAD;
        if (count < 3 * (round + 1))
            printf("a thread went on too early\n");
        pthread_spin_unlock(&spin);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void *tries(void *argument) {
    (void)argument;
    SAY(pthread_spin_trylock(&spin));
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    SAY(pthread_barrier_init(&barrier, NULL, 0));
    SAY(pthread_barrier_init(&barrier, NULL, 3));
    SAY(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, meets, NULL);
    meets(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    SAY_NUMBER(count);
    SAY_NUMBER(leaders);
    SAY(pthread_barrier_destroy(&barrier));
    SAY(pthread_spin_trylock(&spin));
    run(tries, NULL);
    SAY(pthread_spin_unlock(&spin));
    // A copy is another lock.
    pthread_spinlock_t copy = spin;
    SAY(pthread_spin_lock(&spin));
    SAY(pthread_spin_trylock(&copy));
    SAY(pthread_spin_unlock(&copy));
    SAY(pthread_spin_unlock(&spin));
    SAY(pthread_spin_destroy(&spin));
    SAY(pthread_barrier_init(&barrier, NULL, 1));
    SAY_NUMBER(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
    SAY(pthread_barrier_destroy(&barrier));
    return 0;
}

// Threads that add one to a number: at once, or by reading it and writing it back, as many of each as the arguments say.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int number;

static void *at_once(void *unused) {
    atomic_fetch_add(&number, 1);
    return unused;
}

static void *read_and_write(void *unused) {
    int read = atomic_load(&number);
    atomic_store(&number, read + 1);
    return unused;
}

int main(int count, char **words) {
    int safe = count > 1 ? atoi(words[1]) : 1, unsafe = count > 2 ? atoi(words[2]) : 1;
    pthread_t threads[8];
    for (int i = 0; i < safe + unsafe; i++)
        pthread_create(&threads[i], NULL, i < safe ? at_once : read_and_write, NULL);
    for (int i = 0; i < safe + unsafe; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

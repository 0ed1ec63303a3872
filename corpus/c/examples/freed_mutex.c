// An account is closed while a thread may still put money into it: its mutex is gone.
// expect: use-after-free preemptions=0 says=a mutex is used after its memory was freed
#include <pthread.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static void *deposits(void *argument) {
    struct account *account = argument;
    pthread_mutex_lock(&account->lock);
    account->balance++;
    pthread_mutex_unlock(&account->lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    struct account *account = calloc(1, sizeof *account);
    pthread_mutex_init(&account->lock, NULL);
    pthread_create(&thread, NULL, deposits, account);
    free(account);
    pthread_join(thread, NULL);
    return 0;
}

// A thread waits for a signal that it blocks otherwise, and another sends it.
// expect: holds
#include <pthread.h>
#include <signal.h>

static volatile sig_atomic_t handled;
static pthread_t first;

static void handle(int signal) {
    (void)signal;
    handled = 1;
}

static void *sends(void *argument) {
    pthread_kill(first, SIGUSR1);
    return argument;
}

int main(void) {
    pthread_t thread;
    sigset_t blocked, before;
    first = pthread_self();
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle}, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    pthread_create(&thread, NULL, sends, NULL);
    while (!handled)
        sigsuspend(&before);
    pthread_join(thread, NULL);
    return 0;
}

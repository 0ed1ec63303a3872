// Signals that a program sends itself: to a thread, to the process, while they are blocked and waited for, and while they
// are not.
#include <signal.h>
#include <unistd.h>

#include "say.h"

static sigset_t set;
static int handled;

static void handle(int signal) { handled += signal == SIGUSR1; }

static void *waits(void *argument) {
    int signal = 0;
    SAY(sigwait(&set, &signal));
    SAY_NUMBER(signal == SIGUSR1);
    return argument;
}

static int is_pending(void) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGUSR1);
}

int main(void) {
    struct timespec soon = {0, 1000}, wrong = {0, -1};
    siginfo_t information;
    pthread_t thread;
    int signal;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);

    pthread_create(&thread, NULL, waits, NULL);
    SAY(pthread_kill(thread, SIGUSR1));
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, waits, NULL);
    SAY_ERRNO(kill(getpid(), SIGUSR1));
    pthread_join(thread, NULL);

    SAY_ERRNO(kill(getpid(), SIGUSR2));
    SAY_NUMBER(sigwaitinfo(&set, &information) == SIGUSR2);
    SAY_NUMBER(information.si_signo == SIGUSR2 && information.si_pid == getpid());
    SAY_NUMBER(raise(SIGUSR1));
    SAY_NUMBER(is_pending());
    SAY_NUMBER(sigtimedwait(&set, NULL, &soon) == SIGUSR1);
    SAY_NUMBER(is_pending());
    SAY_ERRNO(sigtimedwait(&set, NULL, &soon));
    SAY_ERRNO(sigtimedwait(&set, NULL, &wrong));
    SAY(pthread_kill(pthread_self(), SIGUSR1));
    SAY(sigwait(&set, &signal));

    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle}, NULL);
    SAY_NUMBER(raise(SIGUSR1));
    SAY_NUMBER(handled);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    SAY_NUMBER(handled);
    SAY_NUMBER(raise(SIGUSR1));
    SAY_ERRNO(kill(getpid(), SIGUSR1));
    SAY(pthread_kill(pthread_self(), SIGUSR1));
    SAY_NUMBER(handled);
    SAY_ERRNO(kill(getpid(), 1000));
    SAY_ERRNO(kill(getpid(), 0));
    return 0;
}

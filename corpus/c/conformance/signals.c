// Signals that a program sends itself: to a thread, to the process, while they are blocked and waited for, and while they
// are not.
#include <signal.h>
#include <unistd.h>

#include "say.h"

static sigset_t set;
static int handled;

static void handle(int signal) { handled += signal == SIGUSR1; }

static void *waits(void *got) {
    sigwait(&set, got);
    return NULL;
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
    int signal = 0, sent;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);

    // Nothing is printed while there are two threads, whose order is not known.
    pthread_create(&thread, NULL, waits, &signal);
    sent = pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    SAY(sent);
    SAY_NUMBER(signal == SIGUSR1);
    pthread_create(&thread, NULL, waits, &signal);
    sent = kill(getpid(), SIGUSR2);
    pthread_join(thread, NULL);
    SAY(sent);
    SAY_NUMBER(signal == SIGUSR2);

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

// Signals that a program sends itself: to a thread, to the process, while they are blocked and waited for, and while they
// are not.
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

static sigset_t set;
static int handled;

static void handle(int signal) { handled += signal == SIGUSR1; }

static void handle_value(int signal, siginfo_t *information, void *context) {
    (void)context;
    handled += signal == SIGUSR1 && information->si_value.sival_int == 9;
}

static void *waits_for_value(void *got) {
    siginfo_t information;
    sigwaitinfo(&set, &information);
    *(int *)got = information.si_value.sival_int;
    return NULL;
}

static void *sends_itself(void *argument) {
    union sigval value = {.sival_int = 9};
    (void)argument;
    SAY_ERRNO(tgkill(getpid(), gettid(), SIGUSR1));
    SAY_ERRNO(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1));
    SAY_ERRNO(syscall(SYS_tkill, gettid(), SIGUSR1));
    SAY(pthread_sigqueue(pthread_self(), SIGUSR1, value));
    return NULL;
}

// What waits of a thread return that a signal may end, and whether one has.
static int results[3], interrupted[3];

static void *waits_without_mask(void *wait) {
    long which = (long)wait;
    sigset_t nothing;
    sigemptyset(&nothing);
    switch (which) {
    case 0: results[which] = sigsuspend(&nothing); break;
    case 1: results[which] = pselect(0, NULL, NULL, NULL, NULL, &nothing); break;
    case 2: results[which] = ppoll(NULL, 0, NULL, &nothing); break;
    }
    interrupted[which] = errno == EINTR;
    return NULL;
}

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
    run(sends_itself, NULL);
    SAY_NUMBER(handled);

    // Blocked until the thread waits.
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int wait = 0; wait < 3; wait++) {
        handled = 0;
        results[wait] = interrupted[wait] = 0;
        pthread_create(&thread, NULL, waits_without_mask, (void *)(long)wait);
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, NULL);
        SAY_NUMBER(handled);
        SAY_NUMBER(results[wait]);
        SAY_NUMBER(interrupted[wait]);
    }
    sigset_t nothing;
    sigemptyset(&nothing);
    SAY_NUMBER(pselect(0, NULL, NULL, NULL, &soon, &nothing));
    SAY_NUMBER(ppoll(NULL, 0, &soon, &set));
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);

    // With values, which come in their order.
    union sigval value = {.sival_int = 9}, other = {.sival_int = 8};
    int queued = SIGRTMIN;
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = handle_value;
    sigaction(SIGUSR1, &action, NULL);
    handled = 0;
    SAY_ERRNO(sigqueue(getpid(), SIGUSR1, value));
    SAY(pthread_sigqueue(pthread_self(), SIGUSR1, value));
    SAY_NUMBER(handled);
    sigaddset(&set, queued);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    SAY_ERRNO(sigqueue(getpid(), SIGUSR1, value));
    SAY_NUMBER(sigwaitinfo(&set, &information) == SIGUSR1);
    SAY_NUMBER(information.si_value.sival_int);
    SAY_NUMBER(information.si_code == SI_QUEUE && information.si_pid == getpid());
    SAY(pthread_sigqueue(pthread_self(), queued, value));
    SAY(pthread_sigqueue(pthread_self(), queued, other));
    SAY_NUMBER(sigwaitinfo(&set, &information) == queued);
    SAY_NUMBER(information.si_value.sival_int);
    SAY_NUMBER(sigwaitinfo(&set, &information) == queued);
    SAY_NUMBER(information.si_value.sival_int);
    SAY_ERRNO(sigtimedwait(&set, &information, &soon));
    pthread_create(&thread, NULL, waits_for_value, &signal);
    sent = pthread_sigqueue(thread, SIGUSR2, other);
    pthread_join(thread, NULL);
    SAY(sent);
    SAY_NUMBER(signal);
    SAY_ERRNO(sigqueue(getpid(), SIGUSR1, value));
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    SAY_NUMBER(handled);
    SAY_ERRNO(tgkill(getpid(), 1, SIGUSR1));
    SAY(pthread_sigqueue(pthread_self(), 1000, value));

    // Without a thread to be told by.
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    SAY_ERRNO(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SAY_ERRNO(timer_delete(timer));
    SAY_ERRNO(mq_notify(-1, &event));
    SAY_ERRNO(kill(getpid(), 1000));
    SAY_ERRNO(kill(getpid(), 0));
    return 0;
}

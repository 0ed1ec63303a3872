// A program sees the handlers that it has set itself, and no others; and those are called.
// expect: holds
#define _GNU_SOURCE
#include <assert.h>
#include <signal.h>
#include <stddef.h>

static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGXCPU, SIGSYS};
static volatile sig_atomic_t came;

static void counts(int signal) {
    came += signal > 0;
}

int main(void) {
    int count = sizeof signals / sizeof *signals;
    struct sigaction own = {.sa_handler = counts}, none = {.sa_handler = SIG_DFL}, old = own;
    for (int index = 0; index < count; index++) {
        int number = signals[index];
        assert(sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
        assert(sigaction(number, &none, &old) == 0 && old.sa_handler == SIG_DFL);
        assert(signal(number, SIG_DFL) == SIG_DFL);
        assert(sigaction(number, &own, &old) == 0 && old.sa_handler == SIG_DFL);
        assert(raise(number) == 0 && came == 3 * index + 1);
        assert(signal(number, SIG_DFL) == counts);
        assert(signal(number, counts) == SIG_DFL);
        assert(raise(number) == 0 && came == 3 * index + 2);
        assert(sigaction(number, &none, &old) == 0 && old.sa_handler == counts);
        assert(__sysv_signal(number, counts) == SIG_DFL);
        assert(raise(number) == 0 && came == 3 * index + 3);
        assert(sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
        assert(signal(number, SIG_IGN) == SIG_DFL);
        assert(signal(number, SIG_DFL) == SIG_IGN);
    }
    assert(signal(SIGUSR1, counts) == SIG_DFL && signal(SIGUSR1, SIG_DFL) == counts);
    assert(signal(SIGKILL, counts) == SIG_ERR);
    return 0;
}

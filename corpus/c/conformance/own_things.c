// What each thread has of its own: thread-locals, errno, floating point, a stack, a name, blocked signals.
#include "say.h"
#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static _Thread_local int initialised = 42;
static _Thread_local int zero;
static _Thread_local char large[20000];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *addresses[3];
static int tids[3];

static int passes(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return 1;
}

static void *has_its_own(void *argument) {
    int me = (int)(long)argument;
    int fine = initialised == 42 && zero == 0 && large[19999] == 0;
    addresses[me] = &zero;
    tids[me] = gettid();
    initialised += me;
    zero = me;
    memset(large, me, sizeof large);
    errno = 100 + me;
    fesetround(me == 1 ? FE_UPWARD : FE_DOWNWARD);
    passes();
    fine &= errno == 100 + me && zero == me && initialised == 42 + me && large[0] == me && large[19999] == me;
    fine &= fegetround() == (me == 1 ? FE_UPWARD : FE_DOWNWARD);
    volatile double one = 1, three = 3;
    double third = one / three;
    passes();
    fine &= third == one / three;
    return (void *)(long)fine;
}

static void *inherits(void *argument) {
    sigset_t blocked;
    (void)argument;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    long result = sigismember(&blocked, SIGUSR1) + 2 * sigismember(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    passes();
    return (void *)(result + 10 * (fegetround() == FE_TOWARDZERO));
}

static void *names_itself(void *argument) {
    char name[16];
    (void)argument;
    SAY(pthread_setname_np(pthread_self(), "a name of 15 ch"));
    SAY(pthread_setname_np(pthread_self(), "a name of 16 cha"));
    SAY(pthread_getname_np(pthread_self(), name, sizeof name));
    printf("%s\n", name);
    SAY(pthread_getname_np(pthread_self(), name, 3));
    return NULL;
}

static void *can_be_cancelled(void *argument) {
    int kind;
    SAY(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &kind));
    SAY_NUMBER(kind == PTHREAD_CANCEL_DEFERRED);
    return argument;
}

static void *recurses(void *argument) {
    volatile char page[4096];
    long depth = (long)argument;
    page[0] = page[4095] = (char)depth;
    if (depth > 0 && recurses((void *)(depth - 1)) == NULL)
        return NULL;
    return page[0] == (char)depth && page[4095] == (char)depth ? (void *)1 : NULL;
}

static char stack[1 << 16] __attribute__((aligned(16)));

static void *is_on_it(void *argument) {
    char here;
    (void)argument;
    passes();
    return (void *)(long)(&here >= stack && &here < stack + sizeof stack);
}

static void *looks_at_its_stack(void *argument) {
    pthread_attr_t attributes;
    void *lowest;
    size_t size;
    char here;
    (void)argument;
    SAY(pthread_getattr_np(pthread_self(), &attributes));
    SAY(pthread_attr_getstack(&attributes, &lowest, &size));
    SAY(pthread_attr_destroy(&attributes));
    return (void *)(long)(&here >= (char *)lowest && &here < (char *)lowest + size);
}

// What was asked for is what is told.
static void *looks_at_its_attributes(void *argument) {
    pthread_attr_t attributes;
    void *lowest;
    size_t size, guard;
    int state;
    char here;
    SAY(pthread_getattr_np(pthread_self(), &attributes));
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_getdetachstate(&attributes, &state);
    pthread_attr_destroy(&attributes);
    // Of those that are there already, a larger one may be taken.
    SAY_NUMBER(size >= (size_t)argument);
    SAY_NUMBER(guard);
    SAY_NUMBER(state == PTHREAD_CREATE_DETACHED);
    return (void *)(long)(&here >= (char *)lowest && &here < (char *)lowest + size);
}

static void *looks_at_its_clock(void *argument) {
    clockid_t clock;
    struct timespec time;
    (void)argument;
    SAY(pthread_getcpuclockid(pthread_self(), &clock));
    SAY_ERRNO(clock_gettime(clock, &time));
    return NULL;
}

static void *counts_its_cores(void *argument) {
    cpu_set_t cores;
    (void)argument;
    pthread_getaffinity_np(pthread_self(), sizeof cores, &cores);
    return (void *)(long)CPU_COUNT(&cores);
}

static void *is_renamed(void *argument) {
    char name[16], same[16];
    (void)argument;
    SAY_ERRNO(prctl(PR_SET_NAME, "a name of more than 15"));
    pthread_getname_np(pthread_self(), name, sizeof name);
    SAY_ERRNO(prctl(PR_GET_NAME, same));
    printf("%s, %s\n", name, same);
    return NULL;
}

static void with(pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    pthread_t thread;
    void *result = NULL;
    int created = pthread_create(&thread, attributes, function, argument);
    pthread_join(thread, &result);
    SAY(created);
    SAY_NUMBER((long)result);
    pthread_attr_destroy(attributes);
}

int main(void) {
    pthread_t threads[2];
    void *result;
    for (long i = 1; i <= 2; i++)
        pthread_create(&threads[i - 1], NULL, has_its_own, (void *)i);
    addresses[0] = &zero;
    tids[0] = gettid();
    errno = 100;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &result);
        SAY_NUMBER((int)(long)result);
    }
    SAY_NUMBER(errno);
    SAY_NUMBER(tids[0] == getpid());
    SAY_NUMBER(tids[0] != tids[1] && tids[1] != tids[2] && tids[2] != tids[0]);
    SAY_NUMBER(addresses[0] != addresses[1] && addresses[1] != addresses[2] && addresses[2] != addresses[0]);
    SAY_NUMBER(fegetround() == FE_TONEAREST);

    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    SAY(pthread_sigmask(SIG_BLOCK, &blocked, NULL));
    SAY(pthread_sigmask(17, &blocked, NULL));
    fesetround(FE_TOWARDZERO);
    SAY_NUMBER((int)(long)run(inherits, NULL));
    SAY(sigprocmask(SIG_BLOCK, NULL, &blocked));
    SAY_NUMBER(sigismember(&blocked, SIGUSR1) + 2 * sigismember(&blocked, SIGUSR2));
    fesetround(FE_TONEAREST);

    int kind;
    SAY(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &kind));
    SAY_NUMBER(kind == PTHREAD_CANCEL_DEFERRED);
    run(can_be_cancelled, NULL);
    SAY(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &kind));
    SAY_NUMBER(kind == PTHREAD_CANCEL_ASYNCHRONOUS);
    run(names_itself, NULL);
    SAY_NUMBER((int)(long)run(recurses, (void *)1000));
    SAY_NUMBER((int)(long)run(looks_at_its_stack, NULL));

    char before[16], after[16];
    pthread_getname_np(pthread_self(), before, sizeof before);
    run(is_renamed, NULL);
    pthread_getname_np(pthread_self(), after, sizeof after);
    SAY_NUMBER(strcmp(before, after));
    run(looks_at_its_clock, NULL);

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, sizeof stack);
    with(&attributes, looks_at_its_attributes, (void *)sizeof stack);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    with(&attributes, looks_at_its_attributes, (void *)(64 << 20));
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    pthread_attr_setguardsize(&attributes, 8192);
    with(&attributes, looks_at_its_attributes, (void *)(128 << 10));
    pthread_attr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    pthread_attr_setsigmask_np(&attributes, &none);
    with(&attributes, inherits, NULL);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(sched_getcpu(), &cores);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores);
    with(&attributes, counts_its_cores, NULL);
    CPU_ZERO(&cores);
    CPU_SET(1000, &cores);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores);
    SAY(pthread_create(&threads[0], &attributes, counts_its_cores, NULL));
    pthread_attr_destroy(&attributes);

    pthread_attr_init(&attributes);
    SAY(pthread_attr_setstack(&attributes, stack, sizeof stack));
    pthread_create(&threads[0], &attributes, is_on_it, NULL);
    pthread_join(threads[0], &result);
    SAY_NUMBER((int)(long)result);
    pthread_attr_destroy(&attributes);
    pthread_attr_init(&attributes);
    SAY(pthread_attr_setstacksize(&attributes, 64 << 20));
    pthread_create(&threads[0], &attributes, recurses, (void *)10000);
    pthread_join(threads[0], &result);
    SAY_NUMBER((int)(long)result);
    return 0;
}

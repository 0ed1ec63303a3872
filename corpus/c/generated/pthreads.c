// Runs a generated program of what pthreads has beyond plain locks and condition variables. It is the argument: statements
// are parted by ';', threads by '|', and the first is `main`, which creates the others before anything else. Prints what
// each statement has seen as "thread statement value"; by the system itself, since `write` is a cancellation point, and
// `_exit` writes no streams out.
//
// What threads share beside the objects of pthreads is `shared`, in atomic sections alone.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Not linked against the runtime, which is there when it runs.
__attribute__((weak)) void __VERIFIER_atomic_begin(void);
__attribute__((weak)) void __VERIFIER_atomic_end(void);
__attribute__((weak)) bool __VERIFIER_nondet_bool(void);

enum { THREADS = 4, STATEMENTS = 16 };
enum { NORMAL, RECURSIVE, CHECKING, ROBUST, MUTEXES };

typedef struct {
    char name[16];
    int number;
} Statement;

static Statement statements[THREADS][STATEMENTS];
static int lengths[THREADS], count;
static pthread_t threads[THREADS];
static pthread_mutex_t mutexes[MUTEXES];
static pthread_cond_t condvars[MUTEXES];
static pthread_rwlock_t locks[2];
static sem_t semaphores[2], own[THREADS];
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sigset_t signals;
static long shared;
static unsigned char places[16] __attribute__((aligned(16)));

// What is waited for in loops: words that are looked at, variables under a lock, words that are taken, two locks.
static int gates[2], taken[2], asked[2];
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t pair[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

// What a thread itself knows of what it holds.
static int held[THREADS][MUTEXES], locked[THREADS][2];
static __thread int me, at;

static void tell(int thread, int statement, long value) {
    char text[48];
    int length = snprintf(text, sizeof text, "%d %d %ld\n", thread, statement, value);
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(1), "D"(1), "S"(text), "d"(length) : "rcx", "r11", "memory");
}

static void see(int statement, long value) { tell(me, statement, value); }

static long add(int n) {
    __VERIFIER_atomic_begin();
    long value = shared;
    shared += n;
    __VERIFIER_atomic_end();
    return value;
}

static void test_cancel(void) {
#ifdef CANCELS
    pthread_testcancel();
#endif
}

static void initialise(void) {
    see(100, add(1));
    test_cancel();
    see(101, 0);
}

// When all have ended the last does this, and which that is is not explored: so not as the thread that it is.
static void at_exit(void) { tell(9, 200, add(0)); }

static void destroy_key(void *value) { see(300, add((int)(long)value)); }
static void handle(int signal) { see(400, signal); }

static void clean_up(void *unused) {
    (void)unused;
    see(500, add(1));
    if (held[me][NORMAL]) {
        held[me][NORMAL] = 0;
        pthread_mutex_unlock(&mutexes[NORMAL]);
    }
}

static struct timespec soon(void) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec++;
    return limit;
}

static long or_error(long result) { return result == -1 ? 1000 + errno : result; }

// Whether the thread has the mutex after such a result, robust ones included.
static int took(int result) { return result == 0 || result == EOWNERDEAD; }

static int is_asked(int side) {
    pthread_mutex_lock(&asking);
    int value = asked[side];
    pthread_mutex_unlock(&asking);
    return value;
}

static void run_from(int first);

// Gives what the statement has seen.
static long run(const char *name, int n) {
    int *holds = held[me];
    struct timespec limit;
    void *result = NULL;
    long value = 0;
    int which = n % MUTEXES, side = n % 2, other = n % THREADS;
#define IS(text) (strcmp(name, text) == 0)
// Atomic operations of so many bytes, of which the places overlap.
#define ATOMICS(size, type)                                                                        \
    } else if (IS("load" #size)) {                                                                 \
        value = __atomic_load_n((type *)places + n, __ATOMIC_SEQ_CST);                             \
    } else if (IS("store" #size)) {                                                                \
        __atomic_store_n((type *)places + n, (type)(at + 4 * me + 1), __ATOMIC_SEQ_CST);           \
    } else if (IS("swap" #size)) {                                                                 \
        value = __atomic_fetch_add((type *)places + n, (type)(at + 4 * me + 1), __ATOMIC_SEQ_CST);
    if (IS("lock") || IS("try") || IS("timed")) {
        limit = soon();
        value = IS("lock")  ? pthread_mutex_lock(&mutexes[which])
                : IS("try") ? pthread_mutex_trylock(&mutexes[which])
                            : pthread_mutex_timedlock(&mutexes[which], &limit);
        holds[which] += took((int)value);
    } else if (IS("unlock")) {
        // To unlock a normal one that is not held is undefined.
        if (which == NORMAL && !holds[which])
            return -1;
        value = pthread_mutex_unlock(&mutexes[which]);
        holds[which] -= value == 0;
    } else if (IS("consistent")) {
        value = pthread_mutex_consistent(&mutexes[which]);
    } else if (IS("wait") || IS("timedwait") || IS("clockwait")) {
        if (which == NORMAL && !holds[which])
            return -1;
        limit = soon();
        if (IS("wait")) {
            value = pthread_cond_wait(&condvars[which], &mutexes[which]);
        } else if (IS("timedwait")) {
            value = pthread_cond_timedwait(&condvars[which], &mutexes[which], &limit);
        } else {
            clock_gettime(CLOCK_MONOTONIC, &limit);
            limit.tv_sec++;
            value = pthread_cond_clockwait(&condvars[which], &mutexes[which], CLOCK_MONOTONIC, &limit);
        }
        if (value == ENOTRECOVERABLE)
            holds[which] = 0;
    } else if (IS("signal")) {
        value = pthread_cond_signal(&condvars[which]);
    } else if (IS("broadcast")) {
        value = pthread_cond_broadcast(&condvars[which]);
    } else if (IS("rd") || IS("tryrd") || IS("timedrd")) {
        limit = soon();
        value = IS("rd")      ? pthread_rwlock_rdlock(&locks[side])
                : IS("tryrd") ? pthread_rwlock_tryrdlock(&locks[side])
                              : pthread_rwlock_timedrdlock(&locks[side], &limit);
        locked[me][side] += value == 0;
    } else if (IS("wr") || IS("trywr") || IS("timedwr")) {
        limit = soon();
        value = IS("wr")      ? pthread_rwlock_wrlock(&locks[side])
                : IS("trywr") ? pthread_rwlock_trywrlock(&locks[side])
                              : pthread_rwlock_timedwrlock(&locks[side], &limit);
        locked[me][side] += value == 0;
    } else if (IS("rwunlock")) {
        if (!locked[me][side])
            return -1;
        locked[me][side]--;
        value = pthread_rwlock_unlock(&locks[side]);
    } else if (IS("down")) {
        value = or_error(sem_wait(&semaphores[side]));
    } else if (IS("trydown")) {
        value = or_error(sem_trywait(&semaphores[side]));
    } else if (IS("timeddown")) {
        limit = soon();
        value = or_error(sem_timedwait(&semaphores[side], &limit));
    } else if (IS("up")) {
        value = sem_post(&semaphores[side]);
    } else if (IS("value")) {
        int now;
        sem_getvalue(&semaphores[side], &now);
        value = now;
    } else if (IS("barrier")) {
        value = pthread_barrier_wait(&barrier);
    } else if (IS("once")) {
        value = pthread_once(&once, initialise);
    } else if (IS("key")) {
        value = pthread_setspecific(key, (void *)(long)(n + 1));
    } else if (IS("add")) {
        value = add(1);
    } else if (IS("get")) {
        value = add(0);
        ATOMICS(1, unsigned char)
        ATOMICS(2, unsigned short)
        ATOMICS(4, unsigned int)
        ATOMICS(8, unsigned long)
    } else if (IS("until")) {
        while (__atomic_load_n(&gates[side], __ATOMIC_SEQ_CST) == 0)
            ;
    } else if (IS("open")) {
        __atomic_store_n(&gates[side], 1, __ATOMIC_SEQ_CST);
    } else if (IS("enter")) {
        while (__atomic_exchange_n(&taken[side], 1, __ATOMIC_SEQ_CST))
            ;
    } else if (IS("vacate")) {
        __atomic_store_n(&taken[side], 0, __ATOMIC_SEQ_CST);
    } else if (IS("poll")) {
        while (!is_asked(side))
            ;
    } else if (IS("ask")) {
        pthread_mutex_lock(&asking);
        asked[side] = 1;
        pthread_mutex_unlock(&asking);
    } else if (IS("insist")) {
        if (holds[NORMAL])
            return -1;
        while (pthread_mutex_trylock(&mutexes[NORMAL]) != 0)
            ;
        holds[NORMAL]++;
    } else if (IS("both")) {
        for (;;) {
            pthread_mutex_lock(&pair[side]);
            if (pthread_mutex_trylock(&pair[1 - side]) == 0)
                break;
            pthread_mutex_unlock(&pair[side]);
        }
        value = add(1);
        pthread_mutex_unlock(&pair[1 - side]);
        pthread_mutex_unlock(&pair[side]);
    } else if (IS("yield")) {
        value = sched_yield();
    } else if (IS("sleep")) {
        value = sleep(1);
    } else if (IS("clock")) {
        clock_gettime(CLOCK_MONOTONIC, &limit);
        value = limit.tv_sec * 1000 + limit.tv_nsec / 1000;
    } else if (IS("choose")) {
        value = __VERIFIER_nondet_bool();
    } else if (IS("testcancel")) {
        test_cancel();
    } else if (IS("disable") || IS("enable")) {
        int old;
        pthread_setcancelstate(IS("disable") ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE, &old);
        value = old;
#ifdef CANCELS
    } else if (IS("cancel")) {
        value = pthread_cancel(threads[other]);
#endif
    } else if (IS("join") || IS("tryjoin") || IS("timedjoin")) {
        limit = soon();
        value = IS("join")      ? pthread_join(threads[other], &result)
                : IS("tryjoin") ? pthread_tryjoin_np(threads[other], &result)
                                : pthread_timedjoin_np(threads[other], &result, &limit);
        value = value * 10 + (result == PTHREAD_CANCELED ? 2 : (long)result);
    } else if (IS("detach")) {
        value = pthread_detach(threads[other]);
    } else if (IS("kill")) {
        value = pthread_kill(threads[other], SIGUSR1);
    } else if (IS("queue")) {
        value = pthread_sigqueue(threads[other], SIGRTMIN, (union sigval){.sival_int = 10 + me});
    } else if (IS("killall")) {
        value = kill(getpid(), SIGUSR2);
    } else if (IS("queueall")) {
        value = sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 10 + me});
    } else if (IS("sigwait")) {
        int signal;
        sigwait(&signals, &signal);
        value = signal;
    } else if (IS("sigtimed")) {
        siginfo_t information;
        value = or_error(sigtimedwait(&signals, &information, &(struct timespec){.tv_sec = 1}));
        if (value == SIGRTMIN)
            value = 100 * value + information.si_value.sival_int;
    } else if (IS("sigpending")) {
        sigset_t pending;
        sigpending(&pending);
        value = sigismember(&pending, SIGUSR1) + 2 * sigismember(&pending, SIGUSR2) + 4 * sigismember(&pending, SIGRTMIN);
    } else if (IS("unblock")) {
        // Nobody sees the signals unblocked: handlers of those that are pending run.
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
        value = pthread_sigmask(SIG_BLOCK, &signals, NULL);
    } else if (IS("atexit")) {
        value = atexit(at_exit);
    } else if (IS("exit")) {
        exit(0);
    } else if (IS("_exit")) {
        _exit(0);
    } else if (IS("leave")) {
        pthread_exit((void *)1L);
    } else {
        fprintf(stderr, "no such statement: %s\n", name);
        abort();
    }
    return value;
}

static void run_from(int first) {
    for (at = first; at < lengths[me]; at++) {
        Statement *statement = &statements[me][at];
        int this = at;
        if (strcmp(statement->name, "push") == 0) {
            pthread_cleanup_push(clean_up, NULL);
            run_from(this + 1);
            pthread_cleanup_pop(statement->number % 2);
            return;
        }
        see(this, run(statement->name, statement->number));
    }
}

static int names_another(int thread) {
    static const char *const names[] = {"cancel", "join", "tryjoin", "timedjoin", "detach", "kill", "queue", "push"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (lengths[thread] > 0 && strcmp(statements[thread][0].name, names[i]) == 0)
            return 1;
    return 0;
}

static void *begin(void *argument) {
    me = (int)(long)argument;
    // Until its first operation it runs while others are still to be created.
    if (names_another(me))
        sem_post(&own[me]);
    run_from(0);
    see(600, 0);
    return NULL;
}

static void make_mutex(int which, int type, int robust) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutex_init(&mutexes[which], &attributes);
    pthread_cond_init(&condvars[which], NULL);
}

// Before `main`, so that each execution need not do so in a process of its own.
__attribute__((constructor)) static void set_handlers(void) {
    struct sigaction action = {.sa_handler = handle};
    int numbers[] = {SIGUSR1, SIGUSR2, SIGRTMIN};
    sigemptyset(&signals);
    for (int i = 0; i < 3; i++) {
        sigaction(numbers[i], &action, NULL);
        sigaddset(&signals, numbers[i]);
    }
}

static int is_let_go(int thread) {
    for (int other = 0; other < count; other++)
        for (int i = 0; i < lengths[other]; i++) {
            Statement *statement = &statements[other][i];
            int lets_go = strstr(statement->name, "join") || strcmp(statement->name, "detach") == 0;
            if (lets_go && statement->number % THREADS == thread)
                return 1;
        }
    return 0;
}

int main(int words, char **arguments) {
    char *next = words > 1 ? arguments[1] : "";
    while (next && count < THREADS) {
        char *body = next;
        next = strchr(body, '|');
        if (next)
            *next++ = 0;
        for (char *save = NULL, *text = strtok_r(body, ";", &save); text; text = strtok_r(NULL, ";", &save)) {
            Statement *statement = &statements[count][lengths[count]];
            if (sscanf(text, " %15s %d", statement->name, &statement->number) >= 1)
                lengths[count]++;
        }
        count++;
    }
    make_mutex(NORMAL, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
    make_mutex(RECURSIVE, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
    make_mutex(CHECKING, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
    make_mutex(ROBUST, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlock_init(&locks[0], &attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&locks[1], &attributes);
    sem_init(&semaphores[0], 0, 0);
    sem_init(&semaphores[1], 0, 1);
    for (int i = 0; i < THREADS; i++)
        sem_init(&own[i], 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_key_create(&key, destroy_key);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    threads[0] = pthread_self();
    for (int i = 1; i < count; i++)
        pthread_create(&threads[i], NULL, begin, (void *)(long)i);
    run_from(0);
    // Of a thread that nobody else joins or detaches, how it ended is seen at last.
    for (int i = 1; i < count; i++)
        if (!is_let_go(i)) {
            void *result = NULL;
            int error = pthread_join(threads[i], &result);
            see(700 + i, error * 10 + (result == PTHREAD_CANCELED ? 2 : (long)result));
        }
    see(600, 0);
    return 0;
}

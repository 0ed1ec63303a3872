// Runs a generated program, which is its argument as crates/testgen writes it: statements are parted by ';', bodies by
// '|'. Prints what each body remembers. The third implementation of what such programs mean.
//
// Only what stands for the program's own accesses to memory is instrumented: the functions at the top.
#include <pthread.h>
#include <sched.h>
#include <assert.h>
#include <selvedge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BODIES = 8, STATEMENTS = 32, OBJECTS = 16 };

static long atomics[OBJECTS];
static int cells[OBJECTS];

static long load(int a) { return __atomic_load_n(&atomics[a], __ATOMIC_SEQ_CST); }
static void store(int a, long value) { __atomic_store_n(&atomics[a], value, __ATOMIC_SEQ_CST); }
static long add(int a) { return __atomic_fetch_add(&atomics[a], 1, __ATOMIC_SEQ_CST); }
static void read_cell(int c) { (void)*(volatile int *)&cells[c]; }
static void write_cell(int c) { *(volatile int *)&cells[c] = 1; }

// The expected value is a local of its own, which nobody else can see.
__attribute__((no_sanitize_thread)) static long exchange(int a, long old, long new);

#define PLAIN __attribute__((no_sanitize_thread))

typedef struct {
    char name[16];
    long numbers[3];
} Statement;

static Statement statements[BODIES][STATEMENTS];
static int lengths[BODIES], count;
static pthread_mutex_t mutexes[OBJECTS];
static pthread_rwlock_t rwlocks[OBJECTS];
static pthread_cond_t condvars[OBJECTS];
static pthread_t threads[BODIES];

extern int __tsan_atomic64_compare_exchange_weak(volatile void *at, unsigned long *old, unsigned long new, int success,
                                                 int failure);
PLAIN static long exchange_weak(int a, unsigned long old, long new) {
    return __tsan_atomic64_compare_exchange_weak(&atomics[a], &old, (unsigned long)new, 5, 5);
}

extern int __tsan_atomic64_compare_exchange_strong(volatile void *at, unsigned long *old, unsigned long new,
                                                   int success, int failure);
PLAIN static long exchange(int a, long old, long new) {
    unsigned long found = (unsigned long)old;
    __tsan_atomic64_compare_exchange_strong(&atomics[a], &found, (unsigned long)new, 5, 5);
    return (long)found;
}

// Not strcmp, whose accesses are seen.
PLAIN static int is(const char *name, const char *other) {
    while (*name && *name == *other)
        name++, other++;
    return *name == *other;
}

PLAIN static void *run(void *argument) {
    int body = (int)(long)argument;
    int held[OBJECTS] = {0}, reads[OBJECTS] = {0}, writes[OBJECTS] = {0}, mine[BODIES] = {0};
    long last = 0;
    int remembers = 0;
    for (int i = 0; i < lengths[body]; i++) {
        const char *name = statements[body][i].name;
        long *numbers = statements[body][i].numbers;
        int n = (int)numbers[0];
        long value = 0;
        int remembered = 0;
        if (is(name, "lock")) {
            pthread_mutex_lock(&mutexes[n]);
            held[n] = 1;
        } else if (is(name, "unlock")) {
            if (held[n])
                pthread_mutex_unlock(&mutexes[n]);
            held[n] = 0;
        } else if (is(name, "try-lock")) {
            value = pthread_mutex_trylock(&mutexes[n]) == 0;
            held[n] |= (int)value;
            remembered = 1;
        } else if (is(name, "read-lock")) {
            // What the thread has for writing is refused.
            reads[n] += pthread_rwlock_rdlock(&rwlocks[n]) == 0;
        } else if (is(name, "read-unlock")) {
            if (reads[n]) {
                pthread_rwlock_unlock(&rwlocks[n]);
                reads[n]--;
            }
        } else if (is(name, "try-read-lock")) {
            value = pthread_rwlock_tryrdlock(&rwlocks[n]) == 0;
            reads[n] += (int)value;
            remembered = 1;
        } else if (is(name, "write-lock")) {
            writes[n] |= pthread_rwlock_wrlock(&rwlocks[n]) == 0;
        } else if (is(name, "write-unlock")) {
            if (writes[n])
                pthread_rwlock_unlock(&rwlocks[n]);
            writes[n] = 0;
        } else if (is(name, "try-write-lock")) {
            value = pthread_rwlock_trywrlock(&rwlocks[n]) == 0;
            writes[n] |= (int)value;
            remembered = 1;
        } else if (is(name, "wait")) {
            if (held[n])
                pthread_cond_wait(&condvars[n], &mutexes[n]);
        } else if (is(name, "wait-timeout")) {
            if (held[n]) {
                struct timespec limit;
                clock_gettime(CLOCK_REALTIME, &limit);
                limit.tv_sec++;
                value = pthread_cond_timedwait(&condvars[n], &mutexes[n], &limit) != 0;
                remembered = 1;
            }
        } else if (is(name, "notify-one")) {
            pthread_cond_signal(&condvars[n]);
        } else if (is(name, "notify-all")) {
            pthread_cond_broadcast(&condvars[n]);
        } else if (is(name, "load")) {
            value = load(n);
            remembered = 1;
        } else if (is(name, "store")) {
            store(n, numbers[1]);
        } else if (is(name, "store-next")) {
            store(n, (remembers ? last : 0) + 1);
        } else if (is(name, "add")) {
            value = add(n);
            remembered = 1;
        } else if (is(name, "exchange")) {
            value = exchange(n, numbers[1], numbers[2]);
            remembered = 1;
        } else if (is(name, "exchange-weak")) {
            value = exchange_weak(n, (unsigned long)numbers[1], numbers[2]);
            remembered = 1;
        } else if (is(name, "spawn")) {
            mine[n] = 1;
            pthread_create(&threads[n], NULL, run, (void *)(long)n);
        } else if (is(name, "join")) {
            if (mine[n])
                pthread_join(threads[n], NULL);
            mine[n] = 0;
        } else if (is(name, "yield")) {
            sched_yield();
        } else if (is(name, "yields")) {
            for (int left = n; left > 0; left--)
                sched_yield();
        } else if (is(name, "choose")) {
            if (n > 1) {
                value = selvedge_choose(0, n - 1);
                remembered = 1;
            }
        } else if (is(name, "read")) {
            read_cell(n);
        } else if (is(name, "write")) {
            write_cell(n);
        } else if (is(name, "assert-not")) {
            assert(!(remembers && last == numbers[0]));
        } else if (is(name, "choose-until")) {
            while (n > 1 && selvedge_choose(0, n - 1)) {
            }
        } else if (is(name, "assume-not")) {
            __VERIFIER_assume(!(remembers && last == numbers[0]));
        } else if (is(name, "spin-until")) {
            while (load(n) != numbers[1])
                sched_yield();
            value = numbers[1];
            remembered = 1;
        } else {
            fprintf(stderr, "no such statement: %s\n", name);
            abort();
        }
        if (remembered) {
            last = value;
            remembers = 1;
            printf("%d %ld\n", body, value);
        }
    }
    return NULL;
}

PLAIN int main(int words, char **arguments) {
    char *bodies = words > 1 ? arguments[1] : "", *next_body = bodies;
    while (next_body && count < BODIES) {
        char *body = next_body;
        next_body = strchr(body, '|');
        if (next_body)
            *next_body++ = 0;
        for (char *save = NULL, *text = strtok_r(body, ";", &save); text; text = strtok_r(NULL, ";", &save)) {
            Statement *statement = &statements[count][lengths[count]];
            long *numbers = statement->numbers;
            if (sscanf(text, " %15s %ld %ld %ld", statement->name, &numbers[0], &numbers[1], &numbers[2]) >= 1)
                lengths[count]++;
        }
        count++;
    }
    for (int i = 0; i < OBJECTS; i++) {
        pthread_mutex_init(&mutexes[i], NULL);
        pthread_rwlock_init(&rwlocks[i], NULL);
        pthread_cond_init(&condvars[i], NULL);
    }
    run(NULL);
    // Not a return: that would end the others.
    pthread_exit(NULL);
}

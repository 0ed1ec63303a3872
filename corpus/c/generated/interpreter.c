// Runs a program of the generator, given as its only argument: the bodies of its threads, with `|` between them, each
// a list of statements with `;` between them. The same program runs on the in-process engine, which makes the two
// comparable, step by step.
//
// What does not synchronise (parsing, remembering values) is invisible to a scheduler. Compiled with ATOMICS, it also
// has atomics and plain memory.

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BODIES 8
#define STATEMENTS 32
#define OBJECTS 8

struct statement {
    char name[16];
    long a, b, c;
};

struct body {
    struct statement statements[STATEMENTS];
    int length;
    pthread_t thread;
    int spawned;
    int parent;
    int joined;
};

static struct body bodies[BODIES];
static int body_count;
static pthread_mutex_t mutexes[OBJECTS];
static pthread_cond_t condvars[OBJECTS];
#ifdef ATOMICS
#include <stdatomic.h>
static atomic_long atomics[OBJECTS];
static long cells[OBJECTS];
#endif

static void parse(char *text) {
    char *rest_of_text = text;
    char *part;
    while ((part = strsep(&rest_of_text, "|")) != NULL) {
        assert(body_count < BODIES);
        struct body *body = &bodies[body_count++];
        char *statement;
        while ((statement = strsep(&part, ";")) != NULL) {
            struct statement *next = &body->statements[body->length];
            if (sscanf(statement, " %15s %ld %ld %ld", next->name, &next->a, &next->b, &next->c) >= 1) {
                body->length++;
                assert(body->length < STATEMENTS);
            }
        }
    }
}

static void *run(void *argument);

static int is(const struct statement *statement, const char *name) {
    return strcmp(statement->name, name) == 0;
}

// A statement that makes no sense where it stands does nothing: unlocking what is not held, joining what was not
// spawned. `held` counts, for each mutex, whether this thread has it.
static void perform(int self, const struct statement *statement, int *held, long *last, int *remembers) {
    long n = statement->a;
    if (is(statement, "lock")) {
        pthread_mutex_lock(&mutexes[n]);
        held[n] = 1;
    } else if (is(statement, "unlock")) {
        if (held[n]) {
            held[n] = 0;
            pthread_mutex_unlock(&mutexes[n]);
        }
    } else if (is(statement, "try-lock")) {
        *last = pthread_mutex_trylock(&mutexes[n]) == 0;
        *remembers = 1;
        if (*last) {
            held[n] = 1;
        }
    } else if (is(statement, "wait")) {
        if (held[n]) {
            pthread_cond_wait(&condvars[n], &mutexes[n]);
        }
    } else if (is(statement, "wait-timeout")) {
        if (held[n]) {
            struct timespec limit;
            clock_gettime(CLOCK_REALTIME, &limit);
            limit.tv_sec += 1;
            *last = pthread_cond_timedwait(&condvars[n], &mutexes[n], &limit) != 0;
            *remembers = 1;
        }
    } else if (is(statement, "notify-one")) {
        pthread_cond_signal(&condvars[n]);
    } else if (is(statement, "notify-all")) {
        pthread_cond_broadcast(&condvars[n]);
    } else if (is(statement, "spawn")) {
        if (n > self && !bodies[n].spawned) {
            bodies[n].spawned = 1;
            bodies[n].parent = self;
            pthread_create(&bodies[n].thread, NULL, run, (void *)n);
        }
    } else if (is(statement, "join")) {
        if (bodies[n].spawned && bodies[n].parent == self && !bodies[n].joined) {
            bodies[n].joined = 1;
            pthread_join(bodies[n].thread, NULL);
        }
    } else if (is(statement, "yield")) {
        sched_yield();
    } else if (is(statement, "assert-not")) {
        assert(!*remembers || *last != n);
#ifdef ATOMICS
    } else if (is(statement, "load")) {
        *last = atomic_load(&atomics[n]);
        *remembers = 1;
    } else if (is(statement, "store")) {
        atomic_store(&atomics[n], statement->b);
    } else if (is(statement, "store-next")) {
        atomic_store(&atomics[n], (*remembers ? *last : 0) + 1);
    } else if (is(statement, "add")) {
        *last = atomic_fetch_add(&atomics[n], 1);
        *remembers = 1;
    } else if (is(statement, "exchange")) {
        long found = statement->b;
        atomic_compare_exchange_strong(&atomics[n], &found, statement->c);
        *last = found;
        *remembers = 1;
    } else if (is(statement, "spin-until")) {
        while (atomic_load(&atomics[n]) != statement->b) {
            sched_yield();
        }
        *last = statement->b;
        *remembers = 1;
    } else if (is(statement, "read")) {
        (void)*(volatile long *)&cells[n];
    } else if (is(statement, "write")) {
        *(volatile long *)&cells[n] = self;
#endif
    } else {
        fprintf(stderr, "unknown statement %s\n", statement->name);
        exit(2);
    }
}

static void *run(void *argument) {
    int self = (int)(long)argument;
    int held[OBJECTS] = {0};
    long last = 0;
    int remembers = 0;
    for (int i = 0; i < bodies[self].length; i++) {
        perform(self, &bodies[self].statements[i], held, &last, &remembers);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "expected a program\n");
        return 2;
    }
    parse(arguments[1]);
    for (int i = 0; i < OBJECTS; i++) {
        mutexes[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        condvars[i] = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    }
    bodies[0].spawned = 1;
    run(NULL);
    // The other threads go on.
    pthread_exit(NULL);
}

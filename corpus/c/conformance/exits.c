// Ways to exit. What is to be done then is done in its order, while other threads go on: it stops and joins one that
// still runs, and creates another.
#include <err.h>
#include <error.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t worker;
static int stopped;

static void *works(void *argument) {
    pthread_mutex_lock(&lock);
    while (!stopped)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return (char *)argument + 1;
}

static void *adds(void *argument) { return (char *)argument + 1; }

static void stops(void) {
    void *result;
    pthread_mutex_lock(&lock);
    stopped = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    SAY(pthread_join(worker, &result));
    SAY_NUMBER((long)result);
    SAY_NUMBER((long)run(adds, (void *)8));
    fflush(stdout);
}

static void says(int status, void *argument) { printf("%s %d\n", (const char *)argument, status); }

static void says_more(void) {
    printf("the handler that was registered last\n");
    fflush(stdout);
}

__attribute__((destructor)) static void destroys(void) {
    printf("a destructor\n");
    SAY_NUMBER((long)run(adds, (void *)10));
}

static void complain(int how, const char *text, ...) {
    va_list arguments;
    va_start(arguments, text);
    if (how == 0)
        verr(0, text, arguments);
    verrx(0, text, arguments);
}

#if HOW == 12
static void *exits(void *argument) {
    (void)argument;
    exit(0);
}
#endif

int main(void) {
    atexit(stops);
    on_exit(says, "on_exit");
    atexit(says_more);
    at_quick_exit(stops);
    at_quick_exit(says_more);
    pthread_create(&worker, NULL, works, (void *)6);
    // What is said there has the name of the program.
    freopen("/dev/null", "w", stderr);
    error(0, 0, "%d, which does not exit", 1);
    switch (HOW) {
    case 0: return 0;
    case 1: exit(0);
    case 2: err(0, "%d %f", 1, 1.5);
    case 3: errx(0, "%d %f", 1, 1.5);
    case 4: complain(0, "%d %f", 1, 1.5);
    case 5: complain(1, "%d %f", 1, 1.5);
    // Of a status the lowest eight bits are seen.
    case 6: error(256, EINVAL, "%d %f", 1, 1.5); break;
    case 7: error_at_line(256, 0, "file", 1, "%d %f", 1, 1.5); break;
    case 8: quick_exit(0);
    case 9: _exit(0);
    case 10: _Exit(0);
    case 11: syscall(SYS_exit_group, 0); break;
#if HOW == 12
    case 12: {
        pthread_t thread;
        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, NULL);
    }
#endif
    }
    printf("still here\n");
    return 0;
}

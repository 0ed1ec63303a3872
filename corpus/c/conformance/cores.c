// Which cores threads may run on: what a program is told, and what it asks for. It fails if there are not as many as its
// argument says.
#define _GNU_SOURCE
#include "say.h"
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static cpu_set_t all, one, none;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void print(const char *what, const cpu_set_t *cores) {
    printf("%s: %s\n", what, CPU_EQUAL(cores, &all) ? "all" : CPU_EQUAL(cores, &one) ? "one" : "others");
}

static void *asks(void *name) {
    cpu_set_t cores;
    pthread_mutex_lock(&lock);
    SAY(pthread_getaffinity_np(pthread_self(), sizeof cores, &cores));
    print(name, &cores);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    cpu_set_t cores;
    pthread_t thread;
    SAY_ERRNO(sched_getaffinity(0, sizeof all, &all));
    if (argc > 1 && CPU_COUNT(&all) != atoi(argv[1]))
        return 1;
    printf("as many as are online: %d\n", CPU_COUNT(&all) == sysconf(_SC_NPROCESSORS_ONLN));
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET(core, &all))
            CPU_SET(core, &one);
    if (CPU_EQUAL(&one, &all)) // There is nothing to tell apart.
        return 0;
    pthread_create(&thread, NULL, asks, "a thread");
    pthread_join(thread, NULL);
    SAY_ERRNO(sched_setaffinity(0, sizeof none, &none));
    SAY_ERRNO(sched_setaffinity(0, sizeof one, &one));
    SAY_ERRNO(sched_getaffinity(getpid(), sizeof cores, &cores));
    print("after it has asked for one", &cores);
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, asks, "a thread of its");
    SAY(pthread_setaffinity_np(pthread_self(), sizeof all, &all));
    SAY(pthread_getaffinity_np(thread, sizeof cores, &cores));
    print("its thread", &cores);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    asks("after it has asked for all");
    SAY(pthread_setaffinity_np(pthread_self(), sizeof none, &none));
    SAY(pthread_getaffinity_np(pthread_self(), 1, &cores));
    SAY_ERRNO(sched_getaffinity(0, 1, &cores));
    return 0;
}

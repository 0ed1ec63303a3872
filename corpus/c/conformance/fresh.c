// What an execution changes in its process, the next does not see.
#include "say.h"
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter, initialised = 7;
static char large[1 << 20];
static _Thread_local int of_thread = 5;
static _Thread_local char *kept;

static void locks(void) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
}

static long sum(const char *memory, size_t size) {
    long sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += memory[i];
    return sum;
}

/* Uses the stack down to some depth. What is there at first is the same in each execution. */
__attribute__((noinline)) static long deep(int depth) {
    volatile char page[4096];
    page[0] = page[4095] = 1;
    return depth == 0 ? page[0] : page[4095] + deep(depth - 1);
}

/* The thread's memory. */
static void *changes(void *argument) {
    int fine = of_thread == 5 && kept == NULL;
    locks();
    of_thread++;
    kept = malloc(100);
    memset(kept, 1, 100);
    locks();
    (void)argument;
    return (void *)(long)fine;
}

#ifndef CALLS
#define CALLS 1
#endif

int main(void) {
    pthread_t threads[2];
    void *result;
    SAY_NUMBER(counter);
    SAY_NUMBER(initialised++);
    SAY_NUMBER(of_thread++);
    SAY_NUMBER(errno);
    SAY_NUMBER(fegetround() == FE_TONEAREST);
    SAY_NUMBER(sum(large, sizeof large));
    for (size_t i = 0; i < sizeof large; i += 5000)
        large[i] = 1;
    errno = 77;
    fesetround(FE_UPWARD);

    /* More heap, and memory of its own mapping. */
    char *blocks[40];
    for (int i = 0; i < 40; i++)
        memset(blocks[i] = malloc(10000), 1, 10000);
    for (int i = 0; i < 40; i += 2)
        free(blocks[i]);
    char *mapped = malloc(1 << 20);
    SAY_NUMBER(sum(mapped + 64, (1 << 20) - 64));
    memset(mapped, 1, 1 << 20);
    char *given_back = malloc(1 << 20);
    free(given_back);
    SAY_NUMBER(deep(200));

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, changes, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &result);
        SAY_NUMBER((long)result);
    }
    SAY_NUMBER(counter);
    SAY_NUMBER(getenv("OF_THIS_EXECUTION") == NULL);
    setenv("OF_THIS_EXECUTION", "yes", 1);
    srand(rand());
    SAY_NUMBER(rand());
    printf("%s\n", setlocale(LC_ALL, NULL));

#if CALLS
    /* What the system keeps of a process. */
    struct sigaction action;
    SAY_ERRNO(sigaction(SIGUSR1, NULL, &action));
    SAY_NUMBER(action.sa_handler == SIG_DFL);
    signal(SIGUSR1, SIG_IGN);
    char folder[1000];
    SAY_NUMBER(getcwd(folder, sizeof folder) != NULL && strcmp(folder, "/") != 0);
    SAY_ERRNO(chdir("/"));
    int file = open("/dev/null", O_RDONLY);
    SAY_NUMBER(file == dup(file) - 1);
    umask(umask(0) == 077 ? 0 : 077);
    SAY_NUMBER(mmap((void *)0x10000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
               (void *)0x10000000);
#endif
    return 0;
}

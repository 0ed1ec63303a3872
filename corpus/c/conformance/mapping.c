// Memory that a program maps itself.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "say.h"

enum { PAGE = 4096 };

static void *maps(void *argument) {
    char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SAY_NUMBER(memory != MAP_FAILED);
    memory[0] = 1;
    memory[2 * PAGE - 1] = 2;
    char *moved = mremap(memory, 2 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
    SAY_NUMBER(moved != MAP_FAILED && moved[0] == 1 && moved[2 * PAGE - 1] == 2 && moved[64 * PAGE - 1] == 0);
    SAY_NUMBER(mremap(moved, 0, PAGE, 0) == MAP_FAILED && errno == EINVAL);
    SAY_NUMBER(munmap(moved, 64 * PAGE));
    SAY_NUMBER(munmap(moved + 1, PAGE) == -1 && errno == EINVAL);
    return argument;
}

int main(void) {
    pthread_t thread;
    maps(NULL);
    pthread_create(&thread, NULL, maps, NULL);
    pthread_join(thread, NULL);
    return 0;
}

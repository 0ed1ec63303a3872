// Two threads that map memory each, one after the other at the same address.
// expect: holds
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sys/mman.h>

enum { SIZE = 1 << 20 };

static void *maps(void *argument) {
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(memory != MAP_FAILED);
    memory[0] = memory[SIZE - 1] = 1;
    memory = mremap(memory, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
    assert(memory != MAP_FAILED && memory[0] == 1);
    munmap(memory, 2 * SIZE);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, maps, NULL);
    maps(NULL);
    pthread_join(thread, NULL);
    return 0;
}

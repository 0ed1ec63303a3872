// Memory that was freed is handed out again, by every function that does so, and is freed once more.
// expect: holds
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *block(int number) {
    void *made = NULL;
    switch (number % 8) {
    case 0: return malloc(number % 200);
    case 1: return calloc(1, number % 200);
    case 2: return realloc(malloc(number % 50), 1 + number % 200);
    case 3: return memalign(64, number % 200);
    case 4: return aligned_alloc(32, 96);
    case 5: return strdup("a text of some length");
    case 6: return posix_memalign(&made, 128, number % 200) == 0 ? made : NULL;
    default: return asprintf((char **)&made, "%*d", 1 + number % 200, number) > 0 ? made : NULL;
    }
}

static void *works(void *argument) {
    void *blocks[40] = {NULL};
    for (int i = 0; i < 2000; i++) {
        int place = i * 7 % 40;
        free(blocks[place]);
        blocks[place] = block(i);
    }
    for (int i = 0; i < 40; i++)
        free(blocks[i]);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, works, NULL);
    works(NULL);
    pthread_join(thread, NULL);
    return 0;
}

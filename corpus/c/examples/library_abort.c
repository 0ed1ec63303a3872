// The C library finds that a place on the stack was overwritten, and gives up.
// expect: crash preemptions=0 says=by the C library
#include <pthread.h>
#include <string.h>

__attribute__((optimize("stack-protector-all"))) static void *overwrites(void *argument) {
    char place[16];
    volatile size_t size = 64;
    memset(place, (int)(long)argument, size);
    return place[3] == 1 ? NULL : argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, overwrites, NULL);
    pthread_join(thread, NULL);
    return 0;
}

// A number that is not aligned, and crosses a boundary of eight bytes, is written and read without order.
// expect: data-race preemptions=0 says=packed
#include <pthread.h>

static struct __attribute__((packed, aligned(8))) {
    char first[6];
    int number;
    char last[6];
} packed;

static void *writes(void *argument) {
    packed.number = 7;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
    packed.first[0] = 1;
    packed.last[0] = 1;
    int seen = packed.number;
    pthread_join(thread, NULL);
    return seen == 8;
}

// A text is compared while it is copied over.
// expect: data-race preemptions=0 says=text
#include <pthread.h>
#include <string.h>

static char text[32] = "one and the same";
static char other[32] = "one and the other";

static void *copy(void *unused) {
    (void)unused;
    strcpy(text, other);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, copy, NULL);
    int same = strcmp(text, other) == 0;
    pthread_join(thread, NULL);
    return same && !same;
}

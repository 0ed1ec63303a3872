// How a thread ends from within: cleanup handlers, in both forms that C has, and the destructors of keys.
#include "say.h"
#include <stdlib.h>

static pthread_key_t key;

static void says(void *text) {
    printf("cleanup: %s\n", (char *)text);
}

static void destroys(void *text) {
    printf("destructor: %s\n", (char *)text);
}

__attribute__((noinline)) static void innermost(int ends) {
    pthread_cleanup_push(says, "innermost");
    if (ends)
        pthread_exit("ended");
    pthread_cleanup_pop(1);
}

__attribute__((noinline)) static void inner(int ends) {
    char page[10000];
    pthread_cleanup_push(says, "inner, first");
    pthread_cleanup_push(says, "inner, second");
    page[5000] = (char)ends;
    innermost(page[5000]);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(1);
}

static void *ends(void *argument) {
    pthread_setspecific(key, "key");
    pthread_cleanup_push(says, "outer");
    inner(argument != NULL);
    pthread_cleanup_pop(1);
    return "returned";
}

static void *ends_at_once(void *argument) {
    pthread_exit(argument);
}

static void *nothing(void *argument) {
    return argument;
}

static void at_exit(void) {
    printf("exit\n");
}

int main(void) {
    pthread_t thread;
    SAY(pthread_key_create(&key, destroys));
    atexit(at_exit);
    printf("%s\n", (char *)run(ends, NULL));
    printf("%s\n", (char *)run(ends, "yes"));
    printf("%s\n", (char *)run(ends_at_once, "at once"));
    /* More threads than there are at first, one after another and at once. */
    pthread_t many[100];
    int failed = 0;
    for (int i = 0; i < 100; i++)
        failed += pthread_create(&many[i], NULL, nothing, NULL);
    for (int i = 0; i < 100; i++)
        failed += pthread_join(many[i], NULL);
    SAY_NUMBER(failed);
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    pthread_setspecific(key, "of main");
    pthread_cleanup_push(says, "main");
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
}

// Loads a library, whose path is the first argument, and calls it from two threads.
#include <dlfcn.h>
#include <pthread.h>

static void (*add_one)(void);
static void (*look)(void);

static void *run(void *argument) {
    look();
    add_one();
    return argument;
}

int main(int count, char **arguments) {
    pthread_t thread;
    void *library = dlopen(arguments[count - 1], RTLD_NOW);
    if (!library)
        return 1;
    add_one = (void (*)(void))dlsym(library, "add_one");
    look = (void (*)(void))dlsym(library, "look");
    pthread_create(&thread, NULL, run, NULL);
    add_one();
    pthread_join(thread, NULL);
    return 0;
}

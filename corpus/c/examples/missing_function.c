// Before main, functions are looked up that there are not: each lookup frees the message of the one before.
// expect: holds
#include <dlfcn.h>
#include <pthread.h>

__attribute__((constructor)) static void look(void) {
    dlsym(RTLD_DEFAULT, "there_is_no_such_function");
    dlsym(RTLD_DEFAULT, "nor_such_a_one");
}

static void *nothing(void *unused) { return unused; }

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    return pthread_join(thread, NULL);
}

// One-time initialisation, thread-specific keys, cleanup handlers.
#include "say.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int initialised, destroyed;
static pthread_key_t key, plain;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void initialise(void) { initialised++; }

static void destroy(void *value) {
    pthread_mutex_lock(&lock);
    destroyed += (int)(long)value;
    pthread_mutex_unlock(&lock);
    // Once more: a destructor may set a value again.
    if ((long)value == 100)
        pthread_setspecific(key, (void *)1);
}

static void cleanup(void *argument) { printf("cleanup %s\n", (char *)argument); }

static void *uses(void *argument) {
    pthread_once(&once, initialise);
    pthread_setspecific(key, argument);
    pthread_setspecific(plain, argument);
    return pthread_getspecific(key);
}

static void *cleans(void *argument) {
    pthread_cleanup_push(cleanup, "not run");
    pthread_cleanup_push(cleanup, "run at the pop");
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(0);
    pthread_cleanup_push(cleanup, "outer");
    pthread_cleanup_push(cleanup, "inner");
    pthread_exit(argument);
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return NULL;
}

int main(void) {
    SAY(pthread_key_create(&key, destroy));
    SAY(pthread_key_create(&plain, NULL));
    SAY_NUMBER(pthread_getspecific(key) == NULL);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, uses, (void *)(i == 0 ? 100 : 20));
    long sum = 0;
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    SAY_NUMBER(sum);
    SAY_NUMBER(initialised);
    SAY(pthread_once(&once, initialise));
    SAY_NUMBER(initialised);
    // A copy is done too.
    pthread_once_t copy = once;
    SAY(pthread_once(&copy, initialise));
    SAY_NUMBER(initialised);
    SAY_NUMBER(destroyed);
    SAY_NUMBER((long)run(cleans, (void *)5));
    SAY(pthread_key_delete(key));
    SAY(pthread_key_delete(plain));
    SAY(pthread_setspecific(key, (void *)1));
    return 0;
}

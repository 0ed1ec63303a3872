// Orders that a program tells a race detector of.
// expect: holds
#include <pthread.h>
#include <stdatomic.h>

void __tsan_acquire(void *at);
void __tsan_release(void *at);
void AnnotateHappensBefore(const char *file, int line, const volatile void *at);
void AnnotateHappensAfter(const char *file, int line, const volatile void *at);
void AnnotateIgnoreReadsBegin(const char *file, int line);

static int one, other;
static atomic_int ready;

static void *writes(void *argument) {
    one = 1;
    __tsan_release(&one);
    other = 1;
    AnnotateHappensBefore(__FILE__, __LINE__, &other);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return argument;
}

int main(void) {
    pthread_t thread;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    pthread_create(&thread, NULL, writes, NULL);
    int sum = 0;
    if (atomic_load_explicit(&ready, memory_order_relaxed)) {
        __tsan_acquire(&one);
        sum = one;
        AnnotateHappensAfter(__FILE__, __LINE__, &other);
        sum += other;
    }
    pthread_join(thread, NULL);
    return sum == 1;
}

// What a program of the conformance suite prints: a line for each call, with its result. The same lines must come
// from an ordinary run and from one under control.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static inline const char *error_name(int error) {
    switch (error) {
    case 0: return "0";
    case EPERM: return "EPERM";
    case ESRCH: return "ESRCH";
    case EINTR: return "EINTR";
    case EAGAIN: return "EAGAIN";
    case EBUSY: return "EBUSY";
    case EEXIST: return "EEXIST";
    case EINVAL: return "EINVAL";
    case ENOENT: return "ENOENT";
    case EDEADLK: return "EDEADLK";
    case EOVERFLOW: return "EOVERFLOW";
    case ETIMEDOUT: return "ETIMEDOUT";
    case EOWNERDEAD: return "EOWNERDEAD";
    case ENOTRECOVERABLE: return "ENOTRECOVERABLE";
    default: return strerror(error);
    }
}

// A call that returns its error.
#define SAY(call) printf("%s: %s\n", #call, error_name(call))
// A call that returns -1 and sets errno.
#define SAY_ERRNO(call) (errno = 0, (call) == -1 ? printf("%s: %s\n", #call, error_name(errno)) : printf("%s: 0\n", #call))
#define SAY_NUMBER(expression) printf("%s: %ld\n", #expression, (long)(expression))

// A moment so many milliseconds from now.
static inline struct timespec in_ms(clockid_t clock, long milliseconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static inline void *run(void *(*function)(void *), void *argument) {
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, function, argument);
    pthread_join(thread, &result);
    return result;
}

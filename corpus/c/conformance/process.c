// Writes the number of its process to a file that is open since before main. Leaves another open, which is the next file
// in every execution; and goes to another folder if it is told to.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int log_file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void opens(int argc, char **argv) {
    log_file = open(argv[1], O_WRONLY | O_APPEND);
    (void)argc;
}

static void *locks(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(int argc, char **argv) {
    pthread_t thread;
    char line[20];
    write(log_file, line, snprintf(line, sizeof line, "%d\n", getpid()));
    close(open("/dev/null", O_RDONLY));
    if (open("/dev/null", O_RDONLY) != log_file + 1)
        abort();
    if (argc > 2 && chdir(argv[2]) != 0)
        abort();
    pthread_create(&thread, NULL, locks, NULL);
    locks(NULL);
    pthread_join(thread, NULL);
    return 0;
}

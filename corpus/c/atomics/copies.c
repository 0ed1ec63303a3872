// Copies that do not race: under a lock, of parts of one array that do not overlap, of what is only read, and whatever
// the C library copies within itself.
// expect: holds
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *const words = "read by both";
static char shared[40], parts[2][21];

static int compare(const void *one, const void *other) {
    return memcmp(one, other, 1);
}

static void *work(void *argument) {
    int me = (int)(long)argument;
    char own[64], line[80];
    strcpy(parts[me], words);
    strncat(parts[me], "!", 20 - strlen(parts[me]));
    memset(own, me, sizeof own);
    memmove(own + 1, own, 30);
    snprintf(line, sizeof line, "%s %d", words, me);
    qsort(line, strlen(line), 1, compare);
    char *copy = strdup(line);
    pthread_mutex_lock(&lock);
    memcpy(shared, own, sizeof shared);
    if (memchr(shared, 9, sizeof shared) || strchr(copy, '#'))
        abort();
    pthread_mutex_unlock(&lock);
    free(copy);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)1);
    work(NULL);
    pthread_join(thread, NULL);
    return strcmp(parts[0], parts[1]) != 0 || shared[0] > 1;
}

// Memory is unmapped while another thread may still write to it.
// expect: data-race preemptions=0 says=memory
#include <pthread.h>
#include <sys/mman.h>

static void *writes(void *memory) {
    *(char *)memory = 1;
    return NULL;
}

int main(void) {
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, writes, memory);
    munmap(memory, 4096);
    pthread_join(thread, NULL);
    return 0;
}

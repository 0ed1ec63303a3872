// Memory is used after it was freed, without any thread but the first.
// expect: use-after-free preemptions=0 says=read after it was freed
#include <stdlib.h>

int main(void) {
    int *block = calloc(1, sizeof *block);
    free(block);
    return *block;
}

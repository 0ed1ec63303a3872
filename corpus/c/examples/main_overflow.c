// The first thread calls itself without end.
// expect: crash preemptions=0 says=main: segmentation fault: the stack has overflown
static int recurses(volatile char *outer) {
    volatile char page[4096];
    page[0] = outer[0];
    return recurses(page) + page[0];
}

int main(void) {
    char first = 1;
    return recurses(&first);
}

// Memory of which each byte may be any value of the range: each is tried, and all bytes are it.
// expect: assertion preemptions=0 says=is_not_two
#include <assert.h>
#include <selvedge.h>

int main(void) {
    unsigned char memory[3];
    __VERIFIER_nondet_memory(memory, sizeof memory);
    assert(memory[0] == memory[1] && memory[1] == memory[2]);
    int is_not_two = memory[0] != 2;
    assert(is_not_two);
    return 0;
}

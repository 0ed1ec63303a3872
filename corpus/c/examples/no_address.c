// What is no address is not a null pointer.
// expect: crash preemptions=0 says=segmentation fault at an address that cannot be one
int main(void) {
    int *volatile pointer = (int *)0x123456789abcdef0;
    return *pointer;
}

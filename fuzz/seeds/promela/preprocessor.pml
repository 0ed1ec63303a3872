#define N 3
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define JOIN(a, b) a##b
#ifdef N
#if N > 2
byte JOIN(x, 1) = MAX(N, 2);
#else
byte x1;
#endif
#endif
#undef N
#ifndef N
active proctype P() { x1++; printf("%d\n", x1); assert(x1 == 4) }
#endif

/* N philosophers, each with a left and a right fork; the last reaches for the other one first. */
#ifndef N
#define N 9
#endif
bit fork[N];
byte eating;

proctype Philosopher(byte first, second) {
    do
    :: atomic { fork[first] == 0 -> fork[first] = 1 };
       atomic { fork[second] == 0 -> fork[second] = 1 };
       eating++;
       assert(eating <= N / 2);
       eating--;
       fork[second] = 0;
       fork[first] = 0
    od
}

init {
    byte i;
    atomic {
        do
        :: i < N - 1 -> run Philosopher(i, i + 1); i++
        :: else -> break
        od;
        run Philosopher(0, N - 1)
    }
}
